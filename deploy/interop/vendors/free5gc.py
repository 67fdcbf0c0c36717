"""free5GC's functions, one at a time in place of Martlet's, with `martlet ran` as gNB and UE."""
import re
from pathlib import Path

import testbed
from plan import CORE, Cause, Drop, Expect, Insert, OnCore, Registered, StartOnCore, Wait, Write
from vendors.in_place import InPlace, cases_of

NRF = "http://127.0.0.10:7777"
ADDRESS = "127.0.0.31"
DATABASE = "free5gc"
PLMN = f'{{ mcc: "{testbed.MCC}", mnc: "{testbed.MNC}" }}'
# Its slices need a differentiator.
SST, SD = 1, "010203"
SLICE = f'{{ sst: {SST}, sd: "{SD}" }}'
SUBSCRIBER = 104

AMF = f"""\
  amfName: AMF
  ngapIpList: [{testbed.CORE}]
  ngapPort: 38412
  serviceNameList: [namf-comm, namf-evts, namf-mt, namf-loc, namf-oam]
  servedGuamiList: [{{ plmnId: {PLMN}, amfId: "010041" }}]
  supportTaiList: [{{ plmnId: {PLMN}, tac: "000001" }}]
  plmnSupportList: [{{ plmnId: {PLMN}, snssaiList: [{SLICE}] }}]
  supportDnnList: [internet]
  security: {{ integrityOrder: [NIA2], cipheringOrder: [NEA2] }}
  networkName: {{ full: free5GC, short: free }}
  t3502Value: 720
  t3512Value: 3600
  non3gppDeregTimerValue: 3240
  sctp: {{ numOstreams: 3, maxInstreams: 5, maxAttempts: 2, maxInitTimeout: 2 }}
""" + "".join(
    f"  t{number}: {{ enable: true, expireTime: 6s, maxRetryTimes: 4 }}\n"
    for number in (3513, 3522, 3550, 3555, 3560, 3565, 3570)
)

# Its name is the NF instance ID for the CHF (TS 32.291, 6.1.6.2.1.2).
SMF = f"""\
  smfName: 3f2504e0-4f89-41d3-9a0c-0305e82c3301
  serviceNameList: [nsmf-pdusession, nsmf-event-exposure, nsmf-oam]
  snssaiInfos:
    - sNssai: {SLICE}
      dnnInfos: [{{ dnn: internet, dns: {{ ipv4: 9.9.9.9, ipv6: "2620:fe::fe" }} }}]
  plmnList: [{PLMN}]
  pfcp:
    nodeID: 127.0.0.7
    listenAddr: 127.0.0.7
    externalAddr: 127.0.0.7
    assocFailAlertInterval: 10s
    assocFailRetryInterval: 1s
    heartbeatInterval: 1s
  userplaneInformation:
    upNodes:
      gNB: {{ type: AN }}
      UPF:
        type: UPF
        nodeID: 127.0.0.8
        addr: 127.0.0.8
        sNssaiUpfInfos:
          - sNssai: {SLICE}
            dnnUpfInfoList: [{{ dnn: internet, pools: [{{ cidr: 10.45.1.0/24 }}] }}]
        interfaces:
          - {{ interfaceType: N3, endpoints: [{testbed.CORE}], networkInstances: [internet] }}
    links: [{{ A: gNB, B: UPF }}]
  t3591: {{ enable: true, expireTime: 16s, maxRetryTimes: 3 }}
  t3592: {{ enable: true, expireTime: 16s, maxRetryTimes: 3 }}
"""

PCF = """\
  pcfName: PCF
  timeFormat: 2019-01-02 15:04:05
  defaultBdtRefId: BdtPolicyId-
  serviceList:
    - { serviceName: npcf-am-policy-control }
    - { serviceName: npcf-smpolicycontrol, suppFeat: 3fff }
    - { serviceName: npcf-bdtpolicycontrol }
    - { serviceName: npcf-policyauthorization, suppFeat: 3 }
    - { serviceName: npcf-eventexposure }
    - { serviceName: npcf-ue-policy-control }
  locality: area1
"""

NSSF = f"""\
  nssfName: NSSF
  serviceNameList: [nnssf-nsselection, nnssf-nssaiavailability]
  supportedPlmnList: [{PLMN}]
  supportedNssaiInPlmnList: [{{ plmnId: {PLMN}, supportedSnssaiList: [{SLICE}] }}]
  nsiList:
    - snssai: {SLICE}
      nsiInformationList: [{{ nrfId: {NRF}/nnrf-nfm/v1/nf-instances, nsiId: 1 }}]
  taList:
    - tai: {{ plmnId: {PLMN}, tac: "000001" }}
      accessType: 3GPP_ACCESS
      supportedSnssaiList: [{SLICE}]
"""

UDM = "  serviceNameList: [nudm-sdm, nudm-uecm, nudm-ueau, nudm-ee, nudm-pp]\n"
AUSF = f"""\
  serviceNameList: [nausf-auth]
  plmnSupportList: [{PLMN}]
  groupId: ausfGroup001
"""

