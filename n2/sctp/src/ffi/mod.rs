//! All foreign functions and system calls of this crate, and with them all of its `unsafe`.
//!
//! What makes it sound, as a whole:
//! - every structure handed over is `#[repr(C)]` with the layout of the header it names, and is
//!   passed with its size;
//! - pointers point to locals or to slices that outlive the call; no callee keeps one, except the
//!   two callbacks of `usrsctp`, which are functions and live for ever;
//! - results are copied before their buffer is used again.
#[cfg(feature = "usrsctp")]
pub(crate) mod interfaces;
pub(crate) mod kernel;
#[cfg(feature = "usrsctp")]
pub(crate) mod packet;
pub(crate) mod sys;
#[cfg(feature = "usrsctp")]
pub(crate) mod usrsctp;
