//! The LMF's end of a run on two hosts: it listens at the control port, and starts a server for
//! each channel that a UE's end requests.
use super::control::{Greeting, PORT, Reply, Request, TIMEOUT, read, write};
use super::role::RoleArgs;
use super::server::Server;
use crate::process_usage::Usage;
use anyhow::{Context, Result, ensure};
use martlet_lab_endpoint::{End, Variant};
use nix::sys::socket::{setsockopt, sockopt};
use std::io::{BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

/// Servers of one UE at the same time.
const SERVERS: usize = 64;

/// The LMF's end: serves one UE after the other.
///
/// # Errors
/// The address is in use.
pub(super) fn wait_for_ues(args: &RoleArgs) -> Result<String> {
    ensure!(args.peer.is_none(), "--peer is an option of --role ue");
    let at = args.listen.unwrap_or(SocketAddr::from(([0, 0, 0, 0], PORT)));
    let listener = TcpListener::bind(at).with_context(|| format!("cannot listen at {at}"))?;
    // A script waits for this line.
    println!("waiting for a UE at {}", listener.local_addr()?);
    std::io::stdout().flush()?;
    loop {
        let (stream, ue) = listener.accept()?;
        tracing::info!(%ue, "UE connected");
        match serve(&stream) {
            Ok(()) => tracing::info!(%ue, "UE disconnected"),
            Err(error) => tracing::warn!(%ue, "run aborted: {error:#}"),
        }
        if args.once {
            return Ok(String::new());
        }
    }
}

/// Serves one UE until it disconnects. Its servers end then.
fn serve(stream: &TcpStream) -> Result<()> {
    stream.set_nodelay(true)?;
    // A UE may be silent for as long as its rounds take. One that is gone has to be noticed.
    setsockopt(stream, sockopt::KeepAlive, &true)?;
    setsockopt(stream, sockopt::TcpKeepIdle, &30)?;
    setsockopt(stream, sockopt::TcpKeepInterval, &10)?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    write(stream, &Greeting::of_this_host())?;
    // The UE reaches this address.
    let at = stream.local_addr()?.ip().to_canonical();
    let mut input = BufReader::new(stream.try_clone()?);
    let mut servers = Vec::new();
    while let Some(request) = read(&mut input)? {
        let reply = reply(&request, at, &mut servers)
            .unwrap_or_else(|error| Reply::Error { reason: format!("{error:#}") });
        write(stream, &reply)?;
    }
    Ok(())
}

fn reply(request: &Request, at: IpAddr, servers: &mut Vec<Server>) -> Result<Reply> {
    let server =
        |number: &usize| servers.get(*number).with_context(|| format!("no server {number}"));
    Ok(match request {
        Request::Start { variant, spin, mtu, realtime } => {
            ensure!(servers.len() < SERVERS, "there are {SERVERS} servers already");
            let variant = Variant::from_name(variant)
                .with_context(|| format!("the LMF's end has no channel {variant:?}"))?;
            let end = End { variant, spin: *spin, mtu: *mtu, realtime: *realtime };
            let server = Server::start(at, &end)?;
            let (address, roots) = (server.address.clone(), server.roots.clone());
            servers.push(server);
            Reply::Started { server: servers.len() - 1, address, roots }
        }
        Request::Usage { server: number } => {
            let Usage { cpu_ns, switches } = server(number)?.used()?;
            Reply::Usage { cpu_ns, switches }
        }
        Request::Conditions { server: number } => {
            let (text, missing) = server(number)?.conditions()?;
            Reply::Conditions { text, missing }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests come from the network.
    #[test]
    fn requests_for_what_there_is_not_are_refused() {
        let mut servers = Vec::new();
        let mut refused = |line: &str| {
            let request: Request = serde_json::from_str(line).unwrap();
            reply(&request, IpAddr::from([127, 0, 0, 1]), &mut servers).unwrap_err().to_string()
        };
        assert!(refused(r#"{"usage":{"server":3}}"#).contains("no server 3"));
        assert!(refused(r#"{"conditions":{"server":0}}"#).contains("no server 0"));
        let start = r#"{"start":{"variant":"pigeon","spin":0,"mtu":1500,"realtime":false}}"#;
        assert!(refused(start).contains("no channel \"pigeon\""));
        assert!(serde_json::from_str::<Request>(r#"{"run":{"program":"sh"}}"#).is_err());
    }
}