# Its Diameter servers.
TLS = "tls: { pem: c.pem, key: c.key }"
CHF = f"""\
  chfName: CHF
  serviceNameList: [nchf-convergedcharging]
  cgf: {{ enable: false, hostIPv4: {ADDRESS}, port: 2121, listenPort: 2121 }}
  rfDiameter: {{ protocol: tcp, hostIPv4: {ADDRESS}, port: 3868, {TLS} }}
  abmfDiameter: {{ protocol: tcp, hostIPv4: {ADDRESS}, port: 3869, {TLS} }}
"""

# The UPF of free5GC has its address on N3 in its configuration, and its interface upfgtp routes
# the pool to the UEs.
UPF = f"""\
version: VERSION
description: a function in a core of Martlet
pfcp: {{ addr: 127.0.0.8, nodeID: 127.0.0.8, retransTimeout: 1s, maxRetrans: 3 }}
gtpu: {{ forwarder: gtp5g, ifList: [{{ addr: {testbed.CORE}, type: N3 }}] }}
dnnList: [{{ dnn: internet, cidr: 10.45.0.0/16 }}]
logger: {{ enable: true, level: info, reportCaller: false }}
"""


def subscriber(imsi):
    """A subscriber in the collections of its UDR (TS 29.505, TS 29.519)."""
    ue, slice_ = f"imsi-{imsi}", {"sst": SST, "sd": SD}
    key, rate = f"{SST:02x}{SD}", {"uplink": "1 Gbps", "downlink": "1 Gbps"}
    provisioned = {"ueId": ue, "servingPlmnId": f"{testbed.MCC}{testbed.MNC}"}
    arp = {"priorityLevel": 8, "preemptCap": "NOT_PREEMPT", "preemptVuln": "NOT_PREEMPTABLE"}
    dnn = {
        "pduSessionTypes": {"defaultSessionType": "IPV4", "allowedSessionTypes": ["IPV4"]},
        "sscModes": {"defaultSscMode": "SSC_MODE_1", "allowedSscModes": ["SSC_MODE_1"]},
        "sessionAmbr": rate,
        "5gQosProfile": {"5qi": 9, "priorityLevel": 8, "arp": arp},
    }
    policy = {"snssai": slice_, "smPolicyDnnData": {"internet": {"dnn": "internet"}}}
    data = "subscriptionData.provisionedData."
    return {
        "subscriptionData.authenticationData.authenticationSubscription": {
            "ueId": ue,
            "authenticationMethod": "5G_AKA",
            "authenticationManagementField": "8000",
            "encPermanentKey": testbed.K,
            "encOpcKey": testbed.OPC,
            "sequenceNumber": {"sqnScheme": "GENERAL", "sqn": "000000000020"},
        },
        f"{data}amData": provisioned
        | {
            "subscribedUeAmbr": rate,
            "nssai": {"defaultSingleNssais": [slice_], "singleNssais": [slice_]},
        },
        f"{data}smfSelectionSubscriptionData": provisioned
        | {"subscribedSnssaiInfos": {key: {"dnnInfos": [{"dnn": "internet"}]}}},
        f"{data}smData": provisioned
        | {"singleNssai": slice_, "dnnConfigurations": {"internet": dnn}},
        "policyData.ues.amData": {"ueId": ue, "subscCats": ["free5gc"]},
        "policyData.ues.smData": {"ueId": ue, "smPolicySnssaiData": {key: policy}},
    }


