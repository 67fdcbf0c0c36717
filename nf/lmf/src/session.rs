//! A session of LPP with a UE, over the user plane or over NAS.
use crate::Shared;
use crate::owner::{Command, Supi};
use martlet_lcs_protocol::Payload;
use martlet_lcsupp::{lpp_messages, push_lpp_message};
use martlet_sbi::Problem;
use martlet_sbi_api::namf_communication::N1MessageClass;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// Messages of a UE that may wait for the procedure.
const WAITING: usize = 16;

/// How messages get to the UE.
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

/// A session. Its end closes it.
pub(crate) struct Session {
    shared: Arc<Shared>,
    ue: Supi,
    carrier: Carrier,
    /// LCS session identity, or LCS correlation identity.
    identity: String,
    payloads: mpsc::Receiver<Payload>,
    /// Messages of a payload that had several.
    ready: VecDeque<Vec<u8>>,
}

pub(crate) fn gone(what: &str) -> Problem {
    Problem::new(504, "UNREACHABLE_USER").detail(what.to_string())
}

/// An identity that no other session of this LMF has.
pub(crate) fn next_identity() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed).to_string()
}

impl Session {
    /// Opens one.
    pub(crate) async fn open(
        shared: &Arc<Shared>,
        ue: &Supi,
        carrier: Carrier,
    ) -> Result<Self, Problem> {
        let identity = next_identity();
        let (sink, payloads) = mpsc::channel(WAITING);
        match carrier {
            Carrier::UserPlane => {
                let (answer, answered) = oneshot::channel();
                let session = identity.clone().into_bytes();
                shared.ask(Command::Open { ue: ue.clone(), session, sink, answer }).await?;
                let opened = answered.await.map_err(|_| gone("the LMF ends"))?;
                opened.map_err(|why| gone(&format!("no session with the UE: {why:?}")))?;
            }
            Carrier::ControlPlane => shared.listening.listen(ue, &identity, sink),
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

    /// Whose it is.
    pub(crate) fn ue(&self) -> &Supi {
        &self.ue
    }

    /// What it is called, in this LMF.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// How its messages travel.
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
                    .ask(Command::Send { ue: self.ue.clone(), session, payload, answer })
                    .await?;
                let sent = answered.await.map_err(|_| gone("the LMF ends"))?;
                sent.map_err(|why| gone(&format!("the UE has no connection: {why:?}")))
            }
            Carrier::ControlPlane => {
                let correlation = Some(self.identity.clone());
                self.shared
                    .to_ue(&self.ue, N1MessageClass::Lpp, correlation, message.to_vec())
                    .await
            }
        }
    }

    /// The next LPP message of the UE.
    pub(crate) async fn receive(&mut self, until: Instant) -> Result<Vec<u8>, Problem> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Ok(message);
            }
            let payload = tokio::time::timeout_at(until.into(), self.payloads.recv()).await;
            let payload = payload.map_err(|_| {
                Problem::new(504, "PEER_NOT_RESPONDING")
                    .detail(format!("{} does not answer", self.ue))
            })?;
            let payload = payload.ok_or_else(|| gone("the UE's connection has ended"))?;
            match self.carrier {
                // Checked where it came in.
                Carrier::UserPlane => {
                    if let Ok(messages) = lpp_messages(&payload.octets) {
                        self.ready.extend(messages.map(<[u8]>::to_vec));
                    }
                }
                Carrier::ControlPlane => self.ready.push_back(payload.octets),
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        match self.carrier {
            Carrier::UserPlane => {
                let close = Command::Close {
                    ue: self.ue.clone(),
                    session: self.identity.clone().into_bytes(),
                };
                // Where the queue is full, the session goes with its connection.
                let _ = self.shared.owner.try_send(close);
            }
            Carrier::ControlPlane => self.shared.listening.unlisten(&self.identity),
        }
    }
}
