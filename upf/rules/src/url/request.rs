//! URLs of requests of HTTP/1.1 (RFC 9112).
use crate::{EthernetHeader, Flow};
use std::fmt;

/// The port of HTTP.
pub(super) const HTTP_PORT: u16 = 80;
const TCP: u8 = 6;
const SYN: u8 = 0x02;
/// Methods whose requests have a URL (RFC 9110, 9). A tunnel (CONNECT) shows none of its URLs.
const METHODS: [&[u8]; 8] =
    [b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"TRACE"];

/// A URL of the scheme `http`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// Its host, in lower case.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Path and query, as they were sent.
    pub path: String,
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", self.host)?;
        if self.port != HTTP_PORT {
            write!(f, ":{}", self.port)?;
        }
        f.write_str(&self.path)
    }
}

/// What a segment of TCP says about the URL of its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// The connection begins.
    Opening,
    /// A request; without a URL if the segment does not show it whole.
    Request(Option<Url>),
}

/// Reads a packet of a UE. `None` if its segment is neither the first one of a connection nor the
/// beginning of a request of HTTP/1.1. Of several requests in a segment, the first one counts.
pub fn segment(packet: &[u8], flow: &Flow) -> Option<Segment> {
    // A fragment is no whole segment.
    if flow.protocol != TCP || flow.fragment.is_some() {
        return None;
    }
    let packet = match flow.ethernet {
        Some(_) => packet.get(EthernetHeader::of(packet)?.1..)?,
        None => packet,
    };
    let at = match packet.first()? >> 4 {
        4 => usize::from(packet.first()? & 0x0f) * 4,
        // Segments behind extension headers are not read.
        _ if packet.get(6) == Some(&TCP) => 40,
        _ => return None,
    };
    let segment = packet.get(at..)?;
    if segment.get(13)? & SYN != 0 {
        return Some(Segment::Opening);
    }
    let payload = segment.get(usize::from(segment.get(12)? >> 4) * 4..)?;
    let mut lines = payload.split(|byte| *byte == b'\n').map(|line| line.trim_ascii_end());
    let first = lines.next()?;
    let mut words = first.split(|byte| *byte == b' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let is_request = METHODS.contains(&method) && version.starts_with(b"HTTP/1.");
    if !is_request || words.next().is_some() {
        return None;
    }
    let host = lines.take_while(|line| !line.is_empty()).find_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = line.split_at(colon);
        name.eq_ignore_ascii_case(b"host").then(|| value.get(1..).unwrap_or_default())
    });
    Some(Segment::Request(url(target, host.map(<[u8]>::trim_ascii))))
}

/// The URL of a request (RFC 9112, 3.3).
fn url(target: &[u8], host: Option<&[u8]>) -> Option<Url> {
    let target = std::str::from_utf8(target).ok()?;
    // The absolute form has a host of its own, which precedes the other (3.2.2).
    let (authority, path) = match target.get(..7) {
        Some(scheme) if scheme.eq_ignore_ascii_case("http://") => {
            let rest = target.get(7..)?;
            rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()))
        }
        _ if target.starts_with('/') => (std::str::from_utf8(host?).ok()?, target),
        _ => return None,
    };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (authority, HTTP_PORT),
    };
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~[]:".contains(&byte);
    if host.is_empty() || !host.bytes().all(valid) {
        return None;
    }
    let slash = if path.starts_with('/') { "" } else { "/" };
    Some(Url { host: host.to_ascii_lowercase(), port, path: format!("{slash}{path}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A segment from 10.45.0.2:5000 to 10.99.0.1:80.
    fn packet(flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = (40 + payload.len() as u16).to_be_bytes();
        let mut packet = vec![0x45, 0, length[0], length[1], 0, 0, 0x40, 0, 64, TCP, 0, 0];
        packet.extend([10, 45, 0, 2, 10, 99, 0, 1]);
        packet.extend([0x13, 0x88, 0, 80, 0, 0, 0, 9, 0, 0, 0, 7, 0x50, flags, 1, 0, 0, 0, 0, 0]);
        packet.extend(payload);
        packet
    }

    fn read(flags: u8, payload: &[u8]) -> Option<Segment> {
        let packet = packet(flags, payload);
        segment(&packet, &Flow::of(&packet).unwrap())
    }

    fn text(payload: &str) -> Option<String> {
        match read(0x18, payload.as_bytes()) {
            Some(Segment::Request(url)) => url.map(|url| url.to_string()),
            _ => None,
        }
    }

    #[test]
    fn a_request_shows_its_url() {
        let request = "GET /video/1?a=b HTTP/1.1\r\nAccept: */*\r\nhOST:  Example.COM \r\n\r\n";
        assert_eq!(text(request).as_deref(), Some("http://example.com/video/1?a=b"));
        let proxied = "POST HTTP://a.example:8080?x HTTP/1.1\r\nHost: b.example\r\n\r\n";
        assert_eq!(text(proxied).as_deref(), Some("http://a.example:8080/?x"));
        let six = "GET / HTTP/1.0\nHost: [2001:db8::1]\n\n";
        assert_eq!(text(six).as_deref(), Some("http://[2001:db8::1]/"));
        assert_eq!(read(SYN, b""), Some(Segment::Opening));
        assert_eq!(read(0x10, b""), None);
    }

    #[test]
    fn other_segments_show_none() {
        for other in [
            "HTTP/1.1 200 OK\r\n\r\n",
            "GET /",
            "GET / HTTP/2",
            "GETS / HTTP/1.1\r\n",
            "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "\x16\x03\x01",
        ] {
            assert_eq!(read(0x18, other.as_bytes()), None, "{other}");
        }
        // A request whose host is missing, in another segment, or not valid.
        for unknown in [
            "GET / HTTP/1.1\r\n",
            "GET / HTTP/1.1\r\n\r\nHost: a.example\r\n",
            "GET / HTTP/1.1\r\nHost: a example\r\n\r\n",
            "GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
            "OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n",
        ] {
            let read = read(0x18, unknown.as_bytes());
            assert_eq!(read, Some(Segment::Request(None)), "{unknown}");
        }
    }

    proptest! {
        #[test]
        fn random_bytes_do_not_panic(
            payload in proptest::collection::vec(any::<u8>(), 0..120),
            at in 0usize..160,
            value in any::<u8>(),
            length in 0usize..160,
        ) {
            let _ = read(0x18, &payload);
            let mut near = packet(0x18, b"GET /a HTTP/1.1\r\nHost: a.example:80\r\n\r\n");
            let flow = Flow::of(&near).unwrap();
            if let Some(byte) = near.get_mut(at) {
                *byte = value;
            }
            let _ = segment(&near, &flow);
            let _ = segment(near.get(..length).unwrap_or(&near), &flow);
        }
    }
}
