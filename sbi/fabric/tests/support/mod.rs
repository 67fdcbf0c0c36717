//! A manager, an echo service, and child processes that serve it. A child process runs this test
//! program with environment variables; the test `child` of each file executes it.
#![allow(dead_code)]

#[path = "../../../../fabric/core/tests/support/mod.rs"]
mod test_dir;

use martlet_fabric::*;
use martlet_sbi::*;
use martlet_sbi_fabric::*;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
pub use test_dir::TestDir;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, martlet_sbi::Compact)]
#[allow(missing_docs)]
pub struct Note {
    pub text: String,
}
json_payload!(Note);

service! {
    /// Echoes requests.
    pub Echo / EchoClient / ECHO = "necho" / "v1" {
        /// Echoes a note with its parts.
        op echo "Echo": POST "/notes/{id}", path(id), body(Multipart<Note>),
            returns(Created<Multipart<Note>>), errors[];
        /// Returns the path parameter.
        op read "Read": GET "/notes/{id}", path(id), returns(Note),
            errors[404 "CONTEXT_NOT_FOUND"];
        /// Never responds.
        op hang "Hang": GET "/hang", path(), returns(()), errors[];
        /// Never responds, and must not be retried.
        op hang_once "HangOnce": POST "/hang-once", path(), returns(()), errors[];
        /// Number of calls that hang.
        op hanging "Hanging": GET "/hanging", path(), returns(Note), errors[];
        /// The process ID.
        op pid "Pid": GET "/pid", path(), returns(Note), errors[];
        /// Number of the process's buffers that peers hold.
        op lent "Lent": GET "/lent", path(), returns(Note), errors[];
        /// Panics.
        op panic "Panic": POST "/panic", path(), returns(()), errors[];
        /// Calls the client back.
        op call_back "CallBack": POST "/call-back/{authority}", path(authority), body(Note),
            returns(Note), errors[];
    }
}

service! {
    /// Notifications.
    pub Notices / NoticesClient / NOTICES = "nnotices-callback" / "v1" {
        /// Notifies the consumer.
        callback notice "Notice": POST "/notices", path(), body(Note), returns(()), errors[];
    }
}

pub struct EchoServer {
    pub fabric: Fabric,
    pub bindings: Bindings,
    pub hanging: Arc<AtomicU32>,
}

struct Hanging(Arc<AtomicU32>);
impl Hanging {
    fn new(count: &Arc<AtomicU32>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Hanging(count.clone())
    }
}
impl Drop for Hanging {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Echo for EchoServer {
    async fn echo(
        &self,
        id: &str,
        body: Multipart<Note>,
    ) -> Result<Created<Multipart<Note>>, Problem> {
        Ok(Created { location: format!("/necho/v1/notes/{id}"), body })
    }
    async fn read(&self, id: &str) -> Result<Note, Problem> {
        match id {
            "none" => Err(Problem::new(404, "CONTEXT_NOT_FOUND").detail("no such note")),
            _ => Ok(Note { text: id.into() }),
        }
    }
    async fn hang(&self) -> Result<(), Problem> {
        let _here = Hanging::new(&self.hanging);
        std::future::pending().await
    }
    async fn hang_once(&self) -> Result<(), Problem> {
        self.hang().await
    }
    async fn hanging(&self) -> Result<Note, Problem> {
        Ok(Note { text: self.hanging.load(Ordering::Relaxed).to_string() })
    }
    async fn pid(&self) -> Result<Note, Problem> {
        Ok(Note { text: std::process::id().to_string() })
    }
    async fn lent(&self) -> Result<Note, Problem> {
        Ok(Note { text: self.fabric.buffers_lent().to_string() })
    }
    async fn panic(&self) -> Result<(), Problem> {
        panic!("as asked")
    }
    async fn call_back(&self, authority: &str, body: Note) -> Result<Note, Problem> {
        let there = client(&self.bindings, authority);
        Ok(there.echo("back", Multipart::new(body)).await?.body.json)
    }
}

/// A client of an authority.
pub fn client(bindings: &Bindings, authority: &str) -> EchoClient {
    let policy = CallPolicy { timeout: Duration::from_secs(20), strict: false };
    EchoClient::new(Peer::new(Arc::new(bindings.clone()), ApiRoot::http(authority), "AMF", policy))
}

/// Joins the fabric; the bindings call over it.
pub fn join(config: FabricConfig) -> (FabricBinding, Bindings) {
    let binding = FabricBinding::new(Fabric::start(config));
    let bindings = Bindings::new().with_remote(Arc::new(binding.clone()));
    (binding, bindings)
}

/// Serves the echo service under an authority.
pub fn serve(binding: &FabricBinding, bindings: &Bindings, authority: &str) -> FabricServer {
    let fabric = binding.fabric().clone();
    let server = EchoServer { fabric, bindings: bindings.clone(), hanging: Arc::default() };
    FabricServer::bind(
        binding,
        authority,
        Arc::new(Router::new().serve(ECHO.routes(Arc::new(server)))),
    )
}

/// Waits up to a minute for a condition.
pub async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The error of connecting a stream socket to an existing socket of another type.
const EPROTOTYPE: i32 = 91;

/// A child process that serves an authority, killed on drop.
pub struct ServerProcess(pub Child);

impl ServerProcess {
    pub fn start(dir: &TestDir, authority: &str) -> Self {
        Self::start_with(dir, authority, &[])
    }

