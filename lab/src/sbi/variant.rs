//! How a call is carried.
use super::http1::Http1;
#[cfg(feature = "iceoryx2")]
use super::iceoryx::{self, Asking};
use super::service::{MIRROR, MirrorClient, Octets, Server};
use super::sockets::{self, Connections};
use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use martlet_sbi::{ApiRoot, CallPolicy, LocalBinding, Peer, Router, Transport};
use martlet_sbi_api::nsmf_pdusession::SmContextRetrievedData;
use martlet_sbi_fabric::{Fabric, FabricBinding, FabricConfig, FabricServer};
use martlet_sbi_http::{ClientLimits, HttpBinding, HttpServer, OverFabric, ServerLimits, Unix};
#[cfg(feature = "iceoryx2")]
use nix::sys::signal::Signal;
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A way that is measured.
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
    /// Frames over the fabric, with octets that nobody looks into
    FrameOctets,
    /// Such octets over the fabric's sockets: the bare transport
    SocketOctets,
    /// iceoryx2's request-response with such octets, both ends woken by events
    #[cfg(feature = "iceoryx2")]
    Iceoryx2,
    /// iceoryx2's request-response with such octets, both ends looking without a pause
    #[cfg(feature = "iceoryx2")]
    Iceoryx2Poll,
    /// A call within the process
    Local,
}

impl Variant {
    /// Its name in figures and raw data.
    pub fn name(self) -> &'static str {
        match self {
            Variant::HttpTcp => "http_tcp",
            Variant::HttpUnix => "http_unix",
            Variant::Http1Fabric => "http1_fabric",
            Variant::HttpFabric => "http_fabric",
            Variant::FrameJson => "frame_json",
            Variant::FrameBinary => "frame_binary",
            Variant::FrameOctets => "frame_octets",
            Variant::SocketOctets => "socket_octets",
            #[cfg(feature = "iceoryx2")]
            Variant::Iceoryx2 => "iceoryx2",
            #[cfg(feature = "iceoryx2")]
            Variant::Iceoryx2Poll => "iceoryx2_poll",
            Variant::Local => "local",
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Variant::HttpTcp => "HTTP/2 over TCP",
            Variant::HttpUnix => "HTTP/2 over a unix socket",
            Variant::Http1Fabric => "HTTP/1.1 over the fabric",
            Variant::HttpFabric => "HTTP/2 over the fabric",
            Variant::FrameJson => "fabric, frames with JSON",
            Variant::FrameBinary => "fabric, frames with binary bodies",
            Variant::FrameOctets => "fabric, frames with plain octets",
            Variant::SocketOctets => "fabric, sockets with plain octets",
            #[cfg(feature = "iceoryx2")]
            Variant::Iceoryx2 => "iceoryx2 with plain octets, events",
            #[cfg(feature = "iceoryx2")]
            Variant::Iceoryx2Poll => "iceoryx2 with plain octets, polling",
            Variant::Local => "call in one process",
        }
    }

    /// Its name on the command line.
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
            compact,
            model: martlet_sbi_api::MODEL,
            ..FabricConfig::default()
        })
    }
}

/// The unix socket of HTTP, beside the fabric's.
fn unix(socket: &Path) -> PathBuf {
    socket.with_file_name("http.sock")
}

/// The producer's process, hidden behind `martlet lab sbi-server`; it ends when its standard input
/// does.
#[derive(Debug, Clone, clap::Args)]
pub struct SbiServerArgs {
    /// How it is called
    #[arg(long, value_enum)]
    pub variant: Variant,
    /// The fabric's manager
    #[arg(long)]
    pub socket: PathBuf,
}

/// Serves until its starter goes.
///
/// # Errors
/// The address is in use.
pub async fn serve(args: SbiServerArgs) -> Result<()> {
    std::thread::spawn(|| {
        let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
        std::process::exit(0);
    });
    let router = Arc::new(Router::new().serve(MIRROR.routes(Arc::new(Server))));
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
        Variant::SocketOctets => {
            let fabric = variant.fabric(&args.socket);
            sockets::serve(fabric.listen(variant.authority().parse()?).await?).await?;
        }
        Variant::FrameJson | Variant::FrameBinary | Variant::FrameOctets => {
            let fabric = variant.fabric(&args.socket);
            FabricServer::bind(&fabric, &variant.authority(), router).run().await;
        }
        #[cfg(feature = "iceoryx2")]
        Variant::Iceoryx2 | Variant::Iceoryx2Poll => {
            iceoryx::serve(&iceoryx_name(&args.socket, variant), variant == Variant::Iceoryx2Poll)?;
        }
    }
    Ok(())
}

/// A name that other labs at the same time do not have.
#[cfg(feature = "iceoryx2")]
fn iceoryx_name(socket: &Path, variant: Variant) -> String {
    format!("{}/{}", socket.display(), variant.name())
}

/// What is sent there and back.
pub struct Message {
    value: SmContextRetrievedData,
    octets: Bytes,
}

impl Message {
    /// The same as a value and as JSON.
    ///
    /// # Errors
    /// It has no JSON form.
    pub fn new(value: SmContextRetrievedData) -> Result<Message> {
        Ok(Message { octets: serde_json::to_vec(&value)?.into(), value })
    }
}

