//! LPP transactions (TS 37.355, 4.3.2).
use super::session::Session;
use martlet_lpp::{Body, LppMessage, Transaction, decode, encode};
use martlet_sbi::Problem;
use std::time::{Duration, Instant};

/// The LPP transactions of a session.
pub(crate) struct Transactions {
    session: Session,
    next: u8,
    limit: Duration,
}

pub(crate) fn positioning_failed(why: impl std::fmt::Display) -> Problem {
    Problem::new(500, "POSITIONING_FAILED").detail(why.to_string())
}

impl Transactions {
    /// For a session, with a time limit for each answer.
    pub(crate) fn new(session: Session, limit: Duration) -> Self {
        Transactions { session, next: 0, limit }
    }

    /// The session.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// Sends a message that has no answer.
    pub(crate) async fn send(&mut self, body: Body) -> Result<(), Problem> {
        let transaction = Transaction::ByServer(self.next);
        self.next = self.next.wrapping_add(1);
        let bytes =
            encode(&LppMessage::new(transaction, true, body)).map_err(positioning_failed)?;
        self.session.send(&bytes).await
    }

    async fn acknowledge(&self, acknowledgement: &LppMessage) {
        let sent = match encode(acknowledgement).map_err(positioning_failed) {
            Ok(bytes) => self.session.send(&bytes).await,
            Err(problem) => Err(problem),
        };
        if let Err(problem) = sent {
            tracing::info!(supi = %self.session.ue(), %problem, "LPP acknowledgement not sent");
        }
    }

    /// Sends a request and returns its answer. Messages of other transactions are ignored.
    pub(crate) async fn request(&mut self, request: Body) -> Result<Body, Problem> {
        let transaction = Transaction::ByServer(self.next);
        self.next = self.next.wrapping_add(1);
        let bytes =
            encode(&LppMessage::new(transaction, false, request)).map_err(positioning_failed)?;
        self.session.send(&bytes).await?;
        let until = Instant::now() + self.limit;
        loop {
            let bytes = self.session.receive(until).await?;
            let message = match decode(&bytes) {
                Ok(message) => message,
                Err(error) => {
                    crate::metrics::rejected("lpp_malformed");
                    if let Some(suppressed) = martlet_log_limit::line("lpp_malformed", 0) {
                        tracing::info!(
                            %error, suppressed,
                            "LPP message rejected: malformed"
                        );
                    }
                    continue;
                }
            };
            // Also that of another transaction: the UE repeats the message until then, and aborts
            // the session at last.
            if let Some(acknowledgement) = message.acknowledge() {
                self.acknowledge(&acknowledgement).await;
            }
            if Transaction::of(&message) != Some(transaction) {
                continue;
            }
            match Body::of(message) {
                Some(Body::Error(_)) => {
                    return Err(positioning_failed("the UE answered with an LPP Error"));
                }
                Some(Body::Abort(_)) => {
                    return Err(positioning_failed("the UE aborted the LPP transaction"));
                }
                Some(body) => return Ok(body),
                // An acknowledgement without a body.
                None => {}
            }
        }
    }
}
