//! Attacks on the OAM endpoint: of another user of the machine, and of web pages.
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_tests::{eventually, in_namespace};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The user with the least rights.
const UNPRIVILEGED: u32 = 65534;

/// Sends a request with these headers, and returns the status and the whole answer.
fn exchange(
    mut stream: impl Read + Write,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> Result<(u16, String)> {
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    write!(stream, "{method} {path} HTTP/1.1\r\n{headers}connection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).context("a status line")?.parse()?;
    Ok((status, answer))
}

fn over_tcp(method: &str, path: &str, headers: &[(&str, &str)]) -> Result<(u16, String)> {
    exchange(std::net::TcpStream::connect("127.0.0.1:9090")?, method, path, headers)
}

pub(crate) fn over_socket(socket: &Path, method: &str, path: &str) -> Result<(u16, String)> {
    let stream = std::os::unix::net::UnixStream::connect(socket)?;
    exchange(stream, method, path, &[("host", "localhost")])
}

/// A site whose core listens over TCP too, with a quota that an attacker may want to change.
fn site(name: &str) -> Result<Site> {
    let site = Site::new(name)?;
    let config = std::fs::read_to_string(site.config())?;
    let config = config.replace("oam: {", "oam: { listen: \"127.0.0.1:9090\",");
    std::fs::write(site.config(), format!("{config}chf: {{ enabled: true }}\n"))?;
    Ok(site)
}

/// The quota of a subscriber, as the operator sees it.
fn charging(site: &Site) -> Result<String> {
    let config = site.config().display().to_string();
    let output = Command::new(MARTLET).args(["charging", "-c", &config]).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

const UNLIMITED: &str = "/ask/charging/imsi-001010000000001/unlimited";

#[test]
fn attack_get_of_the_oam_port_changes_state() {
    in_namespace(|| async {
        let site = site("oam-get")?;
        let core = site.start(&[])?;
        let before = charging(&site)?;
        let own = ("host", "127.0.0.1:9090");
        // A GET changes nothing, not even that of the operator.
        for path in [UNLIMITED, "/ask/locate/imsi-001010000000001", "/ask/upf/capture/end"] {
            let (status, answer) = over_tcp("GET", path, &[own])?;
            ensure!(status == 405 && answer.to_lowercase().contains("allow: post"), "{answer}");
            ensure!(over_socket(&site.oam(), "GET", path)?.0 == 405, "{path}");
        }
        // Without the token the request is refused, and no subscriber is named.
        for (method, path) in [("POST", UNLIMITED), ("GET", "/status")] {
            ensure!(over_tcp(method, path, &[own])?.0 == 401, "{path}");
            let wrong = ("authorization", "Bearer 00000000000000000000000000000000");
            ensure!(over_tcp(method, path, &[own, wrong])?.0 == 401, "{path}");
        }
        ensure!(charging(&site)? == before, "the quota was changed");

        // With the token of the private file, and over the socket, the operator is served.
        let file = site.0.join("oam.token");
        ensure!(std::fs::metadata(&file)?.permissions().mode() & 0o777 == 0o600, "{file:?}");
        let bearer = format!("Bearer {}", std::fs::read_to_string(&file)?.trim());
        let token = ("authorization", bearer.as_str());
        ensure!(over_tcp("GET", "/status", &[own, token])?.0 == 200);
        ensure!(over_tcp("POST", UNLIMITED, &[own, token])?.0 == 200);
        ensure!(over_socket(&site.oam(), "POST", UNLIMITED)?.0 == 200);
        let config = site.config().display().to_string();
        for arguments in
            [&["status", "-c", &config][..], &["status", "--at", "127.0.0.1:9090", "-c", &config]]
        {
            let output = Command::new(MARTLET).args(arguments).output()?;
            ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        // Monitoring needs no token.
        for path in ["/metrics", "/healthz", "/readyz"] {
            ensure!(over_tcp("GET", path, &[own])?.0 == 200, "{path}");
            ensure!(over_tcp("POST", path, &[own])?.0 == 405, "{path}");
        }
        core.stop()
    });
}

/// A page of another site, also one whose name leads to this machine by DNS rebinding, reads and
/// changes nothing, not even with a token.
#[test]
fn attack_web_page_asks_the_oam_port() {
    in_namespace(|| async {
        let site = site("oam-web")?;
        let core = site.start(&[])?;
        let bearer =
            format!("Bearer {}", std::fs::read_to_string(site.0.join("oam.token"))?.trim());
        let token = ("authorization", bearer.as_str());
        let own = ("host", "127.0.0.1:9090");
        for origin in ["https://evil.example", "null", "http://127.0.0.1:9090"] {
            for (method, path) in [("POST", UNLIMITED), ("GET", "/status"), ("GET", "/metrics")] {
                let status = over_tcp(method, path, &[own, token, ("origin", origin)])?.0;
                ensure!(status == 403, "{origin} {method} {path}: {status}");
            }
        }
        for host in ["evil.example", "evil.example:9090", "127.0.0.1.evil.example"] {
            for (method, path) in [("POST", UNLIMITED), ("GET", "/status"), ("GET", "/metrics")] {
                let status = over_tcp(method, path, &[("host", host), token])?.0;
                ensure!(status == 421, "{host} {method} {path}: {status}");
            }
        }
        ensure!(over_tcp("GET", "/metrics", &[])?.0 != 200, "a request without a host");
        ensure!(over_tcp("GET", "/metrics", &[own, ("host", "evil.example")])?.0 != 200);
        core.stop()
    });
}

/// A client without the token holds more connections than there may be: monitoring is served, also
/// the liveness probe of a container.
#[test]
fn attack_held_connections_keep_monitoring_out() {
    in_namespace(|| async {
        let site = site("oam-held")?;
        let core = site.start(&[])?;
        let mut held = Vec::new();
        for _ in 0..100 {
            let mut stream = std::net::TcpStream::connect("127.0.0.1:9090")?;
            stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:9090\r\n\r\n")?;
            held.push(stream);
        }
        for path in ["/metrics", "/healthz", "/readyz"] {
            ensure!(over_tcp("GET", path, &[("host", "127.0.0.1:9090")])?.0 == 200, "{path}");
        }
        drop(held);
        core.stop()
    });
}

/// Another local user reaches neither the socket, nor the token, nor a port: by default there is
/// none.
#[test]
fn attack_local_user_asks_the_oam_socket() {
    in_namespace(|| async {
        let site = Site::new("oam-user")?;
        std::fs::set_permissions(&site.0, std::fs::Permissions::from_mode(0o755))?;
        let core = site.start(&["--split"])?;
        ensure!(std::net::TcpStream::connect("127.0.0.1:9090").is_err(), "no port by default");
        // The permissions of the socket keep others out; so does the check of the user, which is
        // tested with a socket that any user may open.
        let api = site.0.join("api.sock");
        let answers = || over_socket(&api, "GET", "/api/v1/status").ok();
        eventually("the API", answers, || "no answer".into()).await?;
        for open_to_all in [false, true] {
            for name in ["oam.sock", "oam-udr.sock", "oam-chf.sock", "api.sock"] {
                let socket = site.0.join(name);
                if !socket.exists() {
                    continue;
                }
                let path = if name == "api.sock" { "/api/v1/status" } else { "/status" };
                let mode = std::fs::metadata(&socket)?.permissions().mode() & 0o777;
                ensure!(open_to_all || mode == 0o600, "{name}: {mode:o}");
                if open_to_all {
                    let all = std::fs::Permissions::from_mode(0o666);
                    std::fs::set_permissions(&socket, all)?;
                }
                let request = format!(
                    "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect({:?})\n\
                     s.sendall(b'GET {path} HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n')\n\
                     print(s.recv(100))\n",
                    socket.display().to_string()
                );
                let output = Command::new("python3")
                    .args(["-c", &request])
                    .uid(UNPRIVILEGED)
                    .gid(UNPRIVILEGED)
                    .output()?;
                let answer = String::from_utf8_lossy(&output.stdout).into_owned();
                ensure!(!answer.contains("200"), "{name}: {answer}");
                ensure!(over_socket(&socket, "GET", path)?.0 == 200, "{name}: root is served");
            }
        }
        core.stop()
    });
}
