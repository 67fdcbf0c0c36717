//! The bare transport: bytes over the fabric's sockets, with one connection for each exchange in
//! flight.
use anyhow::Result;
use martlet_fabric::{Fabric, FabricListener, FabricStream};
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Echoes bytes until the process ends.
///
/// # Errors
/// The listener ends.
pub async fn serve(listener: FabricListener) -> Result<()> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let mut bytes = vec![0; 64 << 10];
            while let Ok(length @ 1..) = stream.read(&mut bytes).await {
                if stream.write_all(&bytes[..length]).await.is_err() {
                    break;
                }
            }
        });
    }
}

/// The client: a pool of connections.
pub struct Connections {
    fabric: Fabric,
    to: SocketAddr,
    idle: Mutex<Vec<FabricStream>>,
}

impl Connections {
    /// An empty pool.
    pub fn new(fabric: Fabric, to: SocketAddr) -> Self {
        Connections { fabric, to, idle: Mutex::default() }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<FabricStream>> {
        self.idle.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Sends bytes and reads as many back.
    ///
    /// # Errors
    /// The connection cannot be opened, or breaks.
    pub async fn exchange(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let idle = self.idle().pop();
        let mut stream = match idle {
            Some(stream) => stream,
            None => self.fabric.connect(self.to).await?,
        };
        stream.write_all(bytes).await?;
        let mut answer = vec![0; bytes.len()];
        stream.read_exact(&mut answer).await?;
        self.idle().push(stream);
        Ok(answer)
    }
}
