//! Deviations of other vendors' gNBs, which a simulated gNB shows to test how a core takes them.
use bytes::Bytes;
use martlet_ngap::Error;
use martlet_ngap::ngap::NGAP_PDU;

/// What a simulated gNB does otherwise than TS 38.413 has it. By default: nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deviations {
    /// The order of information elements in its messages.
    pub element_order: ElementOrder,
    /// It pages with the AMF pointer 0 whatever the AMF sends, as UERANSIM 3.3 does: that reads ten
    /// bits of a field that has six (TS 38.413, 9.3.3.20), and takes 0 where they are not there.
    pub zero_amf_pointer: bool,
    /// It does not answer NRPPa, as a gNB without positioning.
    pub no_nrppa: bool,
}

/// The order of information elements in the messages of a gNB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ElementOrder {
    /// That of the tables of TS 38.413, 9.2.
    #[default]
    AsSpecified,
    /// Reversed in the messages of handovers (TS 38.413, 8.4). PacketRusher's gNB sends these in
    /// another order than the tables have.
    ReversedInHandovers,
    /// Reversed in each message.
    Reversed,
}

impl ElementOrder {
    /// A message with its information elements in this order.
    ///
    /// # Errors
    /// The message does not decode.
    pub(super) fn applied(self, message: Bytes) -> Result<Bytes, Error> {
        if self == ElementOrder::AsSpecified {
            return Ok(message);
        }
        let mut pdu = NGAP_PDU::decode(&message)?;
        if self == ElementOrder::ReversedInHandovers && !is_of_handover(pdu.procedure_code()) {
            return Ok(message);
        }
        let mut elements = pdu.protocol_ies()?.into_owned();
        elements.0.reverse();
        pdu.set_protocol_ies(elements)?;
        Ok(pdu.encode()?.into())
    }
}

/// Whether a procedure code is that of a procedure of TS 38.413, 8.4: cancel, notification,
/// preparation, resource allocation, path switch and uplink RAN status transfer.
fn is_of_handover(procedure: u8) -> bool {
    matches!(procedure, 10..=13 | 25 | 49)
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_ngap::ngap::*;
    use martlet_ngap::{build_ngap, inbound};

    fn notify() -> Bytes {
        let pdu = build_ngap!(
            InitiatingMessage,
            HandoverNotification,
            HandoverNotify,
            AMF_UE_NGAP_ID(1u64),
            RAN_UE_NGAP_ID(7u32),
        );
        pdu.unwrap().encode().unwrap().into()
    }

    fn release_request() -> Bytes {
        let pdu = build_ngap!(
            InitiatingMessage,
            UEContextReleaseRequest,
            UEContextReleaseRequest,
            AMF_UE_NGAP_ID(1u64),
            RAN_UE_NGAP_ID(7u32),
            Cause(Cause::radioNetwork(CauseRadioNetwork::user_inactivity)),
        );
        pdu.unwrap().encode().unwrap().into()
    }

    #[test]
    fn elements_are_reversed_in_the_messages_that_are_named() {
        let (handover, other) = (notify(), release_request());
        for (order, of_handover, of_other) in [
            (ElementOrder::AsSpecified, false, false),
            (ElementOrder::ReversedInHandovers, true, false),
            (ElementOrder::Reversed, true, true),
        ] {
            for (message, reversed) in [(&handover, of_handover), (&other, of_other)] {
                let sent = order.applied(message.clone()).unwrap();
                assert_eq!(sent != *message, reversed, "{order:?}");
                // Reversed twice, it is the same message.
                let back = if reversed { order.applied(sent).unwrap() } else { sent };
                assert_eq!(back, *message);
            }
        }
        let sent = ElementOrder::Reversed.applied(other).unwrap();
        assert!(inbound::read(&sent).is_err());
        assert!(inbound::read_any_order(&sent).unwrap().out_of_order);
    }
}
