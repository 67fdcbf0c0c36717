//! iceoryx2's request-response: the outside reference for a bare transport. Octets go to another
//! process and come back.
//!
//! As its examples have it, either both ends look for messages without a pause, or each tells the
//! other with an event that there is one.
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

/// Octets of the longest message, and messages in flight, that room is made for.
const LONGEST: usize = 8192;
const MOST: usize = 32;

fn error(error: impl Debug) -> anyhow::Error {
    anyhow!("iceoryx2: {error:?}")
}

/// What both ends have.
struct End {
    node: Node<ipc_threadsafe::Service>,
    notifier: Notifier<ipc_threadsafe::Service>,
    listener: Listener<ipc_threadsafe::Service>,
    polls: bool,
}

impl End {
    /// `name` is the pair's own; the end that answers hears of requests, the other one of answers.
    fn new(name: &str, answers: bool, polls: bool) -> Result<End> {
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
        let (heard, told) = if answers { (requests, responses) } else { (responses, requests) };
        let listener = heard.listener_builder().create().map_err(error)?;
        let notifier = told.notifier_builder().create().map_err(error)?;
        Ok(End { node, notifier, listener, polls })
    }

    fn tell(&self) -> Result<()> {
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
            .max_active_requests_per_client(MOST)
            .max_loaned_requests(MOST)
            .enable_safe_overflow_for_requests(false)
            .enable_safe_overflow_for_responses(false)
            .open_or_create()
            .map_err(error)?
    };
}

/// Answers until the process is ended.
///
/// # Errors
/// Another process of the same name is there, or iceoryx2 fails.
pub fn serve(name: &str, polls: bool) -> Result<()> {
    let end = End::new(name, true, polls)?;
    let service = service!(end, name);
    let server: Server<ipc_threadsafe::Service, [u8], (), [u8], ()> =
        service.server_builder().initial_max_slice_len(LONGEST).create().map_err(error)?;
    loop {
        while let Some(request) = server.receive().map_err(error)? {
            let octets = request.payload();
            let response = request.loan_slice_uninit(octets.len()).map_err(error)?;
            response.write_from_slice(octets).send().map_err(error)?;
            drop(request);
            end.tell()?;
        }
        if polls {
            std::hint::spin_loop();
        } else {
            end.listener.blocking_wait(|_| {}).map_err(error)?;
        }
    }
}

/// The end that asks.
pub struct Asking {
    client: Client<ipc_threadsafe::Service, [u8], (), [u8], ()>,
    /// Readable when there is an event.
    answered: AsyncFd<OwnedFd>,
    /// Tells all who wait that somebody has taken events.
    told: Notify,
    end: End,
}

impl Asking {
    /// Ready to ask.
    ///
    /// # Errors
    /// iceoryx2 fails.
    pub fn new(name: &str, polls: bool) -> Result<Asking> {
        let end = End::new(name, false, polls)?;
        let service = service!(end, name);
        let client =
            service.client_builder().initial_max_slice_len(LONGEST).create().map_err(error)?;
        // SAFETY: the listener, and with it the descriptor, is there until a descriptor of our own
        // stands for it.
        #[allow(unsafe_code)]
        let own = unsafe { BorrowedFd::borrow_raw(end.listener.file_descriptor().native_handle()) }
            .try_clone_to_owned();
        // SAFETY: the descriptor is owned, and stays open and the same as long as the value has it.
        #[allow(unsafe_code)]
        let answered = unsafe { AsyncFd::register(own?) }?;
        Ok(Asking { client, answered, told: Notify::new(), end })
    }

    /// Sends octets, and gives what comes back.
    ///
    /// # Errors
    /// iceoryx2 fails, or nobody answers.
    pub async fn exchange(&self, octets: &[u8]) -> Result<Vec<u8>> {
        let request = self.client.loan_slice_uninit(octets.len()).map_err(error)?;
        let pending = request.write_from_slice(octets).send().map_err(error)?;
        anyhow::ensure!(pending.number_of_server_connections() > 0, "iceoryx2: nobody answers yet");
        self.end.tell()?;
        loop {
            let told = self.told.notified();
            tokio::pin!(told);
            told.as_mut().enable();
            if let Some(response) = pending.receive().map_err(error)? {
                return Ok(response.payload().to_vec());
            }
            if self.end.polls {
                Turn::default().await;
                continue;
            }
            tokio::select! {
                () = told => {}
                ready = self.answered.readable() => {
                    let mut ready = ready?;
                    self.end.listener.try_wait(|_| {}).map_err(error)?;
                    ready.clear_ready();
                    // What was taken may have been meant for another of those who wait.
                    self.told.notify_waiters();
                }
            }
        }
    }
}

/// Lets the others have their turn.
#[derive(Default)]
struct Turn(bool);

impl Future for Turn {
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
    async fn octets_come_back_with_events_and_with_polling() {
        for polls in [false, true] {
            let name = format!("martlet-test/{}/{polls}", std::process::id());
            // It answers until the test's process ends.
            let answering = name.clone();
            std::thread::spawn(move || serve(&answering, polls));
            let asking = Asking::new(&name, polls).unwrap();
            let give_up = std::time::Instant::now() + std::time::Duration::from_secs(10);
            while asking.exchange(b"?").await.is_err() {
                assert!(std::time::Instant::now() < give_up, "nobody answers");
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            for length in [1, 1700, LONGEST] {
                let octets: Vec<u8> = (0..length).map(|n| n as u8).collect();
                let all = (0..16).map(|_| asking.exchange(&octets));
                for answer in futures_util::future::join_all(all).await {
                    assert_eq!(answer.unwrap(), octets);
                }
            }
        }
    }
}
