//! The AMF with the real network functions around it, a scripted SMF, and gNBs and UEs of the
//! simulator, all in one process without sockets.
mod admission;
mod core;
mod faults;
mod hostile;
mod idle;
mod later_calls;
mod n2;
mod nas_rekeying;
mod script;
mod set_takeover;
mod smf;
mod timers;
mod ue_lifecycle;
