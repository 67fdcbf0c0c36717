"""free-ran-ue: a gNB and a UE."""
import core_log
import testbed
from plan import CORE, Capture, Expect, Never, NotSupported, RestartCore, Run, Start, Stop, Vendor
from plan import Write

# Versions up to 2025 have this network's name in their authentication, whatever is configured.
PLMN = ("208", "93")
IMSI = testbed.imsi(1, PLMN)
NG_SETUP = "N2 setup complete"
REGISTERED = "UE Registration finished"
SESSION = r"PDU session establishment complete"
ADDRESS = testbed.GNBS[0]

# Keys of versions 1 and 2: its decoder ignores those that it does not know, and 2 validates all.
GNB = f"""\
gnb:
  amfN2Ip: "{testbed.CORE}"
  amfN2Port: 38412
  ranN2Ip: "{ADDRESS}"
  ranN2Port: 38413
  upfN3Ip: "{testbed.CORE}"
  upfN3Port: 2152
  ranN3Ip: "{ADDRESS}"
  ranN3Port: 2152
  ranControlPlaneIp: "{ADDRESS}"
  ranControlPlanePort: 31413
  ranDataPlaneIp: "{ADDRESS}"
  ranDataPlanePort: 31414
  gnbId: "000314"
  gnbName: "gNB"
  plmnId: {{ mcc: "{PLMN[0]}", mnc: "{PLMN[1]}" }}
  tai:
    tac: "000001"
    broadcastPlmnId: {{ mcc: "{PLMN[0]}", mnc: "{PLMN[1]}" }}
  snssai: {{ sst: "2", sd: "000002" }}
  staticNrdc: false
  xnInterface: {{ enable: false }}
  api: {{ ip: "{ADDRESS}", port: 40104 }}
  gnbN2Ip: "{ADDRESS}"
  gnbN2Port: 38413
  ranIp: "{ADDRESS}"
  ranPort: 31413
  ngapPpid: 0x3c000000
logger: {{ level: "debug" }}
"""


def ue(key=testbed.K, nia=2, nea=0):
    """The configuration of the UE."""
    integrity = "".join(f"    nia{n}: {str(n == nia).lower()}\n" for n in range(4))
    ciphering = "".join(f"    nea{n}: {str(n == nea).lower()}\n" for n in range(4))
    session = '{ dnn: "internet", snssai: { sst: "2", sd: "000002" } }'
    return f"""\
ue:
  ranControlPlaneIp: "{ADDRESS}"
  ranControlPlanePort: 31413
  ranDataPlaneIp: "{ADDRESS}"
  ranDataPlanePort: 31414
  ranIp: "{ADDRESS}"
  ranPort: 31413
  plmnId: {{ mcc: "{PLMN[0]}", mnc: "{PLMN[1]}" }}
  msin: "{IMSI[5:]}"
  authenticationSubscription:
    encPermanentKey: "{key}"
    encOpcKey: "{testbed.OPC}"
    authenticationManagementField: "8000"
    sequenceNumber: "000000000023"
  integrityAlgorithm:
{integrity}  cipheringAlgorithm:
{ciphering}  pduSession: {session}
  pduSessions: [{session}]
  accessType: "3GPP_ACCESS"
  nrdc: {{ enable: false }}
  ueTunnelDevice: "ueTun"
  ignoreSetupTunnel: false
logger: {{ level: "debug" }}
"""


class FreeRanUe(Vendor):
    """`free-ran-ue gnb` and `free-ran-ue ue`."""

    name = "free-ran-ue"
    programs = {"free-ran-ue": "free-ran-ue"}
    unsupported = "it has no command for it"
    core_plmn = PLMN

    def start(self, label, what, *options):
        """Starts a gNB or UEs."""
        command = [self.program("free-ran-ue"), what, "-c", f"{what}.yaml", *options]
        return Start(label, command)

    def gnb(self, label="gnb"):
        """Starts the gNB."""
        return [Write("gnb.yaml", GNB), self.start(label, "gnb"), Expect(label, NG_SETUP)]

    def ues(self, label="ue", options=(), **values):
        """Starts UEs, which register and establish a session."""
        return [Write("ue.yaml", ue(**values)), self.start(label, "ue", *options)]

    def registered(self, label="ue", gnb="gnb", **values):
        """A UE until it is registered, for the UE and for the core."""
        return [
            *self.gnb(gnb),
            *self.ues(label, **values),
            Expect(label, REGISTERED),
            Expect(CORE, core_log.registered(IMSI)),
        ]

    def with_session(self):
        """A UE until it has its session."""
        return self.registered() + [
            Expect("ue", SESSION),
            Expect(CORE, core_log.session(IMSI)),
        ]

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
        return self.with_session() + [
            Capture("tunnel", "ue", r"UE tunnel device setup as (\S+)"),
            Run(["ping", "-I", "{tunnel}", "-c", "3", "-W", "5", testbed.GATEWAY]),
        ]

    def again(self):
        """GNB and UE start again, and the UE registers."""
        stop = [Stop("ue", kill=True), Stop("gnb", kill=True)]
        return stop + self.registered("ue-again", "gnb-again")

    def gnb_restart(self):
        return self.registered() + self.again()

    def core_restart(self):
        return self.registered() + [RestartCore()] + self.again()

    def deregistration(self):
        # SIGTERM ends the UE, which deregisters before.
        return self.with_session() + [
            Stop("ue"),
            Expect("ue", "UE deregistration complete"),
            Expect(CORE, core_log.deregistered(IMSI)),
        ]

    def fifty_ues(self):
        if not self.has("free-ran-ue", "number of UEs"):
            return NotSupported("this version has one UE")
        return [
            *self.gnb(),
            *self.ues(options=["-n", 50, "-p", 50]),
            Expect("ue", REGISTERED, 60, count=50),
            Expect(CORE, core_log.registered(r"\d+"), count=50),
        ]

    def wrong_key(self):
        return [
            *self.gnb(),
            *self.ues(key=testbed.WRONG_K),
            Expect("ue", "Error processing UE registration"),
            Expect(CORE, core_log.NOT_AUTHENTIC),
            Never("ue", REGISTERED, 5),
        ]
