//! N2 handover (TS 23.502, 4.9.1.3; TS 38.413, 8.4.1 to 8.4.3).
use crate::handover::{is_served, two_gnbs};
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::{Gnb, HandoverPlan};
use martlet_tests::{GATEWAY, TestCore, in_namespace, internet, reaches};
use std::time::{Duration, Instant};

#[test]
fn n2_handover_with_each_kind_of_forwarding() {
    in_namespace(|| async {
        let (core, one, other, phone, _) = two_gnbs(Sbi::Http).await?;
        for round in 0..4 {
            let to = if round % 2 == 0 { &other } else { &one };
            let outcome = phone.handover_to(to).await?;
            ensure!(outcome.sessions == [1], "{outcome:?}");
            is_served(&core, &phone, to).await?;
        }
        ensure!(other.ue_counts().0 == 0, "the gNB that it has left has forgotten it");
        phone.handover_to(&other).await?;
        phone.xn_handover_to(&one).await?;
        phone
            .handover(&other, HandoverPlan { direct_forwarding: true, ..Default::default() })
            .await?;
        phone
            .handover(&one, HandoverPlan { without_forwarding: true, ..Default::default() })
            .await?;
        phone.release_to_idle().await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await?;
        ensure!(
            one.error_indications() == 0 && other.error_indications() == 0,
            "errors were indicated"
        );
        core.bodies.check(&["nsmf-pdusession UpdateSmContext"]).await
    });
}

#[test]
fn session_refused_by_the_target_keeps_no_user_plane() {
    in_namespace(|| async {
        let (core, one, other, phone, _) = two_gnbs(Sbi::Local).await?;
        let second = phone.establish_pdu_session(internet()).await?.psi;
        let plan = HandoverPlan { refused: vec![second], ..Default::default() };
        let outcome = phone.handover(&other, plan).await?;
        ensure!(outcome.sessions == [1], "{outcome:?}");
        ensure!(phone.status().await?.active_user_planes == [1], "{:?}", phone.status().await?);
        reaches(&phone, 1, GATEWAY).await?;
        // It comes back when it is needed.
        reaches(&phone, second, GATEWAY).await?;
        let outcome = phone.xn_handover_without(&one, &[1]).await?;
        ensure!(outcome.sessions == [second], "{outcome:?}");
        reaches(&phone, second, GATEWAY).await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn ue_registers_after_a_handover_to_another_tracking_area() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            let mut tai = config.amf.tais[0].clone();
            tai.tac = 2;
            config.amf.tais.push(tai);
        })
        .await?;
        let one = core.gnb(1).await?;
        let mut config = core.gnb_config(2);
        config.tac = 2;
        let other = Gnb::connect(config).await?;
        let (phone, _) = core.phone_with_session(&one, 1).await?;
        phone.handover_to(&other).await?;
        let kind = martlet_ran::RegistrationType::MobilityRegistrationUpdating;
        phone.register_as(kind).await?;
        reaches(&phone, 1, GATEWAY).await?;
        // Where the core does not serve, nobody is brought to.
        let mut config = core.gnb_config(3);
        config.tac = 3;
        let nowhere = Gnb::connect(config).await?;
        ensure!(phone.handover_to(&nowhere).await.is_err());
        is_served(&core, &phone, &other).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn n2_handover_takes_at_most_three_times_a_registration() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let phone = one.new_ue(core.phone(1))?;
        let (mut registrations, mut handovers) = (Vec::new(), Vec::new());
        for round in 0..20 {
            let started = Instant::now();
            phone.register().await?;
            registrations.push(started.elapsed());
            phone.establish_pdu_session(internet()).await?;
            let to = if round % 2 == 0 { &other } else { &one };
            handovers.push(phone.handover_to(to).await?.total);
            phone.deregister().await?;
            phone.forget_registration().await?;
        }
        let median = |times: &mut Vec<Duration>| {
            times.sort_unstable();
            times[times.len() / 2]
        };
        let (registration, handover) = (median(&mut registrations), median(&mut handovers));
        let ratio = handover.as_secs_f64() / registration.as_secs_f64();
        println!(
            "a registration takes {registration:?}, an N2 handover {handover:?}: {ratio:.2} times \
             as long"
        );
        // Unoptimised and beside other tests: the promise is half of this (`martlet lab
        // control-plane`). On a switch, N4 takes the session off it first.
        let most = if martlet_tests::a_switch_carries_packets() { 9.0 } else { 3.0 };
        ensure!(ratio < most, "{ratio:.2} times as long");
        core.until("the phone has gone", |c| c.registered == 0).await
    });
}
