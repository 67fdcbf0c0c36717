//! Whole call flows: simulated gNBs and phones against a whole core.
//!
//! Each test runs in a network namespace of its own; without the right to make one it says that it
//! is skipped.
mod a_day;
mod amf_change;
mod authentication;
mod bad_input;
mod captures;
mod charging;
mod conformance;
mod eap_aka_prime;
mod giving_up;
mod gnbs;
mod handover;
mod idle_and_paging;
mod intermediate_upf;
mod location_reporting;
mod mobility;
mod n3_ipv6;
mod other_ausf;
mod other_types;
mod positioning;
mod refusals;
mod registration;
mod requested_modification;
mod scas;
mod secure_sbi;
mod security_mode;
mod session_types;
mod sessions;
mod several_upfs;
mod subscription_changes;
mod switch;
mod upf_restart;
mod user_plane;
mod user_plane_security;
