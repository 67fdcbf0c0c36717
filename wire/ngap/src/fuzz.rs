//! The entry points of the fuzz targets and of `tests/never_panics.rs`.

use crate::inbound::{self, Fault};
use crate::transfer;

/// Decodes bytes as a message with each element, and builds the answer to a fault, with the
/// elements in order and in any order.
///
/// # Panics
/// If a decoded message does not encode to its bytes, or an answer does not encode: the codec is
/// wrong.
pub fn message(bytes: &[u8]) {
    let strict = inbound::read(bytes).map_err(|fault| answer(&fault));
    let lenient = inbound::read_any_order(bytes).map_err(|fault| answer(&fault));
    assert!(strict.is_err() || lenient.is_ok(), "what is in order is read in any order");
    for received in [strict, lenient].into_iter().flatten() {
        received_message(&received);
    }
}

fn received_message(received: &inbound::Received<'_>) {
    let _ = (
        inbound::message_name(&received.pdu),
        inbound::UeIds::of(&received.pdu),
        received.diagnostics(),
    );
    let again = received.pdu.encode().expect("a message that was read encodes");
    assert_eq!(
        crate::ngap::NGAPPDU::decode(&again).as_ref(),
        Ok(&received.pdu),
        "a message comes back"
    );
    for deviation in received.pdu.check().unwrap_or_default() {
        let _ = (deviation.to_string(), deviation.cause());
    }
    answer(&Fault::state(&received.pdu, "as if it did not fit"));
    if let Ok(elements) = received.pdu.protocol_ies() {
        elements.0.iter().for_each(|element| transfers(&element.value));
    }
}

fn answer(fault: &Fault) {
    let _ = fault.to_string();
    if let Some(answer) = fault.answer() {
        answer.encode().expect("an answer encodes");
    }
}

/// Decodes bytes as each transfer and encodes it again.
///
/// # Panics
/// If a decoded transfer does not encode to the same transfer.
pub fn transfers(bytes: &[u8]) {
    macro_rules! each {
        ($($transfer:ident),*) => {
            $(match transfer::$transfer::decode(bytes) {
                Ok(value) => {
                    // A value of a later release does not encode: it is outside the root of its
                    // type.
                    if let Ok(again) = value.encode() {
                        let again = transfer::$transfer::decode(&again);
                        assert_eq!(again.as_ref(), Ok(&value), "a transfer comes back");
                    }
                }
                Err(error) => {
                    let _ = (error.to_string(), error.cause());
                }
            })*
        };
    }
    each!(
        SetupRequest,
        SetupResponse,
        SetupUnsuccessful,
        ReleaseCommand,
        ReleaseResponse,
        ModifyRequest,
        ModifyResponse,
        ModifyUnsuccessful,
        ModifyIndication,
        ModifyConfirm,
        ModifyIndicationUnsuccessful,
        Notify,
        NotifyReleased,
        PathSwitchRequest,
        PathSwitchAcknowledge,
        PathSwitchSetupFailed,
        PathSwitchUnsuccessful,
        HandoverRequired,
        HandoverRequestAcknowledge,
        HandoverCommand,
        HandoverPreparationUnsuccessful,
        HandoverResourceAllocationUnsuccessful
    );
}
