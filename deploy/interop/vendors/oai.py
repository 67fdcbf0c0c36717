"""OpenAirInterface: nr-softmodem and nr-uesoftmodem over its simulator of radio (rfsim)."""
import core_log
import testbed
from plan import CORE, Expect, Never, NotSupported, RestartCore, Run, Start, Stop, Vendor, Write

# The cell of its file of 106 resource blocks in band 78, and where its UE looks for it.
CELL = "gnb.sa.band78.fr1.106PRB.usrpb210.conf"
RADIO = ["-r", "106", "--numerology", "1", "--band", "78", "-C", "3619200000", "--ssb", "516"]
NG_SETUP = "associated AMF [1-9]|[Rr]eceived NGSetupResponse"
REGISTERED = "(?i)received registration accept"
SESSION = "Interface oaitun_ue1 successfully configured"


def ue(number=1, key=testbed.K):
    """The configuration of a UE: its USIM."""
    return f"""\
uicc0 = {{
  imsi = "{testbed.imsi(number)}";
  key = "{key}";
  opc = "{testbed.OPC}";
  dnn = "internet";
  nssai_sst = 1;
  pdu_sessions = ({{ id = 1; dnn = "internet"; nssai_sst = 1; }});
}};
"""


class Oai(Vendor):
    """The file of the cell is theirs; its addresses, PLMN and slice are set on the command line."""

    name = "OAI"
    programs = {"nr-softmodem": "nr-softmodem", "nr-uesoftmodem": "nr-uesoftmodem"}
    unsupported = "its UE has no command for it"
    files = {"cell": CELL}

    def start_gnb(self, label):
        """Starts the gNB and waits for its NG setup."""
        gnb = "--gNBs.[0]"
        own = f"{gnb}.NETWORK_INTERFACES.GNB_IPV4_ADDRESS_FOR"
        values = {
            f"{gnb}.tracking_area_code": 1,
            f"{gnb}.plmn_list.[0].mcc": testbed.MCC,
            f"{gnb}.plmn_list.[0].mnc": testbed.MNC,
            f"{gnb}.plmn_list.[0].mnc_length": len(testbed.MNC),
            f"{gnb}.plmn_list.[0].snssaiList.[0].sst": 1,
            # No slice differentiator.
            f"{gnb}.plmn_list.[0].snssaiList.[0].sd": "0xffffff",
            f"{gnb}.amf_ip_address.[0].ipv4": testbed.CORE,
            f"{own}_NG_AMF": testbed.GNBS[0],
            f"{own}_NGU": testbed.GNBS[0],
            f"{gnb}.min_rxtxtime": 6,
        }
        command = [self.program("nr-softmodem"), "-O", self.program("cell"), "--rfsim"]
        command += [str(word) for pair in values.items() for word in pair]
        return [Start(label, command), Expect(label, NG_SETUP, 60)]

    def start_ue(self, label, **values):
        """Starts a UE, which registers and establishes its session."""
        command = [self.program("nr-uesoftmodem"), "-O", "ue.conf", "--rfsim", *RADIO]
        command += ["--rfsimulator.serveraddr", "127.0.0.1"]
        return [Write("ue.conf", ue(**values)), Start(label, command)]

    def registered(self):
        """The steps until a UE is registered."""
        return [
            *self.start_gnb("gnb"),
            *self.start_ue("ue"),
            Expect("ue", REGISTERED, 60),
            Expect(CORE, core_log.registered(testbed.imsi(1))),
        ]

    def ng_setup(self):
        return self.start_gnb("gnb")

    def registration_5g_aka(self):
        return self.registered()

    def registration_eap_aka_prime(self):
        return NotSupported("OAI's UE has 5G-AKA alone")

    def session_ipv4(self):
        ping = Run(["ping", "-I", "oaitun_ue1", "-c", "3", "-W", "5", testbed.GATEWAY])
        return self.registered() + [Expect("ue", SESSION, 60), ping]

    def again(self):
        """GNB and UE start again."""
        stop = [Stop("ue", kill=True), Stop("gnb", kill=True)]
        return [
            *stop,
            *self.start_gnb("gnb-2"),
            *self.start_ue("ue-2"),
            Expect("ue-2", SESSION, 60),
            Expect(CORE, core_log.session(testbed.imsi(1))),
        ]

    def gnb_restart(self):
        return self.registered() + self.again()

    def core_restart(self):
        return self.registered() + [RestartCore()] + self.again()

    def wrong_key(self):
        return [
            *self.start_gnb("gnb"),
            *self.start_ue("ue", key=testbed.WRONG_K),
            Expect(CORE, core_log.NOT_AUTHENTIC, 60),
            Never("ue", REGISTERED, 5),
        ]
