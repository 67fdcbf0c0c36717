//! The `kernel` datapath: GTP-U over a UDP socket, N6 over a TUN device, a thread of its own between them.
mod bucket;
mod carrier;
mod entry;
mod forwarder;
mod frame;
mod io;
mod limiter;
mod n3;
mod n6;
mod outlet;
mod packets;
mod tun;

use crate::UpfError;
use crate::config::UpfConfig;
use crate::counters::Counters;
use crate::datapath::{Buffered, Change, Datapath, DatapathError, EventSender, Usage};
use forwarder::Forwarder;
use io::Io;
use martlet_pfcp::ie::UpFunctionFeatures;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::sync::oneshot;

/// The datapath, with its thread at work. Dropped, it ends the thread and takes down what it set up for N6.
pub(crate) struct Kernel {
    forwarder: Arc<Forwarder<Io>>,
    /// Closed to end the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
    _n6: n6::N6,
}

impl Kernel {
    /// Opens N3 and N6 in the network namespace of this thread. The receiver gets the error with which the thread ends.
    pub fn start(
        config: &UpfConfig,
        events: EventSender,
    ) -> Result<(Kernel, oneshot::Receiver<std::io::Error>), UpfError> {
        let (tun, n6) = n6::set_up(config)?;
        let io = Io::open(config, tun)?;
        let forwarder = Arc::new(Forwarder::new(io, config.limits.clone(), events));
        let (stop, stopped) = UnixStream::pair().map_err(UpfError::Thread)?;
        let (failed, failure) = oneshot::channel();
        let (carried, local) = (forwarder.clone(), config.n3.bind.into());
        let work = move || {
            if let Err(error) = carrier::carry(&carried, &stopped, local) {
                // Nobody is left to hear of it when the UPF ends at this very time.
                let _ = failed.send(error);
            }
        };
        let thread = std::thread::Builder::new().name("upf-kernel".into()).spawn(work).map_err(UpfError::Thread)?;
        Ok((Kernel { forwarder, stop: Some(stop), thread: Some(thread), _n6: n6 }, failure))
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        self.stop.take();
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that carries packets has panicked");
        }
    }
}

impl Datapath for Kernel {
    fn name(&self) -> &'static str {
        "kernel"
    }

    fn features(&self) -> UpFunctionFeatures {
        UpFunctionFeatures::BUCP | UpFunctionFeatures::EMPU
    }

    fn apply(&mut self, change: &Change<'_>) -> Result<(), DatapathError> {
        self.forwarder.apply(change)
    }

    fn remove(&mut self, seid: u64) -> Vec<Usage> {
        self.forwarder.remove(seid)
    }

    fn take_usage(&mut self, seid: u64, urrs: &[u32]) -> Vec<Usage> {
        self.forwarder.take_usage(seid, urrs)
    }

    fn last_activity(&self, seid: u64) -> Option<Instant> {
        self.forwarder.last_activity(seid)
    }

    fn buffered(&self, seid: u64) -> Buffered {
        self.forwarder.buffered_of(seid)
    }

    fn counters(&self) -> Arc<Counters> {
        self.forwarder.counters.clone()
    }
}
