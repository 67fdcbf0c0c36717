//! Requests that reach the SMF's N4 port, and their responses (TS 29.244, 6.2 and 7.6).
use super::{N4, N4Error, SessionLayer};
use crate::metrics;
use martlet_pfcp::ie::{Cause, FSeid, OffendingIe, RecoveryTimeStamp};
use martlet_pfcp::transaction::Seen;
use martlet_pfcp::{
    AssociationSetupResponse, AssociationUpdateResponse, DecodeError, Header, HeartbeatResponse,
    IeValue, Message, NodeReportResponse, Packet, SessionReportRequest, SessionReportResponse,
    elements, is_request,
};
use std::net::SocketAddr;
use std::time::Instant;

/// The message type of Session Establishment Response (TS 29.244, table 7.3-1).
const SESSION_ESTABLISHMENT_RESPONSE: u8 = 51;
/// The one of Session Modification Response.
const SESSION_MODIFICATION_RESPONSE: u8 = 53;

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
        let header = match Header::decode(bytes) {
            Ok((header, _)) => header,
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
            self.response_received(from, bytes, header.sequence);
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

    fn response_received(&self, from: SocketAddr, bytes: &[u8], sequence: u32) {
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
                return self.malformed_response(from, bytes, sequence, &error);
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
    /// A modification that it accepts is in force: [`N4Error::Malformed`].
    fn malformed_response(
        &self,
        from: SocketAddr,
        bytes: &[u8],
        sequence: u32,
        error: &DecodeError,
    ) {
        // Bytes that are no message are dropped (7.6.2).
        if error.cause().is_none() {
            return;
        }
        let waiting = {
            let mut tables = self.tables();
            match tables.requests.answered(from, sequence) {
                true => tables.waiting.remove(&sequence),
                false => None,
            }
        };
        let Some(waiting) = waiting else { return };
        let cause = element_in::<Cause>(bytes);
        let message_type = Header::decode(bytes).ok().map(|(header, _)| header.message_type);
        let failed = match cause {
            Some(cause) if !cause.is_accepted() => N4Error::Rejected(cause.0),
            Some(_) if message_type == Some(SESSION_MODIFICATION_RESPONSE) => N4Error::Malformed,
            _ => N4Error::Unexpected("a malformed response"),
        };
        // The UPF has accepted a session that is not in use.
        if cause.is_some_and(|cause| cause.is_accepted())
            && let Some(fseid) = established_in(bytes)
        {
            self.delete_later(from, self.generation(from), fseid.seid);
        }
        let _ = waiting.send(Err(failed));
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

/// An element of a message. The others may be malformed.
fn element_in<E: IeValue>(bytes: &[u8]) -> Option<E> {
    let (_, body) = Header::decode(bytes).ok()?;
    let elements = elements(body, 0, 0).ok()?;
    let element = elements.iter().find(|ie| ie.kind == E::TYPE)?;
    E::decode(element.value, 0).ok()
}

/// The session of a Session Establishment Response.
fn established_in(bytes: &[u8]) -> Option<FSeid> {
    let (header, _) = Header::decode(bytes).ok()?;
    let is_establishment = header.message_type == SESSION_ESTABLISHMENT_RESPONSE;
    is_establishment.then(|| element_in(bytes)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{SmfConfig, UpfConfig};
    use crate::n4::deletion;
    use tokio::net::UdpSocket;

    /// What a request fails with, to which the UPF responds with these elements, and the number of
    /// sessions that are deleted therefore.
    async fn failure(message_type: u8, elements: &[u8]) -> (N4Error, usize) {
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
            n4.response_received(address, &header.encode(|out| out.extend(elements)), sequence);
        };
        let (answer, ()) = tokio::join!(n4.request(address, Some(7), deletion()), respond);
        let tables = n4.tables();
        assert!(tables.requests.is_empty());
        (answer.unwrap_err(), tables.deletions.len())
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

    #[tokio::test]
    async fn a_malformed_response_shows_whether_a_modification_is_accepted() {
        // Created PDR without a PDR ID.
        let created = [0_u8, 8, 0, 0];
        let (error, _) = failure(53, &[&[0_u8, 19, 0, 1, 1][..], &created].concat()).await;
        assert!(matches!(error, N4Error::Malformed), "{error}");
        let (error, _) = failure(53, &[&[0_u8, 19, 0, 1, 64][..], &created].concat()).await;
        assert!(matches!(error, N4Error::Rejected(64)), "{error}");
        let (error, _) = failure(53, &created).await;
        assert!(matches!(error, N4Error::Unexpected(_)), "{error}");
    }
}
