"""OCUDU, the successor of srsRAN: its gNB with a dummy radio unit. A UE needs a radio."""
import testbed
from plan import Expect, RestartCore, Start, Stop, Vendor, Write

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
        """Starts the gNB."""
        connected = Expect(label, "(?i)connection to amf.*completed|ng setup.*success", 30)
        return [Start(label, [self.program("gnb"), "-c", "gnb.yaml"]), connected]

    def ng_setup(self):
        return [Write("gnb.yaml", GNB)] + self.start("gnb")

    def gnb_restart(self):
        return self.ng_setup() + [Stop("gnb", kill=True)] + self.start("again")

    def core_restart(self):
        return self.ng_setup() + [RestartCore(), Stop("gnb", kill=True)] + self.start("again")
