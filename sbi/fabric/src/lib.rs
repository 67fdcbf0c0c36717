//! The binding `fabric`: service calls and sockets through memory that two processes share.

pub mod channel;
mod fd;
pub mod frames;
pub mod link;
pub mod manager;
pub mod memory;
pub mod messages;
mod metrics;
pub mod process;
mod runtime;
mod sync;

pub use manager::{Domain, Manager, ManagerConfig, ManagerLimits, default_socket};
pub use memory::layout::Sizes;
pub use memory::pool::BufferClass;
pub use process::{ProcessLimits, Standing};
pub use runtime::{Fabric, FabricBinding, FabricConfig, FabricServer, Spin};
