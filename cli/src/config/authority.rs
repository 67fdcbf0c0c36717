//! The authority of a URI in the configuration.
use std::net::SocketAddr;

/// Whether a text is the authority of a URI: a host and a port.
pub(super) fn is_authority(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let is_name = |c: char| c.is_ascii_alphanumeric() || ['.', '-'].contains(&c);
    let is_host = text.parse::<SocketAddr>().is_ok() || host.chars().all(is_name);
    !host.is_empty() && is_host && port.parse::<u16>().is_ok_and(|port| port != 0)
}
