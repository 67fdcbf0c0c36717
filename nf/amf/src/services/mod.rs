//! The services that the AMF produces, and the callbacks that it receives.
mod callback;
mod communication;
mod events;
mod location;
mod status_change;

pub(crate) use status_change::{StatusSubscriptions, unavailable};
