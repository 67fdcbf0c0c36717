//! free5GC's AMF in place of ours: it needs SCTP of the kernel, which `make guest-test` has.
use crate::free5gc::{for_them, gnb, registered, session, subscribed, ue};
use crate::stock::{Stock, built};
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ran::Gnb;
use martlet_tests::{GATEWAY, TestCore, in_namespace, reaches};
use std::path::{Path, PathBuf};

/// Where it waits for gNBs.
const N2: &str = "127.1.9.5";

fn configuration(folder: &Path) -> Result<PathBuf> {
    let config = folder.join("amfcfg.yaml");
    let timer = "{ enable: true, expireTime: 6s, maxRetryTimes: 4 }";
    let timers = ["t3513", "t3522", "t3550", "t3560", "t3565", "t3570", "t3555"];
    let timers: String = timers.iter().map(|name| format!("  {name}: {timer}\n")).collect();
    std::fs::write(
        &config,
        format!(
            r#"
info: {{ version: 1.0.9, description: free5GC's AMF in a core of Martlet }}
logger: {{ enable: true, level: debug, reportCaller: false }}
configuration:
  amfName: AMF
  ngapIpList: [{N2}]
  ngapPort: 38412
  sbi: {{ scheme: http, registerIPv4: 127.0.0.22, bindingIPv4: 127.0.0.22, port: 8000 }}
  serviceNameList: [namf-comm, namf-evts, namf-mt, namf-loc, namf-oam]
  servedGuamiList: [{{ plmnId: {{ mcc: "001", mnc: "01" }}, amfId: "010041" }}]
  supportTaiList: [{{ plmnId: {{ mcc: "001", mnc: "01" }}, tac: "000001" }}]
  plmnSupportList: [{{ plmnId: {{ mcc: "001", mnc: "01" }}, snssaiList: [{{ sst: 1, sd: "010203" }}] }}]
  supportDnnList: [internet]
  nrfUri: http://127.0.0.10:7777
  security: {{ integrityOrder: [NIA2], cipheringOrder: [NEA2] }}
  networkName: {{ full: free5GC, short: free }}
  t3502Value: 720
  t3512Value: 3600
  non3gppDeregTimerValue: 3240
  sctp: {{ numOstreams: 3, maxInstreams: 5, maxAttempts: 2, maxInitTimeout: 2 }}
{timers}"#
        ),
    )?;
    Ok(config)
}

#[test]
fn free5gcs_amf_serves_phones_with_our_other_functions() {
    // Before there is a namespace, and in the place where it is not run, for the guest in which it
    // is.
    let Some(program) = built("free5gc-amf", "github.com/free5gc/amf/cmd") else { return };
    if std::env::var("MARTLET_TEST_SCTP").is_ok_and(|stack| stack == "kernel") {
        in_namespace(move || with_their_amf(program));
    } else {
        eprintln!(
            "SKIPPED: free5GC's AMF needs the kernel's SCTP: make guest-test runs this, with \
             MARTLET_TEST_SCTP=kernel"
        );
    }
}

async fn with_their_amf(program: PathBuf) -> Result<()> {
    let core = TestCore::start_on(Sbi::Http, |config| {
        for_them(config);
        config.sbi.external = vec!["amf".into()];
    })
    .await?;
    core.subscribe(1, subscribed)?;
    let config = configuration(core.folder())?;
    let amf = Stock::start(&program, &[Path::new("-c"), &config], core.folder())?;
    registered(&core, "AMF", true, || amf.said()).await?;

    let mut config = gnb(core.gnb_config(1));
    config.amf = format!("{N2}:38412").parse()?;
    let radio = Gnb::connect(config).await?;
    let ue = radio.new_ue(ue(core.ue_config(1)))?;
    ue.register().await?;
    let registered = ue.status().await?;
    ensure!(registered.guti.is_some() && registered.algorithms == Some((2, 2)), "{registered:?}");
    // With our SMF and UPF.
    let session = ue.establish_pdu_session(session()).await?;
    reaches(&ue, session.psi, GATEWAY).await?;
    ue.deregister().await?;
    amf.end().await
}
