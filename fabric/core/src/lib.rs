//! Byte-stream sockets and request-response calls between processes of one machine, over shared
//! memory.
//!
//! A *manager* admits processes by their user and group, and creates a *channel* (a sealed `memfd`
//! with rings and buffers in both directions) between any two of them. The manager takes no part in
//! their communication afterwards. A process takes part through [`Fabric`] (tokio) or
//! [`BlockingFabric`] (threads). It listens and connects at socket addresses, which exist on the
//! fabric only.
//!
//! # Example
//!
//! A server and a client in one process. Usually each runs in a process of its own; see
//! `examples/ping_pong.rs`.
//!
//! ```
//! use martlet_fabric::{Fabric, FabricConfig, Manager, ManagerConfig};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! # let folder = std::env::temp_dir().join(format!("fabric-doctest-{}", std::process::id()));
//! let socket = folder.join("fabric.sock");
//! let manager =
//!     Manager::bind(ManagerConfig { socket: socket.clone(), ..ManagerConfig::default() })?;
//! tokio::spawn(manager.run());
//!
//! let join = |name: &str| {
//!     Fabric::start(FabricConfig {
//!         socket: socket.clone(),
//!         name: name.into(),
//!         ..FabricConfig::default()
//!     })
//! };
//! let (server, client) = (join("server"), join("client"));
//! let listener = server.listen(([127, 0, 0, 1], 7777).into()).await?;
//! tokio::spawn(async move {
//!     while let Ok((mut stream, _)) = listener.accept().await {
//!         let mut ping = [0; 4];
//!         if stream.read_exact(&mut ping).await.is_ok() {
//!             let _ = stream.write_all(b"pong").await;
//!         }
//!     }
//! });
//!
//! client.joined().await;
//! let mut stream = client.connect(([127, 0, 0, 1], 7777).into()).await?;
//! stream.write_all(b"ping").await?;
//! let mut pong = [0; 4];
//! stream.read_exact(&mut pong).await?;
//! assert_eq!(&pong, b"pong");
//! # std::fs::remove_dir_all(&folder)
//! # }
//! ```
//!
//! # Errors
//!
//! Operations on sockets return [`std::io::Error`] with the kinds that TCP sockets have:
//! `ConnectionRefused`, `ConnectionReset`, `BrokenPipe`, `AddrInUse`, `NotConnected`, `TimedOut`.
//! `QuotaExceeded` and `ResourceBusy` report limits of this crate. Calls fail with
//! [`link::CallError`], which shows whether the request may be retried.
//!
//! A peer that violates the protocol loses its channel; see [`channel::Violation`].
//!
//! # Requirements and features
//!
//! Linux 4.14 or newer. The crate has no optional features. It registers its metrics in
//! Prometheus's default registry and logs through `tracing`.
//!
//! `DESIGN.md` describes the memory layout, the rings, wakeups, trust and crash recovery.

pub mod blocking;
pub mod channel;
mod fd;
mod limits;
pub mod link;
#[doc(hidden)]
pub mod malicious;
pub mod manager;
mod manager_socket;
pub mod membership;
pub mod memory;
pub mod messages;
mod metrics;
mod runtime;
mod sync;
mod wakers;
mod wakeup;

pub use blocking::{BlockingFabric, BlockingListener, BlockingStream, Dial};
pub use fd::refuse_descriptors;
pub use limits::{ProcessLimits, SocketLimits};
pub use manager::{Domain, Manager, ManagerConfig, ManagerLimits};
pub use manager_socket::default_socket;
pub use membership::MembershipState;
pub use memory::layout::Sizes;
pub use memory::pool::BufferClass;
pub use runtime::{Fabric, FabricConfig, FabricListener, FabricStream, RequestHandler, Spin};
