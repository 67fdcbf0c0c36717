//! A listening endpoint, independent of the stack.
use crate::association::Association;
use crate::socket::Listen;
use crate::{Options, SctpError};
use std::io;
use std::net::SocketAddr;
use tokio::sync::{Mutex, mpsc};

pub(crate) struct Listener<L: Listen> {
    socket: L,
    options: Options,
    restarts: mpsc::Sender<Association<L::Socket>>,
    restarted: Mutex<mpsc::Receiver<Association<L::Socket>>>,
}

impl<L: Listen> Listener<L> {
    pub(crate) fn new(socket: L, options: Options) -> Self {
        let (restarts, restarted) = mpsc::channel(options.backlog.into());
        Listener { socket, options, restarts, restarted: Mutex::new(restarted) }
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr()
    }

    pub(crate) async fn accept(&self) -> Result<Association<L::Socket>, SctpError> {
        let mut restarted = self.restarted.lock().await;
        loop {
            match self.socket.accept() {
                Ok(Some(accepted)) => {
                    let restarts = Some(self.restarts.downgrade());
                    return Ok(Association::new(accepted, self.options.clone(), restarts));
                }
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::select! {
                    biased;
                    Some(association) = restarted.recv() => return Ok(association),
                    acceptable = self.socket.acceptable() => acceptable?,
                },
                // The association ended while it waited.
                Err(error)
                    if matches!(
                        error.raw_os_error(),
                        Some(libc::ECONNABORTED | libc::ENOTCONN)
                    ) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
