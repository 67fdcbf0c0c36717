//! The LMF to which NRPPa messages of a UE are sent.
use super::messages::encode;
use crate::gnb::node::Gnb;
use martlet_ngap::build_ngap;
use martlet_nrppa::Pdu;

/// How NRPPa messages about a UE reach the LMF.
#[derive(Clone)]
pub(super) struct LmfAddress {
    pub(super) gnb: Gnb,
    /// AMF UE NGAP ID and RAN UE NGAP ID.
    pub(super) ids: (u64, u32),
    /// Routing ID of the LMF (TS 38.413, 9.3.3.13).
    pub(super) routing: Vec<u8>,
}

impl LmfAddress {
    /// UPLINK UE ASSOCIATED NRPPA TRANSPORT.
    pub(super) fn uplink_message(&self, pdu: &Pdu) -> Option<Vec<u8>> {
        let message = build_ngap!(
            InitiatingMessage,
            UplinkUEAssociatedNRPPaTransport,
            UplinkUEAssociatedNRPPaTransport,
            AMF_UE_NGAP_ID(self.ids.0),
            RAN_UE_NGAP_ID(self.ids.1),
            RoutingID(self.routing.clone()),
            NRPPa_PDU(encode(pdu)?),
        );
        message.and_then(|message| message.encode()).ok()
    }
}
