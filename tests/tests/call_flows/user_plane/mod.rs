//! Packets on N3 and N6.
mod malformed;
mod n3_ipv6;
mod switch;
mod traffic;
