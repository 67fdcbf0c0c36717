//! The services that the AMF produces, and the callbacks that it receives.
mod callback;
mod communication;
mod events;
mod location;
