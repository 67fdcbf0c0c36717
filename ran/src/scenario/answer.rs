//! Waiting for what answers to a message of the scenario's own making, or for nothing.
use super::phone::Outcome;
use super::value::{Hex, Span};
use crate::gnb::UeEvent;
use crate::ue::Event;
use bytes::Bytes;
use std::time::Duration;
use tokio::sync::broadcast;

/// How long an answer to octets of the scenario's may take, and how long silence lasts.
const ANSWER: Duration = Duration::from_secs(2);
const SILENCE: Duration = Duration::from_millis(300);

/// What is expected to answer.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// Nothing.
    Silence,
    /// A message that begins with these octets.
    Octets(Vec<u8>),
    /// 5GMM STATUS with this cause.
    Status(u8),
}

impl Answer {
    pub(super) fn of(octets: &Option<Hex>, status: Option<u8>) -> Self {
        match (octets, status) {
            (Some(octets), _) => Answer::Octets(octets.0.clone()),
            (None, Some(cause)) => Answer::Status(cause),
            (None, None) => Answer::Silence,
        }
    }
}

/// Where an answer is looked for.
pub(super) enum Watch {
    Nas(broadcast::Receiver<UeEvent>),
    Ngap(broadcast::Receiver<Bytes>),
}

/// Something that was received.
enum Seen {
    /// A message as it came.
    Octets(Bytes),
    /// 5GMM STATUS.
    Status(u8),
}

impl Watch {
    async fn next(&mut self) -> Result<Seen, String> {
        use broadcast::error::RecvError;
        loop {
            let seen = match self {
                Watch::Nas(events) => events.recv().await.map(|event| match event {
                    UeEvent::NasReceived(nas) => Some(Seen::Octets(nas)),
                    UeEvent::Nas(Event::Status { psi: None, cause }) => Some(Seen::Status(cause)),
                    _ => None,
                }),
                Watch::Ngap(messages) => {
                    messages.recv().await.map(|message| Some(Seen::Octets(message)))
                }
            };
            match seen {
                Ok(Some(seen)) => return Ok(seen),
                Ok(None) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => {
                    return Err("who should have been answered is gone".to_owned());
                }
            }
        }
    }
}

/// Wait for the answer that is expected; where none is, see that none comes.
pub(super) async fn answer(expected: &Answer, within: Option<Span>, mut watch: Watch) -> Outcome {
    let silence = matches!(expected, Answer::Silence);
    let limit = within.map_or(if silence { SILENCE } else { ANSWER }, |span| span.0);
    let deadline = tokio::time::Instant::now() + limit;
    loop {
        let seen = match tokio::time::timeout_at(deadline, watch.next()).await {
            Err(_) if silence => return Ok(()),
            Err(_) => {
                return Err(format!("no answer within {limit:?}: {expected:?} was expected").into());
            }
            Ok(seen) => seen?,
        };
        match (expected, seen) {
            (Answer::Octets(expected), Seen::Octets(message)) if message.starts_with(expected) => {
                return Ok(());
            }
            (Answer::Status(expected), Seen::Status(cause)) if *expected == cause => return Ok(()),
            (Answer::Silence, Seen::Octets(message)) => {
                return Err(
                    format!("an answer where none was expected: {}", hex::encode(message)).into()
                );
            }
            _ => {}
        }
    }
}
