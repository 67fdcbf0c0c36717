//! The service calls of each procedure, as `docs/measurements/service-calls.md` lists them.
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_ran::RegistrationType;
use martlet_tests::{TestCore, eventually, in_namespace, internet};
use std::collections::BTreeMap;

/// The page with the table.
const PAGE: &str = include_str!("../../../../docs/measurements/service-calls.md");

/// Calls by `service operation`.
type Calls = BTreeMap<String, usize>;

/// The column `now` of the procedure's table: the rows below the heading `### PROCEDURE`.
fn documented(procedure: &str) -> Result<Calls> {
    let heading = format!("\n### {procedure}\n");
    let (_, section) = PAGE.split_once(&heading).with_context(|| format!("no {heading:?}"))?;
    let section = section.split("\n#").next().unwrap_or_default();
    let (mut calls, mut rows) = (Calls::new(), 0);
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, call, _before, now, _awaited, _] = cells[..] else {
            anyhow::bail!("{row:?} does not have four cells");
        };
        let now: usize = now.parse().with_context(|| row.to_string())?;
        rows += 1;
        if now > 0 {
            calls.insert(call.trim_matches('`').to_string(), now);
        }
    }
    ensure!(rows > 0, "{procedure} has no rows");
    Ok(calls)
}

/// The calls that were recorded, without those that belong to no procedure: requests to the NRF
/// (discovery results are cached), and the UDM's subscription to all data of the UDR.
fn recorded(core: &TestCore) -> Calls {
    let mut calls = core.sbi_record.counts();
    calls.retain(|call, _| {
        !call.starts_with("nnrf-") && call != "nudr-dr SubscriptionDataSubscriptions"
    });
    calls
}

/// Waits until the calls since `total` are those of the procedure's table, and adds them to
/// `total`. Since all procedures count from one start, a call too many fails here or in the next.
async fn compare(core: &TestCore, total: &mut Calls, procedure: &str) -> Result<()> {
    for (call, count) in documented(procedure)? {
        *total.entry(call).or_default() += count;
    }
    let same = || (recorded(core) == *total).then_some(());
    let differences = || {
        let recorded = recorded(core);
        let names = recorded.keys().chain(total.keys());
        let mut lines: Vec<_> = names
            .map(|name| (name, recorded.get(name), total.get(name)))
            .filter(|(_, recorded, expected)| recorded != expected)
            .map(|(name, recorded, expected)| format!("{name}: {recorded:?}, not {expected:?}"))
            .collect();
        lines.sort();
        lines.dedup();
        lines.join("\n")
    };
    eventually(&format!("the calls of: {procedure}"), same, differences).await
}

#[test]
fn each_procedure_makes_the_calls_of_the_table() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        // The first UE's procedures fill the caches.
        core.register_use_session_and_deregister(&gnb, 1).await?;
        core.until_all_released().await?;
        core.sbi_record.clear();

        let total = &mut Calls::new();
        let ue = gnb.new_ue(core.ue_config(2))?;
        ue.register().await?;
        compare(&core, total, "Initial registration").await?;
        ue.establish_pdu_session(internet()).await?;
        compare(&core, total, "PDU session establishment").await?;
        ue.release_to_idle().await?;
        core.until("the UE is in CM-IDLE", |counts| counts.connected == 0).await?;
        compare(&core, total, "AN release").await?;
        ue.service_request_for(martlet_ran::ue::ServicePurpose::Data, &[1]).await?;
        compare(&core, total, "Service request").await?;
        ue.register_as(RegistrationType::PeriodicRegistrationUpdating).await?;
        compare(&core, total, "Periodic registration update").await?;
        ue.deregister().await?;
        core.until_all_released().await?;
        compare(&core, total, "Deregistration").await
    });
}
