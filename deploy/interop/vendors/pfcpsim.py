"""pfcpsim, an SMF that plays N4 alone, with Martlet's UPF."""
import testbed
from plan import Expect, OnCore, StartOnCore, Vendor

UPF = "127.0.0.8"
# Addresses of UEs that Martlet's SMF does not assign.
POOL = "10.45.250.0/24"


class Pfcpsim(Vendor):
    """`pfcpsim` has a socket; `pfcpctl` commands it. Its own address is that of the link."""

    name = "pfcpsim"
    programs = {"pfcpsim": "pfcpsim", "pfcpctl": "pfcpctl"}
    unsupported = "an SMF for N4 alone"
    kernel_sctp = False
    cases = ("session-ipv4", "fifty-ues")

    def control(self, *words):
        """A command of pfcpctl."""
        return OnCore([self.program("pfcpctl"), *map(str, words)], 60)

    def associated(self):
        """The steps until there is an association."""
        return [
            StartOnCore("pfcpsim", [self.program("pfcpsim"), "--interface", "mi0"]),
            Expect("pfcpsim", "(?i)listening on port"),
            self.control(
                "service", "configure", "--n3-addr", testbed.CORE, "--remote-peer-addr", UPF
            ),
            self.control("service", "associate"),
        ]

    def sessions(self, count):
        """Sessions that are established, modified and deleted."""
        ids = ["--count", count, "--baseID", 2]
        rules = ["--ue-pool", POOL, "--gnb-addr", testbed.GNBS[0]]
        return self.associated() + [
            self.control("session", "create", *ids, *rules, "--qfi", 9),
            self.control("session", "modify", *ids, *rules),
            self.control("session", "modify", *ids, *rules, "--buffer", "--notifycp"),
            self.control("session", "delete", *ids),
            self.control("service", "disassociate"),
        ]

    def session_ipv4(self):
        return self.sessions(1)

    def fifty_ues(self):
        return self.sessions(50)
