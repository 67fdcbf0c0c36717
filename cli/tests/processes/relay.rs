//! A relay between a function and its PostgreSQL server, which a test can cut, and which delays
//! what it relays.
use anyhow::Result;
use martlet_store::testing::TestPostgres;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

/// The name of a server's socket in its folder.
const SOCKET: &str = ".s.PGSQL.5432";

/// Relays connections to a server until it is cut.
pub struct Relay {
    server: PathBuf,
    folder: PathBuf,
    /// Time in each direction.
    delay: Duration,
    /// Nothing is relayed, and nothing is closed.
    stalled: watch::Sender<bool>,
    task: Mutex<Option<AbortHandle>>,
    /// A thread of its own: tests block theirs while they start a core.
    runtime: Option<Runtime>,
}

impl Relay {
    /// Starts a relay with a socket in a folder, which is created.
    pub fn to(server: &TestPostgres, folder: &Path) -> Result<Relay> {
        Relay::with_delay(server, folder, Duration::ZERO)
    }

    /// The same with a delay in each direction.
    pub fn with_delay(server: &TestPostgres, folder: &Path, delay: Duration) -> Result<Relay> {
        std::fs::create_dir_all(folder)?;
        let relay = Relay {
            server: server.folder().join(SOCKET),
            folder: folder.to_path_buf(),
            delay,
            stalled: watch::Sender::new(false),
            task: Mutex::default(),
            runtime: Some(Builder::new_multi_thread().worker_threads(1).enable_all().build()?),
        };
        relay.restore()?;
        Ok(relay)
    }

    /// The relay as the host of a URL.
    pub fn host(&self) -> String {
        self.folder.display().to_string().replace('/', "%2F")
    }

    /// Stops relaying, as a network that loses all packets; or relays what was sent meanwhile.
    pub fn stall(&self, stalled: bool) {
        self.stalled.send_replace(stalled);
    }

    /// The URL of the server's database through the relay.
    pub fn url(&self) -> String {
        let host = self.host();
        format!("postgresql://martlet@{host}/postgres?statement_timeout=1000&connect_timeout=1")
    }

    fn set_task(&self, task: Option<AbortHandle>) {
        let mut current = self.task.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(before) = std::mem::replace(&mut *current, task) {
            before.abort();
        }
    }

    /// Ends all connections, and refuses new ones.
    pub fn cut(&self) {
        self.set_task(None);
        let _ = std::fs::remove_file(self.folder.join(SOCKET));
    }

    /// Relays again.
    pub fn restore(&self) -> Result<()> {
        self.cut();
        let Some(runtime) = &self.runtime else { return Ok(()) };
        let _guard = runtime.enter();
        let listener = UnixListener::bind(self.folder.join(SOCKET))?;
        let (server, delay) = (self.server.clone(), self.delay);
        let stalled = self.stalled.subscribe();
        let task = runtime.spawn(async move {
            // Dropped with this task: all connections end.
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (server, stalled) = (server.clone(), stalled.clone());
                connections.spawn(async move {
                    let Ok(server) = UnixStream::connect(server).await else { return };
                    let (from_client, to_client) = client.into_split();
                    let (from_server, to_server) = server.into_split();
                    tokio::select! {
                        () = relay(from_client, to_server, delay, stalled.clone()) => {}
                        () = relay(from_server, to_client, delay, stalled.clone()) => {}
                    }
                });
                while connections.try_join_next().is_some() {}
            }
        });
        self.set_task(Some(task.abort_handle()));
        Ok(())
    }
}

/// Relays one direction, each part a delay after it was received.
async fn relay(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    delay: Duration,
    mut stalled: watch::Receiver<bool>,
) {
    let (sender, mut parts) = mpsc::channel::<(Instant, Vec<u8>)>(1024);
    let read = async {
        let mut buffer = vec![0; 65536];
        while let Ok(length @ 1..) = from.read(&mut buffer).await {
            let part = buffer[..length].to_vec();
            if sender.send((Instant::now() + delay, part)).await.is_err() {
                return;
            }
        }
    };
    let write = async {
        while let Some((at, part)) = parts.recv().await {
            sleep_until(at).await;
            // An error says that the relay is gone.
            if stalled.wait_for(|is_stalled| !is_stalled).await.is_err() {
                return;
            }
            if to.write_all(&part).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = read => {}
        () = write => {}
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.cut();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
