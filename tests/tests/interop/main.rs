//! Interoperability with programs of other vendors, built from their published modules: see
//! `tests/interop/README.md`.
//!
//! Each test runs in its own network namespace. Without a Go toolchain, or if a module cannot be
//! downloaded, it prints that it is skipped.
mod eupf;
mod external_program;
mod free5gc;
mod free5gc_amf;
mod free5gc_chf;
mod free5gc_gnb;
mod free5gc_nrf;
mod free5gc_pcf;
mod free5gc_smf;
mod free5gc_tokens;
mod mongodb;
