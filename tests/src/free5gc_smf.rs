//! The configuration of free5GC's SMF as part of a Martlet core.
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Writes the configuration into a folder: its addresses, the NRF, and the UPF with one address
/// pool. Returns the paths for its options `-c` and `-u`.
///
/// # Errors
/// The folder cannot be written to.
pub fn configuration(folder: &Path) -> Result<(PathBuf, PathBuf)> {
    let (config, routing) = (folder.join("smfcfg.yaml"), folder.join("uerouting.yaml"));
    std::fs::write(
        &config,
        r#"
info: { version: 1.0.7, description: free5GC's SMF in a Martlet core }
logger: { enable: true, level: debug, reportCaller: false }
configuration:
  # The CHF expects an NF instance ID as NFName (TS 32.291, 6.1.6.2.1.2).
  smfName: 3f2504e0-4f89-41d3-9a0c-0305e82c3301
  sbi: { scheme: http, registerIPv4: 127.0.0.2, bindingIPv4: 127.0.0.2, port: 8000 }
  serviceNameList: [nsmf-pdusession, nsmf-event-exposure, nsmf-oam]
  snssaiInfos:
    - sNssai: { sst: 1, sd: "010203" }
      dnnInfos: [{ dnn: internet, dns: { ipv4: 9.9.9.9, ipv6: "2620:fe::fe" } }]
  plmnList: [{ mcc: "001", mnc: "01" }]
  pfcp:
    nodeID: 127.0.0.7
    listenAddr: 127.0.0.7
    externalAddr: 127.0.0.7
    assocFailAlertInterval: 10s
    assocFailRetryInterval: 1s
    heartbeatInterval: 1s
  userplaneInformation:
    upNodes:
      gNB1: { type: AN }
      UPF:
        type: UPF
        nodeID: 127.0.0.8
        addr: 127.0.0.8
        sNssaiUpfInfos:
          - sNssai: { sst: 1, sd: "010203" }
            dnnUpfInfoList: [{ dnn: internet, pools: [{ cidr: 10.45.1.0/24 }] }]
        interfaces: [{ interfaceType: N3, endpoints: [127.0.0.8], networkInstances: [internet] }]
    links: [{ A: gNB1, B: UPF }]
  t3591: { enable: true, expireTime: 16s, maxRetryTimes: 3 }
  t3592: { enable: true, expireTime: 16s, maxRetryTimes: 3 }
  nrfUri: http://127.0.0.10:7777
"#,
    )?;
    std::fs::write(&routing, "info: { version: 1.0.7, description: none }\n")?;
    Ok((config, routing))
}
