//! A gNB whose UEs do not answer: it may delay and reject its own UEs, not those of others.
use crate::connection::paging::receives;
use crate::registration::authentication::five_g_aka::{REGISTRATION_REQUEST, from_hex};
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ran::RegistrationType;
use martlet_tests::{GATEWAY, RawGnb, TestCore, eventually, in_namespace, ping, reaches};
use martlet_udm::{HomeNetworkKey, Scheme};
use std::cell::Cell;
use std::time::Duration;

/// Sends registrations of UEs that never answer.
async fn flood(gnb: &RawGnb, registrations: u32) -> Result<()> {
    for ran_id in 1..=registrations {
        gnb.send(gnb.initial_ue_message(ran_id, &from_hex(REGISTRATION_REQUEST))).await?;
    }
    Ok(())
}

#[test]
fn attack_registration_flood_of_one_gnb() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.concurrency.queue = 100;
            // UEs that do not answer keep their slots, unless others need them.
            config.amf.concurrency.slot_timeout_ms = 60_000;
            config.amf.limits.overload_ms = 60_000;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let attacker = RawGnb::set_up(&core, 2).await?;
        flood(&attacker, 300).await?;
        let waiting = || {
            let count = core.status("amf")["procedures"]["registration"]["waiting"].clone();
            (count == 100).then_some(())
        };
        let status = || core.status("amf")["procedures"].to_string();
        eventually("the queue is full", waiting, status).await?;
        // Each UE of the other gNB overtakes those that wait.
        for n in 1..=20 {
            core.register_use_session_and_deregister(&gnb, n).await?;
        }
        let procedures = core.status("amf")["procedures"]["registration"].clone();
        ensure!(procedures["waiting"].as_u64() > Some(50), "{procedures}");
        // The flood costs its own gNB, and only it, an overload.
        attacker.next_of(Kind::Initiating_OverloadStart).await?;
        ensure!(!gnb.is_overloaded(), "the other gNB received OVERLOAD START");
        attacker.abort();
        core.until_all_released().await
    });
}

#[test]
fn attack_unverified_connections_of_one_gnb_fill_the_amf() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.limits.max_ues = 60;
            config.amf.limits.max_unverified_per_gnb = 20;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let attacker = RawGnb::set_up(&core, 2).await?;
        flood(&attacker, 400).await?;
        // Beyond its share it gets REGISTRATION REJECT #22, then ERROR INDICATION.
        let mut rejected = 0;
        loop {
            let pdu = attacker.next().await?;
            match pdu.kind() {
                Kind::Initiating_DownlinkNASTransport => {
                    let nas = pdu.ie::<martlet_ngap::ie::NAS_PDU>().transpose()?;
                    let is_reject = |nas: &[u8]| nas.starts_with(&[0x7e, 0x00, 0x44, 22]);
                    rejected += u32::from(nas.is_some_and(|nas| is_reject(&nas.0)));
                }
                Kind::Initiating_ErrorIndication => break,
                _ => {}
            }
        }
        for n in 1..=10 {
            core.register_use_session_and_deregister(&gnb, n).await?;
        }
        ensure!(!gnb.is_overloaded(), "the other gNB received OVERLOAD START");
        while rejected == 0 {
            let (_, nas) = attacker.next_nas().await?;
            rejected += u32::from(nas.starts_with(&[0x7e, 0x00, 0x44, 22]));
        }
        let contexts = core.counts().contexts;
        ensure!(contexts <= 60, "{contexts} contexts");
        attacker.abort();
        core.until_all_released().await
    });
}

/// A gNB that sends without reading until the AMF cannot send to it any more. It must not keep the
/// AMF from paging the UEs of other gNBs in the same area.
#[test]
fn attack_gnb_that_does_not_read_delays_paging() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let attacker = RawGnb::set_up(&core, 2).await?;
        let gnb = core.gnb(1).await?;
        let (one, from) = core.ue_with_session(&gnb, 1).await?;
        let (two, to) = core.ue_with_session(&gnb, 2).await?;
        two.release_to_idle().await?;
        // Each is answered with an ERROR INDICATION that it does not read.
        let junk = attacker.uplink_nas_transport(7, 7, &[0x7e; 64]);
        let limit = Duration::from_secs(1);
        while tokio::time::timeout(limit, attacker.send(junk.clone())).await.is_ok() {}
        one.send_ip(1, ping(from, to, 1)).await?;
        receives(&two, 1..=1).await?;
        two.deregister().await?;
        one.deregister().await?;
        core.until_all_released().await
    });
}

