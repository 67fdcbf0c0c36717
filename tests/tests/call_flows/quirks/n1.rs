//! Quirks of UEs.
use super::{DUE, SOON, check, with_strictness};
use crate::connection::paging::{manual, send};
use crate::registration::authentication::five_g_aka::{REGISTRATION_REQUEST, from_hex};
use anyhow::{Context, Result, bail};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_amf::CipheringName;
use martlet_eap::keys::{Keys, identity_of};
use martlet_eap::packet::{Attribute, Code, Packet, Subtype};
use martlet_interop::N1Quirk;
use martlet_nas::{
    Nas5gsMessage, NasConfigurationUpdateComplete, NasIntegrityProtectionMaximumDataRate,
    NasPduSessionEstablishmentRequest,
};
use martlet_ran::UeEvent;
use martlet_ran::ue::{Event, ServicePurpose};
use martlet_security::aka::{SubscriberKey, ck_ik_prime};
use martlet_security::{Autn, Rand};
use martlet_store::AuthenticationMethod;
use martlet_tests::{RawGnb, TestCore, eventually, subscriber_keys};

#[test]
fn n1_quirks_are_tolerated_unless_strict() {
    check(
        |quirk| match quirk {
            N1Quirk::UnrequestedConfigurationUpdateComplete => "amf",
            N1Quirk::OldGutiAfterConfirmation => "amf",
            N1Quirk::EapResponseWithKdf => "ausf",
            N1Quirk::UnassignedPti => "smf",
        },
        |quirk, is_strict, core| match quirk {
            N1Quirk::UnrequestedConfigurationUpdateComplete => {
                Box::pin(unrequested_complete(is_strict, core))
            }
            N1Quirk::OldGutiAfterConfirmation => {
                Box::pin(old_guti_after_confirmation(is_strict, core))
            }
            N1Quirk::EapResponseWithKdf => Box::pin(eap_response_with_kdf(is_strict, core)),
            N1Quirk::UnassignedPti => Box::pin(unassigned_pti(is_strict, core)),
        },
    );
}

/// As PacketRusher's UEs do after each registration.
async fn unrequested_complete(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let core = core.insert(TestCore::start(Sbi::Local, with_strictness(is_strict)).await?);
    let gnb = core.gnb(1).await?;
    let ue = gnb.new_ue(core.ue_config(1))?;
    ue.register().await?;
    let mut events = ue.subscribe().await?;
    ue.send_nas(Nas5gsMessage::new_5gmm(NasConfigurationUpdateComplete::new())).await?;
    let status = async {
        loop {
            if let UeEvent::Nas(Event::Status { cause, .. }) = events.recv().await? {
                return anyhow::Ok(cause);
            }
        }
    };
    let limit = if is_strict { DUE } else { SOON };
    let refused = match tokio::time::timeout(limit, status).await {
        Ok(cause) => cause? == 98,
        Err(_) => false,
    };
    ue.deregister().await?;
    Ok(!refused)
}

/// As PacketRusher's UEs do after a paging.
async fn old_guti_after_confirmation(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let core = core.insert(TestCore::start(Sbi::Local, with_strictness(is_strict)).await?);
    let gnb = core.gnb(1).await?;
    let mut config = manual(core.ue_config(1));
    config.takes_new_guti = false;
    let ue = gnb.new_ue(config)?;
    let to = core.register_with_session(&ue).await?;
    let (peer, from) = core.ue_with_session(&gnb, 2).await?;
    ue.release_to_idle().await?;
    send(&peer, from, to, 1..=1).await?;
    ue.wait_for_paging().await?;
    let mut events = ue.subscribe().await?;
    ue.service_request_for(ServicePurpose::PagingResponse, &[]).await?;
    let confirmed = async {
        loop {
            if let UeEvent::Nas(Event::ConfigurationUpdated { .. }) = events.recv().await? {
                return anyhow::Ok(());
            }
        }
    };
    tokio::time::timeout(DUE, confirmed).await.context("no new 5G-GUTI")??;
    ue.release_to_idle().await?;
    // SERVICE ACCEPT, or SERVICE REJECT #9.
    Ok(ue.service_request_for(ServicePurpose::Signalling, &[]).await.is_ok())
}

