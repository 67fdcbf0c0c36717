//! The entry points of the fuzz targets and of `tests/never_panics.rs`.

use crate::{
    CipheringAlgorithm, Direction, IntegrityAlgorithm, KAmf, Nas5gmmMessage, Nas5gsMessage,
    Nas5gsSecurityHeaderType, Nas5gsmMessage, NasCount, NasSecurityContext, Validate, identifiers,
    inbound, key_change, options, reaction,
};

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

/// Receives bytes as the AMF and as a UE, with and without a security context, and as the payload
/// of a message with a correct MAC.
///
/// # Panics
/// If an answer does not encode.
pub fn secured(bytes: &[u8]) {
    let kamf = KAmf::new(&[0x11; 32]);
    let context = |integrity, ciphering| {
        NasSecurityContext::from_fresh_kamf(&kamf, integrity, ciphering)
            .expect("algorithms that go together")
    };
    let next = NasCount::new(0x1fe).expect("a COUNT");
    assert!(
        key_change::taken(&kamf, 5, next, bytes).is_none(),
        "a message is authenticated only with the key"
    );
    let answered = |received: Result<inbound::Inbound, Box<inbound::Refused>>| {
        if let Err(refused) = received
            && let Some(answer) = refused.answer
        {
            answer.encode().expect("an answer encodes");
        }
    };
    for exchanged in [false, true] {
        answered(inbound::from_ue(None, exchanged, bytes));
        answered(inbound::from_network(None, exchanged, bytes));
        // NIA0 accepts any MAC, so the payload is decoded.
        let mut open = context(IntegrityAlgorithm::NIA0, CipheringAlgorithm::NEA0);
        answered(inbound::from_ue(Some(&mut open), exchanged, bytes));
        answered(inbound::from_network(Some(&mut open), exchanged, bytes));
        let mut closed = context(IntegrityAlgorithm::NIA2, CipheringAlgorithm::NEA2);
        answered(inbound::from_ue(Some(&mut closed), exchanged, bytes));
    }
    for header in [
        Nas5gsSecurityHeaderType::IntegrityProtected,
        Nas5gsSecurityHeaderType::IntegrityProtectedAndCiphered,
    ] {
        let mut sender = context(IntegrityAlgorithm::NIA2, CipheringAlgorithm::NEA2);
        let mut receiver = context(IntegrityAlgorithm::NIA2, CipheringAlgorithm::NEA2);
        if let Ok(sent) = sender.protect_opaque_payload(bytes.to_vec(), header, Direction::Uplink) {
            answered(inbound::from_ue(Some(&mut receiver), true, &sent));
        }
    }
}
