//! The two ends of the LCS-UPP experiment, which `martlet-lab lcs-upp` starts for each channel.
//!
//! The UE's end runs on one thread and blocks. Its program `martlet-lcs` shows how much memory the
//! UE's side of LCS-UPP needs, so it keeps little resident: one allocator arena, and buffers of one
//! message.
//!
//! ```text
//! martlet-lcs server --at 127.0.0.1 --variant rustls
//! martlet-lcs client --to 127.0.0.1:9127 --variant rustls
//! ```
mod client;
mod end;
mod exchange;
mod procedure;
mod server;
mod variant;

pub use client::ask;
pub use end::End;
pub use exchange::SESSION;
pub use server::{NAME, serve};
pub use variant::Variant;