class Function(InPlace):
    """A function of free5GC."""

    section = ""
    # The version of the configuration that current versions accept, and no other. That of the
    # file that comes with the program is used where it is below PROGRAMS.
    config_version = ""
    mongodb = False
    core_slices = f"[{SLICE}]"
    # For its SMF up to 1.2.4, and for its AMF.
    core_udm = "  sdm_v1: true\n  empty_subscriptions: true\n"
    version_pattern = r"free5GC version:\s*([^\s\\]+)"

    def __init__(self, its_testbed, found):
        super().__init__(its_testbed, found)
        chf = "true" if self.function in ("smf", "chf") else "false"
        self.core = f"""\
sbi: {{ external: [{self.function}] }}
nrf: {{ interop: {{ absolute_prefixes: true, no_heartbeats: true }} }}
chf: {{ enabled: {chf} }}
"""
        if self.function == "chf":
            self.core += "smf: { charging: { mode: offline, on_failure: refuse } }\n"
        if self.function == "upf":
            # It does not allocate F-TEIDs, and does not say its address on N3.
            upf = f"{{ n4: 127.0.0.8:8805, n3_address: {testbed.CORE} }}"
            self.core += f"smf: {{ upfs: [{upf}] }}\n"

    def version(self):
        program = Path(self.program(self.function))
        if "version" in self.found or not program.is_file():
            return self.found.get("version", "unknown")
        # That of its Go module, if nothing else was linked into it.
        module = re.search(rb"mod\tgithub\.com/free5gc/\w+\t(v[\w.-]+)", program.read_bytes())
        return module.group(1).decode() if module else "unknown"

    def accepted_version(self):
        """The version of the configuration that the installed program accepts."""
        file = self.found.get("config")
        text = Path(file).read_text(errors="replace") if file and Path(file).is_file() else ""
        found = re.search(r"^\s*version:\s*\"?([0-9.]+)", text, re.MULTILINE)
        return found.group(1) if found else self.config_version

    def config(self):
        """The configuration of the function."""
        if self.function == "upf":
            return UPF.replace("VERSION", self.accepted_version())
        address = "127.0.0.10" if self.function == "nrf" else ADDRESS
        port = 7777 if self.function == "nrf" else 8000
        uri = self.testbed.mongodb_uri
        database = f'  mongodb: {{ name: {DATABASE}, url: "{uri}" }}\n'
        own = {
            "nrf": f"""\
  MongoDBName: {DATABASE}
  MongoDBUrl: {uri}
  DefaultPlmnId: {PLMN}
  serviceNameList: [nnrf-nfm, nnrf-disc]
""",
            "udr": f"  dbConnectorType: mongodb\n{database}",
        }.get(self.function, self.section)
        if self.mongodb and self.function in ("pcf", "chf"):
            own += database
        nrf = "" if self.function == "nrf" else f"  nrfUri: {NRF}\n"
        sbi = f"registerIPv4: {address}, bindingIPv4: {address}, port: {port}"
        return f"""\
info: {{ version: {self.accepted_version()}, description: a function in a core of Martlet }}
logger: {{ enable: true, level: info, reportCaller: false }}
configuration:
  sbi: {{ scheme: http, {sbi} }}
{nrf}{own}"""

    def start(self):
        """Starts the function, and waits until it has started."""
        name = f"{self.function}cfg.yaml"
        command = [self.program(self.function), "-c", name]
        # An NRF that is killed keeps the instances of the case before, which are discovered then.
        steps = [Drop(DATABASE)] if self.mongodb else []
        if self.function == "smf":
            version = self.accepted_version()
            routing = f"info: {{ version: {version}, description: none }}\n"
            steps.append(Write("uerouting.yaml", routing))
            command += ["-u", "uerouting.yaml"]
        if self.function == "chf":
            # Its Diameter servers need a certificate.
            make = "openssl req -x509 -newkey rsa:2048 -nodes -keyout c.key -out c.pem -days 2"
            steps.append(OnCore([*make.split(), "-subj", "/CN=chf"]))
        if self.function == "udr":
            documents = subscriber(testbed.imsi(SUBSCRIBER)).items()
            steps += [Insert(DATABASE, name, document) for name, document in documents]
        # The NRF and the UPF do not register.
        is_registered = self.function not in ("nrf", "upf")
        started = Expect("function", r"(?i)\b(NRF|UPF) version:")
        return steps + [
            Write(name, self.config()),
            StartOnCore("function", command),
            Registered(self.function.upper()) if is_registered else started,
            # They register before they listen.
            Wait(3),
        ]

    def play(self, *steps, **arguments):
        slice_ = f"{SST}-{SD}"
        gnb = {"slices": [slice_]} | arguments.pop("gnb", {})
        sessions = [{"dnn": "internet", "slice": slice_}]
        ue = {"slices": [slice_], "sessions": sessions} | arguments.pop("ue", {})
        return super().play(*steps, gnb=gnb, ue=ue, first=SUBSCRIBER, **arguments)


NOT_RELEASED = Cause(
    "CHF",
    "TS 32.291, 5.2.2: 400 to a release that it has done",
    "the session ends, and its SMF logs a warning",
    (
        ("function", r"\[ChargingPost\] Close CDR"),
        ("function", r"\| 400 \| .*/chargingdata/\S+/release"),
        (CORE, "release of charging session failed .* problem=400"),
    ),
)


def of(function, config_version, section="", **members):
    """The class of one function."""
    members = {
        "name": f"free5GC {function.upper()}",
        "function": function,
        "config_version": config_version,
        "section": section,
        "programs": {function: (function, f"free5gc-{function}")},
        "optional": {"config": f"{function}cfg.yaml"},
        "cases": cases_of(function),
        "kernel_sctp": function == "amf",
        "user_space_sctp": {"amf": "free5gc-amf-user-space"} if function == "amf" else {},
    } | members
    return type(f"Free5gc{function.capitalize()}", (Function,), members)


FUNCTIONS = [
    of("nrf", "1.0.2", mongodb=True),
    of("amf", "1.0.9", AMF),
    of("smf", "1.0.7", SMF),
    of("ausf", "1.0.3", AUSF),
    of("udm", "1.0.3", UDM),
    of("udr", "1.1.0", mongodb=True),
    of("pcf", "1.0.2", PCF, mongodb=True),
    of("nssf", "1.0.2", NSSF),
    of("chf", "1.0.3", CHF, mongodb=True, known=dict.fromkeys(cases_of("chf"), (NOT_RELEASED,))),
    of("upf", "1.0.3", modules=("gtp5g",), cleanup=[["ip", "link", "del", "upfgtp"]]),
]
