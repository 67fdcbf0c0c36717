//! What the AMF and its gNBs tell each other beside phones' own procedures: new identities and
//! keys, overload, resets.
use anyhow::{Context, ensure};
use martlet::core::Sbi;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ie;
use martlet_ngap::ngap::ResetType;
use martlet_ran::HandoverPlan;
use martlet_ran::ue::IdleBehaviour;
use martlet_tests::{
    GATEWAY, Growth, RawGnb, TestCore, eventually, in_namespace, internet, ping, reaches,
};
use std::time::Duration;

/// A counter of procedures.
fn procedures<'a>(name: &'a str, result: &'a str) -> Growth<'a> {
    Growth::of("martlet_amf_procedures_total", &[("procedure", name), ("result", result)])
}

#[test]
fn a_phone_that_was_paged_gets_another_identity() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (phone, to) = core.phone_with_session(&gnb, 1).await?;
        let (friend, from) = core.phone_with_session(&gnb, 2).await?;
        let before = phone.status().await?.guti.context("a 5G-GUTI")?;
        let updates = procedures("configuration_update", "ok");
        phone.release_to_idle().await?;
        friend.send_ip(1, ping(from, to, 1)).await?;
        phone.recv_ip().await?;
        eventually(
            "the update",
            || (updates.so_far() >= 1.0).then_some(()),
            || "not confirmed".into(),
        )
        .await?;
        let after = phone.status().await?.guti.context("a 5G-GUTI")?;
        ensure!(before.tmsi() != after.tmsi(), "{before:?} was called in the clear");
        // It is known by the new one: it is paged with it, and asks for service with it.
        phone.release_to_idle().await?;
        friend.send_ip(1, ping(from, to, 2)).await?;
        phone.recv_ip().await?;
        phone.release_to_idle().await?;
        phone.service_request().await?;
        phone.deregister().await?;
        friend.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn a_phone_that_does_not_confirm_its_identity_is_known_by_both() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.timers.t3555_ms = 50;
            config.amf.timers.nas_attempts = 2;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let mut config = core.phone(1);
        (config.idle, config.confirms_configuration) = (IdleBehaviour::Automatic, false);
        let phone = gnb.new_ue(config)?;
        let to = core.register_with_session(&phone).await?;
        let (friend, from) = core.phone_with_session(&gnb, 2).await?;
        let silent = procedures("configuration_update", "T3555_expired");
        phone.release_to_idle().await?;
        friend.send_ip(1, ping(from, to, 1)).await?;
        phone.recv_ip().await?;
        eventually("T3555", || (silent.so_far() >= 1.0).then_some(()), || "has not expired".into())
            .await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.release_to_idle().await?;
        phone.service_request().await?;
        phone.deregister().await?;
        friend.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn a_phone_gets_new_keys_before_its_counts_end() {
    in_namespace(|| async {
        let core =
            TestCore::start(Sbi::Http, |config| config.amf.security.rekey_at_count = 8).await?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (phone, _) = core.phone_with_session(&one, 1).await?;
        let rekeyed = procedures("rekeying", "ok");
        for round in 0..6 {
            let psi = phone.establish_pdu_session(internet()).await?.psi;
            phone.release_pdu_session(psi).await?;
            // The gNBs' keys follow: the next one in the chain is the phone's own.
            let to = if round % 2 == 0 { &other } else { &one };
            phone.handover(to, HandoverPlan::default()).await?;
            reaches(&phone, 1, GATEWAY).await?;
        }
        ensure!(rekeyed.so_far() >= 2.0, "{} times", rekeyed.so_far());
        phone.release_to_idle().await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn gnbs_are_told_when_an_overload_begins_and_ends() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.limits.max_ues = 1;
            config.amf.limits.overload_ms = 1200;
            config.amf.limits.back_off_s = 2;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        ensure!(!gnb.is_overloaded());
        let refused =
            gnb.new_ue(core.phone(2))?.register().await.err().and_then(|error| error.cause());
        ensure!(refused == Some(22), "{refused:?}");
        eventually("OVERLOAD START", || gnb.is_overloaded().then_some(()), || "none came".into())
            .await?;
        // One that is set up meanwhile learns it, too.
        let other = core.gnb(2).await?;
        eventually("OVERLOAD START", || other.is_overloaded().then_some(()), || "none came".into())
            .await?;
        let over = || (!gnb.is_overloaded() && !other.is_overloaded()).then_some(());
        eventually("OVERLOAD STOP", over, || "none came".into()).await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn gnbs_are_told_that_the_amf_goes() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        core.core.shut_down();
        eventually(
            "AMF STATUS INDICATION",
            || (gnb.unavailable_guamis() == 1).then_some(()),
            || format!("{} GUAMIs", gnb.unavailable_guamis()),
        )
        .await?;
        gnb.lost().await;
        Ok(())
    });
}

