//! A relay to a PostgreSQL server that loses a response: what was sent took effect, and the client
//! does not know.
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The name of a server's socket in its folder.
const SOCKET: &str = ".s.PGSQL.5432";

#[derive(Default)]
struct Loss {
    is_due: AtomicBool,
    lost: AtomicUsize,
}

/// Relays connections until the server ends.
pub struct Relay {
    folder: PathBuf,
    loss: Arc<Loss>,
}

impl Relay {
    /// A relay to the server with its socket in this folder.
    pub fn to(server: &Path) -> Relay {
        let folder = server.join("relay");
        std::fs::create_dir_all(&folder).unwrap();
        let listener = UnixListener::bind(folder.join(SOCKET)).unwrap();
        let (loss, server) = (Arc::<Loss>::default(), server.join(SOCKET));
        let shared = loss.clone();
        std::thread::spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let Ok(server) = UnixStream::connect(&server) else { return };
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || copy(from, to, None));
                let loss = shared.clone();
                std::thread::spawn(move || copy(server, client, Some(&loss)));
            }
        });
        Relay { folder, loss }
    }

    /// The URL of the server's database through the relay.
    pub fn url(&self) -> String {
        let host = self.folder.display().to_string().replace('/', "%2F");
        format!("postgresql://martlet@{host}/postgres")
    }

    /// The next response is not relayed, and its connection ends.
    pub fn lose_next_response(&self) {
        self.loss.is_due.store(true, Ordering::SeqCst);
    }

    /// Responses that were lost.
    pub fn lost(&self) -> usize {
        self.loss.lost.load(Ordering::SeqCst)
    }
}

fn copy(mut from: UnixStream, mut to: UnixStream, loss: Option<&Loss>) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if loss.is_some_and(|loss| loss.is_due.swap(false, Ordering::SeqCst)) {
            // The server has committed: the end of the response follows the commit.
            let is_ready = |bytes: &[u8]| bytes.ends_with(b"Z\0\0\0\x05I");
            let mut response = buffer[..length].to_vec();
            while !is_ready(&response) {
                match from.read(&mut buffer) {
                    Ok(length @ 1..) => response.extend_from_slice(&buffer[..length]),
                    _ => break,
                }
            }
            if let Some(loss) = loss {
                loss.lost.fetch_add(1, Ordering::SeqCst);
            }
            break;
        }
        if to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
