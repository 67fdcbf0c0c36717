"""UERANSIM: nr-gnb, nr-ue and nr-cli."""
import subprocess

import core_log
import testbed
from plan import CORE, Capture, Cause, Expect, Never, NotSupported, OnCore, RestartCore, Run, Start
from plan import Stop, Vendor, Write

NG_SETUP = "NG Setup procedure is successful"
REGISTERED = "Initial Registration is successful"
SESSION = r"PDU Session establishment is successful PSI\[\d+\]"
# The second one has the address of the session.
TUNNEL = r"TUN interface\[uesimtun{}, ([0-9.]+)\] is up"


def gnb_config(number=1):
    """The configuration of a gNB, counted from 1."""
    address = testbed.GNBS[number - 1]
    return f"""\
mcc: '{testbed.MCC}'
mnc: '{testbed.MNC}'
nci: '{number << 4:#011x}'
idLength: 32
tac: 1
linkIp: {address}
ngapIp: {address}
gtpIp: {address}
amfConfigs:
  - address: {testbed.CORE}
    port: 38412
slices:
  - sst: 1
  - sst: 2
    sd: 0x000002
ignoreStreamIds: true
"""


def ue(number=1, key=testbed.K, nea=(1, 2, 3), nia=(1, 2, 3), suci="", sessions=None, slices=None):
    """The configuration of a UE."""
    slices = slices or [(1, None)]
    sessions = sessions or [("IPv4", 1, None)]

    def nssai(sst, sd, indent):
        text = f"sst: {sst}"
        return text if sd is None else f"{text}\n{indent}sd: {sd:#08x}"

    def list_of(items):
        return "".join(f"  - {nssai(sst, sd, '    ')}\n" for sst, sd in items)

    session_list = "".join(
        f"  - type: '{kind}'\n    apn: 'internet'\n    slice:\n      {nssai(sst, sd, '      ')}\n"
        for kind, sst, sd in sessions
    )
    flags = "".join(f"  IA{n}: {str(n in nia).lower()}\n" for n in (1, 2, 3))
    ciphers = "".join(f"  EA{n}: {str(n in nea).lower()}\n" for n in (1, 2, 3))
    return f"""\
supi: 'imsi-{testbed.imsi(number)}'
mcc: '{testbed.MCC}'
mnc: '{testbed.MNC}'
{suci}routingIndicator: '0000'
key: '{key}'
op: '{testbed.OPC}'
opType: 'OPC'
amf: '8000'
imei: '356938035643803'
imeiSv: '4370816125816151'
gnbSearchList:
  - {testbed.GNBS[0]}
  - {testbed.GNBS[1]}
uacAic:
  mps: false
  mcs: false
uacAcc:
  normalClass: 0
  class11: false
  class12: false
  class13: false
  class14: false
  class15: false
sessions:
{session_list}configured-nssai:
{list_of(slices)}default-nssai:
{list_of(slices[:1])}integrity:
{flags}ciphering:
{ciphers}integrityMaxRate:
  uplink: 'full'
  downlink: 'full'
"""


