//! NAS non-delivery indication (TS 38.413, 8.6.4).
use crate::registration::mobility_restrictions::{two_areas, until};
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ran::{Gnb, HandoverPlan, HandoverScript, Ue};
use martlet_store::ServiceArea;
use martlet_tests::{TestCore, in_namespace};
use std::time::{Duration, Instant};

/// A core whose AMF waits long before it retransmits a configuration update, two gNBs in areas of
/// their own, and a UE with a session at the first one.
async fn start() -> Result<(TestCore, Gnb, Gnb, Ue)> {
    let core = TestCore::start(Sbi::Local, |config| {
        two_areas(config);
        config.amf.timers.t3555_ms = 60_000;
    })
    .await?;
    let (here, there) = (core.gnb(1).await?, core.gnb(2).await?);
    let (ue, _) = core.ue_with_session(&here, 1).await?;
    Ok((core, here, there, ue))
}

/// A NAS message that a gNB did not deliver because of a handover is sent again through the target
/// gNB, or through the source gNB if the handover fails (TS 23.502, 4.9.1.3.1). It does not wait
/// for its retransmission timer.
#[test]
fn undelivered_nas_is_sent_again_after_the_handover() {
    in_namespace(|| async {
        let (core, here, there, ue) = start().await?;
        let mut other = [1, 2];
        for case in ["N2", "Xn", "target full", "cancelled"] {
            let mut messages = [&here, &there].map(|gnb| gnb.subscribe());
            ue.withhold_nas(1).await?;
            core.subscribe(1, |subscriber| {
                subscriber.service_area = Some(ServiceArea::Allowed(vec![other[0]]))
            })?;
            // The gNB has received CONFIGURATION UPDATE COMMAND and does not deliver it.
            let [one, two] = &mut messages;
            tokio::select! {
                message = one.recv() => drop(message?),
                message = two.recv() => drop(message?),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            let before = ue.status().await?.settings.without_service;
            ensure!(before != [other[1]], "{case}: it was delivered: {before:?}");
            match case {
                "N2" => drop(ue.handover_to(&there).await?),
                "Xn" => drop(ue.xn_handover_to(&here).await?),
                _ => {
                    let script = if case == "cancelled" {
                        HandoverScript::CancelledAfterCommand
                    } else {
                        HandoverScript::TargetRejects
                    };
                    let none = ue
                        .handover(&there, HandoverPlan { script, ..HandoverPlan::default() })
                        .await;
                    ensure!(none.is_err(), "{case}: {none:?}");
                }
            }
            until(&ue, case, |given| given.without_service == [other[1]]).await?;
            other.reverse();
        }
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// The UE is lost in the handover that interrupts a NAS procedure. The release that the source gNB
/// requests ends both, and does not wait for the timer of the NAS procedure.
#[test]
fn release_in_the_handover_ends_the_interrupted_procedure() {
    in_namespace(|| async {
        let (core, here, there, ue) = start().await?;
        let mut messages = here.subscribe();
        ue.withhold_nas(1).await?;
        core.subscribe(1, |subscriber| {
            subscriber.service_area = Some(ServiceArea::Allowed(vec![1]))
        })?;
        // The gNB has received CONFIGURATION UPDATE COMMAND and does not deliver it.
        messages.recv().await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let script = HandoverScript::UeDoesNotArrive;
        let plan = HandoverPlan { script, ..HandoverPlan::default() };
        let moving = tokio::time::timeout(Duration::from_secs(1), ue.handover(&there, plan)).await;
        ensure!(moving.is_err(), "the handover has ended: {moving:?}");
        let started = Instant::now();
        ue.release_to_idle().await?;
        core.until("the UE is in CM-IDLE", |c| (c.registered, c.connected) == (1, 0)).await?;
        ensure!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        ue.deregister().await?;
        core.until_all_released().await
    });
}
