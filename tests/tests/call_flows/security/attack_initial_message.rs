//! Attacks by a radio without keys that hears paging (TS 24.501, 4.4.4.3 and 5.6.2): it sends
//! initial messages with the 5G-S-TMSI of another UE.
use crate::connection::paging::receives;
use crate::security::{limit, rounds};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_nas::{Guti, NasFGsMobileIdentity};
use martlet_ngap::NgapPduKind as Kind;
use martlet_ran::RegistrationType;
use martlet_ran::ue::{IdleBehaviour, ServicePurpose};
use martlet_tests::{
    GATEWAY, MetricDelta, RawGnb, TestCore, in_namespace_within, internet, ping, reaches,
};
use std::time::Duration;

/// A security header with a wrong MAC.
fn with_wrong_mac(plain: Vec<u8>) -> Vec<u8> {
    [vec![0x7e, 0x01, 1, 2, 3, 4, 9], plain].concat()
}

/// SERVICE REQUEST that answers a paging.
fn service_request(guti: Guti) -> Vec<u8> {
    let identity = NasFGsMobileIdentity::from_s_tmsi(guti.s_tmsi()).value.to_vec();
    let length = (identity.len() as u16).to_be_bytes();
    [vec![0x7e, 0x00, 0x4c, 0x20], length.to_vec(), identity].concat()
}

/// REGISTRATION REQUEST of this type with the 5G-GUTI and all algorithms.
fn registration_request(guti: Guti, kind: u8) -> Vec<u8> {
    let identity = NasFGsMobileIdentity::from_guti(guti).value.to_vec();
    let length = (identity.len() as u16).to_be_bytes();
    let capability = vec![0x2e, 0x04, 0xf0, 0xf0, 0xf0, 0xf0];
    [vec![0x7e, 0x00, 0x41, kind], length.to_vec(), identity, capability].concat()
}

/// DEREGISTRATION REQUEST of a UE that is switched off.
fn deregistration_request(guti: Guti) -> Vec<u8> {
    let identity = NasFGsMobileIdentity::from_guti(guti).value.to_vec();
    let length = (identity.len() as u16).to_be_bytes();
    [vec![0x7e, 0x00, 0x45, 0x09], length.to_vec(), identity].concat()
}

/// All forged messages, protected with a wrong MAC and plain.
fn forged(guti: Guti) -> Vec<Vec<u8>> {
    let plain = [
        registration_request(guti, 0x09),
        registration_request(guti, 0x0a),
        deregistration_request(guti),
        service_request(guti),
    ];
    plain.iter().cloned().map(with_wrong_mac).chain(plain.iter().cloned()).collect()
}

#[test]
fn attack_forged_service_request_ends_paging() {
    let rounds = rounds(20);
    in_namespace_within(limit(rounds), move || async move {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.timers.t3513_ms = 200;
            config.amf.timers.paging_attempts = 20;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (one, from) = core.ue_with_session(&gnb, 1).await?;
        let mut manual = core.ue_config(2);
        manual.idle = IdleBehaviour::Manual;
        let two = gnb.new_ue(manual)?;
        let to = core.register_with_session(&two).await?;
        let attacker = RawGnb::set_up(&core, 3).await?;
        let refused = MetricDelta::of(
            "martlet_amf_nas_errors_total",
            &[("reason", "unverified_initial_message")],
        );
        for round in 0..rounds {
            two.release_to_idle().await?;
            let guti = two.status().await?.guti.context("the UE has a 5G-GUTI")?;
            one.send_ip(1, ping(from, to, 1)).await?;
            attacker.next_of(Kind::Initiating_Paging).await?;
            for (n, nas) in forged(guti).iter().enumerate() {
                attacker.send(attacker.initial_ue_message(round * 16 + n as u32, nas)).await?;
            }
            // SERVICE REJECT #9 and others: the AMF has read the forged messages.
            attacker.next_of(Kind::Initiating_DownlinkNASTransport).await?;
            // The paging goes on, and the data arrives once the UE itself answers.
            attacker.next_of(Kind::Initiating_Paging).await.context("the paging ended")?;
            attacker.next_of(Kind::Initiating_Paging).await.context("the paging ended")?;
            two.service_request_for(ServicePurpose::PagingResponse, &[]).await?;
            receives(&two, 1..=1).await?;
        }
        ensure!(refused.get() >= f64::from(rounds), "{} messages refused", refused.get());
        two.deregister().await?;
        Ok(())
    });
}

#[test]
fn attack_forged_initial_message_aborts_a_procedure() {
    let rounds = rounds(20);
    in_namespace_within(limit(rounds * 2), move || async move {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let ue = gnb.new_ue(core.ue_config(1))?;
        ue.register().await?;
        let attacker = RawGnb::set_up(&core, 3).await?;
        let (stop, mut stopped) = tokio::sync::watch::channel(None);
        // Forged messages without a pause, while the UE runs its procedures.
        let flood = async {
            let mut ran_id = 0;
            loop {
                let guti = *stopped.borrow_and_update();
                let messages = match guti {
                    Some(Some(guti)) => forged(guti),
                    Some(None) => return anyhow::Ok(ran_id),
                    None => Vec::new(),
                };
                for nas in messages {
                    ran_id += 1;
                    attacker.send(attacker.initial_ue_message(ran_id, &nas)).await?;
                }
                // It reads what the AMF answers.
                for _ in 0..64 {
                    if attacker.is_silent(Duration::ZERO).await {
                        break;
                    }
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let victim = async {
            for round in 0..rounds {
                let guti = ue.status().await?.guti.context("the UE has a 5G-GUTI")?;
                stop.send(Some(Some(guti)))?;
                let session = ue
                    .establish_pdu_session(internet())
                    .await
                    .with_context(|| format!("session establishment of round {round}"))?;
                reaches(&ue, session.psi, GATEWAY).await?;
                ue.register_as(RegistrationType::MobilityRegistrationUpdating)
                    .await
                    .with_context(|| format!("registration update of round {round}"))?;
                reaches(&ue, session.psi, GATEWAY).await?;
                ue.release_pdu_session(session.psi).await?;
            }
            stop.send(Some(None))?;
            anyhow::Ok(())
        };
        let attacked: Result<(u32, ())> = tokio::try_join!(flood, victim);
        let (sent, ()) = attacked?;
        ensure!(sent >= rounds, "only {sent} forged messages");
        ue.deregister().await?;
        Ok(())
    });
}
