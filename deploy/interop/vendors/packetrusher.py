"""PacketRusher: one program with gNBs and UEs."""
import subprocess
import tempfile
from pathlib import Path

import core_log
import testbed
from plan import CORE, Capture, Expect, Never, NotSupported, OnCore, RestartCore, Run, Start, Stop
from plan import Vendor, Write

LABEL = "packetrusher"
NG_SETUP = r"\[GNB\]\[AMF\] State of AMF: Active"
# From v2.0.0 on, with another decoder: "Receive RegAccept", and the address of the session.
REGISTERED = r"\[UE\]\[NAS\] Receive (Registration |Reg)Accept"
# Not the error about a session that the UE does not know.
SESSION = (
    r"\[UE\]\[NAS\] (Receiving PDU Session Establishment Accept(?! about)|"
    r"PDU session \d+ (IPv6 link-local )?address: )"
)
# From v2.0.0 on, it prints nothing at a wrong MAC, but at the reject.
NOT_AUTHENTIC = (
    r"Authenticity of the authentication request message: FAILED|"
    r"\[UE\]\[NAS\] Receive AuthRej"
)
TUNNEL = r"\[UE\]\[GTP\] Interface \S+ has successfully been configured for UE ([0-9.]+)"
IMSI = testbed.imsi(1)


