//! Information elements (TS 29.244, 8.2), by subject.
mod address;
mod csid;
mod ethernet;
mod forwarding;
mod ip_resource;
mod node;
mod numbers;
mod pfd;
mod qos;
mod report;
mod rules;
mod span;
mod traffic;
mod usage;

pub use address::*;
pub use csid::*;
pub use ethernet::*;
pub use forwarding::*;
pub use ip_resource::*;
pub use node::*;
pub use numbers::*;
pub use pfd::*;
pub use qos::*;
pub use report::*;
pub use rules::*;
pub use traffic::*;
pub use usage::*;