class Ueransim(Vendor):
    """nr-gnb and nr-ue print what they did; nr-cli commands them."""

    name = "UERANSIM"
    programs = {"nr-gnb": "nr-gnb", "nr-ue": "nr-ue", "nr-cli": "nr-cli"}
    known = {
        "registration-eap-aka-prime": (
            Cause(
                "UE",
                "RFC 9048, 3.2: AT_KDF has one word; from 3.2.7 on the UE rejects shorter than two",
                "no form of AT_KDF exists that it accepts: use 5G-AKA",
                # It sends 5GMM STATUS, or rejects, or ends.
                (
                    (
                        "ue",
                        "SEMANTICALLY_INCORRECT_MESSAGE|received AT_KDF is not valid|"
                        "terminate called after throwing",
                    ),
                ),
            ),
            Cause(
                "UE",
                "",
                "this version says that it has 5G-AKA alone",
                (("ue", "EAP AKA' not implemented"),),
                not_supported=True,
            ),
        ),
        "suci-b": (
            Cause(
                "UE",
                "",
                "this version has profile A alone",
                (
                    (
                        "ue",
                        r"Protection Scheme \d+ not implemented|"
                        "ERROR: .*(homeNetworkPublicKey|protectionScheme)",
                    ),
                ),
                not_supported=True,
            ),
        ),
    }

    def version(self):
        done = subprocess.run(
            [self.program("nr-gnb"), "--version"], check=False, capture_output=True, text=True
        )
        words = done.stdout.split()
        return words[-1] if words else "unknown"

    def gnb(self, number=1, label="gnb"):
        """Starts a gNB."""
        file = f"gnb-{number}.yaml"
        return [
            Write(file, gnb_config(number)),
            Start(label, [self.program("nr-gnb"), "-c", file]),
            Expect(label, NG_SETUP),
        ]

    def ues(self, count=1, label="ue", **config):
        """Starts UEs, which register and establish their sessions."""
        command = [self.program("nr-ue"), "-c", "ue.yaml", "-n", count]
        return [Write("ue.yaml", ue(**config)), Start(label, command)]

    def registered(self, number=1, **config):
        """The steps until a UE is registered, for the UE and for the core."""
        return [
            *self.gnb(),
            *self.ues(number=number, **config),
            Expect("ue", REGISTERED),
            Expect(CORE, core_log.registered(testbed.imsi(number))),
        ]

    def with_session(self, number=1, sessions=None, **config):
        """The steps until a UE has its sessions."""
        count = len(sessions or [1])
        return [
            *self.registered(number=number, sessions=sessions, **config),
            *(Expect("ue", TUNNEL.format(n)) for n in range(count)),
            Expect(CORE, core_log.session(testbed.imsi(number)), count=count),
        ]

    def ping(self, interface="uesimtun0"):
        """A ping through a session."""
        return Run(["ping", "-I", interface, "-c", "3", "-W", "5", testbed.GATEWAY])

    def command(self, node, text):
        """A command of nr-cli."""
        return Run([self.program("nr-cli"), node, "--exec", text])

    def command_gnb(self, text, number=1):
        """A command for a gNB."""
        name = f"UERANSIM-gnb-{int(testbed.MCC)}-{int(testbed.MNC)}-{number}"
        return self.command(name, text)

    def ng_setup(self):
        return self.gnb()

    def registration_5g_aka(self):
        return self.registered()

    def registration_eap_aka_prime(self):
        return self.registered(number=101)

    def algorithms_1(self):
        return self.with_session(nea=(1,), nia=(1,)) + [self.ping()]

    def algorithms_2(self):
        return self.with_session(nea=(2,), nia=(2,)) + [self.ping()]

    def algorithms_3(self):
        return self.with_session(nea=(3,), nia=(3,)) + [self.ping()]

    def suci(self, scheme, key):
        """A UE that conceals its identity. The core accepts no other."""
        return self.registered(
            suci=f"protectionScheme: {scheme}\nhomeNetworkPublicKey: '{key}'\n"
            f"homeNetworkPublicKeyId: {scheme}\n"
        )

    def suci_a(self):
        return self.suci(1, testbed.PROFILE_A[1])

    def suci_b(self):
        return self.suci(2, testbed.PROFILE_B[1])

    def session_ipv4(self):
        return self.with_session() + [self.ping()]

    def session_ipv6(self):
        if self.has("nr-ue", "PDU session type [%s] is not supported"):
            return NotSupported("this version has IPv4 alone")
        return [
            *self.registered(number=103, sessions=[("IPv6", 1, None)]),
            Expect("ue", SESSION),
            Expect(CORE, core_log.session(testbed.imsi(103))),
        ]

    def several_sessions(self):
        both = self.with_session(sessions=[("IPv4", 1, None)] * 2)
        return both + [self.ping(), self.ping("uesimtun1")]

    def idle_and_paging(self):
        return self.with_session() + [
            self.ping(),
            Capture("address", "ue", TUNNEL.format(0)),
            self.command_gnb("ue-release 1"),
            Expect("ue", r"UE switches to state \[CM-IDLE\]"),
            # Downlink data: the core pages, and the UE answers with a service request.
            OnCore(["ping", "-c", "5", "-W", "5", "{address}"]),
            Expect("ue", r"UE switches to state \[CM-CONNECTED\]"),
            self.ping(),
        ]

    def n2_handover(self):
        if not self.has("nr-gnb", "Sending Handover Notify"):
            return NotSupported("this version has no handover")
        return self.with_session() + [
            *self.gnb(2, "gnb-2"),
            self.command_gnb("handover 1 2"),
            Expect("gnb-2", "Sending Handover Notify"),
            Expect(CORE, core_log.handover(testbed.imsi(1))),
            self.ping(),
        ]

    def xn_handover(self):
        return NotSupported("UERANSIM has no Xn handover")

    def again(self):
        """GNB and UE start again, and the UE gets a session."""
        return [
            Stop("ue", kill=True),
            Stop("gnb", kill=True),
            *self.gnb(label="gnb-again"),
            *self.ues(label="ue-again"),
            Expect("ue-again", REGISTERED),
            Expect("ue-again", TUNNEL.format(0)),
            Expect(CORE, core_log.session(testbed.imsi(1))),
            self.ping(),
        ]

    def gnb_restart(self):
        return self.with_session() + self.again()

    def core_restart(self):
        # The gNB runs on. The core that starts aborts the association that the killed one had, so
        # that the gNB does not wait for its own timers, about a minute. It does not connect again.
        lost = Expect("gnb", r"Association terminated for AMF\[\d+\]", 20)
        return self.with_session() + [RestartCore(), lost] + self.again()

    def deregistration(self):
        return self.with_session() + [
            self.command(f"imsi-{testbed.imsi(1)}", "deregister normal"),
            Expect("ue", "De-registration is successful"),
            Expect(CORE, core_log.deregistered(testbed.imsi(1))),
        ]

    def fifty_ues(self):
        return [
            *self.gnb(),
            *self.ues(count=50),
            Expect("ue", REGISTERED, 60, count=50),
            Expect("ue", SESSION, 60, count=50),
            Expect(CORE, core_log.registered(r"\d+"), count=50),
        ]

    def slices(self):
        both = [(1, None), (2, 2)]
        sessions = [("IPv4", 1, None), ("IPv4", 2, 2)]
        return self.with_session(number=102, slices=both, sessions=sessions) + [
            self.ping(),
            self.ping("uesimtun1"),
        ]

    def wrong_key(self):
        return [
            *self.gnb(),
            *self.ues(key=testbed.WRONG_K),
            # The UE rejects the network's challenge, and the network the UE.
            Expect("ue", r"AUTN validation MAC mismatch|Authentication Failure .*\[MAC_FAILURE\]"),
            Expect(CORE, core_log.NOT_AUTHENTIC),
            Never("ue", REGISTERED, 5),
        ]
