//! Charging sessions of PDU sessions: usage, to the byte, and records (TS 32.255, 5.2).
use super::{SUPI, account, online, pings};
use crate::sbi::proxy::Proxy;
use anyhow::{Context, ensure};
use martlet::core::Sbi;
use martlet_sbi::{OperationInfo, Problem, Response};
use martlet_sbi_api::nchf_converged_charging::NCHF_CONVERGEDCHARGING;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_smf::{ChargingMode, OnFailure};
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, internet, ping, reaches};
use std::time::Duration;

#[test]
fn usage_is_counted_exactly_and_recorded() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            online(config);
            // Half of a grant is about twenty packets: enough time to request the next one.
            (config.chf.grant, config.chf.threshold_percent) = (4000, 50);
        })
        .await?;
        core.query(&format!("charging/{SUPI}/1000000")).await?;
        let gnb = core.gnb(1).await?;
        let (ue, address) = core.ue_with_session(&gnb, 1).await?;
        // The quota is renewed several times before it is used up. On a busy machine that takes
        // longer than twenty packets without a pause.
        let mut one = 0;
        for _ in 0..60 {
            one = pings(&ue, address, 1).await?;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        ue.deregister().await?;
        core.until_all_released().await?;
        ensure!(
            account(&core, SUPI).await? == (60 * one, 60 * one),
            "{}",
            core.query("charging").await?
        );
        let shown = core.query(&format!("charging/{SUPI}")).await?;
        let record = &shown["records"][0];
        ensure!(record["uplink"] == 60 * one && record["downlink"] == 60 * one, "{shown}");
        // The number of reports depends on timing, but 6 kB exceed one grant in any case.
        ensure!(record["reports"].as_u64() > Some(1), "the quota was not renewed: {shown}");
        ensure!(
            record["address"] == address.to_string()
                && record["ended"] != ""
                && record["dnn"] == "internet",
            "{shown}"
        );
        ensure!(shown["accounts"][SUPI]["left"] == 1_000_000 - 120 * one, "{shown}");
        core.sbi_record.check_members()?;
        core.sbi_record
            .check(&[
                "nchf-convergedcharging Create",
                "nchf-convergedcharging Update",
                "nchf-convergedcharging Release",
            ])
            .await
    });
}

/// A report of the UPF that waits behind the request of a release counts, too.
#[test]
fn usage_that_is_reported_before_the_end_of_a_session_is_counted() {
    const UPDATE: &str = "nchf-convergedcharging Update";
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| {
            online(config);
            (config.chf.grant, config.chf.threshold_percent) = (4000, 50);
        })
        .await?;
        core.query(&format!("charging/{SUPI}/1000000")).await?;
        let gnb = core.gnb(1).await?;
        let (ue, address) = core.ue_with_session(&gnb, 1).await?;
        // The session waits for the CHF while its UE requests the release and uses up its quota.
        core.sbi_gate.close(UPDATE, 0);
        let mut one = 0;
        while core.sbi_gate.held(UPDATE) == 0 {
            one = pings(&ue, address, 1).await?;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let mut releasing = Box::pin(ue.release_pdu_session(1));
        let early = tokio::time::timeout(Duration::from_millis(300), &mut releasing).await;
        ensure!(early.is_err(), "the release does not wait for the CHF");
        for n in 0..40 {
            ue.send_ip(1, ping(address, GATEWAY, n)).await?;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        core.sbi_gate.open();
        releasing.await?;
        core.until("the session is released", |counts| counts.sessions == 0).await?;
        let (uplink, _) = account(&core, SUPI).await?;
        let forwarded = core.upf_forwarded() * one;
        ensure!(uplink == forwarded, "{uplink} bytes of {forwarded} are charged");
        ue.deregister().await?;
        core.until_all_released().await
    });
}

