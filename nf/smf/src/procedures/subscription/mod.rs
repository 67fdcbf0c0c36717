//! Data and registration of a session at the UDM (TS 23.502, 5.2.3).
pub mod sm_subscription_data;
pub mod smf_registration;
