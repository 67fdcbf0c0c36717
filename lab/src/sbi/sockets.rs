//! The bare transport: octets there and back over the fabric's sockets, a connection for each
//! exchange in flight.
use anyhow::Result;
use martlet_sbi_fabric::{Fabric, FabricListener, FabricStream};
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Gives back what comes, until the process is ended.
///
/// # Errors
/// The listener ends.
pub async fn serve(listener: FabricListener) -> Result<()> {
    loop {
        let (mut stream, _) = listener.accept().await?;
        tokio::spawn(async move {
            let mut octets = vec![0; 64 << 10];
            while let Ok(length @ 1..) = stream.read(&mut octets).await {
                if stream.write_all(&octets[..length]).await.is_err() {
                    break;
                }
            }
        });
    }
}

/// The end that asks.
pub struct Connections {
    fabric: Fabric,
    to: SocketAddr,
    idle: Mutex<Vec<FabricStream>>,
}

impl Connections {
    /// None yet.
    pub fn new(fabric: Fabric, to: SocketAddr) -> Self {
        Connections { fabric, to, idle: Mutex::default() }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<FabricStream>> {
        self.idle.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Sends octets, and gives as many that come back.
    ///
    /// # Errors
    /// There is no connection, or not any more.
    pub async fn exchange(&self, octets: &[u8]) -> Result<Vec<u8>> {
        let kept = self.idle().pop();
        let mut stream = match kept {
            Some(stream) => stream,
            None => self.fabric.connect(self.to).await?,
        };
        stream.write_all(octets).await?;
        let mut answer = vec![0; octets.len()];
        stream.read_exact(&mut answer).await?;
        self.idle().push(stream);
        Ok(answer)
    }
}
