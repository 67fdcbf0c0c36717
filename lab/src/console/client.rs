//! Requests to the API over its unix socket, one after the other on one connection.
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A connection.
pub(super) struct Client(BufReader<UnixStream>);

impl Client {
    pub(super) fn connect(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket).with_context(|| socket.display().to_string())?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(Client(BufReader::new(stream)))
    }

    /// Sends a request. Returns the body, and the time until its last byte.
    pub(super) fn request(
        &mut self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(Value, Duration)> {
        let text = body.map(Value::to_string).unwrap_or_default();
        let start = Instant::now();
        write!(
            self.0.get_mut(),
            "{method} /api/v1{path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: \
             application/json\r\ncontent-length: {}\r\n\r\n{text}",
            text.len()
        )?;
        let (mut length, mut status) = (None, 0);
        loop {
            let mut line = String::new();
            ensure!(self.0.read_line(&mut line)? > 0, "the API closed the connection");
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest.split(' ').next().unwrap_or_default().parse()?;
            }
            let field =
                line.split_once(": ").filter(|(n, _)| n.eq_ignore_ascii_case("content-length"));
            length = field.map(|(_, value)| value.parse::<usize>()).transpose()?.or(length);
        }
        let mut bytes = vec![0; length.unwrap_or(0)];
        self.0.read_exact(&mut bytes)?;
        let elapsed = start.elapsed();
        let value = serde_json::from_slice(&bytes).unwrap_or_default();
        ensure!((200..300).contains(&status), "{method} {path}: {status} {value}");
        Ok((value, elapsed))
    }

    pub(super) fn get(&mut self, path: &str) -> Result<(Value, Duration)> {
        self.request("GET", path, None)
    }
}
