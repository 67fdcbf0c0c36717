//! The control connection of a run on two hosts: its messages, and the UE's end of it. `lmf` is the
//! other end.
//!
//! Each line is a JSON value: the LMF's greeting, then a request of the UE and its reply, one at a
//! time. The connection is protected by nothing, so it belongs in a network of the experiment.
use crate::machine;
use crate::process_usage::Usage;
use anyhow::{Context, Result, bail, ensure};
use martlet_lab_endpoint::{End, Variant};
use martlet_lcs_realtime::{Conditions, Wanted};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// The control port, unless --listen or --peer has another.
pub(super) const PORT: u16 = 7460;
/// The version of the messages.
const PROTOCOL: u32 = 1;
/// Limit of a line in bytes. The longest one has a certificate.
const LINE: u64 = 64 * 1024;
/// Limit of the time to connect, and until a reply.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Request {
    /// Start a server.
    Start { variant: String, spin: u64, mtu: u16, realtime: bool },
    /// What a server has used.
    Usage { server: usize },
    /// The scheduling properties of a server.
    Conditions { server: usize },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    Started {
        server: usize,
        address: String,
        roots: String,
    },
    Usage {
        cpu_ns: u64,
        switches: u64,
    },
    /// `missing`: the real-time property that is not in force.
    Conditions {
        text: String,
        missing: Option<String>,
    },
    Error {
        reason: String,
    },
}

/// What the LMF's end sends first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Greeting {
    protocol: u32,
    /// Names of the channels that it can serve.
    pub(super) channels: Vec<String>,
    /// As in `summary.json`.
    pub(super) machine: serde_json::Value,
}

impl Greeting {
    pub(super) fn of_this_host() -> Greeting {
        let channels = Variant::all().into_iter().map(Variant::name).collect();
        Greeting { protocol: PROTOCOL, channels, machine: machine::describe() }
    }

    /// Kernel and build, in a line.
    pub(super) fn machine(&self) -> String {
        machine::in_a_line(&self.machine)
    }
}

/// Reads a line of at most [`LINE`] bytes. `None` at the end of the connection.
pub(super) fn read<T: DeserializeOwned>(input: &mut BufReader<TcpStream>) -> Result<Option<T>> {
    let mut line = String::new();
    input.take(LINE).read_line(&mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    ensure!(line.ends_with('\n'), "a control message is incomplete or longer than {LINE} bytes");
    Ok(Some(serde_json::from_str(&line).context("unknown control message")?))
}

pub(super) fn write(mut output: &TcpStream, value: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_string(value)?;
    line.push('\n');
    Ok(output.write_all(line.as_bytes())?)
}

/// The UE's end of a control connection.
pub(super) struct Control {
    connection: RefCell<BufReader<TcpStream>>,
    peer: SocketAddr,
    pub(super) greeting: Greeting,
}

impl Control {
    /// Connects to the LMF's end.
    pub(super) fn connect(peer: &str) -> Result<Control> {
        let failed = || format!("--peer {peer}: `martlet-lab lcs-upp --role lmf` is not reached");
        let mut outcome = Err(anyhow::anyhow!("the name has no address"));
        for address in addresses(peer).with_context(failed)? {
            outcome = TcpStream::connect_timeout(&address, TIMEOUT).map_err(Into::into);
            if outcome.is_ok() {
                break;
            }
        }
        let stream = outcome.with_context(failed)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let peer = stream.peer_addr()?;
        let mut input = BufReader::new(stream);
        let greeting: Greeting = read(&mut input)
            .context("the LMF's end serves another UE, or is no `martlet-lab`")?
            .context("the LMF's end closed the control connection")?;
        ensure!(
            greeting.protocol == PROTOCOL,
            "the LMF's end has version {} of the control messages, this end {PROTOCOL}: install \
             the same martlet-lab on both hosts",
            greeting.protocol
        );
        Ok(Control { connection: RefCell::new(input), peer, greeting })
    }

    /// The LMF's address.
    pub(super) fn peer(&self) -> IpAddr {
        self.peer.ip()
    }

    fn ask(&self, request: &Request) -> Result<Reply> {
        let mut connection = self.connection.borrow_mut();
        write(connection.get_ref(), request).context("control connection")?;
        let reply = read(&mut connection).context("control connection")?;
        match reply.context("the LMF's end closed the control connection")? {
            Reply::Error { reason } => bail!("the LMF's end: {reason}"),
            reply => Ok(reply),
        }
    }

    /// Starts a server. Returns its number, its addresses and its certificate.
    pub(super) fn start(&self, end: &End) -> Result<(usize, String, String)> {
        let End { variant, spin, mtu, realtime } = *end;
        let request = Request::Start { variant: variant.name(), spin, mtu, realtime };
        let Reply::Started { server, address, roots } = self.ask(&request)? else {
            bail!("the LMF's end did not reply to a start");
        };
        // The ports are the LMF's; its address is the one that this end reaches.
        let here = |address: &str| -> Result<String> {
            let port = address.parse::<SocketAddr>().context("address of a server")?.port();
            let mut reached = self.peer;
            reached.set_port(port);
            Ok(reached.to_string())
        };
        let reached = address.split(',').map(here).collect::<Result<Vec<_>>>()?;
        Ok((server, reached.join(","), roots))
    }

    /// What a server has used.
    pub(super) fn used(&self, server: usize) -> Result<Usage> {
        match self.ask(&Request::Usage { server })? {
            Reply::Usage { cpu_ns, switches } => Ok(Usage { cpu_ns, switches }),
            _ => bail!("the LMF's end did not reply to a question for usage"),
        }
    }

    /// The scheduling properties of a server, and the real-time property that is not in force.
    pub(super) fn conditions(&self, server: usize) -> Result<(String, Option<String>)> {
        match self.ask(&Request::Conditions { server })? {
            Reply::Conditions { text, missing } => Ok((text, missing)),
            _ => bail!("the LMF's end did not reply to a question for conditions"),
        }
    }
}

/// The scheduling properties of a process of this host, and the real-time property that is not in
/// force.
pub(super) fn conditions_of(process: u32) -> (String, Option<String>) {
    let conditions = Conditions::of(process);
    let missing = conditions.missing(Wanted::ALL).map(|error| error.to_string());
    (conditions.to_string(), missing)
}

/// The addresses of `ADDR` or `ADDR:PORT`, where ADDR may be a name.
fn addresses(peer: &str) -> Result<Vec<SocketAddr>> {
    if let Ok(address) = peer.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::from((address, PORT))]);
    }
    Ok(match peer.contains(':') {
        true => peer.to_socket_addrs()?.collect(),
        false => (peer, PORT).to_socket_addrs()?.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_peer_has_the_control_port_unless_it_names_one() {
        let of = |peer: &str| addresses(peer).unwrap()[0].to_string();
        assert_eq!(of("10.9.0.1"), "10.9.0.1:7460");
        assert_eq!(of("10.9.0.1:99"), "10.9.0.1:99");
        assert_eq!(of("fd00::1"), "[fd00::1]:7460");
        assert_eq!(of("[fd00::1]:99"), "[fd00::1]:99");
        assert!(addresses("10.9.0.1:port").is_err());
    }

    #[test]
    fn a_line_without_an_end_is_not_read_for_ever() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let sender = std::thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            let _ = stream.write_all(&vec![b'x'; LINE as usize + 1]);
            stream
        });
        let (stream, _) = listener.accept().unwrap();
        let error = read::<Request>(&mut BufReader::new(stream)).unwrap_err().to_string();
        assert!(error.contains("longer than"), "{error}");
        drop(sender.join().unwrap());
    }
}
