//! The UE's positioning: it negotiates a user plane connection with the LMF, brings it up, and
//! answers LPP over it and over NAS with what it would measure where it is.
mod answer;
mod gnss;
mod task;
mod timing;

use crate::gnb::{Ue, UeError};
use crate::radio_environment::Surroundings;
use martlet_lcs_channel::{Kind, Trust};
use martlet_lcs_protocol::UeState;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// How a UE does positioning.
#[derive(Debug, Clone)]
pub struct PositioningConfig {
    /// The LMF's port: what the LMF tells over NAS has none.
    pub port: u16,
    /// What the UE accepts as the LMF.
    pub trust: Trust,
    /// What protects its channel: the first of these that the LMF has.
    pub channels: Vec<Kind>,
    /// How long to wait for a channel.
    pub timeout: Duration,
    /// How often it says a word over QUIC while it waits for an answer, so that its radio keeps
    /// the grant to send; zero: never.
    pub keep_alive: Duration,
    /// Octets of the largest IP packet to the LMF, for QUIC.
    pub mtu: u16,
    /// Where it is, and what is around.
    pub surroundings: Surroundings,
    /// The folder in which the UE leaves where it is in truth when it is asked, in a file of its
    /// SUPI.
    pub truth: Option<PathBuf>,
}

impl PositioningConfig {
    /// Leave where the UE is.
    fn tell_truth(&self, supi: &str, now: Instant) {
        let (Some(folder), Some(place)) = (&self.truth, self.surroundings.place(now)) else {
            return;
        };
        if let Err(error) =
            std::fs::write(folder.join(supi), format!("{} {}\n", place.lat, place.lon))
        {
            tracing::warn!(
                %error,
                folder = %folder.display(),
                "where the UE is in truth was not written"
            );
        }
    }
}

/// A UE's positioning at work. Dropping it ends it, and closes the connection.
pub struct Positioning {
    work: JoinHandle<()>,
    state: watch::Receiver<UeState>,
    over: watch::Receiver<Option<Kind>>,
    orders: tokio::sync::mpsc::Sender<Order>,
}

/// What the UE is told to do by itself.
pub(crate) enum Order {
    /// Ask the LMF for a connection.
    Request,
    /// Ask the LMF to release it.
    Release,
    /// Say these octets over the connection.
    Say(Vec<u8>),
}

impl Positioning {
    /// Begin. The UE has to have been made with `lcs_upp` or `lpp` for the network to ask it.
    ///
    /// # Errors
    /// The UE no longer exists.
    pub async fn start(ue: &Ue, config: PositioningConfig) -> Result<Self, UeError> {
        let events = ue.subscribe().await?;
        // The gNB hears the UE where it is.
        ue.is_at(config.surroundings.clone()).await?;
        let (told, state) = watch::channel(UeState::Idle);
        let (channel, over) = watch::channel(None);
        let (orders, received) = tokio::sync::mpsc::channel(4);
        let task = task::Task::new(ue.weak(), ue.supi().into(), config, told, channel);
        Ok(Positioning { work: tokio::spawn(task.run(events, received)), state, over, orders })
    }

    /// Where its user plane connection is.
    pub fn state(&self) -> UeState {
        *self.state.borrow()
    }

    /// What its last channel to an LMF was of, if it has had one.
    pub fn over(&self) -> Option<Kind> {
        *self.over.borrow()
    }

    /// Ask the LMF for a connection.
    pub async fn request(&self) {
        let _ = self.orders.send(Order::Request).await;
    }

    /// Ask the LMF to release the connection.
    pub async fn release(&self) {
        let _ = self.orders.send(Order::Release).await;
    }

    /// Say octets over the connection, whatever they are: to see what the LMF makes of a UE that
    /// says what it may not.
    pub async fn say(&self, octets: Vec<u8>) {
        let _ = self.orders.send(Order::Say(octets)).await;
    }

    /// Wait until its user plane connection is there, or no more; false where it is not within
    /// `limit`.
    pub async fn wait_for(&self, state: UeState, limit: Duration) -> bool {
        let mut watched = self.state.clone();
        tokio::time::timeout(limit, watched.wait_for(|now| *now == state))
            .await
            .is_ok_and(|waited| waited.is_ok())
    }
}

impl Drop for Positioning {
    fn drop(&mut self) {
        self.work.abort();
    }
}
