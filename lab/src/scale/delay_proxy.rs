//! A TCP proxy in front of a PostgreSQL server's socket, which delays what it forwards.
use anyhow::Result;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// Accepts connections at a free port of the loopback interface until the program ends. Each
/// direction is delayed by half of the round trip. Threads sleep here: the timers of a runtime are
/// no finer than a millisecond.
pub(super) fn start(socket: &Path, round_trip: Duration) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let socket: PathBuf = socket.into();
    spawn(move || {
        while let Ok((client, _)) = listener.accept() {
            let Ok(server) = UnixStream::connect(&socket) else { continue };
            let _ = client.set_nodelay(true);
            let (Ok(client_end), Ok(server_end)) = (client.try_clone(), server.try_clone()) else {
                continue;
            };
            let (to_server, to_client) = (server_end.try_clone(), client_end.try_clone());
            let (Ok(to_server), Ok(to_client)) = (to_server, to_client) else { continue };
            forward(client, to_server, round_trip / 2, move || {
                let _ = server_end.shutdown(Shutdown::Both);
            });
            forward(server, to_client, round_trip / 2, move || {
                let _ = client_end.shutdown(Shutdown::Both);
            });
        }
    });
    Ok(address)
}

/// Forwards one direction, each part a delay after it was received.
fn forward(
    mut from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
    delay: Duration,
    close: impl FnOnce() + Send + 'static,
) {
    let (sender, parts) = mpsc::sync_channel::<(Instant, Vec<u8>)>(1024);
    spawn(move || {
        let mut buffer = vec![0; 65536];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if sender.send((Instant::now() + delay, buffer[..length].to_vec())).is_err() {
                return;
            }
        }
    });
    spawn(move || {
        for (at, part) in parts {
            sleep(at.saturating_duration_since(Instant::now()));
            if to.write_all(&part).is_err() {
                break;
            }
        }
        close();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpStream;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_round_trip_takes_at_least_the_delay() {
        let folder = std::env::temp_dir().join(format!("martlet-delay-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let socket = folder.join("echo");
        let listener = UnixListener::bind(&socket).unwrap();
        spawn(move || {
            let (mut peer, _) = listener.accept().unwrap();
            let mut part = [0; 4];
            while peer.read_exact(&mut part).is_ok() {
                peer.write_all(&part).unwrap();
            }
        });
        let delay = Duration::from_millis(20);
        let mut client = TcpStream::connect(start(&socket, delay).unwrap()).unwrap();
        for sent in [*b"ping", *b"pong"] {
            let (begun, mut received) = (Instant::now(), [0; 4]);
            client.write_all(&sent).unwrap();
            client.read_exact(&mut received).unwrap();
            assert_eq!(received, sent);
            assert!(begun.elapsed() >= delay);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
