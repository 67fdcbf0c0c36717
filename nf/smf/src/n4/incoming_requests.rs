//! Requests that reach the SMF's N4 port, and their responses (TS 29.244, 6.2 and 7.6).
use super::{N4, N4Error, SessionLayer};
use crate::metrics;
use martlet_pfcp::ie::{Cause, FSeid, OffendingIe, RecoveryTimeStamp};
use martlet_pfcp::transaction::Seen;
use martlet_pfcp::{
    AssociationSetupResponse, AssociationUpdateResponse, DecodeError, Header, HeartbeatResponse,
    Ie, IeValue, Message, NodeReportResponse, Packet, SessionDeletionResponse,
    SessionModificationResponse, SessionReportRequest, SessionReportResponse, elements, is_request,
};
use std::net::SocketAddr;
use std::time::Instant;

/// The message type of Session Establishment Response (TS 29.244, table 7.3-1).
const SESSION_ESTABLISHMENT_RESPONSE: u8 = 51;
/// The one of Session Modification Response.
const SESSION_MODIFICATION_RESPONSE: u8 = 53;
/// The one of Session Deletion Response.
const SESSION_DELETION_RESPONSE: u8 = 55;

impl N4 {
    /// Handles a datagram. Returns the response, if there is one.
    pub(super) fn handle(
        &self,
        from: SocketAddr,
        bytes: &[u8],
        sessions: &impl SessionLayer,
    ) -> Option<Vec<u8>> {
        if self.is_of_other_process(from) {
            metrics::n4("foreign port");
            if let Some(suppressed) = martlet_log_limit::line("n4_port", from.ip()) {
                tracing::warn!(
                    %from, suppressed,
                    "N4 message dropped: it is not from the port of the UPF at this address"
                );
            }
            return None;
        }
        let (header, body) = match Header::decode(bytes) {
            Ok(decoded) => decoded,
            Err(error) => {
                let version = matches!(error, DecodeError::Version(_));
                metrics::n4(if version { "version" } else { "malformed" });
                if let Some(suppressed) = martlet_log_limit::line("n4_message", from.ip()) {
                    tracing::warn!(
                        %from, %error, suppressed,
                        "invalid N4 message"
                    );
                }
                return if version { Packet::refuse_version(bytes) } else { None };
            }
        };
        if !is_request(header.message_type) {
            self.response_received(from, bytes, (header, body));
            return None;
        }
        // A retransmitted request gets the same response. Those of others are not stored: they
        // would push those of UPFs out, and a repeated usage report would count twice.
        let is_upf = self.is_upf(from);
        let seen = match is_upf {
            true => self.tables().answers.seen_as(from, header.sequence, bytes, Instant::now()),
            false => Seen::New,
        };
        match seen {
            Seen::UnderWay => return None,
            Seen::Answered(bytes) => return Some(bytes),
            Seen::New => {}
        }
        let answer = match Packet::decode(bytes) {
            Ok(packet) => self.execute(from, packet, sessions),
            Err(error) => {
                metrics::n4("malformed");
                let message_type = header.message_type;
                if let Some(suppressed) = martlet_log_limit::line("n4_request", from.ip()) {
                    tracing::warn!(
                        %from, message_type, %error, suppressed,
                        "invalid N4 request"
                    );
                }
                self.reject_malformed(from, &header, &error, sessions)
            }
        };
        let bytes = answer?.encode();
        if is_upf {
            self.tables().answers.answer(from, header.sequence, &bytes);
        }
        Some(bytes)
    }

    /// A response, with its header and the bytes of its elements.
    fn response_received(&self, from: SocketAddr, bytes: &[u8], (header, body): (Header, &[u8])) {
        let sequence = header.sequence;
        let packet = match Packet::decode(bytes) {
            Ok(packet) => packet,
            Err(error) => {
                metrics::n4("malformed");
                if let Some(suppressed) = martlet_log_limit::line("n4_response", from.ip()) {
                    tracing::warn!(
                        %from, sequence, %error, suppressed,
                        "invalid N4 response"
                    );
                }
                return self.malformed_response(from, (header, body), &error);
            }
        };
        let (waiting, was_late) = {
            let mut tables = self.tables();
            let waiting = match tables.requests.answered(from, sequence) {
                true => tables.waiting.remove(&sequence),
                false => None,
            };
            let late = tables.timed_out.iter().position(|request| *request == (from, sequence));
            let was_late = late.and_then(|at| tables.timed_out.remove(at)).is_some();
            (waiting, was_late)
        };
        if waiting.is_some() {
            self.update_load(from, &packet.message);
        }
        match waiting {
            // The procedure that sent the request may have been cancelled.
            Some(waiting) => {
                if let Err(Ok(message)) = waiting.send(Ok(packet.message)) {
                    self.late_response(from, &message);
                }
            }
            None => {
                metrics::n4("unexpected response");
                if was_late {
                    self.late_response(from, &packet.message);
                }
            }
        }
    }

