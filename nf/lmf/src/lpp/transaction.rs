//! LPP transactions (TS 37.355, 4.3.2).
use super::session::Session;
use crate::deadline::Deadline;
use martlet_lpp::{
    AGnssError, AGnssProvideAssistanceData, AbortR9IEs, Body, CommonIEsAbort,
    CommonIEsAbortAbortCause, GnssLocationServerErrorCauses, GnssLocationServerErrorCausesCause,
    LppMessage, LppMessageBody, LppMessageBodyC1, ProvideAssistanceDataR9IEs, QoS, ResponseTime,
    Transaction, decode, encode,
};
use martlet_sbi::Problem;
use std::time::{Duration, Instant};

/// Time limit to send an Abort. The request has failed already, and waits for it.
const ABORT_TIMEOUT: Duration = Duration::from_secs(1);

/// The LPP transactions of a session.
pub(crate) struct Transactions {
    session: Session,
    next: u8,
    limit: Duration,
    until: Option<Instant>,
}

pub(crate) fn positioning_failed(why: impl std::fmt::Display) -> Problem {
    Problem::new(500, "POSITIONING_FAILED").detail(why.to_string())
}

impl Transactions {
    /// For a session, with a time limit for each answer, and for all of them.
    pub(crate) fn new(session: Session, limit: Duration, until: Option<Instant>) -> Self {
        Transactions { session, next: 0, limit, until }
    }

    /// The session.
    pub(crate) fn session(&self) -> &Session {
        &self.session
    }

    /// The quality of service of a request for location information: the UE answers in time, if
    /// only to report that it has no position.
    pub(crate) fn qos(&self) -> QoS {
        QoS { response_time: Some(response_time(self.left())), ..Default::default() }
    }

    /// The time for the next answer.
    fn left(&self) -> Duration {
        time_left(self.limit, self.until, Instant::now())
    }

    /// Sends a message that has no answer.
    pub(crate) async fn send(&mut self, body: Body) -> Result<(), Problem> {
        let transaction = Transaction::ByServer(self.next);
        self.next = self.next.wrapping_add(1);
        self.transmit(&LppMessage::new(transaction, true, body)).await
    }

    async fn transmit(&self, message: &LppMessage) -> Result<(), Problem> {
        let bytes = encode(message).map_err(positioning_failed)?;
        self.session.send(&bytes).await
    }

    async fn acknowledge(&self, acknowledgement: &LppMessage) {
        if let Err(problem) = self.transmit(acknowledgement).await {
            tracing::info!(supi = %self.session.ue(), %problem, "LPP acknowledgement not sent");
        }
    }

    /// Aborts a transaction without answer, so that the UE stops its measurements (TS 37.355, 5.5).
    async fn abort(&self, transaction: Transaction) {
        let sent = tokio::time::timeout(ABORT_TIMEOUT, self.transmit(&abort(transaction))).await;
        if !matches!(sent, Ok(Ok(()))) {
            tracing::info!(supi = %self.session.ue(), "LPP Abort not sent");
        }
    }

    /// Sends a request and returns its answer. Messages of other transactions are ignored.
    pub(crate) async fn request(&mut self, request: Body) -> Result<Body, Problem> {
        let limit = self.left();
        if limit.is_zero() {
            return Err(late());
        }
        let mut deadline = Deadline::new(Instant::now() + limit);
        let transaction = Transaction::ByServer(self.next);
        self.next = self.next.wrapping_add(1);
        self.transmit(&LppMessage::new(transaction, false, request)).await?;
        loop {
            let bytes = match self.session.receive(&mut deadline).await {
                Ok(bytes) => bytes,
                Err(problem) => {
                    if problem.cause() == "PEER_NOT_RESPONDING" {
                        self.abort(transaction).await;
                    }
                    return Err(problem);
                }
            };
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
            // A UE may wait for its assistance data before it measures.
            if let Some(refusal) = without_assistance_data(&message)
                && let Err(problem) = self.transmit(&refusal).await
            {
                tracing::info!(supi = %self.session.ue(), %problem, "LPP response not sent");
            }
            if let Some(answer) = answer_to(transaction, message) {
                return answer;
            }
        }
    }
}

/// The time for an answer: `limit`, or what is left until the end of the location request.
fn time_left(limit: Duration, until: Option<Instant>, now: Instant) -> Duration {
    until.map_or(limit, |until| limit.min(until.saturating_duration_since(now)))
}

/// The time of the location request has passed.
pub(crate) fn late() -> Problem {
    Problem::new(504, "PEER_NOT_RESPONDING").detail("no position within maxRespTime")
}

