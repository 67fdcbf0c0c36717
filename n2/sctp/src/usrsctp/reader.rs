//! The raw sockets of a runtime, one for each local address, and the tasks that read them.
use super::raw::{RawSocket, read_for_ever, release_for_ever};
use super::ticker::Ticker;
use crate::SctpError;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::task::JoinHandle;

/// A raw socket with the tasks that read it and send what waits; they end with the last endpoint.
pub(super) struct Reader {
    pub(super) raw: Arc<RawSocket>,
    task: JoinHandle<()>,
    release: JoinHandle<()>,
}

impl Reader {
    fn spawn(local: IpAddr, ticker: Arc<Ticker>) -> Result<Reader, SctpError> {
        let raw = Arc::new(RawSocket::open(local)?);
        let task = tokio::spawn(read_for_ever(raw.clone(), ticker));
        let release = tokio::spawn(release_for_ever(raw.clone()));
        Ok(Reader { raw, task, release })
    }

    /// Whether the task still runs; it does not when its runtime has gone.
    fn is_alive(&self) -> bool {
        !self.task.is_finished()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.task.abort();
        self.release.abort();
    }
}

/// The raw sockets of one runtime, and its clock, which goes while this lives.
#[derive(Default)]
pub(super) struct Readers {
    readers: Mutex<HashMap<IpAddr, Weak<Reader>>>,
    ticker: Arc<Ticker>,
    ticks: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Readers {
    fn drop(&mut self) {
        if let Some(task) = self.ticks.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

impl Readers {
    /// The raw socket for a local address, opened and read if it is not yet.
    pub(super) fn of(&self, local: IpAddr) -> Result<Arc<Reader>, SctpError> {
        let mut ticks = self.ticks.lock().unwrap_or_else(PoisonError::into_inner);
        if ticks.as_ref().is_none_or(JoinHandle::is_finished) {
            *ticks = Some(tokio::spawn(self.ticker.clone().run()));
        }
        drop(ticks);
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reader) =
            readers.get(&local).and_then(Weak::upgrade).filter(|reader| reader.is_alive())
        {
            return Ok(reader);
        }
        let reader = Arc::new(Reader::spawn(local, self.ticker.clone())?);
        readers.retain(|_, reader| reader.strong_count() > 0);
        readers.insert(local, Arc::downgrade(&reader));
        Ok(reader)
    }

    /// Something was sent: timers may be due soon.
    pub(super) fn stir(&self) {
        self.ticker.stir();
    }
}
