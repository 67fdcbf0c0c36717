"""free-ran-ue: a gNB and a UE."""
import testbed
from plan import Cause, Expect, Never, NotSupported, Start, Vendor, Write

GNB = f"""\
gnb:
  amfN2Ip: "{testbed.CORE}"
  gnbN2Ip: "{testbed.GNBS[0]}"
  ranIp: "{testbed.GNBS[0]}"
  amfN2Port: 38412
  gnbN2Port: 38413
  ranPort: 31413
  ngapPpid: 0x3c000000
  gnbId: "000314"
  gnbName: "gNB"
  plmnId: {{ mcc: "{testbed.MCC}", mnc: "{testbed.MNC}" }}
  tai:
    tac: "000001"
    broadcastPlmnId: {{ mcc: "{testbed.MCC}", mnc: "{testbed.MNC}" }}
  snssai: {{ sst: "2", sd: "000002" }}
logger: {{ level: "debug" }}
"""


def ue(number=102, key=testbed.K, nia=2, nea=0):
    """The configuration of the UE."""
    integrity = "".join(f"    nia{n}: {str(n == nia).lower()}\n" for n in range(4))
    ciphering = "".join(f"    nea{n}: {str(n == nea).lower()}\n" for n in range(4))
    return f"""\
ue:
  ranIp: "{testbed.GNBS[0]}"
  ranPort: 31413
  plmnId: {{ mcc: "{testbed.MCC}", mnc: "{testbed.MNC}" }}
  msin: "{testbed.imsi(number)[5:]}"
  authenticationSubscription:
    encPermanentKey: "{key}"
    encOpcKey: "{testbed.OPC}"
    authenticationManagementField: "8000"
    sequenceNumber: "000000000023"
  integrityAlgorithm:
{integrity}  cipheringAlgorithm:
{ciphering}  accessType: "3GPP_ACCESS"
logger: {{ level: "debug" }}
"""


class FreeRanUe(Vendor):
    """`free-ran-ue gnb` and `free-ran-ue ue`."""

    name = "free-ran-ue"
    programs = {"free-ran-ue": "free-ran-ue"}
    known = {
        "session-ipv4": Cause(
            "UE",
            "TS 24.501, 7.3.1: PDU SESSION ESTABLISHMENT REQUEST with PTI 0",
            "PDU SESSION ESTABLISHMENT REJECT #81",
        ),
    }

    def gnb(self):
        """Starts the gNB."""
        command = [self.program("free-ran-ue"), "gnb", "-c", "gnb.yaml"]
        return [
            Write("gnb.yaml", GNB),
            Start("gnb", command),
            Expect("gnb", "(?i)ng ?setup.*(success|complet|response)"),
        ]

    def registered(self, **values):
        """A UE until it is registered."""
        command = [self.program("free-ran-ue"), "ue", "-c", "ue.yaml"]
        registered = Expect("ue", "(?i)registration.*(success|complet|accept)")
        return self.gnb() + [Write("ue.yaml", ue(**values)), Start("ue", command), registered]

    def ng_setup(self):
        return self.gnb()

    def registration_5g_aka(self):
        return self.registered()

    def registration_eap_aka_prime(self):
        return NotSupported("free-ran-ue has 5G-AKA alone")

    def algorithms_1(self):
        return self.registered(nea=1, nia=1)

    def algorithms_2(self):
        return self.registered(nea=2, nia=2)

    def algorithms_3(self):
        return self.registered(nea=3, nia=3)

    def session_ipv4(self):
        established = Expect("ue", "(?i)pdu session.*(success|complet|establish|accept)")
        return self.registered() + [established]

    def wrong_key(self):
        command = [self.program("free-ran-ue"), "ue", "-c", "ue.yaml"]
        wrong = [Write("ue.yaml", ue(key="0" * 31 + "1")), Start("ue", command)]
        return self.gnb() + wrong + [Never("ue", "(?i)registration.*(success|complet|accept)", 8)]