/// Who asks.
enum Consumer {
    Values(MirrorClient),
    Octets(MirrorClient),
    Sockets(Connections),
    #[cfg(feature = "iceoryx2")]
    Iceoryx2(Box<Asking>),
}

/// A consumer with its producer.
pub struct Pair {
    pub variant: Variant,
    consumer: Consumer,
    server: Option<Child>,
}

impl Drop for Pair {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

impl Pair {
    /// Starts the producer's process, unless it is this one, and waits until it answers.
    pub async fn start(variant: Variant, socket: &Path, message: &Message) -> Result<Pair> {
        let mut server = None;
        if variant != Variant::Local {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["--log", "warn", "sbi-server", "--variant", &variant.argument()]);
            command.arg("--socket").arg(socket).stdin(Stdio::piped());
            server = Some(command.spawn().context("the producer's process does not start")?);
        }
        let pair = Pair { variant, consumer: consumer(variant, socket)?, server };
        let give_up = tokio::time::Instant::now() + Duration::from_secs(10);
        while let Err(error) = pair.call(message).await {
            anyhow::ensure!(
                tokio::time::Instant::now() < give_up,
                "{} does not answer: {error}",
                variant.title()
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(pair)
    }

    /// Lets a producer that looks for requests without a pause look, or has it stand still: the
    /// others are to have its processor.
    ///
    /// # Errors
    /// It is gone.
    pub fn look(&self, on: bool) -> Result<()> {
        #[cfg(feature = "iceoryx2")]
        if let (Variant::Iceoryx2Poll, Some(server)) = (self.variant, &self.server) {
            let signal = if on { Signal::SIGCONT } else { Signal::SIGSTOP };
            nix::sys::signal::kill(Pid::from_raw(server.id() as i32), signal)?;
        }
        let _ = on;
        Ok(())
    }

    /// How long one call took, in microseconds. To make the body and to drop the answer is no part
    /// of it.
    pub async fn call(&self, message: &Message) -> Result<f64> {
        let failed = |problem| anyhow!("{}: {problem}", self.variant.title());
        let took = |started: Instant| started.elapsed().as_secs_f64() * 1e6;
        match &self.consumer {
            Consumer::Values(client) => {
                let body = message.value.clone();
                let started = Instant::now();
                let answer = client.mirror("1", body).await.map_err(failed)?;
                let took = took(started);
                std::hint::black_box(answer);
                Ok(took)
            }
            Consumer::Octets(client) => {
                let body = Octets(message.octets.clone());
                let started = Instant::now();
                let answer = client.mirror_octets(body).await.map_err(failed)?;
                let took = took(started);
                anyhow::ensure!(answer.0.len() == message.octets.len(), "another body came back");
                Ok(took)
            }
            Consumer::Sockets(connections) => {
                let started = Instant::now();
                let answer = connections.exchange(&message.octets).await?;
                let took = took(started);
                anyhow::ensure!(answer == message.octets, "another body came back");
                Ok(took)
            }
            #[cfg(feature = "iceoryx2")]
            Consumer::Iceoryx2(asking) => {
                let started = Instant::now();
                let answer = asking.exchange(&message.octets).await?;
                let took = took(started);
                anyhow::ensure!(answer.len() == message.octets.len(), "another body came back");
                Ok(took)
            }
        }
    }

    /// Processor time of both ends together, in nanoseconds.
    pub fn processor_time(&self) -> Result<u64> {
        let of = |clock: ClockId| {
            let time = clock_gettime(clock)?;
            Ok::<_, nix::Error>(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
        };
        let there = match &self.server {
            Some(server) => of(ClockId::pid_cpu_clock_id(Pid::from_raw(server.id() as i32))?)?,
            None => 0,
        };
        Ok(there + of(ClockId::CLOCK_PROCESS_CPUTIME_ID)?)
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
                Arc::new(Router::new().serve(MIRROR.routes(Arc::new(Server)))),
            );
            Arc::new(martlet_sbi::Bindings::new().with_local(local))
        }
        Variant::HttpTcp => Arc::new(HttpBinding::new(ClientLimits::default())),
        Variant::HttpUnix => http(Arc::new(Unix(unix(socket)))),
        Variant::HttpFabric => http(Arc::new(OverFabric::new(variant.fabric(socket)))),
        Variant::Http1Fabric => {
            Arc::new(Http1::new(Arc::new(OverFabric::new(variant.fabric(socket)))))
        }
        Variant::FrameJson | Variant::FrameBinary | Variant::FrameOctets => {
            Arc::new(FabricBinding::new(variant.fabric(socket)))
        }
        Variant::SocketOctets => {
            let to = variant.authority().parse()?;
            return Ok(Consumer::Sockets(Connections::new(variant.fabric(socket), to)));
        }
        #[cfg(feature = "iceoryx2")]
        Variant::Iceoryx2 | Variant::Iceoryx2Poll => {
            let (name, polls) = (iceoryx_name(socket, variant), variant == Variant::Iceoryx2Poll);
            return Ok(Consumer::Iceoryx2(Box::new(Asking::new(&name, polls)?)));
        }
    };
    let peer =
        Peer::new(transport, ApiRoot::http(variant.authority()), "SMF", CallPolicy::default());
    let client = MirrorClient::new(peer);
    Ok(if variant == Variant::FrameOctets {
        Consumer::Octets(client)
    } else {
        Consumer::Values(client)
    })
}
