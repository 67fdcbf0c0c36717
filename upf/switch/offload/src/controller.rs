//! The thread with the P4Runtime connection to the switch, which also starts the switch if
//! configured. Requests have a timeout, after which the switch counts as lost.
use super::process::Process;
use martlet_switch_control::client::{Client, ClientError};
use martlet_switch_control::model::{MeterSetting, TableEntry, Update};
use martlet_upf_config::SwitchConfig;
use martlet_upf_datapath::{OpenError, SwitchError};
use martlet_upf_kernel::netns;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc;

/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A request to the switch.
pub(super) enum Request {
    /// Reconnect, and become the primary controller.
    Connect,
    /// Write all updates atomically.
    Write(Vec<Update>),
    /// Set meters: array, index, rate in bytes per second and burst in bytes.
    Meters(Vec<MeterSetting>),
    /// Read packets and bytes of rule counters.
    Counts(Vec<u32>),
    /// Read all entries.
    Entries,
}

/// The reply to a request.
#[derive(Debug)]
pub(super) enum Reply {
    Done,
    Counts(Vec<(u64, u64)>),
    Entries(Vec<TableEntry>),
    /// The switch rejected the request and is unchanged.
    Refused(String),
    /// The switch is unreachable.
    Lost(String),
}

type Job = (Request, SyncSender<Reply>);

/// A handle of the thread.
pub(super) struct Controller {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Controller {
    /// Starts the thread and, if configured, the switch. Does not wait until they are ready.
    pub fn start(config: &SwitchConfig) -> Result<Controller, OpenError> {
        let (jobs, receive) = mpsc::channel::<Job>(16);
        let (ready, started) = sync_channel(1);
        let config = config.clone();
        let work = move || {
            let prepared = netns::enter(config.netns.as_deref()).and_then(|()| {
                let process = config.run.as_ref().map(|run| Process::start(run, &config));
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                Ok((process.transpose()?, runtime.map_err(OpenError::Threads)?))
            });
            match prepared {
                Ok((process, runtime)) => {
                    let _ = ready.send(Ok(()));
                    runtime.block_on(serve(receive, &config, process));
                }
                Err(error) => drop(ready.send(Err(error))),
            }
        };
        let thread = std::thread::Builder::new().name("upf-switch".into()).spawn(work);
        let thread = thread.map_err(OpenError::Threads)?;
        started.recv().map_err(|_| SwitchError::ControllerEnded)??;
        Ok(Controller { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Sends a request and waits for the reply.
    pub fn request(&self, request: Request) -> Reply {
        let lost = || Reply::Lost("the controller thread has ended".into());
        let Some(jobs) = &self.jobs else { return lost() };
        let (answer, receive) = sync_channel(1);
        if jobs.try_send((request, answer)).is_err() {
            return lost();
        }
        receive.recv_timeout(TIMEOUT + Duration::from_millis(500)).unwrap_or_else(|_| lost())
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.jobs.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(mut jobs: mpsc::Receiver<Job>, config: &SwitchConfig, mut process: Option<Process>) {
    let mut client: Option<Client> = None;
    loop {
        let job = tokio::select! {
            job = jobs.recv() => job,
            // The next request is answered as lost: the switch may have lost its rules.
            why = stream_end(&mut client) => {
                tracing::debug!(%why, "stream of the switch ended");
                client = None;
                continue;
            }
        };
        let Some((request, answer)) = job else { return };
        if let (Request::Connect, Some(process)) = (&request, &mut process) {
            process.keep_alive();
        }
        let reply = match tokio::time::timeout(TIMEOUT, execute(request, &mut client, config)).await
        {
            Ok(reply) => reply,
            Err(_) => Reply::Lost(format!("no answer within {TIMEOUT:?}")),
        };
        if let Reply::Lost(_) = reply {
            client = None;
        }
        let _ = answer.send(reply);
    }
}

/// Waits until the connection ends, if there is one.
async fn stream_end(client: &mut Option<Client>) -> ClientError {
    match client {
        Some(client) => client.stream_end().await,
        None => std::future::pending().await,
    }
}

async fn execute(request: Request, client: &mut Option<Client>, config: &SwitchConfig) -> Reply {
    if let Request::Connect = request {
        *client = None;
        let connected = async {
            let read = |file| {
                std::fs::read_to_string(file)
                    .map_err(|error| ClientError::Failed(format!("upf.switch.token_file: {error}")))
            };
            let token = config.token_file.as_ref().map(read).transpose()?;
            let (address, device) = (config.address, config.device);
            let mut client = Client::connect_with(address, device, token.as_deref()).await?;
            client.become_primary(None).await?;
            Ok::<_, ClientError>(client)
        };
        return match connected.await {
            Ok(connected) => {
                *client = Some(connected);
                Reply::Done
            }
            Err(error) => Reply::Lost(error.to_string()),
        };
    }
    let Some(client) = client else { return Reply::Lost("there is no connection".into()) };
    match once(&request, client).await {
        // Another controller, such as `martlet switch`, was primary for a while: become primary
        // again if possible.
        Reply::Lost(why) if why.contains("primary controller") => {
            match client.become_primary(None).await {
                Ok(()) => once(&request, client).await,
                Err(error) => Reply::Refused(error.to_string()),
            }
        }
        reply => reply,
    }
}

async fn once(request: &Request, client: &mut Client) -> Reply {
    let outcome = match request {
        Request::Connect => return Reply::Done,
        Request::Write(updates) => client.write(updates).await.map(|()| Reply::Done),
        Request::Meters(meters) => client.set_meters(meters).await.map(|()| Reply::Done),
        Request::Counts(indexes) => client.counts(indexes).await.map(Reply::Counts),
        Request::Entries => client.entries(None).await.map(Reply::Entries),
    };
    outcome.unwrap_or_else(|error| match error {
        ClientError::Refused(why) => Reply::Refused(
            why.first().map_or_else(String::new, |(n, why)| format!("update {n}: {why}")),
        ),
        // If a batch has more errors than fit into a header, the first one is in the message.
        ClientError::Failed(why) if why.starts_with("update ") => Reply::Refused(why),
        other => Reply::Lost(other.to_string()),
    })
}
