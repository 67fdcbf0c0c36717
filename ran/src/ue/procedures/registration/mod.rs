//! Registration and de-registration (TS 24.501, 5.5).
pub(crate) mod deregistration;
pub(crate) mod initial_mobility_and_periodic;
