//! A session that carries LPP messages to and from a UE, over the user plane or NAS.
use crate::deadline::Deadline;
use crate::shared::{self, Shared, unreachable_ue};
use crate::user_plane::{Command, Supi};
use martlet_lcs_protocol::Payload;
use martlet_lcsupp::{lpp_messages, push_lpp_message};
use martlet_sbi::Problem;
use martlet_sbi_api::namf_communication::N1MessageClass;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// Capacity of the queue of received payloads.
const QUEUE: usize = 16;

/// What carries the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// LCS-UPP.
    UserPlane,
    /// LPP in NAS.
    ControlPlane,
}

impl Carrier {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Carrier::UserPlane => "user plane",
            Carrier::ControlPlane => "control plane",
        }
    }
}

/// A session. Dropping it closes it.
pub(crate) struct Session {
    shared: Arc<Shared>,
    ue: Supi,
    carrier: Carrier,
    /// LCS session identity, or LCS correlation identity.
    identity: String,
    payloads: mpsc::Receiver<Payload>,
    /// Messages of a payload that contained several.
    ready: VecDeque<Vec<u8>>,
}

/// A session identity that is unique in this LMF.
pub(crate) fn next_identity() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed).to_string()
}

impl Session {
    /// Opens a session.
    pub(crate) async fn open(
        shared: &Arc<Shared>,
        ue: &Supi,
        carrier: Carrier,
    ) -> Result<Self, Problem> {
        let identity = next_identity();
        let (sink, payloads) = mpsc::channel(QUEUE);
        match carrier {
            Carrier::UserPlane => {
                let (answer, answered) = oneshot::channel();
                let session = identity.clone().into_bytes();
                shared
                    .send_command(Command::OpenSession { ue: ue.clone(), session, sink, answer })
                    .await?;
                let opened = answered.await.map_err(|_| shared::shutting_down())?;
                opened.map_err(|why| unreachable_ue(&format!("no session with the UE: {why}")))?;
            }
            Carrier::ControlPlane => shared.control_plane.register(ue, &identity, sink),
        }
        Ok(Session {
            shared: shared.clone(),
            ue: ue.clone(),
            carrier,
            identity,
            payloads,
            ready: VecDeque::new(),
        })
    }

    /// The UE.
    pub(crate) fn ue(&self) -> &Supi {
        &self.ue
    }

    /// Its identity.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// What carries its messages.
    pub(crate) fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Sends an LPP message.
    pub(crate) async fn send(&self, message: &[u8]) -> Result<(), Problem> {
        match self.carrier {
            Carrier::UserPlane => {
                let mut payload = Vec::with_capacity(message.len() + 2);
                push_lpp_message(&mut payload, message).map_err(|error| {
                    Problem::new(500, "POSITIONING_FAILED").detail(error.to_string())
                })?;
                let (answer, answered) = oneshot::channel();
                let session = self.identity.clone().into_bytes();
                self.shared
                    .send_command(Command::Send { ue: self.ue.clone(), session, payload, answer })
                    .await?;
                let sent = answered.await.map_err(|_| shared::shutting_down())?;
                sent.map_err(|why| unreachable_ue(&format!("the UE has no connection: {why}")))
            }
            Carrier::ControlPlane => {
                let correlation = Some(self.identity.clone());
                self.shared
                    .send_nas(&self.ue, N1MessageClass::Lpp, correlation, message.to_vec())
                    .await
            }
        }
    }

    /// The next LPP message of the UE.
    pub(crate) async fn receive(&mut self, deadline: &mut Deadline) -> Result<Vec<u8>, Problem> {
        let no_answer = |ue: &Supi| {
            Problem::new(504, "PEER_NOT_RESPONDING").detail(format!("no answer from {ue}"))
        };
        loop {
            if !self.ready.is_empty() && !deadline.admits(Instant::now()) {
                return Err(no_answer(&self.ue));
            }
            if let Some(message) = self.ready.pop_front() {
                return Ok(message);
            }
            let payload = deadline.next(&mut self.payloads).await;
            let payload = payload.ok_or_else(|| no_answer(&self.ue))?;
            let payload = payload.ok_or_else(|| unreachable_ue("the UE's connection was lost"))?;
            match self.carrier {
                // The payload was checked on receipt.
                Carrier::UserPlane => {
                    if let Ok(messages) = lpp_messages(&payload.bytes) {
                        self.ready.extend(messages.map(<[u8]>::to_vec));
                    }
                }
                Carrier::ControlPlane => self.ready.push_back(payload.bytes),
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        match self.carrier {
            Carrier::UserPlane => {
                let close = Command::CloseSession {
                    ue: self.ue.clone(),
                    session: self.identity.clone().into_bytes(),
                };
                // If the queue is full, the session is closed with its connection.
                let _ = self.shared.connections.try_send(close);
            }
            Carrier::ControlPlane => self.shared.control_plane.remove(&self.identity),
        }
    }
}
