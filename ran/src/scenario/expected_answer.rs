//! Waits for the expected answer to a raw message, or checks that there is none.
use super::ue::{Failure, Outcome};
use super::value::{Hex, Span};
use crate::gnb::{Gnb, UeEvent};
use crate::ue::Event;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast;

/// Default time limit of an answer.
const ANSWER: Duration = Duration::from_secs(2);
/// How long to check that there is no answer.
const SILENCE: Duration = Duration::from_millis(300);

/// The expected answer.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// Nothing, while the association lasts.
    Silence,
    /// A message that begins with these bytes.
    Prefix(Vec<u8>),
    /// 5GMM STATUS with this cause.
    Status(u8),
}

impl Answer {
    pub(super) fn of(prefix: &Option<Hex>, status: Option<u8>) -> Self {
        match (prefix, status) {
            (Some(prefix), _) => Answer::Prefix(prefix.0.clone()),
            (None, Some(cause)) => Answer::Status(cause),
            (None, None) => Answer::Silence,
        }
    }
}

/// The received messages.
pub(super) enum Receiver {
    Nas(broadcast::Receiver<UeEvent>),
    /// Of this gNB.
    Ngap(Gnb, broadcast::Receiver<Bytes>),
}

/// A received answer.
enum Received {
    /// A message.
    Message(Bytes),
    /// 5GMM STATUS.
    Status(u8),
    /// The gNB has lost its association with the AMF: the reason.
    Lost(Arc<str>),
}

impl Receiver {
    async fn next(&mut self) -> Result<Received, Failure> {
        use broadcast::error::RecvError;
        loop {
            let received = match self {
                Receiver::Nas(events) => events.recv().await.map(|event| match event {
                    UeEvent::NasReceived(nas) => Some(Received::Message(nas)),
                    UeEvent::Nas(Event::Status { psi: None, cause }) => {
                        Some(Received::Status(cause))
                    }
                    UeEvent::GnbLost(reason) => Some(Received::Lost(reason)),
                    _ => None,
                }),
                Receiver::Ngap(gnb, messages) => tokio::select! {
                    biased;
                    message = messages.recv() => message.map(|it| Some(Received::Message(it))),
                    reason = gnb.lost() => Ok(Some(Received::Lost(reason))),
                },
            };
            match received {
                Ok(Some(Received::Lost(reason))) => {
                    return Err(Failure::from(format!("the association ended: {reason}")));
                }
                Ok(Some(received)) => return Ok(received),
                Ok(None) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => {
                    return Err(Failure::from("the UE or the gNB no longer exists".to_owned()));
                }
            }
        }
    }
}

/// Waits for the expected answer, or checks that there is none.
pub(super) async fn answer(
    expected: &Answer,
    within: Option<Span>,
    mut receiver: Receiver,
) -> Outcome {
    let silence = matches!(expected, Answer::Silence);
    let limit = within.map_or(if silence { SILENCE } else { ANSWER }, |span| span.0);
    let deadline = tokio::time::Instant::now() + limit;
    loop {
        let received = match tokio::time::timeout_at(deadline, receiver.next()).await {
            Err(_) if silence => return Ok(()),
            Err(_) => {
                return Err(format!("no answer within {limit:?}: {expected:?} was expected").into());
            }
            Ok(received) => received?,
        };
        match (expected, received) {
            (Answer::Prefix(expected), Received::Message(message))
                if message.starts_with(expected) =>
            {
                return Ok(());
            }
            (Answer::Status(expected), Received::Status(cause)) if *expected == cause => {
                return Ok(());
            }
            (Answer::Silence, Received::Message(message)) => {
                return Err(format!("unexpected answer: {}", hex::encode(message)).into());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gnb::tests::amf::gnb_and_amf;
    use crate::ue::tests::network::config;

    #[tokio::test]
    async fn a_lost_association_is_no_silence() {
        let within = Some(Span(Duration::from_secs(20)));
        let (gnb, mut amf) = gnb_and_amf().await;
        let ue = gnb.new_ue(config()).unwrap();
        let (registered, ()) = tokio::join!(ue.register(), amf.register(1));
        registered.unwrap();
        let nas = Receiver::Nas(ue.subscribe().await.unwrap());
        let ngap = Receiver::Ngap(gnb.clone(), gnb.subscribe());
        drop(amf);
        for receiver in [nas, ngap] {
            let ended = answer(&Answer::Silence, within, receiver).await;
            assert!(ended.is_err_and(|failure| failure.text.contains("association ended")));
        }
        // A connection that the AMF releases is silence, if no message precedes.
        let (gnb, mut amf) = gnb_and_amf().await;
        let ue = gnb.new_ue(config()).unwrap();
        let (registered, ()) = tokio::join!(ue.register(), amf.register(1));
        registered.unwrap();
        let nas = Receiver::Nas(ue.subscribe().await.unwrap());
        let command = amf.release_command();
        amf.send(command).await;
        ue.wait_idle().await.unwrap();
        let shortly = Some(Span(Duration::from_millis(1)));
        assert!(answer(&Answer::Silence, shortly, nas).await.is_ok());
    }
}
