//! Functions of other makers, built as they are published, in a core of ours: see
//! `tests/interop/README.md`.
//!
//! Each test runs in a network namespace of its own. Without a Go toolchain, or where a module
//! cannot be fetched, it says that it is skipped.
mod eupf;
mod free5gc;
mod free5gc_amf;
mod free5gc_gnb;
mod free5gc_smf;
mod stock;
