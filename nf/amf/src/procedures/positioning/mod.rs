//! Positioning messages, location reporting and location events (TS 23.273; TS 38.413, 8.10 and
//! 8.12).
pub(crate) mod event_exposure;
pub(crate) mod location_reporting;
pub(crate) mod nrppa_transport;
pub(crate) mod positioning_transport;
