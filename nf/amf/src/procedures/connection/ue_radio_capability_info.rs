//! UE radio capability info indication (TS 38.413, 8.14.1): the AMF stores the UE's radio
//! capability and gives it to the next gNB with the initial context setup. The UE radio capability
//! for paging is in each PAGING (TS 38.413, 9.3.1.68).
//!
//! ```text
//! gNB -> AMF  UE RADIO CAPABILITY INFO INDICATION
//! ```
use crate::metrics;
use crate::ue::Ue;
use bytes::Bytes;

/// Stores the capability of a UE with secure exchange of NAS messages, without which there is no AS
/// security: a gNB forwards nothing that it got from the UE before (TS 38.331, 5.6.1.2).
pub(crate) fn run(ue: &mut Ue, capability: Bytes, for_paging: Option<Bytes>) {
    if !ue.is_exchange_secure() {
        return metrics::dropped("ue_radio_capability");
    }
    ue.capabilities.radio = Some(capability);
    if for_paging.is_some() {
        ue.capabilities.radio_for_paging = for_paging;
    }
}
