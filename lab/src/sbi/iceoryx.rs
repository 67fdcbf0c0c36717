//! iceoryx2's request-response, the external reference for a bare transport: another process echoes
//! bytes.
//!
//! As in its examples, both ends either poll without a pause, or notify each other with events.
use anyhow::{Result, anyhow};
use iceoryx2::port::client::Client;
use iceoryx2::port::listener::Listener;
use iceoryx2::port::notifier::Notifier;
use iceoryx2::port::server::Server;
use iceoryx2::prelude::*;
use std::fmt::Debug;
use std::future::Future;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

/// Maximum length of a message in bytes, and maximum number of messages in flight.
const MAX_LENGTH: usize = 8192;
const MAX_IN_FLIGHT: usize = 32;

fn error(error: impl Debug) -> anyhow::Error {
    anyhow!("iceoryx2: {error:?}")
}

/// What client and server have in common.
struct End {
    node: Node<ipc_threadsafe::Service>,
    notifier: Notifier<ipc_threadsafe::Service>,
    listener: Listener<ipc_threadsafe::Service>,
    polls: bool,
}

impl End {
    /// `name` identifies the pair. The server listens for requests, the client for responses.
    fn new(name: &str, is_server: bool, polls: bool) -> Result<End> {
        set_log_level(LogLevel::Error);
        let node = NodeBuilder::new()
            .signal_handling_mode(SignalHandlingMode::Disabled)
            .create::<ipc_threadsafe::Service>();
        let node = node.map_err(error)?;
        let event = |what: &str| {
            let name = format!("{name}/{what}");
            node.service_builder(&name.as_str().try_into().map_err(error)?)
                .event()
                .open_or_create()
                .map_err(error)
        };
        let (requests, responses) = (event("requests")?, event("responses")?);
        let (incoming, outgoing) =
            if is_server { (requests, responses) } else { (responses, requests) };
        let listener = incoming.listener_builder().create().map_err(error)?;
        let notifier = outgoing.notifier_builder().create().map_err(error)?;
        Ok(End { node, notifier, listener, polls })
    }

    fn notify(&self) -> Result<()> {
        if !self.polls {
            self.notifier.notify().map_err(error)?;
        }
        Ok(())
    }
}

macro_rules! service {
    ($end:expr, $name:expr) => {
        $end.node
            .service_builder(&$name.try_into().map_err(error)?)
            .request_response::<[u8], [u8]>()
            .max_active_requests_per_client(MAX_IN_FLIGHT)
            .max_loaned_requests(MAX_IN_FLIGHT)
            .enable_safe_overflow_for_requests(false)
            .enable_safe_overflow_for_responses(false)
            .open_or_create()
            .map_err(error)?
    };
}

/// Echoes bytes until the process ends.
///
/// # Errors
/// Another process uses the name, or iceoryx2 fails.
pub fn serve(name: &str, polls: bool) -> Result<()> {
    let end = End::new(name, true, polls)?;
    let service = service!(end, name);
    let server: Server<ipc_threadsafe::Service, [u8], (), [u8], ()> =
        service.server_builder().initial_max_slice_len(MAX_LENGTH).create().map_err(error)?;
    loop {
        while let Some(request) = server.receive().map_err(error)? {
            let bytes = request.payload();
            let response = request.loan_slice_uninit(bytes.len()).map_err(error)?;
            response.write_from_slice(bytes).send().map_err(error)?;
            drop(request);
            end.notify()?;
        }
        if polls {
            std::hint::spin_loop();
        } else {
            end.listener.blocking_wait(|_| {}).map_err(error)?;
        }
    }
}

/// The client.
pub struct Requester {
    client: Client<ipc_threadsafe::Service, [u8], (), [u8], ()>,
    /// Readable when there is an event.
    answered: AsyncFd<OwnedFd>,
    /// Wakes all waiting exchanges when one of them has consumed events.
    events_taken: Notify,
    end: End,
}

impl Requester {
    /// Connects to the server.
    ///
    /// # Errors
    /// iceoryx2 fails.
    pub fn new(name: &str, polls: bool) -> Result<Requester> {
        let end = End::new(name, false, polls)?;
        let service = service!(end, name);
        let client =
            service.client_builder().initial_max_slice_len(MAX_LENGTH).create().map_err(error)?;
        // SAFETY: the listener keeps the descriptor open until it is duplicated here.
        #[allow(unsafe_code)]
        let own = unsafe { BorrowedFd::borrow_raw(end.listener.file_descriptor().native_handle()) }
            .try_clone_to_owned();
        // SAFETY: the descriptor is owned, so it stays open and the same while the value has it.
        #[allow(unsafe_code)]
        let answered = unsafe { AsyncFd::register(own?) }?;
        Ok(Requester { client, answered, events_taken: Notify::new(), end })
    }

    /// Sends bytes and returns the response.
    ///
    /// # Errors
    /// iceoryx2 fails, or no server is connected.
    pub async fn exchange(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let request = self.client.loan_slice_uninit(bytes.len()).map_err(error)?;
        let pending = request.write_from_slice(bytes).send().map_err(error)?;
        anyhow::ensure!(
            pending.number_of_server_connections() > 0,
            "iceoryx2: no server is connected"
        );
        self.end.notify()?;
        loop {
            let notified = self.events_taken.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if let Some(response) = pending.receive().map_err(error)? {
                return Ok(response.payload().to_vec());
            }
            if self.end.polls {
                YieldNow::default().await;
                continue;
            }
            tokio::select! {
                () = notified => {}
                ready = self.answered.readable() => {
                    let mut ready = ready?;
                    self.end.listener.try_wait(|_| {}).map_err(error)?;
                    ready.clear_ready();
                    // The consumed event may have been for another waiting exchange.
                    self.events_taken.notify_waiters();
                }
            }
        }
    }
}

/// Yields to the other tasks once. Unlike tokio's, it does not wait for the I/O driver.
#[derive(Default)]
struct YieldNow(bool);

impl Future for YieldNow {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bytes_are_echoed_with_events_and_with_polling() {
        for polls in [false, true] {
            let name = format!("martlet-test/{}/{polls}", std::process::id());
            // The server runs until the test process ends.
            let server = name.clone();
            std::thread::spawn(move || serve(&server, polls));
            let client = Requester::new(&name, polls).unwrap();
            let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
            while client.exchange(b"?").await.is_err() {
                assert!(std::time::Instant::now() < deadline, "no server is connected");
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            for length in [1, 1700, MAX_LENGTH] {
                let bytes: Vec<u8> = (0..length).map(|n| n as u8).collect();
                let all = (0..16).map(|_| client.exchange(&bytes));
                for answer in futures_util::future::join_all(all).await {
                    assert_eq!(answer.unwrap(), bytes);
                }
            }
        }
    }
}
