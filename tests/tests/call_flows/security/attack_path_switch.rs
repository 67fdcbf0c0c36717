//! An admitted gNB that knows the AMF UE NGAP ID of a foreign UE asks for its path (TS 38.413,
//! 8.4.4; TS 33.501, 6.7.3.1).
use crate::handover::malformed::path_switch;
use crate::security::{limit, rounds};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_amf::{NeighboursConfig, XnNeighbours};
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ie;
use martlet_ngap::ngap::*;
use martlet_ran::{Gnb, Ue};
use martlet_tests::{
    GATEWAY, MetricDelta, RawGnb, TestCore, eventually, in_namespace, in_namespace_within, reaches,
};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Time limit of the answers to four requests.
const ANSWER: Duration = Duration::from_secs(40);

/// A UE with a session at gNB 1, and its AMF UE NGAP ID.
async fn victim(core: &TestCore) -> Result<(Gnb, Ue, u64)> {
    let gnb = core.gnb(1).await?;
    let mut sent = gnb.subscribe();
    let (ue, _) = core.ue_with_session(&gnb, 1).await?;
    while let Ok(message) = sent.try_recv() {
        let pdu = NGAP_PDU::decode(&message)?;
        if let Some(id) = pdu.ie::<ie::AMF_UE_NGAP_ID>().transpose()? {
            return Ok((gnb, ue, id.0));
        }
    }
    anyhow::bail!("no AMF UE NGAP ID")
}

/// A gNB with this number and tracking area that sends a path switch request for the UE, and the
/// answer.
async fn attack(core: &TestCore, number: u8, tac: u8, amf_id: u64) -> Result<(RawGnb, NGAP_PDU)> {
    let gnb = RawGnb::connect(core, number).await?;
    gnb.send(gnb.ng_setup_as(number.into(), "001", 1, tac)).await?;
    let answer = gnb.next().await?;
    ensure!(answer.kind() == Kind::Successful_NGSetup, "{answer:?}");
    gnb.send(path_switch(amf_id, 1)?).await?;
    let answer = gnb.next().await?;
    Ok((gnb, answer))
}

fn neighbours(gnb: &str, of: &str) -> Vec<NeighboursConfig> {
    vec![NeighboursConfig { gnb: gnb.into(), of: vec![of.into()] }]
}

#[test]
fn attack_path_switch_of_a_foreign_ue() {
    let rounds = rounds(3);
    in_namespace_within(limit(rounds), move || async move {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let (_gnb, ue, amf_id) = victim(&core).await?;
        let refused =
            MetricDelta::of("martlet_amf_ngap_errors_total", &[("reason", "path_switch")]);
        let (attacker, answer) = attack(&core, 2, 7, amf_id).await?;
        ensure!(answer.kind() == Kind::Unsuccessful_PathSwitchRequest, "{answer:?}");
        for _ in 1..rounds {
            attacker.send(path_switch(amf_id, 1)?).await?;
            let answer = attacker.next().await?;
            ensure!(answer.kind() == Kind::Unsuccessful_PathSwitchRequest, "{answer:?}");
            // The UE's downlink stays where it is.
            reaches(&ue, 1, GATEWAY).await?;
        }
        ensure!(refused.get() >= f64::from(rounds), "{} counted", refused.get());
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// Requests without a pause, while the UE is handed over between its own gNBs.
#[test]
fn attack_path_switch_of_a_foreign_ue_during_handovers() {
    let rounds = rounds(10);
    in_namespace_within(limit(rounds), move || async move {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let (one, ue, amf_id) = victim(&core).await?;
        let two = core.gnb(3).await?;
        let (attacker, _) = attack(&core, 2, 7, amf_id).await?;
        let (refused, accepted) = (Cell::new(0u32), Cell::new(0u32));
        let flood = async {
            loop {
                for _ in 0..4 {
                    attacker.send(path_switch(amf_id, 1)?).await?;
                }
                let (mut answers, started) = (0, Instant::now());
                while answers < 4 {
                    // SCTP may have to send again on a busy machine.
                    let answer = match attacker.next().await {
                        Ok(answer) => answer,
                        Err(_) if started.elapsed() < ANSWER => continue,
                        Err(error) => return Err(error.context(format!("{answers} answers"))),
                    };
                    answers += 1;
                    let of = match answer.kind() {
                        Kind::Unsuccessful_PathSwitchRequest => &refused,
                        _ => &accepted,
                    };
                    of.update(|n| n + 1);
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            #[allow(unreachable_code)]
            anyhow::Ok(())
        };
        let handovers = async {
            for round in 0..rounds {
                let to = if round % 2 == 0 { &two } else { &one };
                match round % 4 < 2 {
                    true => ue.xn_handover_to(to).await?,
                    false => ue.handover_to(to).await?,
                };
                reaches(&ue, 1, GATEWAY).await?;
            }
            anyhow::Ok(())
        };
        tokio::select! {
            done = handovers => done?,
            ended = flood => anyhow::bail!("the flood ended: {ended:?}"),
        }
        let (refused, accepted) = (refused.get(), accepted.get());
        ensure!(accepted == 0 && refused >= rounds, "{accepted} accepted, {refused} refused");
        println!("{rounds} handovers, {refused} requests refused");
        attacker.abort();
        ue.deregister().await?;
        core.until_all_released().await
    });
}

#[test]
fn attack_path_switch_by_a_gnb_that_is_not_in_the_list() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.n2.xn_neighbours = XnNeighbours::List;
            config.amf.n2.neighbours = neighbours("00101-000001", "00101-000003");
        })
        .await?;
        let (gnb, ue, amf_id) = victim(&core).await?;
        // The same tracking area is not enough.
        let (_attacker, answer) = attack(&core, 2, 1, amf_id).await?;
        ensure!(answer.kind() == Kind::Unsuccessful_PathSwitchRequest, "{answer:?}");
        reaches(&ue, 1, GATEWAY).await?;
        let (three, four) = (core.gnb(3).await?, core.gnb(4).await?);
        ensure!(ue.xn_handover_to(&four).await.is_err(), "a gNB that is not in the list");
        ue.wait_idle().await.ok();
        drop(gnb);
        let other = three.new_ue(core.ue_config(2))?;
        core.register_with_session(&other).await?;
        let one = Gnb::connect(core.gnb_config(5)).await?;
        ensure!(other.xn_handover_to(&one).await.is_err(), "a gNB that is not in the list");
        Ok(())
    });
}

