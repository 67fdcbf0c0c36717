//! Positioning of a UE: it negotiates a user plane connection with the LMF (TS 24.572), sets it up,
//! and answers LPP over it and over NAS with simulated measurements.
mod gnss;
mod lpp_answer;
mod task;
mod timing;

use crate::gnb::{Ue, UeError};
use crate::radio_environment::RadioEnvironment;
use martlet_lcs_channel::{Kind, Trust};
use martlet_lcs_protocol::UeState;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Positioning configuration of a UE.
#[derive(Debug, Clone)]
pub struct PositioningConfig {
    /// The LMF's port. The negotiation over NAS contains none.
    pub port: u16,
    /// The certificates that the UE trusts as the LMF's.
    pub trust: Trust,
    /// The kinds of channel, in the order of attempts.
    pub channels: Vec<Kind>,
    /// Time limit of the channel setup.
    pub timeout: Duration,
    /// Period of QUIC keep-alive probes while the UE waits for an answer, which keep its uplink
    /// grant; zero: none.
    pub keep_alive: Duration,
    /// Largest IP packet to the LMF, for QUIC, bytes.
    pub mtu: u16,
    /// Position and radio environment of the UE.
    pub environment: RadioEnvironment,
    /// The folder in which the UE writes its true position at each location request, in a file
    /// named after its SUPI.
    pub truth: Option<PathBuf>,
}

impl PositioningConfig {
    /// Writes the true position of the UE.
    fn write_truth(&self, supi: &str, now: Instant) {
        let (Some(folder), Some(position)) = (&self.truth, self.environment.position(now)) else {
            return;
        };
        if let Err(error) =
            std::fs::write(folder.join(supi), format!("{} {}\n", position.lat, position.lon))
        {
            tracing::warn!(
                %error,
                folder = %folder.display(),
                "true position not written"
            );
        }
    }
}

/// The running positioning of a UE. Dropping it closes the connection.
pub struct Positioning {
    task: JoinHandle<()>,
    state: watch::Receiver<UeState>,
    channel_kind: watch::Receiver<Option<Kind>>,
    requests: tokio::sync::mpsc::Sender<Request>,
}

/// A request of the caller.
pub(crate) enum Request {
    /// Request a connection from the LMF.
    Connect,
    /// Request its release.
    Release,
    /// Send bytes over the connection.
    SendRaw(Vec<u8>),
}

impl Positioning {
    /// Starts positioning. The network uses it only if the UE's configuration has `lcs_upp` or
    /// `lpp`.
    ///
    /// # Errors
    /// The UE no longer exists.
    pub async fn start(ue: &Ue, config: PositioningConfig) -> Result<Self, UeError> {
        let events = ue.subscribe().await?;
        // The gNB measures the UE in this environment.
        ue.set_environment(config.environment.clone()).await?;
        let (state_sender, state) = watch::channel(UeState::Idle);
        let (kind_sender, channel_kind) = watch::channel(None);
        let (requests, received) = tokio::sync::mpsc::channel(4);
        let task = task::Task::new(ue.weak(), ue.supi().into(), config, state_sender, kind_sender);
        Ok(Positioning {
            task: tokio::spawn(task.run(events, received)),
            state,
            channel_kind,
            requests,
        })
    }

    /// State of the user plane connection.
    pub fn state(&self) -> UeState {
        *self.state.borrow()
    }

    /// Kind of the last channel to an LMF.
    pub fn channel_kind(&self) -> Option<Kind> {
        *self.channel_kind.borrow()
    }

    /// Requests a connection from the LMF.
    pub async fn request(&self) {
        let _ = self.requests.send(Request::Connect).await;
    }

    /// Requests the release of the connection.
    pub async fn release(&self) {
        let _ = self.requests.send(Request::Release).await;
    }

    /// Sends bytes over the connection, to test how the LMF treats an invalid message.
    pub async fn send_raw(&self, message: Vec<u8>) {
        let _ = self.requests.send(Request::SendRaw(message)).await;
    }

    /// Waits until the user plane connection is in a state. Returns false after `limit`.
    pub async fn wait_for(&self, state: UeState, limit: Duration) -> bool {
        let mut watched = self.state.clone();
        tokio::time::timeout(limit, watched.wait_for(|now| *now == state))
            .await
            .is_ok_and(|waited| waited.is_ok())
    }
}

impl Drop for Positioning {
    fn drop(&mut self) {
        self.task.abort();
    }
}
