//! The conformance bench for cores (`martlet ran conformance`) against Martlet.
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_ran::conformance::{BenchConfig, cases, cases_markdown, run};
use martlet_tests::{DataNetworkHost, GATEWAY, TestCore, in_namespace};
use std::path::Path;
use std::time::Duration;

/// A bench for the core of a test.
pub fn bench(core: &TestCore, host: &DataNetworkHost) -> Result<BenchConfig> {
    let gnb = core.gnb_config(1);
    let second = core.gnb_config(2).n2_local;
    Ok(BenchConfig {
        gnb,
        second,
        ue: core.ue_config(1),
        subscribers: 20,
        dnn: "internet".into(),
        ping: Some(GATEWAY),
        downlink: Some(host.command("ping -c 3 -W 5 {address}")),
        silence: Duration::from_millis(200),
        limit: Duration::from_secs(40),
    })
}

#[test]
fn martlet_passes_every_case() {
    in_namespace(|| async {
        // Otherwise the SMF accepts PTI 0 (docs/interop.md).
        let core = TestCore::start(Sbi::Local, |config| config.smf.n1.strict = true).await?;
        let host = DataNetworkHost::connect(true).await?;
        let all: Vec<_> = cases().collect();
        let report = run(bench(&core, &host)?, &all, |_| {}).await;
        let (passed, failed, not_run) = report.counts();
        ensure!((failed, not_run) == (0, 0) && passed == all.len(), "{}", report.to_text());
        // Some gNBs of the bench disappear with their UEs registered.
        core.until("connections and sessions are released", |counts| {
            (counts.connected, counts.sessions, counts.addresses) == (0, 0, 0)
        })
        .await
    });
}

/// A bench that could not fail would show nothing: a core that is no 5G core fails every case that
/// needs an answer.
#[test]
fn a_silent_core_fails() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| config.amf.n2.allow = elsewhere()).await?;
        let host = DataNetworkHost::connect(true).await?;
        let mut config = bench(&core, &host)?;
        config.gnb.setup_timeout = Duration::from_millis(500);
        config.limit = Duration::from_secs(2);
        let some: Vec<_> = cases()
            .filter(|case| ["ng-setup", "registration-by-suci"].contains(&case.name))
            .collect();
        let report = run(config, &some, |_| {}).await;
        ensure!(report.counts() == (0, 2, 0), "{}", report.to_text());
        Ok(())
    });
}

/// Admits only gNBs of a network that does not exist here.
fn elsewhere() -> Vec<martlet_amf::AllowConfig> {
    vec![martlet_amf::AllowConfig { from: "203.0.113.0/24".into(), gnbs: Vec::new() }]
}

/// `docs/conformance-bench.md` has the list that `martlet ran conformance --list` prints.
#[test]
fn the_page_lists_the_cases() -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/conformance-bench.md");
    let page = std::fs::read_to_string(&path).context("docs/conformance-bench.md")?;
    let (text, _) = page.split_once("<!-- list -->\n").context("no mark of the list")?;
    let now = format!("{text}<!-- list -->\n{}", cases_markdown());
    if std::env::var_os("MARTLET_WRITE_DOCS").is_some() {
        std::fs::write(&path, &now)?;
    }
    ensure!(
        page == now || std::env::var_os("MARTLET_WRITE_DOCS").is_some(),
        "write the output of `martlet ran conformance --list` there (MARTLET_WRITE_DOCS=1 does it)"
    );
    Ok(())
}
