//! A request and its answer (TS 37.355, 4.3.2).
use crate::session::Session;
use martlet_lpp::{Body, LppMessage, Transaction, decode, encode};
use martlet_sbi::Problem;
use std::time::{Duration, Instant};

/// The LPP messages of a session.
pub(crate) struct Conversation {
    session: Session,
    next: u8,
    limit: Duration,
}

pub(crate) fn failed(why: impl std::fmt::Display) -> Problem {
    Problem::new(500, "POSITIONING_FAILED").detail(why.to_string())
}

impl Conversation {
    /// In a session, in which the UE may take so long for an answer.
    pub(crate) fn new(session: Session, limit: Duration) -> Self {
        Conversation { session, next: 0, limit }
    }

    /// The session.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Tells something that needs no answer.
    pub(crate) async fn tell(&mut self, body: Body) -> Result<(), Problem> {
        let transaction = Transaction::ByServer(self.next);
        self.next = self.next.wrapping_add(1);
        let octets = encode(&LppMessage::new(transaction, true, body)).map_err(failed)?;
        self.session.send(&octets).await
    }

    /// Asks, and gives the answer to it. What belongs to other transactions is passed over.
    pub(crate) async fn ask(&mut self, request: Body) -> Result<Body, Problem> {
        let transaction = Transaction::ByServer(self.next);
        self.next = self.next.wrapping_add(1);
        let octets = encode(&LppMessage::new(transaction, false, request)).map_err(failed)?;
        self.session.send(&octets).await?;
        let until = Instant::now() + self.limit;
        loop {
            let octets = self.session.receive(until).await?;
            let message = match decode(&octets) {
                Ok(message) => message,
                Err(error) => {
                    crate::metrics::refused("lpp message");
                    tracing::info!(%error, "an LPP message that does not decode");
                    continue;
                }
            };
            if Transaction::of(&message) != Some(transaction) {
                continue;
            }
            match Body::of(message) {
                Some(Body::Error(_)) => return Err(failed("the UE answers with an LPP error")),
                Some(Body::Abort(_)) => return Err(failed("the UE ends the LPP transaction")),
                Some(body) => return Ok(body),
                // An acknowledgement alone.
                None => {}
            }
        }
    }
}
