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
            if let Some(answer) = answer_to(transaction, message) {
                return answer;
            }
        }
    }
}

/// The answer to the request of this transaction; None if the message is none.
fn answer_to(transaction: Transaction, message: LppMessage) -> Option<Result<Body, Problem>> {
    let unknown = message.transaction_id.is_none();
    let same = Transaction::of(&message) == Some(transaction);
    // An acknowledgement has no body.
    match Body::of(message)? {
        // A UE that cannot decode the request does not know its transaction (TS 37.355, 5.4.2).
        Body::Error(_) if same || unknown => {
            Some(Err(positioning_failed("the UE answered with an LPP Error")))
        }
        Body::Abort(_) if same => {
            Some(Err(positioning_failed("the UE aborted the LPP transaction")))
        }
        body => same.then_some(Ok(body)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_without_transaction_answers_the_request() {
        let request = Transaction::ByServer(3);
        let is_ok = |message: LppMessage| answer_to(request, message).map(|answer| answer.is_ok());
        let error = || Body::Error(Box::default());
        let mut unknown = LppMessage::new(request, true, error());
        unknown.transaction_id = None;
        let unknown = decode(&encode(&unknown).unwrap()).unwrap();
        assert_eq!(is_ok(unknown), Some(false));
        assert_eq!(is_ok(LppMessage::new(request, true, error())), Some(false));
        assert_eq!(is_ok(LppMessage::new(Transaction::ByServer(2), true, error())), None);

        // Other messages need the transaction.
        let provided = || Body::ProvideCapabilities(Box::default());
        let mut unknown = LppMessage::new(request, true, provided());
        unknown.transaction_id = None;
        assert_eq!(is_ok(unknown), None);
        assert_eq!(is_ok(LppMessage::new(request, true, provided())), Some(true));
        assert_eq!(is_ok(LppMessage::default()), None);
    }
}
