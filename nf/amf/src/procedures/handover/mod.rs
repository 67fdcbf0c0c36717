//! Handover over Xn and N2, within an AMF and between AMFs (TS 23.502, 4.9.1; TS 38.413, 8.4).
pub(crate) mod handover_cancel;
pub(crate) mod handover_execution;
pub(crate) mod handover_preparation;
pub(crate) mod handover_resource_allocation;
pub(crate) mod inter_amf_source;
pub(crate) mod inter_amf_target;
pub(crate) mod kamf_change;
pub(crate) mod n2_handover;
pub(crate) mod ran_status_transfer;
pub(crate) mod session_handover;
pub(crate) mod xn_handover;
