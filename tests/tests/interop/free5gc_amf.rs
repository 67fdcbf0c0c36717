//! free5GC's AMF with Martlet's other functions. It needs the kernel's SCTP: `make guest-test`.
use crate::external_program::{ExternalProgram, build};
use crate::free5gc::{free5gc_config, gnb, session, subscribe, ue, until_registered};
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ran::Gnb;
use martlet_ran::conformance::{BenchConfig, cases, run as bench};
use martlet_tests::{GATEWAY, TestCore, in_namespace, in_namespace_within, reaches};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Its N2 address.
const N2: &str = "127.1.9.5";
/// Subscribers with free5GC's slice.
const SUBSCRIBERS: u64 = 20;

fn configuration(folder: &Path) -> Result<PathBuf> {
    let config = folder.join("amfcfg.yaml");
    let timer = "{ enable: true, expireTime: 6s, maxRetryTimes: 4 }";
    let timers = ["t3513", "t3522", "t3550", "t3560", "t3565", "t3570", "t3555"];
    let timers: String = timers.iter().map(|name| format!("  {name}: {timer}\n")).collect();
    std::fs::write(
        &config,
        format!(
            r#"
info: {{ version: 1.0.9, description: free5GC's AMF in a Martlet core }}
logger: {{ enable: true, level: debug, reportCaller: false }}
configuration:
  amfName: AMF
  ngapIpList: [{N2}]
  ngapPort: 38412
  sbi: {{ scheme: http, registerIPv4: 127.0.0.22, bindingIPv4: 127.0.0.22, port: 8000 }}
  serviceNameList: [namf-comm, namf-evts, namf-mt, namf-loc, namf-oam]
  servedGuamiList: [{{ plmnId: {{ mcc: "001", mnc: "01" }}, amfId: "010041" }}]
  supportTaiList: [{{ plmnId: {{ mcc: "001", mnc: "01" }}, tac: "000001" }}]
  plmnSupportList:
    - plmnId: {{ mcc: "001", mnc: "01" }}
      snssaiList: [{{ sst: 1, sd: "010203" }}]
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
fn free5gc_amf_works_with_other_functions() {
    // Built before the namespace exists, since modules may have to be downloaded, and also where
    // the test is skipped, for the run in the guest.
    let Some(program) = build("free5gc-amf", "github.com/free5gc/amf/cmd") else { return };
    if std::env::var("MARTLET_TEST_SCTP").is_ok_and(|stack| stack == "kernel") {
        in_namespace(move || run_with_amf(program));
    } else {
        martlet_tests::skip(
            "free5GC's AMF needs the kernel's SCTP; `make guest-test` runs this test",
        );
    }
}

/// A core with free5GC's AMF, which has registered.
async fn core_with(program: PathBuf) -> Result<(TestCore, ExternalProgram)> {
    let core = TestCore::start_on(Sbi::Http, |config| {
        free5gc_config(config);
        config.sbi.external = vec!["amf".into()];
    })
    .await?;
    for n in 1..=SUBSCRIBERS {
        core.subscribe(n, subscribe)?;
    }
    let config = configuration(core.folder())?;
    let amf = ExternalProgram::start(&program, &[Path::new("-c"), &config], core.folder())?;
    until_registered(&core, "AMF", true, || amf.output()).await?;
    Ok((core, amf))
}

async fn run_with_amf(program: PathBuf) -> Result<()> {
    let (core, amf) = core_with(program).await?;
    let mut config = gnb(core.gnb_config(1));
    config.amf = format!("{N2}:38412").parse()?;
    let radio = Gnb::connect(config).await?;
    let ue = radio.new_ue(ue(core.ue_config(1)))?;
    ue.register().await?;
    let registered = ue.status().await?;
    ensure!(registered.guti.is_some() && registered.algorithms == Some((2, 2)), "{registered:?}");
    // Through Martlet's SMF and UPF.
    let session = ue.establish_pdu_session(session()).await?;
    reaches(&ue, session.psi, GATEWAY).await?;
    ue.deregister().await?;
    amf.stop().await
}

/// Cases of the conformance bench that free5GC's AMF passes: each of them is fair to more than one
/// core.
const PASSED: [&str; 12] = [
    "ng-setup",
    "ng-setup-unknown-plmn",
    "ran-configuration-update",
    "registration-by-suci",
    "registration-by-guti",
    "deregistration-switch-off",
    "authentication",
    "authentication-wrong-res-star",
    "authentication-synch-failure",
    "session-ipv4",
    "session-data",
    "an-release",
];

#[test]
fn conformance_cases_are_fair_to_free5gc_amf() {
    let Some(program) = build("free5gc-amf", "github.com/free5gc/amf/cmd") else { return };
    if std::env::var("MARTLET_TEST_SCTP").is_ok_and(|stack| stack == "kernel") {
        in_namespace_within(LIMIT, move || run_bench(program));
    } else {
        martlet_tests::skip(
            "free5GC's AMF needs the kernel's SCTP; `make guest-test` runs this test",
        );
    }
}

/// The emulated guest is slow.
const LIMIT: Duration = Duration::from_secs(900);

async fn run_bench(program: PathBuf) -> Result<()> {
    let (core, amf) = core_with(program).await?;
    let mut radio = gnb(core.gnb_config(1));
    radio.amf = format!("{N2}:38412").parse()?;
    radio.procedure_timeout = Duration::from_secs(5);
    let config = BenchConfig {
        gnb: radio,
        second: core.gnb_config(2).n2_local,
        ue: ue(core.ue_config(1)),
        subscribers: SUBSCRIBERS,
        dnn: "internet".into(),
        ping: Some(GATEWAY),
        downlink: None,
        silence: Duration::from_millis(500),
        limit: Duration::from_secs(15),
    };
    let all: Vec<_> = cases().collect();
    let report = bench(config, &all, |_| {}).await;
    println!("free5GC's AMF:\n{}", report.to_text());
    let failed = report.failed();
    let unfair: Vec<_> = PASSED.iter().filter(|case| failed.contains(case)).collect();
    ensure!(unfair.is_empty(), "{unfair:?} failed: {}", amf.output());
    amf.stop().await
}
