//! The two ends of the LCS-UPP experiment, without anything else: what `martlet-lab lcs-upp` starts
//! for each channel.
//!
//! The UE's end runs on one thread and blocks; its program, `martlet-lcs`, is what a phone's side
//! of LCS-UPP needs in memory. It is written so that little of it is resident: one arena for
//! memory, and buffers as large as a message.
//!
//! ```text
//! martlet-lcs server --at 127.0.0.1 --way rustls
//! martlet-lcs client --to 127.0.0.1:9127 --way rustls
//! ```
mod client;
mod end;
mod exchange;
mod procedure;
mod server;
mod way;

pub use client::ask;
pub use end::End;
pub use exchange::SESSION;
pub use server::{NAME, serve};
pub use way::Way;
