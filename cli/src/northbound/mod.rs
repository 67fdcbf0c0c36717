//! The function `oam`: the northbound API and the console. In one process it has a thread and a
//! runtime of its own, so that its work takes no time of the core's thread.
mod access;
mod backups;
mod configuration;
mod edit;
mod event_tail;
mod further_upfs;
mod secrets;

pub use access::{LocalAccess, SplitAccess};

use anyhow::{Context, Result, anyhow};
use martlet::config::Config;
use martlet_oam::{CoreAccess, Oam, api, poll, server};
use martlet_store::Store;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// Threads for calls that block.
const BLOCKING_THREADS: usize = 4;

/// The running function. Dropping it ends it.
pub struct Northbound {
    /// Starts to serve.
    serve: Option<oneshot::Sender<()>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// The socket of the API.
    pub socket: PathBuf,
    /// The address over TCP.
    pub address: Option<SocketAddr>,
}

impl Drop for Northbound {
    fn drop(&mut self) {
        drop((self.serve.take(), self.stop.take()));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Northbound {
    /// Answers requests from now on. Until then, connections wait.
    pub fn serve(&mut self) {
        if let Some(serve) = self.serve.take() {
            let _ = serve.send(());
        }
    }
}

/// Whether a core does not start without the API: it is configured over TCP. Otherwise commands of
/// this machine alone use it.
pub fn is_needed(config: &Config) -> bool {
    config.oam.api.listen.is_some()
}

/// Starts the function in a thread, and prints the one-time password of the first administrator. It
/// listens, and answers from [`Northbound::serve`] on: the caller gives up the rights of its start
/// before.
pub async fn start(config: &Config, access: Arc<dyn CoreAccess>) -> Result<Northbound> {
    crate::trim::return_large_blocks();
    let (stop, stopped) = oneshot::channel();
    let (ready, started) = oneshot::channel();
    let (serve, serves) = oneshot::channel();
    let config = config.clone();
    let work = move || run(&config, access, ready, Signals { serves, stopped });
    let thread = std::thread::Builder::new().name("oam".into()).spawn(work)?;
    let bound = started.await.map_err(|_| anyhow!("the thread of the API ended"))?;
    let Bound { socket, address, password } = bound.context("the API cannot start")?;
    if let Some(password) = password {
        // Once, and not in the log, which others may read.
        eprintln!(
            "First administrator of the console: user {}, one-time password {password}",
            martlet_oam::accounts::FIRST_ADMINISTRATOR
        );
    }
    let (serve, stop) = (Some(serve), Some(stop));
    Ok(Northbound { serve, stop, thread: Some(thread), socket, address })
}

/// What the thread waits for.
struct Signals {
    serves: oneshot::Receiver<()>,
    stopped: oneshot::Receiver<()>,
}

/// The result of the thread's start.
struct Bound {
    socket: PathBuf,
    address: Option<SocketAddr>,
    password: Option<String>,
}

fn run(
    config: &Config,
    access: Arc<dyn CoreAccess>,
    ready: oneshot::Sender<Result<Bound>>,
    Signals { serves, stopped }: Signals,
) {
    let opened = open(config, access).and_then(|opened| {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let builder = builder.enable_all().max_blocking_threads(BLOCKING_THREADS);
        Ok((opened, builder.build()?))
    });
    let ((oam, password), runtime) = match opened {
        Ok(opened) => opened,
        Err(error) => return drop(ready.send(Err(error))),
    };
    runtime.block_on(async {
        let server = match server::Server::bind(&endpoint(config)).await {
            Ok(server) => server,
            Err(error) => return drop(ready.send(Err(error.into()))),
        };
        let (socket, address) = (server.socket().to_path_buf(), server.address());
        if let Some(tls) = server.tls() {
            martlet::certificates::watch_api(tls);
        }
        if let Some(provider) = &oam.provider {
            martlet::certificates::watch_oidc(provider.clone());
        }
        let router = api::router(oam.clone());
        crate::trim::return_freed_memory();
        let _ = ready.send(Ok(Bound { socket, address, password }));
        // An error means that the core ends before it serves.
        if serves.await.is_err() {
            return;
        }
        let polling = tokio::spawn(poll::run(oam));
        tokio::select! {
            () = server.run(router) => {}
            _ = stopped => {}
        }
        polling.abort();
    });
    // Calls that block end by themselves; readers of events are dropped.
    runtime.shutdown_background();
}

/// Opens the store, which may block.
fn open(config: &Config, access: Arc<dyn CoreAccess>) -> Result<(Arc<Oam>, Option<String>)> {
    let key_file = Some(&config.udr.key_file).filter(|file| !file.is_empty()).map(PathBuf::from);
    let store = Store::open_at(&config.database(), key_file.as_deref())?;
    let hosts = config.oam.hosts.clone();
    let opened = Oam::new(config.oam.api.clone(), hosts, access, Arc::new(store))?;
    if let Err(failure) = api::restores::record_last(&opened.0) {
        let detail = &failure.problem().detail;
        tracing::error!(detail, "the audit log has no entry of the last restore");
    }
    Ok(opened)
}

fn endpoint(config: &Config) -> server::Endpoint {
    let api = &config.oam.api;
    server::Endpoint {
        socket: config.api_socket(),
        users: config.oam.users.clone(),
        listen: api.listen,
        tls: api.certificate.clone().zip(api.key.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Read, Write};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    #[tokio::test]
    async fn a_request_is_answered_when_the_caller_has_given_up_its_rights() {
        let folder = std::env::temp_dir().join(format!("martlet-serve-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut config = Config::default();
        config.fabric.socket = Some(folder.join("sbi.sock"));
        config.udr.path = folder.join("martlet.db").display().to_string();
        config.udr.key_file = folder.join("operator.key").display().to_string();
        let access = Arc::new(SplitAccess::new(&config, None));
        let mut northbound = start(&config, access).await.unwrap();

        let mut stream = UnixStream::connect(&northbound.socket).unwrap();
        let request =
            "GET /api/v1/overview HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let early = stream.read(&mut [0; 1]).map_err(|error| error.kind());
        assert_eq!(early, Err(ErrorKind::WouldBlock));
        northbound.serve();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        drop(northbound);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