    /// A response whose elements are wrong or missing: its request has failed, and is not sent
    /// again (TS 29.244, 7.6.5 to 7.6.7). The rejections of Open5GS's UPF have no Node ID.
    /// A modification or deletion that it accepts is in force, and its usage is not reported again:
    /// the request gets the elements that are right.
    fn malformed_response(
        &self,
        from: SocketAddr,
        (header, body): (Header, &[u8]),
        error: &DecodeError,
    ) {
        // Bytes that are no message are dropped (7.6.2).
        if error.cause().is_none() {
            return;
        }
        let waiting = {
            let mut tables = self.tables();
            match tables.requests.answered(from, header.sequence) {
                true => tables.waiting.remove(&header.sequence),
                false => None,
            }
        };
        let Some(waiting) = waiting else { return };
        let response = MalformedResponse::of(header.message_type, body);
        let cause = response.as_ref().and_then(MalformedResponse::first::<Cause>);
        let accepted = response.filter(|_| cause.is_some_and(|cause| cause.is_accepted()));
        // The UPF has accepted a session that is not in use.
        if let Some(fseid) = accepted.as_ref().and_then(MalformedResponse::established) {
            self.delete_later(from, self.generation(from), fseid.seid);
        }
        let outcome = match (accepted.and_then(MalformedResponse::accepted), cause) {
            (Some(message), _) => Ok(message),
            (None, Some(cause)) if !cause.is_accepted() => Err(N4Error::Rejected(cause.0)),
            (None, _) => Err(N4Error::Unexpected("a malformed response")),
        };
        let _ = waiting.send(outcome);
    }

    fn execute(
        &self,
        from: SocketAddr,
        packet: Packet,
        sessions: &impl SessionLayer,
    ) -> Option<Packet> {
        let (node_id, sequence, cause) = (self.node(), packet.sequence, Cause::ACCEPTED);
        let seid = packet.seid.unwrap_or(0);
        self.update_load(from, &packet.message);
        Some(match packet.message {
            Message::HeartbeatRequest(request) => {
                self.recovery_received(from, request.recovery.0);
                Packet::node(
                    sequence,
                    HeartbeatResponse { recovery: RecoveryTimeStamp(self.recovery) },
                )
            }
            Message::SessionReportRequest(report) => {
                self.report(from, seid, sequence, report, sessions)
            }
            Message::AssociationUpdateRequest(request) => {
                let cause = if self.is_associated_upf(from) {
                    cause
                } else {
                    Cause::NO_ESTABLISHED_ASSOCIATION
                };
                self.release_requested(from, &request);
                Packet::node(sequence, AssociationUpdateResponse { node_id, cause })
            }
            Message::NodeReportRequest(_) => {
                let cause = if self.is_associated_upf(from) {
                    cause
                } else {
                    Cause::NO_ESTABLISHED_ASSOCIATION
                };
                Packet::node(sequence, NodeReportResponse { node_id, cause, offending_ie: None })
            }
            // The SMF initiates the associations with configured UPFs (TS 29.244, 6.2.6.2).
            Message::AssociationSetupRequest(_) => {
                metrics::n4("not supported");
                if let Some(suppressed) = martlet_log_limit::line("n4_association", from.ip()) {
                    tracing::info!(
                        %from, suppressed,
                        "association request rejected: the SMF associates with the UPFs of smf.upfs"
                    );
                }
                let recovery = RecoveryTimeStamp(self.recovery);
                let cause = Cause::SERVICE_NOT_SUPPORTED;
                let response = AssociationSetupResponse {
                    node_id,
                    cause,
                    recovery,
                    up_features: None,
                    cp_features: None,
                    ip_resources: vec![],
                    flags: None,
                };
                Packet::node(sequence, response)
            }
            other => {
                metrics::n4("not supported");
                if let Some(suppressed) = martlet_log_limit::line("n4_unsupported", from.ip()) {
                    tracing::info!(
                        %from, message_name = other.name(), suppressed,
                        "unsupported N4 request"
                    );
                }
                return None;
            }
        })
    }