def config(number=1, key=testbed.K, nea=2, nia=2, scheme=0, kind="", is_list=True):
    """The configuration of gNB and UE. Its decoder refuses unknown keys."""
    integrity = "".join(f"    nia{n}: {str(n == nia).lower()}\n" for n in range(4))
    ciphering = "".join(f"    nea{n}: {str(n == nea).lower()}\n" for n in range(4))
    optional = ""
    if scheme:
        public = {1: testbed.PROFILE_A, 2: testbed.PROFILE_B}[scheme][1]
        if scheme == 2:
            # It reads uncompressed points of P-256 alone.
            public = testbed.PROFILE_B_UNCOMPRESSED
        optional = (
            f"  protectionScheme: {scheme}\n  homeNetworkPublicKey: \"{public}\"\n"
            f"  homeNetworkPublicKeyID: {scheme}\n"
        )
    if kind:
        optional += f"  pdusessiontype: {kind}\n"
    amf = f'{{ ip: "{testbed.CORE}", port: 38412 }}'
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
{optional}  hplmn: {{ mcc: "{testbed.MCC}", mnc: "{testbed.MNC}" }}
  snssai: {{ sst: 1 }}
  integrity:
{integrity}  ciphering:
{ciphering}amfif: {f"[{amf}]" if is_list else amf}
logs: {{ level: 4 }}
"""


class PacketRusher(Vendor):
    """`packetrusher multi-ue` with timers."""

    name = "PacketRusher"
    programs = {LABEL: "packetrusher"}
    version_pattern = r"PacketRusher version ([^\s\"]+)"

    def __init__(self, its_testbed, found):
        super().__init__(its_testbed, found)
        self.is_list = None

    def version(self):
        return self.found.get("version", "unknown")

    def takes_list(self):
        """Whether `amfif` is a list of AMFs, as from 2024 on. Without -n, it reads the file, shows
        its usage and ends."""
        if self.is_list is None:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "config.yml"
                file.write_text(config())
                command = [self.program(LABEL), "--config", str(file), "multi-ue"]
                try:
                    done = subprocess.run(command, check=False, capture_output=True, timeout=10)
                    output = (done.stdout + done.stderr).decode(errors="replace")
                except (OSError, subprocess.TimeoutExpired):
                    output = ""
            self.is_list = "Could not unmarshal" not in output
        return self.is_list

    def start(self, *arguments, label=LABEL, options=(), **values):
        """Starts the program."""
        command = [self.program(LABEL), "--config", "config.yml", *options, *arguments]
        written = config(is_list=self.takes_list(), **values)
        return [Write("config.yml", written), Start(label, command)]

    def one(self, *arguments, label=LABEL, number=1, **values):
        """One UE until it is registered and has a session, for the UE and for the core."""
        imsi = testbed.imsi(number)
        return [
            *self.start("multi-ue", "-n", 1, *arguments, label=label, number=number, **values),
            Expect(label, REGISTERED),
            Expect(label, SESSION),
            Expect(CORE, core_log.registered(imsi)),
            Expect(CORE, core_log.session(imsi)),
        ]

    def ng_setup(self):
        return self.start("gnb") + [Expect(LABEL, NG_SETUP)]

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

    def suci(self, scheme):
        """A UE that conceals its identity. The core accepts no other."""
        if not self.has(LABEL, "homeNetworkPublicKey"):
            return NotSupported("this version has the null scheme alone")
        return self.one(scheme=scheme)

    def suci_a(self):
        return self.suci(1)

    def suci_b(self):
        return self.suci(2)

    def tunnel(self):
        """The options for a tunnel in user space, or why there is none."""
        if self.has(LABEL, "tunnel-backend"):
            return ["--tunnel-backend", "userspace"]
        if Path("/sys/module/gtp5g").exists():
            return []
        return None

    def session_ipv4(self):
        tunnel = self.tunnel()
        if tunnel is None:
            return NotSupported("this version needs the kernel module gtp5g for data")
        # A gNB for each UE: an interface for each, also in older versions.
        arguments, source = ["--tunnel", "--dedicatedGnb"], f"vrf{IMSI[5:]}"
        if self.has(LABEL, "tunnel-vrf"):
            # Without a VRF, the UE's address selects the interface.
            arguments, source = [*arguments, "--tunnel-vrf=false"], "{address}"
        return self.one(*arguments, options=tunnel) + [
            Capture("address", LABEL, TUNNEL),
            Run(["ping", "-I", source, "-c", "3", "-W", "5", testbed.GATEWAY]),
        ]

    def several_sessions(self):
        return self.one("--numPduSessions", 2) + [
            Expect(LABEL, SESSION, count=2),
            Expect(CORE, core_log.session(IMSI, 1)),
            Expect(CORE, core_log.session(IMSI, 2)),
        ]

    def idle_and_paging(self):
        # The UE does not reconnect by itself within the case.
        timers = ["--timeBeforeIdle", 3000, "--timeBeforeReconnecting", 600_000]
        # Before v2.0.0 it ciphers SERVICE REQUEST under a header that says that it does not.
        return self.one(*timers, nea=0) + [
            Capture("address", CORE, core_log.session(IMSI)),
            Expect(LABEL, r"\[UE\] Switching to 5GMM-IDLE"),
            Expect(LABEL, r"\[GNB\] Initiating UE Context Complete"),
            # Without a tunnel nothing answers: downlink data is sent for the paging alone.
            OnCore(["sh", "-c", "ping -c 2 -W 1 {address} || true"]),
            Expect(LABEL, r"\[GNB\]\[AMF\] Paging UE"),
            Expect(LABEL, r"\[UE\] Initiating Service Request"),
            Expect(LABEL, r"\[GNB\] Initiating Initial Context Setup Response"),
        ]

    def n2_handover(self):
        return self.one("--timeBeforeNgapHandover", 3000) + [
            Expect(LABEL, r"\[GNB\] Initiating NGAP UE Handover"),
            Expect(LABEL, r"\[GNB\] Initiating Handover Notify"),
            Expect(CORE, core_log.handover(IMSI)),
        ]

    def xn_handover(self):
        return self.one("--timeBeforeXnHandover", 3000) + [
            Expect(LABEL, r"\[GNB\] Initiating Xn UE Handover"),
            Expect(LABEL, r"\[GNB\] Handover completed successfully for UE"),
            Expect(CORE, core_log.path_switch(IMSI)),
        ]

    def gnb_restart(self):
        return self.one() + [Stop(LABEL, kill=True)] + self.one(label="again")

    def core_restart(self):
        steps = self.one() + [RestartCore()]
        if self.has(LABEL, "re-establishing"):
            # The gNB runs on: the core that starts aborts the association that the killed one
            # had, and the gNB connects again.
            steps += [
                Expect(LABEL, r"\[GNB\]\[SCTP\] Association with AMF .* lost"),
                Expect(LABEL, NG_SETUP, 30),
            ]
        return steps + [Stop(LABEL, kill=True)] + self.one(label="again")

    def deregistration(self):
        # It deregisters by switching off, to which there is no answer.
        return self.one("--timeBeforeDeregistration", 3000) + [
            Expect(LABEL, r"\[UE\] Terminating UE as requested"),
            Expect(CORE, core_log.deregistered(IMSI)),
        ]

    def fifty_ues(self):
        return [
            *self.start("multi-ue", "-n", 50, "--timeBetweenRegistration", 0),
            Expect(LABEL, REGISTERED, 60, count=50),
            Expect(LABEL, SESSION, 60, count=50),
            Expect(CORE, core_log.registered(r"\d+"), count=50),
        ]

    def slices(self):
        return NotSupported("PacketRusher's UE has one slice")

    def session_ipv6(self):
        if not self.has(LABEL, "pdusessiontype"):
            return NotSupported("this version has IPv4 alone")
        return self.one(number=103, kind="IPv6")

    def wrong_key(self):
        return [
            *self.start("multi-ue", "-n", 1, key=testbed.WRONG_K),
            # The UE rejects the network's challenge, and the network the UE.
            Expect(LABEL, NOT_AUTHENTIC),
            Expect(CORE, core_log.NOT_AUTHENTIC),
            Never(LABEL, REGISTERED, 5),
        ]
