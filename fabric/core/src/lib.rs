//! The binding `fabric`: service calls and sockets through memory that two processes share.

mod bells;
pub mod blocking;
pub mod channel;
mod fd;
pub mod frames;
pub mod link;
pub mod manager;
mod membership;
pub mod memory;
pub mod messages;
mod metrics;
pub mod process;
#[doc(hidden)]
pub mod rogue;
mod runtime;
pub mod sockets;
mod sync;

pub use blocking::{BlockingFabric, BlockingListener, BlockingStream, Dial};
pub use manager::{Domain, Manager, ManagerConfig, ManagerLimits, default_socket};
pub use memory::layout::Sizes;
pub use memory::pool::BufferClass;
pub use process::{ProcessLimits, Standing};
pub use runtime::{
    Fabric, FabricBinding, FabricConfig, FabricListener, FabricServer, FabricStream, Spin,
};
pub use sockets::SocketLimits;
