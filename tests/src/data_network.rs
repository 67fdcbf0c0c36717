//! A host of the data network, in its own network namespace, on a link to the UPF's namespace.
use crate::{run, within_netns};
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};

/// The address of the UPF's namespace on the link to the host.
pub const N6_GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 1);
/// The address of the host.
pub const DN_HOST: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 2);

/// The host. Dropping it deletes its namespace.
pub struct DataNetworkHost {
    name: String,
}

impl DataNetworkHost {
    /// Creates the host and its link. With `routes_to_ues` it has a route to the UE addresses.
    ///
    /// # Errors
    /// The namespace or the link cannot be created.
    pub async fn connect(routes_to_ues: bool) -> Result<DataNetworkHost> {
        let host = DataNetworkHost { name: unique_namespace("dn") };
        let name = &host.name;
        ip(&format!("netns add {name}")).await?;
        ip(&format!("link add dn0 type veth peer name dn1 netns {name}")).await?;
        ip(&format!("addr add {N6_GATEWAY}/24 dev dn0")).await?;
        ip("link set dn0 up").await?;
        for command in
            [&format!("addr add {DN_HOST}/24 dev dn1"), "link set dn1 up", "link set lo up"]
        {
            ip(&format!("-n {name} {command}")).await?;
        }
        if routes_to_ues {
            ip(&format!("-n {name} route add 10.45.0.0/16 via {N6_GATEWAY}")).await?;
        }
        Ok(host)
    }

    /// The command that runs another one on the host.
    pub fn command(&self, command: &str) -> String {
        format!("ip netns exec {} {command}", self.name)
    }

    /// Runs a command on the host and returns its standard output.
    ///
    /// # Errors
    /// The command fails.
    pub async fn run(&self, command: &str) -> Result<String> {
        let inside = ["netns", "exec", &self.name].into_iter().chain(command.split(' '));
        run("ip", &inside.collect::<Vec<_>>()).await
    }

    /// Listens for TCP connections on the host.
    ///
    /// # Errors
    /// The namespace cannot be opened, or the port is in use.
    pub fn listen(&self, port: u16) -> Result<TcpListener> {
        within_netns(&self.name, move || Ok(TcpListener::bind((DN_HOST, port))?))
    }

    /// Starts an iperf3 server on the host.
    ///
    /// # Errors
    /// It does not listen.
    pub fn iperf3(&self) -> Result<Server> {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, "iperf3", "--server", "--forceflush"]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdout = child.stdout.take().context("stdout is piped")?;
        let server = Server(child);
        let mut lines = BufReader::new(stdout).lines();
        let listening =
            lines.by_ref().map_while(Result::ok).any(|line| line.contains("Server listening"));
        ensure!(listening, "iperf3 ended before it listened");
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Ok(server)
    }
}

impl Drop for DataNetworkHost {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}

/// A server process. Dropping it kills the process.
pub struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A unique name for a network namespace.
pub fn unique_namespace(of: &str) -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("martlet-{of}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

async fn ip(command: &str) -> Result<()> {
    run("ip", &command.split(' ').collect::<Vec<_>>()).await.map(drop)
}

/// Answers HTTP requests one after the other with a body of this many bytes, and sends the source
/// address of each.
pub fn serve_http(listener: TcpListener, bytes: usize) -> std::sync::mpsc::Receiver<IpAddr> {
    use std::io::{Read, Write};
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        while let Ok((mut stream, from)) = listener.accept() {
            let mut request = Vec::new();
            let mut buffer = [0; 1024];
            while !request.ends_with(b"\r\n\r\n") {
                match stream.read(&mut buffer) {
                    Ok(length) if length > 0 => request.extend_from_slice(&buffer[..length]),
                    _ => break,
                }
            }
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\nConnection: close\r\n\r\n");
            let _ = stream
                .write_all(head.as_bytes())
                .and_then(|()| stream.write_all(&vec![b'm'; bytes]));
            if sender.send(from.ip()).is_err() {
                return;
            }
        }
    });
    receiver
}
