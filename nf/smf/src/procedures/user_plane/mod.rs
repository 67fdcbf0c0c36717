//! N4 sessions (TS 23.502, 4.4.1), the user plane connection (4.2.3 and 4.2.6), and restoration (TS
//! 23.527).
pub mod downlink_data_notification;
pub mod error_indication;
pub mod n3_tunnel_update;
pub mod n4_session_establishment;
pub mod n4_session_modification;
pub mod n4_session_release;
pub mod resource_modify_indication;
pub mod resource_notify;
pub mod restoration;
pub mod up_connection_activation;
pub mod up_connection_deactivation;
pub mod up_security_enforcement;
pub mod upf_failover;
pub mod upf_graceful_release;
pub mod upf_return;
