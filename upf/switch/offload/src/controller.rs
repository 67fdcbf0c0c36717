//! The thread that talks to the switch, and starts it where the configuration says so. Others ask
//! it and wait, for a moment at most: a switch that does not answer is one that is not there.
use super::process::Process;
use martlet_switch_control::client::{Client, ClientError};
use martlet_switch_control::model::{MeterSetting, TableEntry, Update};
use martlet_upf_config::SwitchConfig;
use martlet_upf_datapath::OpenError;
use martlet_upf_kernel::netns;
use std::net::SocketAddr;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(2);

/// What is asked of the switch.
pub(super) enum Ask {
    /// Connect anew, and become its controller.
    Connect,
    /// Write all, or nothing.
    Write(Vec<Update>),
    /// Set meters: array, index, bytes in a second and at once.
    Meters(Vec<MeterSetting>),
    /// Packets and bytes of counters of rules.
    Counts(Vec<u32>),
    /// All entries.
    Entries,
}

/// What it said.
#[derive(Debug)]
pub(super) enum Told {
    Done,
    Counts(Vec<(u64, u64)>),
    Entries(Vec<TableEntry>),
    /// It does not do it, and is as it was.
    Refused(String),
    /// It is not there.
    Lost(String),
}

type Job = (Ask, SyncSender<Told>);

/// A way to ask it.
pub(super) struct Controller {
    jobs: Option<mpsc::Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Controller {
    /// Starts the thread and, where the configuration says so, the switch. Waits for neither to be
    /// ready.
    pub fn start(config: &SwitchConfig) -> Result<Controller, OpenError> {
        let (jobs, receive) = mpsc::channel::<Job>(16);
        let (ready, started) = sync_channel(1);
        let config = config.clone();
        let work = move || {
            let prepared = netns::enter(config.netns.as_deref()).and_then(|()| {
                let process = config
                    .run
                    .as_ref()
                    .map(|run| Process::start(run, config.engine, config.address, config.device));
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                Ok((
                    process.transpose()?,
                    runtime.map_err(|error| OpenError::Threads(error.to_string()))?,
                ))
            });
            match prepared {
                Ok((process, runtime)) => {
                    let _ = ready.send(Ok(()));
                    runtime.block_on(serve(receive, config.address, config.device, process));
                }
                Err(error) => drop(ready.send(Err(error))),
            }
        };
        let thread = std::thread::Builder::new().name("upf-switch".into()).spawn(work);
        let thread = thread.map_err(|error| OpenError::Threads(error.to_string()))?;
        started
            .recv()
            .map_err(|_| OpenError::Threads("the controller of the switch ended".into()))??;
        Ok(Controller { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Asks, and waits.
    pub fn ask(&self, ask: Ask) -> Told {
        let lost = || Told::Lost("its controller has ended".into());
        let Some(jobs) = &self.jobs else { return lost() };
        let (answer, receive) = sync_channel(1);
        if jobs.try_send((ask, answer)).is_err() {
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

async fn serve(
    mut jobs: mpsc::Receiver<Job>,
    address: SocketAddr,
    device: u64,
    mut process: Option<Process>,
) {
    let mut client: Option<Client> = None;
    while let Some((ask, answer)) = jobs.recv().await {
        if let (Ask::Connect, Some(process)) = (&ask, &mut process) {
            process.keep_alive();
        }
        let told = match tokio::time::timeout(TIMEOUT, carry_out(ask, &mut client, address, device))
            .await
        {
            Ok(told) => told,
            Err(_) => Told::Lost(format!("no answer within {TIMEOUT:?}")),
        };
        if let Told::Lost(_) = told {
            client = None;
        }
        let _ = answer.send(told);
    }
}

async fn carry_out(
    ask: Ask,
    client: &mut Option<Client>,
    address: SocketAddr,
    device: u64,
) -> Told {
    if let Ask::Connect = ask {
        *client = None;
        let connected = async {
            let mut client = Client::connect(address, device).await?;
            client.lead(None).await?;
            Ok::<_, ClientError>(client)
        };
        return match connected.await {
            Ok(connected) => {
                *client = Some(connected);
                Told::Done
            }
            Err(error) => Told::Lost(error.to_string()),
        };
    }
    let Some(client) = client else { return Told::Lost("there is no connection".into()) };
    match once(&ask, client).await {
        // Somebody else led it for a while, as a person with `martlet switch`; they have gone, or
        // they have not.
        Told::Lost(why) if why.contains("primary controller") => match client.lead(None).await {
            Ok(()) => once(&ask, client).await,
            Err(error) => Told::Refused(error.to_string()),
        },
        told => told,
    }
}

async fn once(ask: &Ask, client: &mut Client) -> Told {
    let outcome = match ask {
        Ask::Connect => return Told::Done,
        Ask::Write(updates) => client.write(updates).await.map(|()| Told::Done),
        Ask::Meters(meters) => client.set_meters(meters).await.map(|()| Told::Done),
        Ask::Counts(indexes) => client.counts(indexes).await.map(Told::Counts),
        Ask::Entries => client.entries(None).await.map(Told::Entries),
    };
    outcome.unwrap_or_else(|error| match error {
        ClientError::Refused(why) => Told::Refused(
            why.first().map_or_else(String::new, |(n, why)| format!("update {n}: {why}")),
        ),
        // A batch with more errors than a header holds has the first in its message.
        ClientError::Failed(why) if why.starts_with("update ") => Told::Refused(why),
        other => Told::Lost(other.to_string()),
    })
}
