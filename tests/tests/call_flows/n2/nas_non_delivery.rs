//! NAS non-delivery indication (TS 38.413, 8.6.4).
use crate::registration::service_area::{two_areas, until};
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::{HandoverPlan, HandoverScript};
use martlet_store::ServiceArea;
use martlet_tests::{TestCore, in_namespace};
use std::time::Duration;

/// NAS NON DELIVERY INDICATION (TS 38.413, 8.6.4): what a gNB did not deliver because of a handover
/// comes at the target, or where it was, if the handover is none (TS 23.502, 4.9.1.3.1); nobody
/// waits for its timer.
#[test]
fn undelivered_nas_is_sent_again_after_the_handover() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            two_areas(config);
            config.amf.timers.t3555_ms = 60_000;
        })
        .await?;
        let (here, there) = (core.gnb(1).await?, core.gnb(2).await?);
        let (phone, _) = core.phone_with_session(&here, 1).await?;
        let mut other = [1, 2];
        for way in ["N2", "Xn", "a target that is full", "N2, cancelled"] {
            let mut heard = [&here, &there].map(|gnb| gnb.subscribe());
            phone.withhold_nas(1).await?;
            core.subscribe(1, |subscriber| {
                subscriber.service_area = Some(ServiceArea::Allowed(vec![other[0]]))
            })?;
            // CONFIGURATION UPDATE COMMAND has come, and was not delivered.
            let [one, two] = &mut heard;
            tokio::select! {
                message = one.recv() => drop(message?),
                message = two.recv() => drop(message?),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            let before = phone.status().await?.given.without_service;
            ensure!(before != [other[1]], "{way}: it was delivered: {before:?}");
            match way {
                "N2" => drop(phone.handover_to(&there).await?),
                "Xn" => drop(phone.xn_handover_to(&here).await?),
                _ => {
                    let script = if way == "N2, cancelled" {
                        HandoverScript::CancelledAfterCommand
                    } else {
                        HandoverScript::TargetRejects
                    };
                    let none = phone
                        .handover(&there, HandoverPlan { script, ..HandoverPlan::default() })
                        .await;
                    ensure!(none.is_err(), "{way}: {none:?}");
                }
            }
            until(&phone, way, |given| given.without_service == [other[1]]).await?;
            other.reverse();
        }
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}