/// As UERANSIM's UEs before 3.2.7: RES, MAC and AT_KDF.
async fn eap_response_with_kdf(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let core = core.insert(TestCore::start(Sbi::Local, with_strictness(is_strict)).await?);
    core.subscribe(1, |subscriber| {
        subscriber.authentication_method = AuthenticationMethod::EapAkaPrime;
    })?;
    let gnb = RawGnb::set_up(core, 1).await?;
    gnb.send(gnb.initial_ue_message(1, &from_hex(REGISTRATION_REQUEST))).await?;
    let (amf_id, nas) = gnb.next_nas().await?;
    let challenge = Packet::decode(nas.get(10..).context("no EAP packet")?)?;
    let bytes = |wanted: fn(&Attribute) -> Option<[u8; 16]>| {
        challenge.attributes().iter().find_map(wanted).context("an attribute is missing")
    };
    let rand = Rand::new(&bytes(|it| match it {
        Attribute::Rand(rand) => Some(*rand),
        _ => None,
    })?);
    let autn = Autn::new(&bytes(|it| match it {
        Attribute::Autn(autn) => Some(*autn),
        _ => None,
    })?);
    let (k, opc) = subscriber_keys();
    let response = SubscriberKey::new(&k, &opc).check_autn(&rand, &autn);
    let response = response.map_err(|_| anyhow::anyhow!("AUTN is wrong"))?;
    let network = "5G:mnc001.mcc001.3gppnetwork.org";
    let (ck, ik) = ck_ik_prime(&response.ck, &response.ik, &autn, network)?;
    let keys = Keys::derive(&ck, &ik, identity_of("imsi-001010000000001"));
    let attributes =
        vec![Attribute::Res(response.res.clone()), Attribute::Mac([0; 16]), Attribute::Kdf(1)];
    let packet = Packet::new(Code::Response, challenge.identifier, Subtype::Challenge, attributes);
    let mut packet = packet.encode();
    let mac = martlet_security::kdf::kdf(&keys.k_aut, &packet);
    let at = packet.len() - 4 - 16;
    packet[at..at + 16].copy_from_slice(&mac[..16]);
    let length = u16::try_from(packet.len())?.to_be_bytes();
    let answer = [&[0x7e, 0x00, 0x57, 0x78], length.as_slice(), &packet].concat();
    gnb.send(gnb.uplink_nas_transport(amf_id, 1, &answer)).await?;
    let (_, nas) = gnb.next_nas().await?;
    // SECURITY MODE COMMAND, or AUTHENTICATION REJECT.
    match (nas.get(1), nas.get(2)) {
        (Some(3), _) => Ok(true),
        (Some(0), Some(0x58)) => Ok(false),
        _ => bail!("{nas:02x?}"),
    }
}

/// As free-ran-ue's UE, in each request for a session.
async fn unassigned_pti(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let configure = |config: &mut Config| {
        // The answer can be read.
        config.amf.security.ciphering = vec![CipheringName::NEA0];
        with_strictness(is_strict)(config);
    };
    let core = core.insert(TestCore::start(Sbi::Local, configure).await?);
    let gnb = core.gnb(1).await?;
    let ue = gnb.new_ue(core.ue_config(1))?;
    ue.register().await?;
    let mut events = ue.subscribe().await?;
    let rate = NasIntegrityProtectionMaximumDataRate::new(0xffff);
    let request = NasPduSessionEstablishmentRequest::new(rate);
    ue.send_session_message(1, Nas5gsMessage::new_5gsm(request, 1, 0)).await?;
    // The accept, or the reject with #81.
    let (accept, reject) = ([0x2e, 1, 0, 0xc2], [0x2e, 1, 0, 0xc3, 81]);
    let answer = || {
        std::iter::from_fn(|| events.try_recv().ok()).find_map(|event| {
            let UeEvent::NasReceived(nas) = event else { return None };
            let has = |part: &[u8]| nas.windows(part.len()).any(|window| window == part);
            match (has(&accept), has(&reject)) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            }
        })
    };
    let is_accepted = eventually("the SMF's answer", answer, || core.status("smf").to_string());
    let is_accepted = is_accepted.await?;
    ue.deregister().await?;
    core.until_all_released().await?;
    Ok(is_accepted)
}
