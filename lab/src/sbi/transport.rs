//! The compared transports, and the client and server processes of each.
use super::http1::Http1;
#[cfg(feature = "iceoryx2")]
use super::iceoryx::{self, Requester};
use super::service::{ECHO, EchoClient, RawBytes, Server};
use super::sockets::{self, Connections};
use crate::process_usage::cpu_ns;
use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use martlet_fabric::{Fabric, FabricConfig};
use martlet_sbi::{ApiRoot, CallPolicy, LocalBinding, Peer, Router, Transport};
use martlet_sbi_api::nsmf_pdusession::SmContextRetrievedData;
use martlet_sbi_fabric::{FabricBinding, FabricServer};
use martlet_sbi_http::{ClientLimits, HttpBinding, HttpServer, OverFabric, ServerLimits, Unix};
#[cfg(feature = "iceoryx2")]
use nix::sys::signal::Signal;
#[cfg(feature = "iceoryx2")]
use nix::unistd::Pid;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Variant {
    /// HTTP/2 with JSON over TCP
    HttpTcp,
    /// HTTP/2 with JSON over a unix socket
    HttpUnix,
    /// HTTP/1.1 with JSON over the fabric's sockets
    Http1Fabric,
    /// HTTP/2 with JSON over the fabric's sockets
    HttpFabric,
    /// Frames over the fabric, with JSON
    FrameJson,
    /// Frames over the fabric, with compact binary bodies
    FrameBinary,
    /// Frames over the fabric, with bytes that are not decoded
    FrameBytes,
    /// Plain bytes over the fabric's sockets: the bare transport
    SocketBytes,
    /// iceoryx2's request-response with plain bytes and events
    #[cfg(feature = "iceoryx2")]
    Iceoryx2,
    /// iceoryx2's request-response with plain bytes and polling
    #[cfg(feature = "iceoryx2")]
    Iceoryx2Poll,
    /// A call within the process
    Local,
}

impl Variant {
    /// The name in figures and raw data.
    pub fn name(self) -> &'static str {
        match self {
            Variant::HttpTcp => "http_tcp",
            Variant::HttpUnix => "http_unix",
            Variant::Http1Fabric => "http1_fabric",
            Variant::HttpFabric => "http_fabric",
            Variant::FrameJson => "frame_json",
            Variant::FrameBinary => "frame_binary",
            Variant::FrameBytes => "frame_bytes",
            Variant::SocketBytes => "socket_bytes",
            #[cfg(feature = "iceoryx2")]
            Variant::Iceoryx2 => "iceoryx2",
            #[cfg(feature = "iceoryx2")]
            Variant::Iceoryx2Poll => "iceoryx2_poll",
            Variant::Local => "local",
        }
    }

    /// The name in reports.
    pub fn title(self) -> &'static str {
        match self {
            Variant::HttpTcp => "HTTP/2 over TCP",
            Variant::HttpUnix => "HTTP/2 over a unix socket",
            Variant::Http1Fabric => "HTTP/1.1 over the fabric",
            Variant::HttpFabric => "HTTP/2 over the fabric",
            Variant::FrameJson => "fabric, frames with JSON",
            Variant::FrameBinary => "fabric, frames with binary bodies",
            Variant::FrameBytes => "fabric, frames with plain bytes",
            Variant::SocketBytes => "fabric, sockets with plain bytes",
            #[cfg(feature = "iceoryx2")]
            Variant::Iceoryx2 => "iceoryx2 with plain bytes, events",
            #[cfg(feature = "iceoryx2")]
            Variant::Iceoryx2Poll => "iceoryx2 with plain bytes, polling",
            Variant::Local => "call in one process",
        }
    }

    /// The name on the command line.
    fn argument(self) -> String {
        clap::ValueEnum::to_possible_value(&self)
            .map_or_else(String::new, |value| value.get_name().into())
    }

    fn authority(self) -> String {
        format!("127.0.0.1:{}", 47310 + self as u16)
    }

    fn fabric(self, socket: &Path) -> Fabric {
        let compact = self == Variant::FrameBinary;
        let name = self.name().into();
        Fabric::start(FabricConfig {
            socket: socket.into(),
            name,
            schema: if compact { martlet_sbi_api::MODEL } else { 0 },
            ..FabricConfig::default()
        })
    }
}

/// The unix socket of HTTP, in the folder of the fabric's.
fn unix(socket: &Path) -> PathBuf {
    socket.with_file_name("http.sock")
}

