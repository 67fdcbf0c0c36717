"""OCUDU, the successor of srsRAN: its gNB with a dummy radio unit. A UE needs a radio."""
import core_log
import testbed
from plan import CORE, Expect, RestartCore, Start, Stop, Vendor, Wait, Write

GNB = f"""\
cu_cp:
  amf:
    addr: {testbed.CORE}
    port: 38412
    bind_addr: {testbed.GNBS[0]}
    supported_tracking_areas:
      - tac: 1
        plmn_list:
          - plmn: "{testbed.MCC}{testbed.MNC}"
            tai_slice_support_list:
              - sst: 1
ru_dummy: {{}}
cell_cfg:
  dl_arfcn: 368500
  band: 3
  channel_bandwidth_MHz: 20
  common_scs: 15
  plmn: "{testbed.MCC}{testbed.MNC}"
  tac: 1
  pci: 1
log: {{ filename: stdout, all_level: info }}
"""


class Ocudu(Vendor):
    """The gNB alone."""

    name = "OCUDU"
    programs = {"gnb": "gnb"}
    unsupported = "its UEs need a radio"

    def start(self, label):
        """Starts the gNB. It reports the association; the core reports the NG setup."""
        connected = r"N2: Connection to AMF on \S+ (was established|completed)"
        return [
            Start(label, [self.program("gnb"), "-c", "gnb.yaml"]),
            Expect(label, connected, 30),
            Expect(CORE, core_log.NG_SETUP),
        ]

    def again(self):
        """The gNB starts again. The core writes one line a second of each gNB."""
        return [Stop("gnb", kill=True), Wait(1.5), *self.start("again")]

    def ng_setup(self):
        return [Write("gnb.yaml", GNB), *self.start("gnb")]

    def gnb_restart(self):
        return self.ng_setup() + self.again()

    def core_restart(self):
        return self.ng_setup() + [RestartCore()] + self.again()
