//! A listening endpoint.
use super::association::{Association, Pin, SharedSocket};
use super::endpoint::Endpoint;
use super::gate;
use super::socket::Core;
use super::stack::route;
use crate::{Options, SctpError};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::{Mutex, mpsc};

pub(crate) struct Listener {
    // First, so that it is closed before its port goes.
    core: Arc<Core>,
    endpoint: Arc<Endpoint>,
    options: Options,
    restarts: mpsc::Sender<Association>,
    restarted: Mutex<mpsc::Receiver<Association>>,
}

impl Listener {
    pub(super) fn new(core: Arc<Core>, endpoint: Arc<Endpoint>, options: Options) -> Listener {
        let (restarts, restarted) = mpsc::channel(options.backlog.into());
        Listener { core, endpoint, options, restarts, restarted: Mutex::new(restarted) }
    }

    pub(crate) fn local_addr(&self) -> SocketAddr {
        SocketAddr::new(self.endpoint.local, self.endpoint.port())
    }

    pub(crate) fn max_message(&self) -> usize {
        self.options.max_message
    }

    pub(crate) async fn accept(&self) -> Result<Association, SctpError> {
        let mut restarted = self.restarted.lock().await;
        loop {
            // Not within the `match`: the gate is to be left before anything is dropped or awaited.
            let next = self.next();
            match next {
                Ok(Some(association)) => return Ok(association),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::select! {
                    biased;
                    Some(association) = restarted.recv() => return Ok(association),
                    () = self.core.readable.notified() => {}
                },
                // The association has gone while it waited.
                Err(error) if matches!(error.raw_os_error(), Some(libc::ECONNABORTED | libc::ENOTCONN)) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The next association; `None` for one that has gone already.
    fn next(&self) -> io::Result<Option<Association>> {
        let mut gate = gate::enter();
        let (handle, peer) = self.core.accept(&mut gate)?;
        let Some(pin) = Pin::new(self.endpoint.inner_port, peer) else {
            handle.close(&mut gate);
            return Ok(None);
        };
        let path = pin.path;
        let streams = handle.streams(&mut gate);
        let mtu = route(Some(path.local), path.remote.ip()).map(|route| route.mtu);
        if let Err(error) = mtu.and_then(|mtu| Ok(handle.set_mtu(&mut gate, &self.options, mtu)?)) {
            tracing::warn!(peer = %path.remote, %error, "cannot tell the size of packets to an SCTP peer");
        }
        let core = Core::new(handle, &mut gate)?;
        drop(gate);
        let socket = SharedSocket { core, _pin: pin, endpoint: self.endpoint.clone() };
        let Ok((streams, _)) = streams else { return Ok(None) };
        Ok(Some(Association::new(
            Arc::new(socket),
            path.remote,
            path.local,
            streams,
            self.options.clone(),
            Some(self.restarts.downgrade()),
        )))
    }
}