#[test]
fn usage_of_a_rejected_report_is_counted_with_the_next_one() {
    const UPDATE: &str = "nchf-convergedcharging Update";
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| {
            online(config);
            // A report after 4 kB, and no pause before the grant is used up.
            (config.chf.grant, config.chf.threshold_percent) = (40_000, 90);
        })
        .await?;
        core.query(&format!("charging/{SUPI}/1000000")).await?;
        let gnb = core.gnb(1).await?;
        let (ue, address) = core.ue_with_session(&gnb, 1).await?;
        core.sbi_gate.fail(UPDATE, 500);
        let (mut one, mut sent) = (0, 0);
        while core.sbi_gate.failed(UPDATE) == 0 {
            one = pings(&ue, address, 1).await?;
            sent += 1;
        }
        core.sbi_gate.open();
        ue.deregister().await?;
        core.until_all_released().await?;
        ensure!(
            account(&core, SUPI).await? == (sent * one, sent * one),
            "{sent} packets of {one} bytes: {}",
            core.query("charging").await?
        );
        Ok(())
    });
}

/// A CHF that records an update, but whose answer is lost.
fn lost_answer(operation: &OperationInfo, response: Response) -> Response {
    match operation.name {
        "Update" => Response::problem(Problem::new(504, "TIMED_OUT_REQUEST")),
        _ => response,
    }
}

#[test]
fn usage_of_a_report_without_an_answer_is_counted_once() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| {
            online(config);
            (config.chf.grant, config.chf.threshold_percent) = (40_000, 90);
        })
        .await?;
        core.query(&format!("charging/{SUPI}/1000000")).await?;
        let (real, services) = (core.config().sbi.chf, [NCHF_CONVERGEDCHARGING::OPERATIONS]);
        Proxy::before(&core, NfType::Chf, real, &services, |_| {}, lost_answer).await?;
        let gnb = core.gnb(1).await?;
        let (ue, address) = core.ue_with_session(&gnb, 1).await?;
        let reports = async || {
            let shown = core.query(&format!("charging/{SUPI}")).await?;
            anyhow::Ok(shown["records"][0]["reports"].as_u64())
        };
        let (mut one, mut sent) = (0, 0);
        while reports().await? == Some(0) {
            one = pings(&ue, address, 1).await?;
            sent += 1;
        }
        ue.deregister().await?;
        core.until_all_released().await?;
        ensure!(
            account(&core, SUPI).await? == (sent * one, sent * one),
            "{sent} packets of {one} bytes: {}",
            core.query("charging").await?
        );
        // The update, and the release.
        ensure!(reports().await? == Some(2), "{:?}", reports().await?);
        Ok(())
    });
}

/// The CHF fails when the session ends. It gets the release later, with the usage.
#[test]
fn a_release_that_the_chf_does_not_take_is_repeated() {
    const RELEASE: &str = "nchf-convergedcharging Release";
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, online).await?;
        core.query(&format!("charging/{SUPI}/1000000")).await?;
        let gnb = core.gnb(1).await?;
        let (ue, address) = core.ue_with_session(&gnb, 1).await?;
        let one = pings(&ue, address, 1).await?;
        core.sbi_gate.fail(RELEASE, 500);
        ue.deregister().await?;
        core.until_all_released().await?;
        let failed = || (core.sbi_gate.failed(RELEASE) > 0).then_some(());
        eventually("the release fails", failed, String::new).await?;
        ensure!(core.status("chf")["sessions"] == 1, "{}", core.status("chf"));
        core.sbi_gate.open();
        let ended = || (core.status("chf")["sessions"] == 0).then_some(());
        eventually("the session ends", ended, || core.status("chf").to_string()).await?;
        ensure!(account(&core, SUPI).await? == (one, one), "{}", core.query("charging").await?);
        Ok(())
    });
}

