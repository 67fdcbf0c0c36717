"""Open5GS's functions, one at a time in place of Martlet's, with `martlet ran` as gNB and UE."""
import subprocess

import testbed
from plan import Expect, NotSupported, StartOnCore, Wait, Write
from vendors.martlet import Martlet

NRF = "http://127.0.0.10:7777"
PLMN = f"{{ mcc: {testbed.MCC}, mnc: {testbed.MNC} }}"


def config(name, more=""):
    """The configuration of a function: its service and the NRF, and more lines of its section."""
    return f"""\
logger: {{ level: info }}
global: {{ max: {{ ue: 128 }} }}
{name}:
  sbi:
    server: [{{ address: 127.0.0.30, port: 7777 }}]
    client: {{ nrf: [{{ uri: {NRF} }}] }}
{more}"""


AMF = f"""\
  ngap: {{ server: [{{ address: {testbed.CORE} }}] }}
  metrics: {{ server: [{{ address: 127.0.0.30, port: 9090 }}] }}
  guami: [{{ plmn_id: {PLMN}, amf_id: {{ region: 1, set: 1 }} }}]
  tai: [{{ plmn_id: {PLMN}, tac: 1 }}]
  plmn_support: [{{ plmn_id: {PLMN}, s_nssai: [{{ sst: 1 }}] }}]
  security: {{ integrity_order: [NIA2, NIA1], ciphering_order: [NEA2, NEA1, NEA0] }}
  network_name: {{ full: Open5GS }}
  amf_name: open5gs-amf
"""

SMF = """\
  pfcp:
    server: [{ address: 127.0.0.7 }]
    client: { upf: [{ address: 127.0.0.8 }] }
  gtpc: { server: [{ address: 127.0.0.30 }] }
  gtpu: { server: [{ address: 127.0.0.30 }] }
  metrics: { server: [{ address: 127.0.0.30, port: 9090 }] }
  session: [{ subnet: 10.45.0.0/16, gateway: 10.45.0.1 }]
  dns: [9.9.9.9]
  mtu: 1400
"""


class Function(Martlet):
    """A function of Open5GS. Its cases are registration, a session and deregistration."""

    function = ""
    section = ""
    kernel_sctp = False
    cases = ("registration-5g-aka", "session-ipv4", "deregistration")

    def __init__(self, its_testbed, found):
        super().__init__(its_testbed, found)
        self.core = f"sbi: {{ external: [{self.function}] }}\n"

    def version(self):
        done = subprocess.run(
            [self.program(f"open5gs-{self.function}d"), "-v"],
            check=False,
            capture_output=True,
            text=True,
        )
        return (done.stdout + done.stderr).strip().split(" ")[-1] or "unknown"

    def steps(self, case):
        if case not in self.cases:
            return NotSupported("a function of the core alone")
        program = self.program(f"open5gs-{self.function}d")
        start = [
            Write("function.yaml", config(self.function, self.section)),
            StartOnCore("function", [program, "-c", "function.yaml"]),
            Expect("function", "(?i)NF registered|initialize...done"),
            Wait(2),
        ]
        return start + super().steps(case)


def of(function, section="", kernel_sctp=False):
    """The class of one function."""
    members = {
        "name": f"Open5GS {function.upper()}",
        "function": function,
        "section": section,
        "programs": {f"open5gs-{function}d": f"open5gs-{function}d"},
        "kernel_sctp": kernel_sctp,
    }
    return type(f"Open5gs{function.capitalize()}", (Function,), members)


# UDR and PCF need MongoDB.
FUNCTIONS = [of("amf", AMF, kernel_sctp=True), of("smf", SMF), of("ausf"), of("udm")]
