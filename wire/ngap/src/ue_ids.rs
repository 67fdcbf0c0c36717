//! The identities of a UE in a message.

use oxirush_ngap::ie;
use oxirush_ngap::ngap::NGAPPDU;

/// The identities of a UE-associated logical NG connection in a message (TS 38.413, 9.3.3.1 and
/// 9.3.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UeIds {
    /// AMF UE NGAP ID, 40 bits.
    pub amf: Option<u64>,
    /// RAN UE NGAP ID.
    pub ran: Option<u32>,
}

impl UeIds {
    /// Reads them from a message; an identity that does not decode counts as absent.
    pub fn of(pdu: &NGAPPDU<'_>) -> Self {
        Self {
            amf: pdu.ie::<ie::AMF_UE_NGAP_ID>().and_then(Result::ok).map(|id| id.0),
            ran: pdu.ie::<ie::RAN_UE_NGAP_ID>().and_then(Result::ok).map(|id| id.0),
        }
    }
}
