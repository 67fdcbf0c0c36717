//! A host of the data network, in a network namespace of its own behind the UPF's machine.
use crate::run;
use anyhow::{Context, Result, ensure};
use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};

/// The machine's address towards the data network.
pub const MACHINE: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 1);
/// The host's address.
pub const HOST: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 2);

/// The host. Its namespace goes with it.
pub struct Host {
    name: String,
}

impl Host {
    /// A host on the same link as the machine. With `knows_phones` it has a route to their
    /// addresses.
    ///
    /// # Errors
    /// Namespaces cannot be made.
    pub async fn connect(knows_phones: bool) -> Result<Host> {
        let host = Host { name: namespace("dn") };
        let name = &host.name;
        ip(&format!("netns add {name}")).await?;
        ip(&format!("link add dn0 type veth peer name dn1 netns {name}")).await?;
        ip(&format!("addr add {MACHINE}/24 dev dn0")).await?;
        ip("link set dn0 up").await?;
        for words in [&format!("addr add {HOST}/24 dev dn1"), "link set dn1 up", "link set lo up"] {
            ip(&format!("-n {name} {words}")).await?;
        }
        if knows_phones {
            ip(&format!("-n {name} route add 10.45.0.0/16 via {MACHINE}")).await?;
        }
        Ok(host)
    }

    /// Runs a program at the host; what it says.
    ///
    /// # Errors
    /// It ends with another code than 0.
    pub async fn run(&self, words: &str) -> Result<String> {
        let inside = ["netns", "exec", &self.name].into_iter().chain(words.split(' '));
        run("ip", &inside.collect::<Vec<_>>()).await
    }

    /// Listens for TCP connections at the host.
    ///
    /// # Errors
    /// The namespace or the port is not to be had.
    pub fn listen(&self, port: u16) -> Result<TcpListener> {
        let namespace = File::open(format!("/run/netns/{}", self.name))?;
        let bound = std::thread::spawn(move || -> Result<TcpListener> {
            setns(namespace, CloneFlags::CLONE_NEWNET)?;
            Ok(TcpListener::bind((HOST, port))?)
        });
        bound.join().map_err(|_| anyhow::anyhow!("the thread in the namespace panicked"))?
    }

    /// Starts iperf3's server at the host.
    ///
    /// # Errors
    /// It does not start to listen.
    pub fn iperf3(&self) -> Result<Server> {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, "iperf3", "--server", "--forceflush"]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let said = child.stdout.take().context("it is piped")?;
        let server = Server(child);
        let mut lines = BufReader::new(said).lines();
        let listens =
            lines.by_ref().map_while(Result::ok).any(|line| line.contains("Server listening"));
        ensure!(listens, "iperf3 ended before it listened");
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Ok(server)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}

/// A server that ends with this.
pub struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A name for a network namespace that no other test has.
pub fn namespace(of: &str) -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(1);
    format!("martlet-{of}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

async fn ip(words: &str) -> Result<()> {
    run("ip", &words.split(' ').collect::<Vec<_>>()).await.map(drop)
}

/// Serves one HTTP request after the other with so many octets, and tells from where each came.
pub fn serve_http(listener: TcpListener, octets: usize) -> std::sync::mpsc::Receiver<IpAddr> {
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
                format!("HTTP/1.1 200 OK\r\nContent-Length: {octets}\r\nConnection: close\r\n\r\n");
            let _ = stream
                .write_all(head.as_bytes())
                .and_then(|()| stream.write_all(&vec![b'm'; octets]));
            if sender.send(from.ip()).is_err() {
                return;
            }
        }
    });
    receiver
}