#[test]
fn configured_neighbours_with_other_tracking_areas_switch_the_path() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.n2.neighbours = neighbours("00101-000002", "00101-000001");
        })
        .await?;
        let (gnb, ue, _) = victim(&core).await?;
        let mut config = core.gnb_config(2);
        config.tac = 7;
        let other = Gnb::connect(config).await?;
        ue.xn_handover_to(&other).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.xn_handover_to(&gnb).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// A plausible target with all-zero security capabilities gets the stored ones, and the source
/// learns that its UE is gone.
#[test]
fn attack_path_switch_with_false_security_capabilities() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| config.amf.timers.ngap_ms = 500).await?;
        let (gnb, ue, amf_id) = victim(&core).await?;
        let differ = MetricDelta::of(
            "martlet_amf_ngap_errors_total",
            &[("reason", "security_capabilities")],
        );
        let (_attacker, answer) = attack(&core, 2, 1, amf_id).await?;
        ensure!(answer.kind() == Kind::Successful_PathSwitchRequest, "{answer:?}");
        let own = answer.ie::<ie::UESecurityCapabilities>().transpose()?.context("capabilities")?;
        let algorithms = (
            own.nr_encryption_algorithms.0.as_octets()[0],
            own.nr_integrity_protection_algorithms.0.as_octets()[0],
        );
        // The UE has NEA1 to NEA3 and NIA1 to NIA3.
        ensure!(algorithms == (0xe0, 0xe0), "{algorithms:02x?}");
        ensure!(differ.get() >= 1.0, "the mismatch is not counted");
        // UE CONTEXT RELEASE COMMAND to the source, which was not asked.
        let gone = || (gnb.ue_counts().0 == 0).then_some(());
        let counts = || format!("{:?} UEs", gnb.ue_counts());
        eventually("the source releases the UE", gone, counts).await?;
        ue.wait_idle().await?;
        Ok(())
    });
}

/// UE locations in a tracking area that the gNB has not announced are used, and counted.
#[test]
fn locations_outside_the_announced_tracking_areas_are_counted() {
    in_namespace(|| async {
        let core =
            TestCore::start(Sbi::Local, |config| config.amf.n2.xn_neighbours = XnNeighbours::Any)
                .await?;
        let (_gnb, _ue, amf_id) = victim(&core).await?;
        let counted =
            MetricDelta::of("martlet_amf_ngap_errors_total", &[("reason", "tracking_area")]);
        // Area 7 is announced, and area 1 reported.
        let (target, answer) = attack(&core, 2, 7, amf_id).await?;
        ensure!(answer.kind() == Kind::Successful_PathSwitchRequest, "{answer:?}");
        target.send(target.initial_ue_message(2, &[0x7e, 0, 0x64, 22])).await?;
        let both = || (counted.get() >= 2.0).then_some(());
        eventually("both are counted", both, || counted.get().to_string()).await
    });
}
