"""PacketRusher: one program with gNBs and UEs."""
import testbed
from plan import Cause, Expect, Never, NotSupported, RestartCore, Start, Stop, Vendor, Write

ACCEPTED = "(?i)registration accept"
SESSION = "(?i)pdu session establishment accept|pdu address"
ORDER = Cause(
    "gNB",
    "TS 38.413, 10.3.6: information elements in another order than the tables",
    "decoded in any order, unless `amf.n2.strict`",
)


def config(number=1, key=testbed.K, nea=2, nia=2):
    """The configuration of gNB and UE."""
    integrity = "".join(f"    nia{n}: {str(n == nia).lower()}\n" for n in range(4))
    ciphering = "".join(f"    nea{n}: {str(n == nea).lower()}\n" for n in range(4))
    return f"""\
gnodeb:
  controlif: {{ ip: "{testbed.GNBS[0]}", port: 9487 }}
  dataif: {{ ip: "{testbed.GNBS[0]}", port: 2152 }}
  plmnlist: {{ mcc: "{testbed.MCC}", mnc: "{testbed.MNC}", tac: "000001", gnbid: "000008" }}
  slicesupportlist: {{ sst: "01" }}
ue:
  msin: "{testbed.imsi(number)[5:]}"
  key: "{key}"
  opc: "{testbed.OPC}"
  amf: "8000"
  sqn: "00000000"
  dnn: "internet"
  routingindicator: "0000"
  hplmn: {{ mcc: "{testbed.MCC}", mnc: "{testbed.MNC}" }}
  snssai: {{ sst: 01 }}
  integrity:
{integrity}  ciphering:
{ciphering}amfif: {{ ip: "{testbed.CORE}", port: 38412 }}
logs: {{ level: 5 }}
"""


class PacketRusher(Vendor):
    """`packetrusher multi-ue` with timers."""

    name = "PacketRusher"
    programs = {"packetrusher": "packetrusher"}
    known = {"n2-handover": ORDER, "xn-handover": ORDER}

    def start(self, *arguments, label="packetrusher", **values):
        """Starts the program."""
        command = [self.program("packetrusher"), "--config", "config.yml", *arguments]
        return [Write("config.yml", config(**values)), Start(label, command)]

    def one(self, *arguments, **values):
        """One UE until it is registered."""
        registered = Expect("packetrusher", ACCEPTED)
        return self.start("multi-ue", "-n", 1, *arguments, **values) + [registered]

    def ng_setup(self):
        return self.start("gnb") + [Expect("packetrusher", "(?i)ng ?setup response")]

    def registration_5g_aka(self):
        return self.one()

    def registration_eap_aka_prime(self):
        return NotSupported("PacketRusher has 5G-AKA alone")

    def algorithms_1(self):
        return self.one(nea=1, nia=1)

    def algorithms_2(self):
        return self.one(nea=2, nia=2)

    def algorithms_3(self):
        return self.one(nea=3, nia=3)

    def session_ipv4(self):
        return self.one() + [Expect("packetrusher", SESSION)]

    def several_sessions(self):
        twice = f"(?s)({SESSION}).*({SESSION})"
        return self.one("--numPduSessions", 2) + [Expect("packetrusher", twice)]

    def n2_handover(self):
        acknowledged = Expect("packetrusher", "(?i)handover command|handover.*success", 30)
        return self.one("--timeBeforeNgapHandover", 2000) + [acknowledged]

    def xn_handover(self):
        acknowledged = Expect("packetrusher", "(?i)path switch request ack", 30)
        return self.one("--timeBeforeXnHandover", 2000) + [acknowledged]

    def gnb_restart(self):
        again = self.start("multi-ue", "-n", 1, label="again") + [Expect("again", SESSION)]
        return self.one() + [Stop("packetrusher", kill=True)] + again

    def core_restart(self):
        again = self.start("multi-ue", "-n", 1, label="again") + [Expect("again", SESSION)]
        return self.one() + [RestartCore(), Stop("packetrusher", kill=True)] + again

    def deregistration(self):
        accepted = Expect("packetrusher", "(?i)deregistration accept|deregist", 30)
        return self.one("--timeBeforeDeregistration", 2000) + [accepted]

    def fifty_ues(self):
        fifty = f"(?s)({ACCEPTED}.*){{50}}"
        return self.start("multi-ue", "-n", 50) + [Expect("packetrusher", fifty, 60)]

    def wrong_key(self):
        wrong = self.start("multi-ue", "-n", 1, key="0" * 31 + "1")
        return wrong + [Never("packetrusher", ACCEPTED, 8)]