/// The CHF and then the SMF fail after the end of a session. Another SMF process finds the release
/// in the context store, and repeats it.
#[cfg(debug_assertions)]
#[test]
fn a_release_that_the_chf_does_not_take_is_repeated_after_a_restart_of_the_smf() {
    const RELEASE: &str = "nchf-convergedcharging Release";
    in_namespace(|| async {
        let _alone = crate::function_restart::ALONE.lock().await;
        let core = TestCore::start_on(Sbi::Http, online).await?;
        core.query(&format!("charging/{SUPI}/1000000")).await?;
        let gnb = core.gnb(1).await?;
        let (ue, address) = core.ue_with_session(&gnb, 1).await?;
        let one = pings(&ue, address, 1).await?;
        core.sbi_gate.fail(RELEASE, 500);
        ue.deregister().await?;
        core.until_all_released().await?;
        let failed = || (core.sbi_gate.failed(RELEASE) > 0).then_some(());
        eventually("the release fails", failed, String::new).await?;
        // Longer than the flush interval of the store.
        tokio::time::sleep(Duration::from_millis(500)).await;
        crate::function_restart::restart(&core, "smf").await?;
        ensure!(core.status("chf")["sessions"] == 1, "{}", core.status("chf"));
        core.sbi_gate.open();
        let ended = || (core.status("chf")["sessions"] == 0).then_some(());
        eventually("the session ends", ended, || core.status("chf").to_string()).await?;
        ensure!(account(&core, SUPI).await? == (one, one), "{}", core.query("charging").await?);
        Ok(())
    });
}

#[test]
fn sessions_continue_without_a_chf_when_the_policy_allows_it() {
    in_namespace(|| async {
        let core =
            TestCore::start(Sbi::Local, |config| config.smf.charging.mode = ChargingMode::Online)
                .await?;
        let gnb = core.gnb(1).await?;
        core.register_use_session_and_deregister(&gnb, 1).await?;
        core.until_all_released().await
    });
}

#[test]
fn sessions_are_rejected_without_a_chf_when_the_policy_requires_it() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.smf.charging.mode = ChargingMode::Offline;
            config.smf.charging.on_failure = OnFailure::Refuse;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let ue = gnb.new_ue(core.ue_config(1))?;
        ue.register().await?;
        let refused = ue.establish_pdu_session(internet()).await;
        ensure!(
            refused.is_err_and(|error| error.cause() == Some(38)),
            "expected cause #38, network failure"
        );
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// TS 33.515, 4.2.2.1.4, TC_CHARGING_ID_UNIQUENESS_SMF: concurrent and consecutive sessions have
/// different charging identifiers.
#[test]
fn ts_33_515_4_2_2_1_4_charging_identifiers_are_unique() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, online).await?;
        let gnb = core.gnb(1).await?;
        let (mut ues, mut sessions) = (Vec::new(), 0);
        for n in 1..=3 {
            core.query(&format!("charging/imsi-{:015}/1000000000000", 1_010_000_000_000_u64 + n))
                .await?;
            let ue = gnb.new_ue(core.ue_config(n))?;
            ue.register().await?;
            ues.push(ue);
        }
        for _ in 0..2 {
            for ue in &ues {
                let (one, other) =
                    (ue.establish_pdu_session(internet()), ue.establish_pdu_session(internet()));
                let (one, other) = (one.await?.psi, other.await?.psi);
                reaches(ue, one, GATEWAY).await?;
                ue.release_pdu_session(one).await?;
                ue.release_pdu_session(other).await?;
                sessions += 2;
            }
        }
        let mut ids = std::collections::BTreeSet::new();
        for n in 1..=3 {
            let shown =
                core.query(&format!("charging/imsi-{:015}", 1_010_000_000_000_u64 + n)).await?;
            let records = shown["records"].as_array().context("records")?;
            ids.extend(
                records
                    .iter()
                    .filter_map(|record| record["charging_id"].as_str().map(str::to_owned)),
            );
        }
        ensure!(
            ids.len() == sessions && !ids.contains(""),
            "{sessions} sessions have the identifiers {ids:?}"
        );
        for ue in ues {
            ue.deregister().await?;
        }
        core.until_all_released().await
    });
}
