//! The services that the AMF produces, and what other NFs call back.
mod callback;
mod communication;
mod events;
mod location;
