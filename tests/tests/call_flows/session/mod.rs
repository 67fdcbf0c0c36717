//! PDU sessions (TS 23.502, 4.3) and their charging.
mod charging;
mod lifecycle;
mod modification_by_ue;
mod non_ip;
mod several_upfs;
mod types;