    /// Dispatches a session report of the session's UPF. The response carries the UPF's session
    /// endpoint identifier (TS 29.244, 7.2.2.4.2).
    fn report(
        &self,
        from: SocketAddr,
        seid: u64,
        sequence: u32,
        report: SessionReportRequest,
        sessions: &impl SessionLayer,
    ) -> Packet {
        let answer = |seid, cause| {
            Packet::session(
                seid,
                sequence,
                SessionReportResponse { cause, offending_ie: None, flags: None },
            )
        };
        let known = sessions.user_plane(seid).filter(|upf| upf.upf.ip() == from.ip());
        let Some(upf) = known else {
            metrics::n4("report for unknown session");
            if let Some(suppressed) = martlet_log_limit::line("n4_report", from.ip()) {
                tracing::info!(
                    %from, seid, suppressed,
                    "session report for an unknown session"
                );
            }
            return answer(0, Cause::SESSION_CONTEXT_NOT_FOUND);
        };
        metrics::n4("report");
        match sessions.report(seid, report) {
            true => answer(upf.seid, Cause::ACCEPTED),
            // A full queue is congestion: on "session not found" the UPF would delete the session.
            false => {
                metrics::n4("congestion");
                answer(upf.seid, Cause::PFCP_ENTITY_IN_CONGESTION)
            }
        }
    }

    /// The response to a request that does not decode; `None` if its type has no response.
    fn reject_malformed(
        &self,
        from: SocketAddr,
        header: &Header,
        error: &DecodeError,
        sessions: &impl SessionLayer,
    ) -> Option<Packet> {
        let (node_id, sequence, cause) = (self.node(), header.sequence, error.cause()?);
        let offending_ie = error.offending().map(OffendingIe);
        let session = sessions.user_plane(header.seid.unwrap_or(0));
        Some(match header.message_type {
            7 => Packet::node(sequence, AssociationUpdateResponse { node_id, cause }),
            12 => Packet::node(sequence, NodeReportResponse { node_id, cause, offending_ie }),
            56 => match session.filter(|session| session.upf.ip() == from.ip()) {
                Some(upf) => Packet::session(
                    upf.seid,
                    sequence,
                    SessionReportResponse { cause, offending_ie, flags: None },
                ),
                None => {
                    let cause = Cause::SESSION_CONTEXT_NOT_FOUND;
                    Packet::session(
                        0,
                        sequence,
                        SessionReportResponse { cause, offending_ie: None, flags: None },
                    )
                }
            },
            _ => return None,
        })
    }
}

/// A response that is no message as a whole. Some of its elements may be right.
struct MalformedResponse<'a> {
    message_type: u8,
    elements: Vec<Ie<'a>>,
}

impl<'a> MalformedResponse<'a> {
    fn of(message_type: u8, body: &'a [u8]) -> Option<Self> {
        Some(MalformedResponse { message_type, elements: elements(body, 0, 0).ok()? })
    }

    /// The elements of a type that are right.
    fn all<E: IeValue>(&self) -> Vec<E> {
        let of_type = self.elements.iter().filter(|ie| ie.kind == E::TYPE);
        of_type.filter_map(|ie| E::decode(ie.value, 0).ok()).collect()
    }

    /// The first element of a type.
    fn first<E: IeValue>(&self) -> Option<E> {
        let element = self.elements.iter().find(|ie| ie.kind == E::TYPE)?;
        E::decode(element.value, 0).ok()
    }

    /// The session of a Session Establishment Response.
    fn established(&self) -> Option<FSeid> {
        (self.message_type == SESSION_ESTABLISHMENT_RESPONSE).then(|| self.first()).flatten()
    }

