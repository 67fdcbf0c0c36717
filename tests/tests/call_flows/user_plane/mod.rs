//! Packets on N3 and N6.
pub mod line_throughput;
pub mod malformed;
pub mod n3_ipv6;
pub mod no_qfi;
pub mod switch;
pub mod traffic;
