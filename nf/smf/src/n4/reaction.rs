//! What an SMF answers to requests of UPFs, and of others that find its N4 port (TS 29.244, 6.2 and
//! 7.6).
use super::{N4, SessionLayer};
use crate::metrics;
use martlet_pfcp::ie::{Cause, OffendingIe, RecoveryTimeStamp};
use martlet_pfcp::transaction::Seen;
use martlet_pfcp::{
    AssociationSetupResponse, AssociationUpdateResponse, DecodeError, Header, HeartbeatResponse,
    Message, NodeReportResponse, Packet, SessionReportRequest, SessionReportResponse, is_request,
};
use std::net::SocketAddr;
use std::time::Instant;

impl N4 {
    /// The datagram that answers another one, if it is to be answered.
    pub(super) fn react(
        &self,
        from: SocketAddr,
        octets: &[u8],
        sessions: &impl SessionLayer,
    ) -> Option<Vec<u8>> {
        let header = match Header::decode(octets) {
            Ok((header, _)) => header,
            Err(error) => {
                let version = matches!(error, DecodeError::Version(_));
                metrics::n4(if version { "version" } else { "malformed" });
                tracing::warn!(%from, %error, "an N4 message is wrong");
                return if version { Packet::refuse_version(octets) } else { None };
            }
        };
        if !is_request(header.message_type) {
            self.answered(from, octets, header.sequence);
            return None;
        }
        // One that came before gets the same answer again.
        match self.tables().answers.seen_as(from, header.sequence, octets, Instant::now()) {
            Seen::UnderWay => return None,
            Seen::Answered(octets) => return Some(octets),
            Seen::New => {}
        }
        let answer = match Packet::decode(octets) {
            Ok(packet) => self.carry_out(from, packet, sessions),
            Err(error) => {
                metrics::n4("malformed");
                tracing::warn!(%from, message_type = header.message_type, %error, "an N4 request is wrong");
                self.of_malformed(&header, &error, sessions)
            }
        };
        let octets = answer?.encode();
        self.tables().answers.answer(from, header.sequence, &octets);
        Some(octets)
    }

    fn answered(&self, from: SocketAddr, octets: &[u8], sequence: u32) {
        let packet = match Packet::decode(octets) {
            Ok(packet) => packet,
            Err(error) => {
                metrics::n4("malformed");
                return tracing::warn!(%from, sequence, %error, "an N4 answer is wrong");
            }
        };
        let waiting = {
            let mut tables = self.tables();
            match tables.requests.answered(from, sequence) {
                true => tables.waiting.remove(&sequence),
                false => None,
            }
        };
        if waiting.is_some() {
            self.hear_load(from, &packet.message);
        }
        match waiting {
            Some(waiting) => drop(waiting.send(packet.message)),
            None => metrics::n4("answer to nothing"),
        }
    }

    fn carry_out(
        &self,
        from: SocketAddr,
        packet: Packet,
        sessions: &impl SessionLayer,
    ) -> Option<Packet> {
        let (node_id, sequence, cause) = (self.node(), packet.sequence, Cause::ACCEPTED);
        let seid = packet.seid.unwrap_or(0);
        self.hear_load(from, &packet.message);
        Some(match packet.message {
            Message::HeartbeatRequest(request) => {
                self.noticed(from, request.recovery.0);
                Packet::node(
                    sequence,
                    HeartbeatResponse { recovery: RecoveryTimeStamp(self.recovery) },
                )
            }
            Message::SessionReportRequest(report) => {
                self.report(from, seid, sequence, report, sessions)
            }
            Message::AssociationUpdateRequest(request) => {
                let cause =
                    if self.knows(from) { cause } else { Cause::NO_ESTABLISHED_ASSOCIATION };
                self.asked_for_release(from, &request);
                Packet::node(sequence, AssociationUpdateResponse { node_id, cause })
            }
            Message::NodeReportRequest(_) => {
                let cause =
                    if self.knows(from) { cause } else { Cause::NO_ESTABLISHED_ASSOCIATION };
                Packet::node(sequence, NodeReportResponse { node_id, cause, offending_ie: None })
            }
            // UPFs are those of the configuration, and the SMF begins with them (6.2.6.2).
            Message::AssociationSetupRequest(_) => {
                metrics::n4("not supported");
                tracing::info!(%from, "a UPF that asks for an association: the SMF begins with those of smf.upfs");
                let recovery = RecoveryTimeStamp(self.recovery);
                let cause = Cause::SERVICE_NOT_SUPPORTED;
                let response = AssociationSetupResponse {
                    node_id,
                    cause,
                    recovery,
                    up_features: None,
                    cp_features: None,
                    flags: None,
                };
                Packet::node(sequence, response)
            }
            other => {
                metrics::n4("not supported");
                tracing::info!(%from, message = other.name(), "an N4 request that an SMF does not take");
                return None;
            }
        })
    }

    /// A report goes to its session, if it comes from the session's UPF. Its answer bears the UPF's
    /// identifier of the session (7.2.2.4.2).
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
            metrics::n4("report of nothing");
            tracing::info!(%from, seid, "a report about a session that the UPF does not have");
            return answer(0, Cause::SESSION_CONTEXT_NOT_FOUND);
        };
        metrics::n4("report");
        match sessions.report(seid, report) {
            true => answer(upf.seid, Cause::ACCEPTED),
            // The UPF ends a session that is said not to be there: one that is busy is not.
            false => {
                metrics::n4("congestion");
                answer(upf.seid, Cause::PFCP_ENTITY_IN_CONGESTION)
            }
        }
    }

    /// The answer to a request that does not decode; `None` where it has none.
    fn of_malformed(
        &self,
        header: &Header,
        error: &DecodeError,
        sessions: &impl SessionLayer,
    ) -> Option<Packet> {
        let (node_id, sequence, cause) = (self.node(), header.sequence, error.cause()?);
        let offending_ie = error.offending().map(OffendingIe);
        Some(match header.message_type {
            7 => Packet::node(sequence, AssociationUpdateResponse { node_id, cause }),
            12 => Packet::node(sequence, NodeReportResponse { node_id, cause, offending_ie }),
            56 => match sessions.user_plane(header.seid.unwrap_or(0)) {
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
