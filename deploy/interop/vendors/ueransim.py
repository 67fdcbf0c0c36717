"""UERANSIM: nr-gnb, nr-ue and nr-cli."""
import subprocess

import testbed
from plan import Cause, Expect, Never, NotSupported, OnCore, RestartCore, Run, Start, Stop, Vendor
from plan import Wait, Write

GNB = f"""\
mcc: '{testbed.MCC}'
mnc: '{testbed.MNC}'
nci: '0x000000010'
idLength: 32
tac: 1
linkIp: {testbed.GNBS[0]}
ngapIp: {testbed.GNBS[0]}
gtpIp: {testbed.GNBS[0]}
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
        "registration-eap-aka-prime": Cause(
            "UE",
            "RFC 9048, 3.2: AT_KDF has one word; from 3.2.7 on the UE rejects shorter than two",
            "no form of AT_KDF exists that it accepts: use 5G-AKA",
        ),
    }

    def version(self):
        done = subprocess.run(
            [self.program("nr-gnb"), "--version"], check=False, capture_output=True, text=True
        )
        words = done.stdout.split()
        return words[-1] if words else "unknown"

    def gnb(self):
        """Starts the gNB."""
        return [
            Write("gnb.yaml", GNB),
            Start("gnb", [self.program("nr-gnb"), "-c", "gnb.yaml"]),
            Expect("gnb", "NG Setup procedure is successful"),
        ]

    def ues(self, count=1, **config):
        """Starts UEs, which register and establish their sessions."""
        command = [self.program("nr-ue"), "-c", "ue.yaml", "-n", count]
        return [Write("ue.yaml", ue(**config)), Start("ue", command)]

    def registered(self, **config):
        """The steps until a UE is registered."""
        registered = Expect("ue", "Initial Registration is successful")
        return self.gnb() + self.ues(**config) + [registered]

    def with_session(self, **config):
        """The steps until a UE has its session."""
        established = Expect("ue", r"TUN interface\[uesimtun0, [0-9.]+\] is up")
        return self.registered(**config) + [established]

    def ping(self):
        """A ping through the session."""
        return Run(["ping", "-I", "uesimtun0", "-c", "3", "-W", "5", testbed.GATEWAY])

    def command(self, node, text):
        """A command of nr-cli."""
        return Run([self.program("nr-cli"), node, "--exec", text])

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

    def suci_a(self):
        key = testbed.PROFILE_A[1]
        suci = f"protectionScheme: 1\nhomeNetworkPublicKey: '{key}'\nhomeNetworkPublicKeyId: 1\n"
        return self.registered(suci=suci)

    def suci_b(self):
        return NotSupported("UERANSIM has profile A alone")

    def session_ipv4(self):
        return self.with_session() + [self.ping()]

    def session_ipv6(self):
        return NotSupported("UERANSIM has IPv4 alone")

    def several_sessions(self):
        second = Expect("ue", r"TUN interface\[uesimtun1, [0-9.]+\] is up")
        return self.with_session(sessions=[("IPv4", 1, None)] * 2) + [second, self.ping()]

    def idle_and_paging(self):
        return self.with_session() + [
            self.ping(),
            self.command(f"UERANSIM-gnb-{int(testbed.MCC)}-{int(testbed.MNC)}-1", "ue-release 1"),
            Expect("ue", "CM-IDLE"),
            # The address that the session got is in the UE's output.
            OnCore(
                ["sh", "-c", "ping -c 5 -W 5 $(sed -n 's/.*uesimtun0, \\([0-9.]*\\)\\].*/\\1/p' "
                 "ue.log | tail -n 1)"]
            ),
        ]

    def n2_handover(self):
        return NotSupported("UERANSIM has no handover")

    def xn_handover(self):
        return NotSupported("UERANSIM has no handover")

    def gnb_restart(self):
        return self.registered() + [
            Stop("ue", kill=True),
            Stop("gnb", kill=True),
            Start("gnb-2", [self.program("nr-gnb"), "-c", "gnb.yaml"]),
            Expect("gnb-2", "NG Setup procedure is successful"),
            Start("ue-2", [self.program("nr-ue"), "-c", "ue.yaml"]),
            Expect("ue-2", "PDU Session establishment is successful"),
        ]

    def core_restart(self):
        return self.registered() + [
            RestartCore(),
            Stop("ue", kill=True),
            Stop("gnb", kill=True),
            Start("gnb-2", [self.program("nr-gnb"), "-c", "gnb.yaml"]),
            Expect("gnb-2", "NG Setup procedure is successful"),
            Start("ue-2", [self.program("nr-ue"), "-c", "ue.yaml"]),
            Expect("ue-2", "PDU Session establishment is successful"),
        ]

    def deregistration(self):
        return self.with_session() + [
            self.command(f"imsi-{testbed.imsi(1)}", "deregister normal"),
            Expect("ue", "De-registration (procedure )?is? ?successful|MM-DEREGISTERED"),
        ]

    def fifty_ues(self):
        fifty = r"(?s)(Initial Registration is successful.*){50}"
        return self.gnb() + self.ues(count=50) + [Expect("ue", fifty, 60), Wait(1)]

    def slices(self):
        both = [(1, None), (2, 2)]
        sessions = [("IPv4", 1, None), ("IPv4", 2, 2)]
        second = Expect("ue", r"TUN interface\[uesimtun1, [0-9.]+\] is up")
        return self.with_session(number=102, slices=both, sessions=sessions) + [second]

    def wrong_key(self):
        wrong = self.gnb() + self.ues(key="0" * 31 + "1")
        return wrong + [Never("ue", "Initial Registration is successful", 8)]
