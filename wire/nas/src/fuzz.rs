//! The entry points of the fuzz targets and of `tests/never_panics.rs`.

use crate::{
    CipheringAlgorithm, Direction, IntegrityAlgorithm, KAmf, Nas5gmmMessage, Nas5gsMessage,
    Nas5gsSecurityHeaderType, Nas5gsmMessage, NasCount, NasSecurityContext, Validate, identifiers,
    inbound, key_change, options, reaction,
};
use martlet_security::nas_5gs::{KNasEnc, KNasInt};
use std::sync::LazyLock;

/// Decodes bytes as a plain message, builds the answer if that fails, and encodes the message
/// again.
///
/// # Panics
/// If a decoded message does not encode to the same message.
pub fn plain(bytes: &[u8]) {
    for direction in [Direction::Uplink, Direction::Downlink] {
        match Nas5gsMessage::decode(bytes) {
            Ok(message) => {
                let _ = Nas5gsMessage::answer_to(bytes, &Ok(message), direction);
            }
            Err(error) => {
                if let reaction::DecodeReaction::Answer(answer) =
                    reaction::reaction(bytes, &error, direction)
                {
                    answer.encode().expect("an answer encodes");
                }
            }
        }
    }
    let _ = Nas5gsMessage::decode_lenient(bytes);
    let Ok(message) = Nas5gsMessage::decode(bytes) else { return };
    let _ = (message.validate(), message.to_string());
    read(&message);
    if let Ok(again) = message.encode() {
        assert_eq!(Nas5gsMessage::decode(&again).as_ref(), Ok(&message), "a message comes back");
    }
}

/// Reads the values that network functions use.
fn read(message: &Nas5gsMessage) {
    match message {
        Nas5gsMessage::Gmm(_, Nas5gmmMessage::RegistrationRequest(request)) => {
            let identity = &request.fgs_mobile_identity;
            let _ =
                (identity.as_suci(), identity.as_guti(), identity.as_imei(), identity.as_imeisv());
            let _ = request.requested_nssai.as_ref().map(identifiers::slices);
            let _ = request.ue_security_capability.as_ref().map(crate::algorithms::access_stratum);
            let _ = request.pdu_session_status.as_ref().map(|status| status.active_sessions());
        }
        Nas5gsMessage::Gmm(_, Nas5gmmMessage::RegistrationAccept(accept)) => {
            let _ = accept.allowed_nssai.as_ref().map(identifiers::slices);
            let _ = accept.fg_guti.as_ref().map(|guti| guti.as_guti());
            let _ = accept.t3512_value.as_ref().map(|timer| timer.to_seconds());
        }
        Nas5gsMessage::Gmm(_, Nas5gmmMessage::ServiceRequest(request)) => {
            let _ = request.fg_s_tmsi.as_s_tmsi();
        }
        Nas5gsMessage::Gmm(_, Nas5gmmMessage::UlNasTransport(transport)) => {
            let _ = transport.payload_container.decode_as_n1_sm_message();
            let _ = transport.dnn.as_ref().map(|dnn| dnn.to_string());
        }
        Nas5gsMessage::Gsm(_, Nas5gsmMessage::PduSessionEstablishmentRequest(request)) => {
            let options = request.extended_protocol_configuration_options.as_ref();
            let _ = options.map(options::Requested::read);
        }
        Nas5gsMessage::Gsm(_, Nas5gsmMessage::PduSessionModificationRequest(request)) => {
            let _ = request.requested_qos_rules.as_ref().map(|rules| rules.parse_rules());
            let flows = request.requested_qos_flow_descriptions.as_ref();
            let _ = flows.map(|flows| flows.parse_descriptions());
        }
        Nas5gsMessage::Gsm(_, Nas5gsmMessage::PduSessionEstablishmentAccept(accept)) => {
            let options = accept.extended_protocol_configuration_options.as_ref();
            let _ = options.map(options::Given::read);
            let _ = accept.authorized_qos_rules.parse_rules();
            let _ = accept
                .authorized_qos_flow_descriptions
                .as_ref()
                .map(|flows| flows.parse_descriptions());
        }
        _ => {}
    }
}

/// Number of scenarios of [`secured_in`].
pub const SCENARIOS: u8 = 13;

/// Receives bytes in each scenario of [`secured_in`].
///
/// # Panics
/// If an answer does not encode.
pub fn secured(bytes: &[u8]) {
    (0..SCENARIOS).for_each(|scenario| secured_in(scenario, bytes));
}

/// NAS keys, derived once: derivation would take most of the time of an execution.
static KEYS: LazyLock<(KNasInt, KNasEnc)> =
    LazyLock::new(|| (KNasInt::new(&[0x12; 16]), KNasEnc::new(&[0x13; 16])));

fn context(integrity: IntegrityAlgorithm, ciphering: CipheringAlgorithm) -> NasSecurityContext {
    NasSecurityContext::from_fresh_keys(&KEYS.0, &KEYS.1, integrity, ciphering)
        .expect("algorithms that go together")
}

/// Receives bytes as the AMF or as a UE, with or without a security context, or as the payload of a
/// message with a correct MAC. The scenario is taken modulo [`SCENARIOS`].
///
/// # Panics
/// If an answer does not encode.
pub fn secured_in(scenario: u8, bytes: &[u8]) {
    use {CipheringAlgorithm as Nea, IntegrityAlgorithm as Nia};
    let scenario = scenario % SCENARIOS;
    let exchanged = scenario % 2 == 1;
    let received = match scenario / 2 {
        0 => inbound::from_ue(None, exchanged, bytes),
        1 => inbound::from_network(None, exchanged, bytes),
        // NIA0 accepts any MAC, so the payload is decoded.
        2 => inbound::from_ue(Some(&mut context(Nia::NIA0, Nea::NEA0)), exchanged, bytes),
        3 => inbound::from_network(Some(&mut context(Nia::NIA0, Nea::NEA0)), exchanged, bytes),
        4 => inbound::from_ue(Some(&mut context(Nia::NIA2, Nea::NEA2)), exchanged, bytes),
        5 => {
            let header = match exchanged {
                true => Nas5gsSecurityHeaderType::IntegrityProtectedAndCiphered,
                false => Nas5gsSecurityHeaderType::IntegrityProtected,
            };
            let mut sender = context(Nia::NIA2, Nea::NEA2);
            let sent = sender.protect_opaque_payload(bytes.to_vec(), header, Direction::Uplink);
            let Ok(sent) = sent else { return };
            inbound::from_ue(Some(&mut context(Nia::NIA2, Nea::NEA2)), true, &sent)
        }
        _ => {
            let next = NasCount::new(0x1fe).expect("a COUNT");
            let taken = key_change::taken(&KAmf::new(&[0x11; 32]), 5, next, bytes);
            assert!(taken.is_none(), "a message is authenticated only with the key");
            return;
        }
    };
    if let Err(refused) = received
        && let Some(answer) = refused.answer
    {
        answer.encode().expect("an answer encodes");
    }
}
