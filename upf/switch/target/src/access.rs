//! Access to the switch's P4Runtime server. With a token, its holders may control the switch.
//! Otherwise users of this machine may, as the kernel reports them: root, the user of this process,
//! and those of `--allow-user`.
use crate::error::ProcessError;
use martlet_log_limit::line;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use tokio::net::TcpStream;
use tonic::metadata::MetadataMap;
use tonic::{Request, Status};

/// The longest token file.
const LONGEST: usize = 4096;

/// Who may control the switch.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// User IDs, beside root and that of this process.
    pub users: Vec<u32>,
    /// A secret that each request has to have.
    pub token: Option<String>,
}

impl Access {
    /// Reads the token from a file.
    ///
    /// # Errors
    /// The file cannot be read, or is empty or too long.
    pub fn new(users: Vec<u32>, token: Option<&Path>) -> Result<Access, ProcessError> {
        let read = |path: &Path| {
            let failed = |cause: String| ProcessError::File { path: path.into(), cause };
            let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
            let token = text.trim().to_owned();
            let is_token = !token.is_empty() && token.len() <= LONGEST && token.is_ascii();
            is_token.then_some(token).ok_or_else(|| failed("it contains no token in ASCII".into()))
        };
        Ok(Access { users, token: token.map(read).transpose()? })
    }

    /// Whether the server may listen there.
    ///
    /// # Errors
    /// Other machines may reach the address, and there is no token.
    pub fn check_listener(&self, address: SocketAddr) -> Result<(), ProcessError> {
        if address.ip().is_loopback() || self.token.is_some() {
            return Ok(());
        }
        let cause = std::io::Error::other(
            "other machines may reach this address: add --token FILE, or listen at 127.0.0.1",
        );
        Err(ProcessError::System { what: format!("listen for P4Runtime at {address}"), cause })
    }

    /// Whether a connection is served.
    pub(crate) fn admits(&self, stream: &TcpStream) -> bool {
        let ends = stream.peer_addr().and_then(|peer| Ok((peer, stream.local_addr()?)));
        if self.token.is_some() {
            return true;
        }
        let user = ends.as_ref().ok().and_then(|(peer, local)| user_of(*peer, *local));
        let is_admitted = user.is_some_and(|user| {
            user == 0 || user == nix::unistd::geteuid().as_raw() || self.users.contains(&user)
        });
        if !is_admitted && let Some(suppressed) = line("p4runtime_user", user.unwrap_or(u32::MAX)) {
            tracing::warn!(
                user,
                suppressed,
                "P4Runtime connection refused: the user may not control the switch \
                 (--allow-user)"
            );
        }
        is_admitted
    }

    /// Whether a request has the token.
    pub(crate) fn check(&self, request: Request<()>) -> Result<Request<()>, Status> {
        let Some(token) = &self.token else { return Ok(request) };
        if is_equal(bearer(request.metadata()).as_bytes(), token.as_bytes()) {
            return Ok(request);
        }
        let peer = request.remote_addr().map(|peer| peer.ip());
        if let Some(suppressed) = line("p4runtime_token", peer) {
            tracing::warn!(?peer, suppressed, "P4Runtime request refused: wrong or missing token");
        }
        Err(Status::unauthenticated("the token of the switch is missing or wrong"))
    }
}

fn bearer(metadata: &MetadataMap) -> &str {
    let value = metadata.get("authorization").and_then(|value| value.to_str().ok());
    value.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default()
}

/// Compares in a time that does not depend on where the texts differ.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |bits, (a, b)| bits | (a ^ b)) == 0
}

/// The user of the socket at the other end of a connection within this machine.
fn user_of(peer: SocketAddr, local: SocketAddr) -> Option<u32> {
    // A socket of IPv6 may connect to an IPv4 address, as those of gRPC do.
    let mapped = |end: SocketAddr| match end.ip() {
        IpAddr::V4(ip) => SocketAddr::new(ip.to_ipv6_mapped().into(), end.port()),
        IpAddr::V6(_) => end,
    };
    let ends = [("tcp", peer, local), ("tcp6", mapped(peer), mapped(local))];
    ends.into_iter().find_map(|(name, peer, local)| {
        let table = std::fs::read_to_string(format!("/proc/thread-self/net/{name}")).ok()?;
        find_user(&table, &hex(peer), &hex(local))
    })
}

/// Columns: number, local end, remote end, state, queues, timer, retransmissions, user.
fn find_user(table: &str, peer: &str, local: &str) -> Option<u32> {
    table.lines().find_map(|row| {
        let columns: Vec<&str> = row.split_whitespace().collect();
        let is_it = columns.get(1) == Some(&peer) && columns.get(2) == Some(&local);
        columns.get(7).filter(|_| is_it)?.parse().ok()
    })
}

/// An end as `/proc/net/tcp` has it: words in the byte order of the machine.
fn hex(end: SocketAddr) -> String {
    let octets = match end.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let word = |bytes: &[u8]| {
        let word = <[u8; 4]>::try_from(bytes).map_or(0, u32::from_ne_bytes);
        format!("{word:08X}")
    };
    let address: String = octets.chunks(4).map(word).collect();
    format!("{address}:{:04X}", end.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_user_of_a_local_connection_is_known() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = tokio::net::TcpListener::bind(address).await else { continue };
            let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (stream, peer) = listener.accept().await.unwrap();
            let own = nix::unistd::geteuid().as_raw();
            assert_eq!(user_of(peer, stream.local_addr().unwrap()), Some(own));
            assert!(Access::default().admits(&stream));
            drop(client);
        }
        // A socket of IPv6 at an IPv4 address.
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let SocketAddr::V4(at) = listener.local_addr().unwrap() else { panic!("IPv4") };
        let mapped = SocketAddr::new(at.ip().to_ipv6_mapped().into(), at.port());
        let client = tokio::net::TcpSocket::new_v6().unwrap().connect(mapped).await.unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        assert!(Access::default().admits(&stream));
        drop(client);
        let row = "  1: 0100007F:1 0100007F:2 01 0:0 0:0 0 1000 0 1";
        assert_eq!(find_user(row, "0100007F:1", "0100007F:2"), Some(1000));
        assert_eq!(find_user(row, "0100007F:3", "0100007F:2"), None);
    }

    #[test]
    fn a_token_is_needed_for_other_machines() {
        let (local, all) = ("127.0.0.1:1".parse().unwrap(), "0.0.0.0:1".parse().unwrap());
        let open = Access::default();
        assert!(open.check_listener(local).is_ok() && open.check_listener(all).is_err());
        let access = Access { users: vec![], token: Some("secret".into()) };
        assert!(access.check_listener(all).is_ok());
        let with = |value: Option<&str>| {
            let mut request = Request::new(());
            if let Some(value) = value {
                request.metadata_mut().insert("authorization", value.parse().unwrap());
            }
            access.check(request).map(drop).map_err(|status| status.code())
        };
        assert!(with(Some("Bearer secret")).is_ok());
        for wrong in [None, Some("Bearer secreT"), Some("secret"), Some("Bearer ")] {
            assert_eq!(with(wrong), Err(tonic::Code::Unauthenticated), "{wrong:?}");
        }
    }
}