#[test]
fn a_connection_that_a_gnb_does_not_release_is_reset() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| config.amf.timers.ngap_ms = 200).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        // A service request of nobody: it is refused, and its connection is to be released.
        let request = [0x7e, 0, 0x4c, 0x10, 0, 7, 0xf4, 0, 0x41, 0, 0, 0, 1];
        gnb.send(gnb.initial(5, &request)).await?;
        let command = gnb.next_of(Kind::Initiating_UEContextRelease).await?;
        ensure!(command.ie::<ie::UE_NGAP_IDs>().is_some());
        let reset = gnb.next_of(Kind::Initiating_NGReset).await?;
        let Some(ResetType::partOfNG_Interface(part)) = reset.ie::<ie::ResetType>().transpose()?
        else {
            anyhow::bail!("not a part: {reset:?}");
        };
        let of = part.0.first().and_then(|item| item.ran_ue_ngap_id.as_ref()).map(|id| id.0);
        ensure!(part.0.len() == 1 && of == Some(5), "{part:?}");
        core.until("nobody is connected", |c| c.connected == 0).await?;
        ensure!(gnb.is_silent(Duration::from_millis(100)).await);
        Ok(())
    });
}

#[test]
fn an_identity_in_the_clear_is_refused_where_the_operator_wants_it_concealed() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| config.udm.null_scheme = false).await?;
        let gnb = core.gnb(1).await?;
        let refused =
            gnb.new_ue(core.phone(1))?.register().await.err().and_then(|error| error.cause());
        // Illegal UE.
        ensure!(refused == Some(3), "{refused:?}");
        core.until_nothing_is_left().await
    });
}

/// What a gNB tells of a UE's radio (TS 38.413, 8.14.1) is told the next gNB, so that the UE need
/// not be asked again; also by another AMF to which the UE comes.
#[test]
fn radio_capabilities_are_kept_and_given_back() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let second = core.second_amf(|_| {}).await?;
        let (one, other, there) =
            (core.gnb(1).await?, core.gnb(2).await?, second.gnb(&core, 3).await?);
        let mut config = core.phone(1);
        config.radio_capability = (0..200).collect();
        let said = config.radio_capability.clone();
        let phone = one.new_ue(config)?;
        // What the next INITIAL CONTEXT SETUP REQUEST says of it.
        let told = async |heard: &mut tokio::sync::broadcast::Receiver<bytes::Bytes>| {
            loop {
                let message = heard.recv().await?;
                let pdu = martlet_ngap::ngap::NGAP_PDU::decode(&message)?;
                if pdu.kind() == Kind::Initiating_InitialContextSetup {
                    let radio = pdu.ie::<ie::UERadioCapability>().transpose()?;
                    return anyhow::Ok(radio.map(|radio| radio.0.to_vec()));
                }
            }
        };
        let mut heard = one.subscribe();
        core.register_with_session(&phone).await?;
        ensure!(told(&mut heard).await?.is_none(), "nobody knows it yet");
        phone.release_to_idle().await?;
        phone.service_request().await?;
        ensure!(told(&mut heard).await?.as_ref() == Some(&said), "at the same gNB");
        for (gnb, place) in [(&other, "at another gNB"), (&there, "at another AMF's")] {
            phone.release_to_idle().await?;
            phone.move_to(gnb).await?;
            let mut heard = gnb.subscribe();
            phone.register_as(martlet_ran::RegistrationType::MobilityRegistrationUpdating).await?;
            if place == "at another gNB" {
                phone.release_to_idle().await?;
                phone.service_request().await?;
            }
            let mut last = told(&mut heard).await?;
            if last.is_none() {
                last = told(&mut heard).await?;
            }
            ensure!(last.as_ref() == Some(&said), "{place}: {last:?}");
        }
        phone.deregister().await?;
        Ok(())
    });
}
