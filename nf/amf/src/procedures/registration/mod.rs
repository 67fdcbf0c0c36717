//! Registration, deregistration, and what belongs to a UE's registration (TS 23.502, 4.2.2; TS
//! 24.501, 5.4 and 5.5).
pub(crate) mod am_policy_association;
pub(crate) mod amf_load_rebalancing;
pub(crate) mod amf_reallocation;
pub(crate) mod amf_set_takeover;
pub(crate) mod authentication;
pub(crate) mod back_off;
pub(crate) mod configuration_update;
pub(crate) mod deregistration;
pub(crate) mod general_registration;
pub(crate) mod guti_allocation;
pub(crate) mod identification;
pub(crate) mod implicit_deregistration;
pub(crate) mod mobility_restrictions;
pub(crate) mod nas_rekeying;
pub(crate) mod registration_accept;
pub(crate) mod security_mode_control;
pub(crate) mod slice_selection;
pub(crate) mod subscription_change;
pub(crate) mod subscription_retrieval;
pub(crate) mod ue_context_transfer;
