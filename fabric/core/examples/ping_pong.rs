//! Ping-pong between two processes: `cargo run -p martlet-fabric --example ping_pong`.
//!
//! The parent runs the manager and the client, and starts itself again as the server.
use martlet_fabric::{BlockingFabric, Fabric, FabricConfig, Manager, ManagerConfig, ProcessLimits};
use std::io::{Read, Result, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const ROUNDS: u32 = 10_000;

fn address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 7777))
}

fn main() -> Result<()> {
    match std::env::args_os().nth(1) {
        Some(socket) => serve(socket.into()),
        None => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(ping())
        }
    }
}

/// The server process: it answers each ping. It uses the blocking interface.
fn serve(socket: PathBuf) -> Result<()> {
    let fabric = BlockingFabric::start("server", socket, ProcessLimits::default())?;
    let listener = fabric.listen(address())?;
    let mut stream = listener.accept(Some(Instant::now() + Duration::from_secs(10)))?;
    let mut ping = [0; 4];
    while stream.read(&mut ping)? > 0 {
        stream.write_all(b"pong")?;
    }
    Ok(())
}

/// The manager and the client.
async fn ping() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("fabric-ping-pong-{}", std::process::id()));
    let socket = folder.join("fabric.sock");
    let manager =
        Manager::bind(ManagerConfig { socket: socket.clone(), ..ManagerConfig::default() })?;
    tokio::spawn(manager.run());
    let program = std::env::current_exe()?;
    let mut server = Command::new(program).arg(&socket).stdin(Stdio::null()).spawn()?;

    let config = FabricConfig { socket, name: "client".into(), ..FabricConfig::default() };
    let fabric = Fabric::start(config);
    fabric.joined().await;
    let mut stream = loop {
        match fabric.connect(address()).await {
            Ok(stream) => break stream,
            // The server has not announced its address yet.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    };
    let started = Instant::now();
    let mut pong = [0; 4];
    for _ in 0..ROUNDS {
        stream.write_all(b"ping").await?;
        stream.read_exact(&mut pong).await?;
    }
    println!("{:.1} µs per round trip", started.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS));
    drop(stream);
    server.wait()?;
    std::fs::remove_dir_all(&folder)
}