/// Arguments of the hidden command `martlet-lab sbi-server`. The server ends with its standard
/// input.
#[derive(Debug, Clone, clap::Args)]
pub struct SbiServerArgs {
    /// Transport
    #[arg(long, value_enum)]
    pub variant: Variant,
    /// Socket of the fabric's manager
    #[arg(long)]
    pub socket: PathBuf,
}

/// Runs the server until its standard input ends.
///
/// # Errors
/// The address is in use.
pub async fn serve(args: SbiServerArgs) -> Result<()> {
    std::thread::spawn(|| {
        let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
        std::process::exit(0);
    });
    let router = Arc::new(Router::new().serve(ECHO.routes(Arc::new(Server))));
    let (variant, limits) = (args.variant, ServerLimits::default());
    match variant {
        Variant::HttpTcp | Variant::Local => {
            HttpServer::bind(variant.authority().parse()?, router, limits).await?.run().await;
        }
        Variant::HttpUnix => {
            let listener = tokio::net::UnixListener::bind(unix(&args.socket))?;
            HttpServer::over(listener, router, limits).run().await;
        }
        Variant::Http1Fabric | Variant::HttpFabric => {
            let fabric = variant.fabric(&args.socket);
            let listener = fabric.listen(variant.authority().parse()?).await?;
            HttpServer::over(listener, router, limits).run().await;
        }
        Variant::SocketBytes => {
            let fabric = variant.fabric(&args.socket);
            sockets::serve(fabric.listen(variant.authority().parse()?).await?).await?;
        }
        Variant::FrameJson | Variant::FrameBinary | Variant::FrameBytes => {
            let binding = FabricBinding::new(variant.fabric(&args.socket));
            FabricServer::bind(&binding, &variant.authority(), router).run().await;
        }
        #[cfg(feature = "iceoryx2")]
        Variant::Iceoryx2 | Variant::Iceoryx2Poll => {
            iceoryx::serve(&iceoryx_name(&args.socket, variant), variant == Variant::Iceoryx2Poll)?;
        }
    }
    Ok(())
}

/// A service name that no other run uses at the same time.
#[cfg(feature = "iceoryx2")]
fn iceoryx_name(socket: &Path, variant: Variant) -> String {
    format!("{}/{}", socket.display(), variant.name())
}

/// The body of a call.
pub struct Message {
    value: SmContextRetrievedData,
    json: Bytes,
}

impl Message {
    /// A message with its JSON form.
    ///
    /// # Errors
    /// The value has no JSON form.
    pub fn new(value: SmContextRetrievedData) -> Result<Message> {
        Ok(Message { json: serde_json::to_vec(&value)?.into(), value })
    }
}

/// The client side.
enum Consumer {
    Values(EchoClient),
    Bytes(EchoClient),
    Sockets(Connections),
    #[cfg(feature = "iceoryx2")]
    Iceoryx2(Box<Requester>),
}

/// A consumer and the process of its producer.
pub struct Pair {
    pub variant: Variant,
    consumer: Consumer,
    server: Option<Child>,
    /// The producer, if it is in this process.
    task: Option<tokio::task::JoinHandle<()>>,
}

impl Drop for Pair {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

impl Pair {
    /// Starts the producer's process, except for `local`, and waits until it answers.
    pub async fn start(variant: Variant, socket: &Path, message: &Message) -> Result<Pair> {
        let mut server = None;
        if variant != Variant::Local {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["--log", "warn", "sbi-server", "--variant", &variant.argument()]);
            command.arg("--socket").arg(socket).stdin(Stdio::piped());
            server = Some(command.spawn().context("the producer's process cannot be started")?);
        }
        let pair = Pair { variant, consumer: consumer(variant, socket)?, server, task: None };
        pair.answers(message).await?;
        Ok(pair)
    }

    /// A pair whose producer is a task of this process: `Local`, or one over the fabric.
    ///
    /// # Errors
    /// The consumer cannot be made.
    pub fn within(variant: Variant, socket: &Path) -> Result<Pair> {
        let router = Arc::new(Router::new().serve(ECHO.routes(Arc::new(Server))));
        let task = (variant != Variant::Local).then(|| {
            let binding = FabricBinding::new(variant.fabric(socket));
            let server = FabricServer::bind(&binding, &variant.authority(), router);
            tokio::spawn(server.run())
        });
        Ok(Pair { variant, consumer: consumer(variant, socket)?, server: None, task })
    }