/// The time in which a UE has to answer, so that the answer arrives within a limit: whole seconds
/// from 1 to 128 (TS 37.355, 6.4.2), less one for transport.
fn response_time(limit: Duration) -> ResponseTime {
    let seconds = limit.as_secs().saturating_sub(1).clamp(1, 128);
    ResponseTime { time: seconds as u8, ..Default::default() }
}

fn abort(transaction: Transaction) -> LppMessage {
    let cause = CommonIEsAbort { abort_cause: CommonIEsAbortAbortCause::NetworkAbort };
    let abort = AbortR9IEs { common_ies_abort: Some(cause), ..Default::default() };
    LppMessage::new(transaction, true, Body::Abort(abort.into()))
}

/// The answer to a UE's request for assistance data, of which this LMF has none on request (TS
/// 37.355, 5.2.3). None if the message is no such request.
fn without_assistance_data(message: &LppMessage) -> Option<LppMessage> {
    let transaction = Transaction::of(message)?;
    let requested = match &message.lpp_message_body {
        Some(LppMessageBody::C1(LppMessageBodyC1::RequestAssistanceData(_))) => message.clone(),
        _ => return None,
    };
    let Body::RequestAssistanceData(requested) = Body::of(requested)? else { return None };
    let cause = GnssLocationServerErrorCausesCause::UndeliveredAssistanceDataIsNotSupportedByServer;
    let gnss = AGnssProvideAssistanceData {
        gnss_error: Some(AGnssError::LocationServerErrorCauses(GnssLocationServerErrorCauses {
            cause,
        })),
        ..Default::default()
    };
    let provided = ProvideAssistanceDataR9IEs {
        a_gnss_provide_assistance_data: requested.a_gnss_request_assistance_data.map(|_| gnss),
        ..Default::default()
    };
    Some(LppMessage::new(transaction, true, Body::ProvideAssistanceData(provided.into())))
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
    fn a_ue_has_whole_seconds_below_the_limit_to_answer() {
        for (milliseconds, time) in
            [(0, 1), (999, 1), (2_500, 1), (10_000, 9), (129_000, 128), (3_600_000, 128)]
        {
            let expected = ResponseTime { time, ..Default::default() };
            assert_eq!(response_time(Duration::from_millis(milliseconds)), expected);
        }
    }

    #[test]
    fn the_answers_of_a_location_request_share_its_response_time() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        assert_eq!(time_left(10 * second, None, now), 10 * second);
        let until = Some(now + 12 * second);
        assert_eq!(time_left(10 * second, until, now), 10 * second);
        assert_eq!(time_left(10 * second, until, now + 9 * second), 3 * second);
        assert_eq!(time_left(10 * second, until, now + 13 * second), Duration::ZERO);
    }

    #[test]
    fn an_abort_has_the_transaction_and_a_cause_of_the_network() {
        // As tshark dissects it: transaction 0 of the server, its end, networkAbort.
        let bytes = encode(&abort(Transaction::ByServer(0))).unwrap();
        assert_eq!(bytes, [0x90, 0x01, 0x30, 0x58]);
    }

    #[test]
    fn a_request_for_assistance_data_is_answered_without_any() {
        use martlet_lpp::{AGnssRequestAssistanceData, RequestAssistanceDataR9IEs};

        let by_ue = Transaction::ByTarget(5);
        let request = |gnss: bool| {
            let request = RequestAssistanceDataR9IEs {
                a_gnss_request_assistance_data: gnss.then(AGnssRequestAssistanceData::default),
                ..Default::default()
            };
            LppMessage::new(by_ue, false, Body::RequestAssistanceData(request.into()))
        };
        for gnss in [true, false] {
            let answer = without_assistance_data(&request(gnss)).unwrap();
            let answer = decode(&encode(&answer).unwrap()).unwrap();
            assert_eq!((Transaction::of(&answer), answer.end_transaction), (Some(by_ue), true));
            let Some(Body::ProvideAssistanceData(provided)) = Body::of(answer) else {
                panic!("no ProvideAssistanceData")
            };
            let error = provided.a_gnss_provide_assistance_data.map(|it| it.gnss_error.is_some());
            assert_eq!(error, gnss.then_some(true));
        }
        // It does not end the LMF's own request, and other messages have no such answer.
        assert_eq!(answer_to(Transaction::ByServer(5), request(true)).map(|it| it.is_ok()), None);
        assert_eq!(without_assistance_data(&abort(by_ue)), None);
    }

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
