//! free5GC's AMF with Martlet's other functions: over the kernel's SCTP (`make guest-test`), and
//! where the kernel lacks it, built with SCTP in user space.
use crate::external_program::{ExternalProgram, build_by};
use crate::free5gc::{
    Function, SUBSCRIBERS, core_without, gnb, registered_ue, session, start_beside, ue,
};
use anyhow::{Result, ensure};
use martlet_ran::conformance::{BenchConfig, cases, run as bench};
use martlet_tests::{GATEWAY, TestCore, in_namespace, in_namespace_within, reaches};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Its N2 address.
const N2: &str = "127.1.9.5";

const AMF: Function = Function {
    name: "amf",
    version: "1.0.9",
    address: "127.0.0.22",
    port: 8000,
    settings: r#"
  ngapIpList: [127.1.9.5]
  ngapPort: 38412
  serviceNameList: [namf-comm, namf-evts, namf-mt, namf-loc, namf-oam]
  servedGuamiList: [{ plmnId: { mcc: "001", mnc: "01" }, amfId: "010041" }]
  supportTaiList: [{ plmnId: { mcc: "001", mnc: "01" }, tac: "000001" }]
  plmnSupportList:
    - plmnId: { mcc: "001", mnc: "01" }
      snssaiList: [{ sst: 1, sd: "010203" }]
  supportDnnList: [internet]
  security: { integrityOrder: [NIA2], cipheringOrder: [NEA2] }
  networkName: { full: free5GC, short: free }
  t3502Value: 720
  t3512Value: 3600
  non3gppDeregTimerValue: 3240
  sctp: { numOstreams: 3, maxInstreams: 5, maxAttempts: 2, maxInitTimeout: 2 }
  t3513: { enable: true, expireTime: 6s, maxRetryTimes: 4 }
  t3522: { enable: true, expireTime: 6s, maxRetryTimes: 4 }
  t3550: { enable: true, expireTime: 6s, maxRetryTimes: 4 }
  t3555: { enable: true, expireTime: 6s, maxRetryTimes: 4 }
  t3560: { enable: true, expireTime: 6s, maxRetryTimes: 4 }
  t3565: { enable: true, expireTime: 6s, maxRetryTimes: 4 }
  t3570: { enable: true, expireTime: 6s, maxRetryTimes: 4 }
"#,
};

#[test]
fn free5gc_amf_works_with_other_functions() {
    let Some(program) = build() else { return };
    in_namespace(move || run_with_amf(program));
}

/// Builds the AMF, before the namespace exists, since modules may have to be downloaded.
fn build() -> Option<PathBuf> {
    // Also for the run in the guest.
    let published = AMF.build()?;
    if std::env::var("MARTLET_TEST_SCTP").is_ok_and(|stack| stack == "kernel") {
        return Some(published);
    }
    if Path::new("/proc/net/sctp").exists() {
        martlet_tests::skip(
            "the kernel's SCTP is loaded and would abort the associations of Pion's SCTP",
        );
        return None;
    }
    build_by("free5gc-amf", "user-space", "github.com/free5gc/amf/cmd")
}

/// A core with free5GC's AMF, which has registered.
async fn core_with(program: PathBuf) -> Result<(TestCore, ExternalProgram)> {
    let core = core_without("amf", |_| {}).await?;
    let amf = start_beside(&core, &AMF, &program).await?;
    Ok((core, amf))
}

async fn run_with_amf(program: PathBuf) -> Result<()> {
    let (core, amf) = core_with(program).await?;
    let n2 = format!("{N2}:38412").parse()?;
    let (_radio, ue) = registered_ue(&core, |config| config.amf = n2).await?;
    let registered = ue.status().await?;
    ensure!(registered.guti.is_some() && registered.algorithms == Some((2, 2)), "{registered:?}");
    // Through Martlet's SMF and UPF.
    let session = ue.establish_pdu_session(session()).await?;
    reaches(&ue, session.psi, GATEWAY).await?;
    ue.deregister().await?;
    amf.stop().await
}

/// Cases of the conformance bench that free5GC's AMF has to pass: without them, the report would
/// show nothing of the others.
const PASSED: [&str; 4] = ["ng-setup", "registration-by-suci", "authentication", "session-ipv4"];

#[test]
fn conformance_cases_are_fair_to_free5gc_amf() {
    let Some(program) = build() else { return };
    in_namespace_within(LIMIT, move || run_bench(program));
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
