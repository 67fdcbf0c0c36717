//! The service calls of each procedure, as `docs/measurements/service-calls.md` lists them.
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_ran::{Gnb, RegistrationType, ServicePurpose, Ue};
use martlet_tests::{TestCore, eventually, in_namespace, in_namespace_within, internet};
use std::collections::BTreeMap;
use std::time::Duration;

/// The page with the table.
const PAGE: &str = include_str!("../../../../docs/measurements/service-calls.md");

/// Calls by `service operation`.
type Calls = BTreeMap<String, usize>;

/// A row of a procedure's table.
struct Row {
    /// The column `now`: the number of calls.
    now: usize,
    /// The last column: how many of them the UE waits for.
    awaited: usize,
}

/// The table of a procedure: the rows below the heading `### PROCEDURE`, by `service operation`.
fn documented(procedure: &str) -> Result<BTreeMap<String, Row>> {
    let heading = format!("\n### {procedure}\n");
    let (_, section) = PAGE.split_once(&heading).with_context(|| format!("no {heading:?}"))?;
    let section = section.split("\n#").next().unwrap_or_default();
    let mut rows = BTreeMap::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, call, _before, now, awaited, _] = cells[..] else {
            anyhow::bail!("{row:?} does not have four cells");
        };
        let now: usize = now.parse().with_context(|| row.to_string())?;
        let awaited = match (awaited, now) {
            ("yes", 1..) => now,
            ("for one", 2..) => 1,
            ("no", 1..) | ("no call", 0) => 0,
            _ => anyhow::bail!("{row:?}: the last cell does not fit to the number of calls"),
        };
        rows.insert(call.trim_matches('`').to_string(), Row { now, awaited });
    }
    ensure!(!rows.is_empty(), "{procedure} has no rows");
    Ok(rows)
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
    for (call, row) in documented(procedure)?.into_iter().filter(|(_, row)| row.now > 0) {
        *total.entry(call).or_default() += row.now;
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

/// The procedures, in an order in which a UE can have them.
const PROCEDURES: [&str; 6] = [
    "Initial registration",
    "PDU session establishment",
    "AN release",
    "Service request",
    "Periodic registration update",
    "Deregistration",
];

/// Performs a procedure, as far as the UE is concerned.
async fn perform(ue: &Ue, procedure: &str) -> Result<()> {
    match procedure {
        "Initial registration" => _ = ue.register().await?,
        "PDU session establishment" => _ = ue.establish_pdu_session(internet()).await?,
        "AN release" => ue.release_to_idle().await?,
        "Service request" => ue.service_request_for(ServicePurpose::Data, &[1]).await?,
        "Periodic registration update" => {
            ue.register_as(RegistrationType::PeriodicRegistrationUpdating).await?;
        }
        "Deregistration" => ue.deregister().await?,
        other => anyhow::bail!("unknown procedure {other}"),
    }
    Ok(())
}

/// Waits until a procedure has ended at the core, with the calls of its table.
async fn ended(core: &TestCore, total: &mut Calls, procedure: &str) -> Result<()> {
    match procedure {
        "AN release" => core.until("the UE is in CM-IDLE", |counts| counts.connected == 0).await?,
        "Deregistration" => core.until_all_released().await?,
        _ => {}
    }
    compare(core, total, procedure).await
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
        for procedure in PROCEDURES {
            perform(&ue, procedure).await?;
            ended(&core, total, procedure).await?;
        }
        Ok(())
    });
}

/// How long a UE is observed that waits for a call. One that does not wait needs less, except on a
/// very busy machine, where the test then finds less.
const OBSERVATION: Duration = Duration::from_millis(200);

/// A UE that has had the procedures before one, and the calls until then.
async fn ue_before(core: &TestCore, gnb: &Gnb, n: u64, procedure: &str) -> Result<(Ue, Calls)> {
    let mut total = recorded(core);
    let ue = gnb.new_ue(core.ue_config(n))?;
    for before in PROCEDURES.into_iter().take_while(|before| *before != procedure) {
        perform(&ue, before).await?;
        ended(core, &mut total, before).await?;
    }
    Ok((ue, total))
}

/// Ends the procedure at the core, and then what the UE has.
async fn leave(core: &TestCore, ue: &Ue, mut total: Calls, procedure: &str) -> Result<()> {
    core.sbi_gate.open();
    ended(core, &mut total, procedure).await?;
    if procedure != "Deregistration" {
        ue.deregister().await?;
    }
    core.until_all_released().await
}

#[test]
fn ue_waits_for_the_calls_of_the_table_alone() {
    in_namespace_within(Duration::from_secs(300), || async {
        let core = TestCore::start_on(Sbi::Http, |config| {
            config.sbi.timeout_ms = 60_000;
            config.amf.timers.nssf_answer_s = 3600;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        core.register_use_session_and_deregister(&gnb, 1).await?;
        core.until_all_released().await?;
        let mut numbers = 2..;
        let mut number = move || numbers.next().context("a number");
        for procedure in PROCEDURES {
            let rows = documented(procedure)?;
            let (ue, total) = ue_before(&core, &gnb, number()?, procedure).await?;
            // The other calls are not even sent.
            for (call, row) in &rows {
                core.sbi_gate.close(call, row.awaited);
            }
            perform(&ue, procedure).await.with_context(|| {
                let held = rows.keys().filter(|call| core.sbi_gate.held(call) > 0);
                format!("{procedure} waits for one of {:?}", held.collect::<Vec<_>>())
            })?;
            leave(&core, &ue, total, procedure).await?;

            for (call, row) in rows.iter().filter(|(_, row)| row.awaited > 0) {
                let (ue, total) = ue_before(&core, &gnb, number()?, procedure).await?;
                core.sbi_gate.close(call, row.awaited - 1);
                let mut performing = Box::pin(perform(&ue, procedure));
                let is_held = || (core.sbi_gate.held(call) > 0).then_some(());
                tokio::select! {
                    _ = &mut performing => {
                        anyhow::bail!("{procedure} does not wait for {call}");
                    }
                    held = eventually(call, is_held, String::new) => held?,
                }
                let ended = tokio::time::timeout(OBSERVATION, &mut performing).await;
                ensure!(ended.is_err(), "{procedure} does not wait for {call}");
                core.sbi_gate.open();
                performing.await?;
                leave(&core, &ue, total, procedure).await?;
            }
        }
        Ok(())
    });
}
