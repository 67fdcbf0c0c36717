//! The N4 session and the user plane connection (TS 23.502, 4.2.3 and 4.4.1).
pub mod downlink_data_notification;
pub mod n4_session_establishment;