    pub fn start_with(dir: &TestDir, authority: &str, extra: &[(&str, &str)]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "child", "--nocapture"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        command
            .env("MARTLET_FABRIC_SOCKET", dir.socket())
            .env("MARTLET_FABRIC_AUTHORITY", authority);
        command.envs(extra.iter().copied());
        ServerProcess(command.spawn().unwrap())
    }

    /// A manager in a child process.
    pub fn manager(dir: &TestDir) -> Self {
        let manager = Self::start(dir, "manager");
        let started = Instant::now();
        while std::os::unix::net::UnixStream::connect(dir.socket())
            .is_err_and(|e| e.raw_os_error() != Some(EPROTOTYPE))
        {
            assert!(started.elapsed() < Duration::from_secs(60), "the manager does not come up");
            std::thread::sleep(Duration::from_millis(1));
        }
        manager
    }

    pub fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The body of the test `child`: returns at once in a test run, and serves in a child process until
/// that is killed or its parent ends.
pub fn child_main() {
    let Ok(socket) = std::env::var("MARTLET_FABRIC_SOCKET") else { return };
    let authority = std::env::var("MARTLET_FABRIC_AUTHORITY").unwrap();
    // The parent holds the other end of stdin: exit when the parent dies.
    std::thread::spawn(|| {
        let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if authority == "manager" {
        let config = ManagerConfig { socket: socket.into(), ..ManagerConfig::default() };
        return runtime.block_on(async { Manager::bind(config).unwrap().run().await });
    }
    if let Ok(at) = std::env::var("MARTLET_FABRIC_BLOCKING") {
        let socket = socket.clone().into();
        std::thread::spawn(move || echo_blocking(socket, at.parse().unwrap()));
    }
    runtime.block_on(async {
        let compact = std::env::var("MARTLET_FABRIC_JSON").is_err();
        let config = FabricConfig {
            socket: socket.into(),
            name: "child".into(),
            schema: if compact { 1 } else { 0 },
            ..FabricConfig::default()
        };
        let (binding, bindings) = join(config);
        let serving = serve(&binding, &bindings, &authority);
        let listening = binding.fabric().listen(
            std::env::var("MARTLET_FABRIC_LISTEN").unwrap_or("127.0.0.1:0".into()).parse().unwrap(),
        );
        if let Ok(listener) = listening.await {
            tokio::spawn(echo_connections(listener));
        }
        if let Ok(near) = std::env::var("MARTLET_FABRIC_HAMMER") {
            tokio::spawn(hammer(client(&bindings, &near)));
        }
        serving.run().await;
    });
}

/// Echoes connections, in threads.
fn echo_blocking(socket: PathBuf, at: std::net::SocketAddr) {
    use std::io::{Read, Write};
    let fabric = BlockingFabric::start("blocking", socket, ProcessLimits::default()).unwrap();
    let listener = fabric.listen(at).unwrap();
    while let Ok(stream) = listener.accept(None) {
        std::thread::spawn(move || {
            let mut bytes = vec![0; 10_000];
            while let Ok(length @ 1..) = (&stream).read(&mut bytes) {
                if (&stream).write_all(&bytes[..length]).is_err() {
                    return;
                }
            }
            let _ = stream.shutdown(std::net::Shutdown::Write);
        });
    }
}

/// Echoes connections.
pub async fn echo_connections(listener: FabricListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let (mut from, mut to) = tokio::io::split(stream);
            let _ = tokio::io::copy(&mut from, &mut to).await;
            let _ = tokio::io::AsyncWriteExt::shutdown(&mut to).await;
        });
    }
}

/// Calls without a pause, four at a time, and lets some calls time out.
async fn hammer(near: EchoClient) {
    let one = async |near: EchoClient| {
        loop {
            let note = Note { text: "z".repeat(30_000) };
            let _ = near.echo("1", note.into()).await;
            let _ = tokio::time::timeout(Duration::from_millis(1), near.hang()).await;
        }
    };
    tokio::join!(one(near.clone()), one(near.clone()), one(near.clone()), one(near));
}