/// Registration Requests of radios without keys, as they come in floods: of a SUCI that the UDM has
/// to deconceal with ECIES profile B, and for emergency services without a subscription.
fn registrations() -> [Vec<u8>; 3] {
    let plain = from_hex(REGISTRATION_REQUEST);
    // Any point of the curve does: the UDM has to compute the key before it can check the MAC.
    let point = "036b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296";
    let suci = ["0100f110f0ff0202", point, &"00".repeat(5 + 8)].concat();
    let suci = from_hex(&suci);
    let length = (suci.len() as u16).to_be_bytes();
    let profile_b = [&[0x7e, 0, 0x41, 0x79][..], &length, &suci, &plain[19..]].concat();
    let mut emergency = plain.clone();
    emergency[3] = 0x7c;
    [plain, profile_b, emergency]
}

/// The flood comes by the gNB of UEs that are registered. It takes all slots and the queue, and its
/// UEs do not answer. The verified UEs have a share of their own: each procedure overtakes those
/// that wait.
#[test]
fn attack_unverified_flood_beside_verified_ues_of_the_same_gnb() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.udm.home_network_keys =
                vec![HomeNetworkKey { id: 2, scheme: Scheme::B, private: "09".repeat(32) }];
            config.amf.concurrency.queue = 100;
            config.amf.concurrency.slot_timeout_ms = 60_000;
            config.amf.limits.overload_ms = 60_000;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        gnb.ignore_unknown_ues();
        // Only writes messages: it has no association of its own.
        let writer = RawGnb::connect(&core, 2).await?;
        let mut ran_id = 1 << 20;
        // Those for emergency services do not hold their turn: they are rejected.
        let [plain, profile_b, _] = registrations();
        for _ in 0..100 {
            for message in [&plain, &plain, &profile_b] {
                ran_id += 1;
                gnb.send_raw_ngap(1, writer.initial_ue_message(ran_id, message)).await?;
            }
        }
        let waiting =
            || core.status("amf")["procedures"]["registration"]["waiting"].as_u64().unwrap_or(0);
        let status = || core.status("amf")["procedures"].to_string();
        eventually("the queue is full", || (waiting() == 100).then_some(()), status).await?;
        for _ in 0..20 {
            ue.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
            ue.release_to_idle().await?;
            ue.service_request().await?;
            let session = ue.establish_pdu_session(martlet_tests::internet()).await?;
            reaches(&ue, session.psi, GATEWAY).await?;
            ue.release_pdu_session(session.psi).await?;
        }
        ensure!(waiting() > 50, "{}", status());
        Ok(())
    });
}

/// A UE that registers again and again, and one that establishes and releases sessions, have one
/// turn each, as all others have: none of them gets on faster than the one beside them.
#[test]
fn attack_loops_of_single_ues_delay_others_of_the_gnb() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let (first, _) = core.ue_with_session(&gnb, 2).await?;
        let (second, _) = core.ue_with_session(&gnb, 3).await?;
        let (registrations, sessions) = (Cell::new(0), Cell::new(0));
        let first_loop = async {
            loop {
                first.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
                registrations.update(|n| n + 1);
            }
            #[allow(unreachable_code)]
            anyhow::Ok(())
        };
        let second_loop = async {
            loop {
                let session = second.establish_pdu_session(martlet_tests::internet()).await?;
                second.release_pdu_session(session.psi).await?;
                sessions.update(|n| n + 1);
            }
            #[allow(unreachable_code)]
            anyhow::Ok(())
        };
        let rounds = 100;
        let own = async {
            for _ in 0..rounds {
                ue.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
            }
            anyhow::Ok(())
        };
        tokio::select! {
            done = own => done?,
            ended = first_loop => anyhow::bail!("the registrations ended: {ended:?}"),
            ended = second_loop => anyhow::bail!("the sessions ended: {ended:?}"),
        }
        let (registrations, sessions) = (registrations.get(), sessions.get());
        println!("{rounds} registrations beside {registrations} and {sessions} sessions");
        // Procedures of the same kind take turns; a session is two procedures.
        ensure!(registrations <= 2 * rounds, "{registrations} registrations beside {rounds}");
        ensure!(sessions <= 2 * rounds, "{sessions} sessions beside {rounds} registrations");
        ensure!(registrations > 0 && sessions > 0, "a loop has not run");
        reaches(&ue, 1, GATEWAY).await
    });
}
