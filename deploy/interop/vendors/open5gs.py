"""Open5GS's functions, one at a time in place of Martlet's, with `martlet ran` as gNB and UE.

Martlet has no SCP and no BSF of its own, so that Open5GS's have none to replace.
"""
import subprocess

import testbed
from plan import CORE, Cause, Expect, Insert, OnCore, Registered, StartOnCore, Write
from vendors.in_place import InPlace, cases_of

NRF = "http://127.0.0.10:7777"
ADDRESS = "127.0.0.30"
PLMN = f"{{ mcc: {testbed.MCC}, mnc: {testbed.MNC} }}"
DATABASE = "open5gs"
METRICS = f"  metrics: {{ server: [{{ address: {ADDRESS}, port: 9090 }}] }}\n"


def config(name, more="", address=ADDRESS, database=""):
    """The configuration of a function: its service and the NRF, and more lines of its section."""
    head = f"db_uri: {database}/{DATABASE}\n" if database else ""
    client = "" if name == "nrf" else f"    client: {{ nrf: [{{ uri: {NRF} }}] }}\n"
    if name == "nssf":
        client = f"""\
    client:
      nrf: [{{ uri: {NRF} }}]
      nsi: [{{ uri: {NRF}, s_nssai: {{ sst: 1 }} }}]
"""
    return f"""\
{head}logger: {{ level: info }}
global: {{ max: {{ ue: 128 }} }}
{name}:
  sbi:
    server: [{{ address: {address}, port: 7777 }}]
{client}{more}"""


AMF = f"""\
  ngap: {{ server: [{{ address: {testbed.CORE} }}] }}
{METRICS}  guami: [{{ plmn_id: {PLMN}, amf_id: {{ region: 1, set: 1 }} }}]
  tai: [{{ plmn_id: {PLMN}, tac: 1 }}]
  plmn_support: [{{ plmn_id: {PLMN}, s_nssai: [{{ sst: 1 }}] }}]
  security: {{ integrity_order: [NIA2, NIA1], ciphering_order: [NEA2, NEA1, NEA0] }}
  network_name: {{ full: Open5GS }}
  amf_name: open5gs-amf
"""

SMF = f"""\
  pfcp:
    server: [{{ address: 127.0.0.7 }}]
    client: {{ upf: [{{ address: 127.0.0.8 }}] }}
  gtpc: {{ server: [{{ address: {ADDRESS} }}] }}
  gtpu: {{ server: [{{ address: {ADDRESS} }}] }}
{METRICS}  session: [{{ subnet: 10.45.0.0/16, gateway: 10.45.0.1 }}]
  dns: [9.9.9.9]
  mtu: 1400
"""

UPF = f"""\
logger: {{ level: info }}
global: {{ max: {{ ue: 128 }} }}
upf:
  pfcp: {{ server: [{{ address: 127.0.0.8 }}], client: {{ smf: [{{ address: 127.0.0.7 }}] }} }}
  gtpu: {{ server: [{{ address: {testbed.CORE} }}] }}
{METRICS}  session: [{{ subnet: 10.45.0.0/16, gateway: {testbed.GATEWAY}, dev: ogstun }}]
"""

NRF_SECTION = f"  serving: [{{ plmn_id: {PLMN} }}]\n"


def subscriber(number):
    """A subscriber by Open5GS's schema: the unit 3 of a bit rate is Gbit/s, the type 1 IPv4."""
    rate = {way: {"value": 1, "unit": 3} for way in ("downlink", "uplink")}
    arp = {"priority_level": 8, "pre_emption_capability": 1, "pre_emption_vulnerability": 1}
    session = {"name": "internet", "type": 1, "ambr": rate, "pcc_rule": []}
    session["qos"] = {"index": 9, "arp": arp}
    return {
        "schema_version": 1,
        "imsi": testbed.imsi(number),
        "msisdn": [],
        "security": {"k": testbed.K, "opc": testbed.OPC, "op": None, "amf": "8000"},
        "ambr": rate,
        "subscribed_rau_tau_timer": 12,
        "network_access_mode": 0,
        "access_restriction_data": 32,
        "subscriber_status": 0,
        "slice": [{"sst": 1, "default_indicator": True, "session": [session]}],
    }


class Function(InPlace):
    """A function of Open5GS."""

    section = ""
    mongodb = False

    def __init__(self, its_testbed, found):
        super().__init__(its_testbed, found)
        self.core = f"sbi: {{ external: [{self.function}] }}\n"
        if self.function == "upf":
            self.core += "smf: { upfs: [{ n4: 127.0.0.8:8805, network_instances: labels }] }\n"

    def version(self):
        done = subprocess.run(
            [self.program(f"open5gs-{self.function}d"), "-v"],
            check=False,
            capture_output=True,
            text=True,
        )
        return (done.stdout + done.stderr).strip().split(" ")[-1] or "unknown"

    def start(self):
        """Starts the function."""
        address = "127.0.0.10" if self.function == "nrf" else ADDRESS
        database = self.testbed.mongodb_uri if self.mongodb else ""
        text = config(self.function, self.section, address, database)
        text = UPF if self.function == "upf" else text
        # The NRF and the UPF do not register.
        is_registered = self.function not in ("nrf", "upf")
        ready = r"\[app\] INFO: \w+ initialize\.\.\.done"
        ready = Registered(self.function.upper()) if is_registered else Expect("function", ready)
        steps = []
        if self.mongodb:
            steps.append(Insert(DATABASE, "subscribers", subscriber(1)))
        if self.function == "upf":
            link = f"""\
ip tuntap add name ogstun mode tun && ip addr add {testbed.GATEWAY}/16 dev ogstun &&
ip link set ogstun up"""
            steps.append(OnCore(["sh", "-c", link]))
        program = self.program(f"open5gs-{self.function}d")
        return steps + [
            Write("function.yaml", text),
            StartOnCore("function", [program, "-c", "function.yaml"]),
            ready,
        ]


NO_SELECTION = Cause(
    "NSSF",
    "TS 29.531, 5.2.2.2.2: it answers 400 to the request for a registration",
    "its AMF selects the slices by the subscription",
    (
        ("function", "Not implemented except PDU session"),
        (CORE, "NSSF request failed; slices selected by the subscription"),
    ),
)


def of(function, section="", kernel_sctp=False, mongodb=False):
    """The class of one function."""
    cases = cases_of(function)
    known = {case: (NO_SELECTION,) for case in cases} if function == "nssf" else {}
    members = {
        "name": f"Open5GS {function.upper()}",
        "function": function,
        "section": section,
        "programs": {f"open5gs-{function}d": f"open5gs-{function}d"},
        "kernel_sctp": kernel_sctp,
        "mongodb": mongodb,
        "cases": cases,
        "known": known,
        "cleanup": [["ip", "link", "del", "ogstun"]] if function == "upf" else [],
    }
    return type(f"Open5gs{function.capitalize()}", (Function,), members)


FUNCTIONS = [
    of("nrf", NRF_SECTION),
    of("amf", AMF, kernel_sctp=True),
    of("smf", SMF),
    of("ausf"),
    of("udm"),
    of("nssf"),
    of("upf"),
    of("pcf", METRICS, mongodb=True),
    of("udr", mongodb=True),
]
