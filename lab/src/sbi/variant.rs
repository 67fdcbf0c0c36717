//! How a call is carried.
use super::service::{MIRROR, MirrorClient, Server};
use anyhow::{Context, Result};
use martlet_sbi::{ApiRoot, CallPolicy, LocalBinding, Peer, Router, Transport};
use martlet_sbi_fabric::{Fabric, FabricBinding, FabricConfig, FabricServer};
use martlet_sbi_http::{ClientLimits, HttpBinding, HttpServer, ServerLimits};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// A way that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Variant {
    /// HTTP/2 with JSON over TCP
    HttpTcp,
    /// Frames over the fabric, with JSON
    FrameJson,
    /// Frames over the fabric, with compact binary bodies
    FrameBinary,
    /// A call within the process
    Local,
}

impl Variant {
    /// Its name in figures and raw data.
    pub fn name(self) -> &'static str {
        match self {
            Variant::HttpTcp => "http_tcp",
            Variant::FrameJson => "frame_json",
            Variant::FrameBinary => "frame_binary",
            Variant::Local => "local",
        }
    }

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Variant::HttpTcp => "HTTP/2 over TCP",
            Variant::FrameJson => "fabric, frames with JSON",
            Variant::FrameBinary => "fabric, frames with binary bodies",
            Variant::Local => "call in one process",
        }
    }

    fn authority(self) -> String {
        format!("127.0.0.1:{}", 47310 + self as u16)
    }

    fn fabric(self, socket: PathBuf) -> FabricConfig {
        let compact = self == Variant::FrameBinary;
        FabricConfig { socket, name: self.name().into(), compact, ..FabricConfig::default() }
    }
}

/// The producer's process, hidden behind `martlet lab sbi-server`; it ends when its standard input does.
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
    match args.variant {
        Variant::HttpTcp | Variant::Local => {
            let server = HttpServer::bind(args.variant.authority().parse()?, router, ServerLimits::default());
            server.await?.run().await;
        }
        Variant::FrameJson | Variant::FrameBinary => {
            let fabric = Fabric::start(args.variant.fabric(args.socket));
            FabricServer::bind(&fabric, &args.variant.authority(), router).run().await;
        }
    }
    Ok(())
}

/// A consumer with its producer.
pub struct Pair {
    pub variant: Variant,
    pub client: MirrorClient,
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
    pub async fn start(variant: Variant, socket: &Path) -> Result<Pair> {
        let mut server = None;
        let transport: Arc<dyn Transport> = match variant {
            Variant::Local => {
                let local = LocalBinding::new();
                local.add(&variant.authority(), Arc::new(Router::new().serve(MIRROR.routes(Arc::new(Server)))));
                Arc::new(martlet_sbi::Bindings::new().with_local(local))
            }
            Variant::HttpTcp => Arc::new(HttpBinding::new(ClientLimits::default())),
            _ => Arc::new(FabricBinding::new(Fabric::start(variant.fabric(socket.into())))),
        };
        if variant != Variant::Local {
            let mut command = Command::new(std::env::current_exe()?);
            command.args(["--log", "warn", "lab", "sbi-server", "--variant"]);
            command.arg(variant.name().replace('_', "-")).arg("--socket").arg(socket);
            server = Some(command.stdin(Stdio::piped()).spawn().context("the producer's process does not start")?);
        }
        let peer = Peer::new(transport, ApiRoot::http(variant.authority()), "SMF", CallPolicy::default());
        let pair = Pair { variant, client: MirrorClient::new(peer), server };
        let give_up = tokio::time::Instant::now() + Duration::from_secs(10);
        while let Err(problem) = pair.client.cost().await {
            anyhow::ensure!(tokio::time::Instant::now() < give_up, "{} does not answer: {problem}", variant.title());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(pair)
    }

    /// Processor time of both ends together, in nanoseconds.
    pub async fn processor_time(&self) -> Result<u64> {
        let there = match self.server {
            Some(_) => self.client.cost().await.map_err(|p| anyhow::anyhow!("{p}"))?.as_u64().unwrap_or(0),
            None => 0,
        };
        Ok(there + super::service::processor_time())
    }
}