    /// The acceptance of a modification or deletion, with the elements that are right.
    fn accepted(self) -> Option<Message> {
        match self.message_type {
            SESSION_MODIFICATION_RESPONSE => Some(Message::from(SessionModificationResponse {
                cause: Cause::ACCEPTED,
                offending_ie: None,
                created_pdrs: self.all(),
                load: None,
                overload: None,
                usage_reports: self.all(),
                failed_rule: None,
                created_traffic_endpoints: self.all(),
            })),
            SESSION_DELETION_RESPONSE => Some(Message::from(SessionDeletionResponse {
                cause: Cause::ACCEPTED,
                offending_ie: None,
                load: None,
                overload: None,
                usage_reports: self.all(),
            })),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{SmfConfig, UpfConfig};
    use crate::n4::deletion;
    use tokio::net::UdpSocket;

    /// The outcome of a request to which the UPF responds with these elements, and the number of
    /// sessions that are deleted therefore.
    async fn outcome(message_type: u8, elements: &[u8]) -> (Result<Message, N4Error>, usize) {
        let upf = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = upf.local_addr().unwrap();
        let mut config = SmfConfig { upfs: vec![UpfConfig::at(address)], ..SmfConfig::default() };
        (config.n4.bind, config.n4.port) = (address.ip(), 0);
        let n4 = N4::open(&config, None, false).await.unwrap();
        let respond = async {
            let mut buffer = [0; 512];
            let (length, _) = upf.recv_from(&mut buffer).await.unwrap();
            let sequence = Header::decode(&buffer[..length]).unwrap().0.sequence;
            let header = Header { message_type, seid: Some(1), sequence, priority: None };
            let bytes = header.encode(|out| out.extend(elements));
            n4.response_received(address, &bytes, Header::decode(&bytes).unwrap());
        };
        let (answer, ()) = tokio::join!(n4.request(address, Some(7), deletion()), respond);
        let tables = n4.tables();
        assert!(tables.requests.is_empty());
        (answer, tables.deletions.len())
    }

    /// The same of a request that fails.
    async fn failure(message_type: u8, elements: &[u8]) -> (N4Error, usize) {
        let (answer, deletions) = outcome(message_type, elements).await;
        (answer.unwrap_err(), deletions)
    }

    #[tokio::test]
    async fn a_malformed_response_fails_its_request_at_once() {
        // A Session Establishment Response of Open5GS's UPF: cause 73, and no Node ID.
        let (error, deleted) = failure(51, &[0, 19, 0, 1, 73]).await;
        assert!(matches!(error, N4Error::Rejected(73)) && deleted == 0, "{error}");
        // One without a cause; one with an empty cause.
        for elements in [&[][..], &[0, 19, 0, 0]] {
            let (error, deleted) = failure(55, elements).await;
            assert!(matches!(error, N4Error::Unexpected(_)) && deleted == 0, "{error}");
        }
    }

    #[tokio::test]
    async fn a_session_of_a_malformed_response_is_deleted_at_its_upf() {
        // Accepted with the UP F-SEID 9, and no Node ID.
        let fseid = [0_u8, 57, 0, 13, 2, 0, 0, 0, 0, 0, 0, 0, 9, 127, 0, 0, 8];
        let accepted = [&[0_u8, 19, 0, 1, 1][..], &fseid].concat();
        let (error, deleted) = failure(51, &accepted).await;
        assert!(matches!(error, N4Error::Unexpected(_)) && deleted == 1, "{error}");
        let rejected = [&[0_u8, 19, 0, 1, 73][..], &fseid].concat();
        assert_eq!(failure(51, &rejected).await.1, 0);
    }

    /// A usage report of URR 1 with 1,000 octets.
    fn usage_report(element: u8) -> Vec<u8> {
        let volume = [&[0_u8, 66, 0, 9, 1][..], &1000_u64.to_be_bytes()].concat();
        let urr = [0, 81, 0, 4, 0, 0, 0, 1, 0, 104, 0, 4, 0, 0, 0, 0, 0, 63, 0, 2, 0x80, 0];
        let report = [&urr[..], &volume].concat();
        [&[0, element, 0, report.len() as u8][..], &report].concat()
    }

    #[tokio::test]
    async fn a_malformed_response_shows_whether_a_modification_is_accepted() {
        // Created PDR without a PDR ID.
        let created = [0_u8, 8, 0, 0];
        let accepted = [&[0_u8, 19, 0, 1, 1][..], &created, &usage_report(78)].concat();
        let (answer, _) = outcome(53, &accepted).await;
        let Ok(Message::SessionModificationResponse(response)) = answer else { panic!() };
        assert!(response.cause.is_accepted() && response.created_pdrs.is_empty());
        assert_eq!(response.usage_reports[0].volume.unwrap().octets[0], Some(1000));
        let (error, _) = failure(53, &[&[0_u8, 19, 0, 1, 64][..], &created].concat()).await;
        assert!(matches!(error, N4Error::Rejected(64)), "{error}");
        let (error, _) = failure(53, &created).await;
        assert!(matches!(error, N4Error::Unexpected(_)), "{error}");
    }

    #[tokio::test]
    async fn the_usage_of_a_malformed_deletion_response_counts() {
        // A second report is empty.
        let reports = [&usage_report(79)[..], &[0, 79, 0, 0]].concat();
        let (answer, _) = outcome(55, &[&[0_u8, 19, 0, 1, 1][..], &reports].concat()).await;
        let Ok(Message::SessionDeletionResponse(response)) = answer else { panic!() };
        assert_eq!(response.usage_reports.len(), 1);
        assert_eq!(response.usage_reports[0].volume.unwrap().octets[0], Some(1000));
        // Without a cause nothing shows that the session is deleted.
        let (error, _) = failure(55, &reports).await;
        assert!(matches!(error, N4Error::Unexpected(_)), "{error}");
    }
}