    /// Waits until the producer answers.
    ///
    /// # Errors
    /// It does not answer within ten seconds.
    pub async fn answers(&self, message: &Message) -> Result<()> {
        let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
        while let Err(error) = self.call(message).await {
            anyhow::ensure!(
                tokio::time::Instant::now() < deadline,
                "{} does not answer: {error}",
                self.variant.title()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// Stops or continues a producer that polls without a pause. While it is stopped, the other
    /// transports have the CPU for themselves.
    ///
    /// # Errors
    /// The process has ended.
    pub fn pause_polling(&self, pause: bool) -> Result<()> {
        #[cfg(feature = "iceoryx2")]
        if let (Variant::Iceoryx2Poll, Some(server)) = (self.variant, &self.server) {
            let signal = if pause { Signal::SIGSTOP } else { Signal::SIGCONT };
            nix::sys::signal::kill(Pid::from_raw(server.id() as i32), signal)?;
        }
        let _ = pause;
        Ok(())
    }

    /// The latency of one call in microseconds, without making the body and dropping the answer.
    pub async fn call(&self, message: &Message) -> Result<f64> {
        let failed = |problem| anyhow!("{}: {problem}", self.variant.title());
        let elapsed = |started: Instant| started.elapsed().as_secs_f64() * 1e6;
        match &self.consumer {
            Consumer::Values(client) => {
                let body = message.value.clone();
                let started = Instant::now();
                let answer = client.echo("1", body).await.map_err(failed)?;
                let elapsed = elapsed(started);
                std::hint::black_box(answer);
                Ok(elapsed)
            }
            Consumer::Bytes(client) => {
                let body = RawBytes(message.json.clone());
                let started = Instant::now();
                let answer = client.echo_bytes(body).await.map_err(failed)?;
                let elapsed = elapsed(started);
                anyhow::ensure!(
                    answer.0.len() == message.json.len(),
                    "the answer has another body"
                );
                Ok(elapsed)
            }
            Consumer::Sockets(connections) => {
                let started = Instant::now();
                let answer = connections.exchange(&message.json).await?;
                let elapsed = elapsed(started);
                anyhow::ensure!(answer == message.json, "the answer has another body");
                Ok(elapsed)
            }
            #[cfg(feature = "iceoryx2")]
            Consumer::Iceoryx2(client) => {
                let started = Instant::now();
                let answer = client.exchange(&message.json).await?;
                let elapsed = elapsed(started);
                anyhow::ensure!(answer.len() == message.json.len(), "the answer has another body");
                Ok(elapsed)
            }
        }
    }

    /// CPU time of both processes together, in nanoseconds.
    pub fn cpu_time(&self) -> u64 {
        let producer = self.server.as_ref().map_or(0, |server| cpu_ns(server.id()));
        producer + cpu_ns(std::process::id())
    }
}

fn consumer(variant: Variant, socket: &Path) -> Result<Consumer> {
    let http =
        |dial| Arc::new(HttpBinding::new(ClientLimits::default()).over(dial)) as Arc<dyn Transport>;
    let transport: Arc<dyn Transport> = match variant {
        Variant::Local => {
            let local = LocalBinding::new();
            local.add(
                &variant.authority(),
                Arc::new(Router::new().serve(ECHO.routes(Arc::new(Server)))),
            );
            Arc::new(martlet_sbi::Bindings::new().with_local(local))
        }
        Variant::HttpTcp => Arc::new(HttpBinding::new(ClientLimits::default())),
        Variant::HttpUnix => http(Arc::new(Unix(unix(socket)))),
        Variant::HttpFabric => http(Arc::new(OverFabric::new(variant.fabric(socket)))),
        Variant::Http1Fabric => {
            Arc::new(Http1::new(Arc::new(OverFabric::new(variant.fabric(socket)))))
        }
        Variant::FrameJson | Variant::FrameBinary | Variant::FrameBytes => {
            Arc::new(FabricBinding::new(variant.fabric(socket)))
        }
        Variant::SocketBytes => {
            let to = variant.authority().parse()?;
            return Ok(Consumer::Sockets(Connections::new(variant.fabric(socket), to)));
        }
        #[cfg(feature = "iceoryx2")]
        Variant::Iceoryx2 | Variant::Iceoryx2Poll => {
            let (name, polls) = (iceoryx_name(socket, variant), variant == Variant::Iceoryx2Poll);
            return Ok(Consumer::Iceoryx2(Box::new(Requester::new(&name, polls)?)));
        }
    };
    let peer =
        Peer::new(transport, ApiRoot::http(variant.authority()), "SMF", CallPolicy::default());
    let client = EchoClient::new(peer);
    Ok(if variant == Variant::FrameBytes {
        Consumer::Bytes(client)
    } else {
        Consumer::Values(client)
    })
}
