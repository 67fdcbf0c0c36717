//! UE radio capability info indication (TS 38.413, 8.14.1): the AMF stores the UE's radio
//! capability and gives it to the next gNB with the initial context setup.
//!
//! ```text
//! gNB -> AMF  UE RADIO CAPABILITY INFO INDICATION
//! ```
use crate::ue::Ue;
use bytes::Bytes;

/// Stores the capability.
pub(crate) fn run(ue: &mut Ue, capability: Bytes) {
    ue.capabilities.radio = Some(capability);
}
