//! UE context management (TS 38.413, 8.3).
pub(crate) mod initial_context_setup;
pub(crate) mod ue_context_modification;
pub(crate) mod ue_context_release;
pub(crate) mod ue_context_release_request;
