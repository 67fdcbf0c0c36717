pub(crate) mod initial_context_setup;
pub(crate) mod ue_context_modification;
pub(crate) mod ue_context_release;
