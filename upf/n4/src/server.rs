//! Dispatch of messages, events and deadlines.
use super::deadlines::Deadline;
use super::deletion::Removed;
use super::report::Pending;
use super::{Moment, N4, Outgoing, invalid_request, unsupported};
use crate::metrics;
use martlet_pfcp::ie::Cause;
use martlet_pfcp::transaction::{Due, Seen};
use martlet_pfcp::{DecodeError, Header, Message, Packet, is_request};
use martlet_upf_datapath::Event;
use std::net::SocketAddr;
use std::time::Instant;

/// The types of an Association Setup Request and a Session Deletion Request (TS 29.244, 7.3).
const ASSOCIATION_SETUP: u8 = 5;
const DELETION: u8 = 54;

/// Whether an SMF has not taken a report because of congestion.
fn is_congested(message: &Message) -> bool {
    match message {
        Message::SessionReportResponse(response) => {
            response.cause == Cause::PFCP_ENTITY_IN_CONGESTION
        }
        _ => false,
    }
}

impl N4 {
    /// Returns the datagrams to send; call it after each other call.
    pub fn take_outgoing(&mut self) -> Vec<Outgoing> {
        std::mem::take(&mut self.out)
    }

    /// When [`poll`](Self::poll) has to be called next.
    pub fn next_timeout(&self) -> Option<Instant> {
        let all = [self.deadlines.next(), self.requests.next_due(), self.peers_due];
        all.into_iter().flatten().min()
    }

    /// Handles a datagram.
    pub fn receive(&mut self, from: SocketAddr, bytes: &[u8], now: Moment) {
        let decoded = Header::decode(bytes);
        if !self.is_allowed(from) {
            return self.refuse_unknown_peer(from, decoded.ok().map(|(header, _)| header));
        }
        let (header, body) = match decoded {
            Ok(header) => header,
            Err(DecodeError::Version(version)) => {
                return self.refuse_version(from, bytes, version);
            }
            Err(error) => {
                metrics::N4_DROPPED.with_label_values(&["malformed"]).inc();
                if let Some(suppressed) = martlet_log_limit::line("malformed", from.ip()) {
                    tracing::warn!(peer = %from, suppressed, %error, "PFCP message dropped");
                }
                return;
            }
        };
        if is_request(header.message_type) {
            self.receive_request(from, bytes, header, body, now);
        } else {
            self.receive_response(from, bytes, header, now);
        }
        self.schedule_lost_peers(now);
    }

    /// A node that is not configured as an SMF: an association is rejected, anything else dropped.
    /// Nothing is stored. `header`: `None` if it does not decode.
    fn refuse_unknown_peer(&mut self, from: SocketAddr, header: Option<Header>) {
        metrics::N4_DROPPED.with_label_values(&["not_allowed"]).inc();
        if let Some(suppressed) = martlet_log_limit::line("not_allowed", from.ip()) {
            tracing::warn!(
                peer = %from, suppressed, message_type = header.map(|header| header.message_type),
                "PFCP message dropped: the peer is not in upf.n4.allow, or sends from the loopback \
                 with another port than upf.n4.peer_port"
            );
        }
        if let Some(header) = header.filter(|header| header.message_type == ASSOCIATION_SETUP) {
            let message = self.setup_response(Cause::REJECTED).into();
            let packet = Packet { seid: None, sequence: header.sequence, message };
            self.out.push(Outgoing { to: from, bytes: packet.encode() });
        }
    }

    fn refuse_version(&mut self, from: SocketAddr, bytes: &[u8], version: u8) {
        metrics::N4_DROPPED.with_label_values(&["version"]).inc();
        if let Some(suppressed) = martlet_log_limit::line("version", from.ip()) {
            tracing::warn!(peer = %from, suppressed, version, "PFCP version is not supported");
        }
        if let Some(bytes) = Packet::refuse_version(bytes) {
            self.out.push(Outgoing { to: from, bytes });
        }
    }

    fn receive_request(
        &mut self,
        from: SocketAddr,
        bytes: &[u8],
        header: Header,
        body: &[u8],
        now: Moment,
    ) {
        if !self.is_new(from, bytes, &header, now) {
            return;
        }
        let decoded = unsupported::find(&header, body).map_or_else(
            || Packet::decode(bytes),
            |unsupported| Err(DecodeError::Unsupported(unsupported)),
        );
        let name = decoded.as_ref().map_or("malformed", |packet| packet.message.name());
        metrics::N4_REQUESTS.with_label_values(&[name]).inc();
        let answer = match decoded {
            Ok(packet) => self.carry_out(from, packet, now),
            Err(error) => {
                if let Some(suppressed) = martlet_log_limit::line("malformed request", from.ip()) {
                    tracing::warn!(
                        peer = %from, suppressed, message_type = header.message_type, %error,
                        "malformed PFCP request"
                    );
                }
                invalid_request::of_malformed(self, from.ip(), &header, body, &error)
            }
        };
        if let Some(answer) = answer {
            self.answer(from, header.sequence, answer, now);
        }
    }

    /// Whether a request is new; a retransmission gets the same response again.
    fn is_new(&mut self, from: SocketAddr, bytes: &[u8], header: &Header, now: Moment) -> bool {
        match self.answers.seen_as(from, header.sequence, bytes, now.instant) {
            Seen::New => return true,
            Seen::UnderWay => {}
            Seen::Answered(bytes) => {
                metrics::N4_REPEATED.inc();
                self.out.push(Outgoing { to: from, bytes });
            }
        }
        false
    }

    fn answer(
        &mut self,
        to: SocketAddr,
        sequence: u32,
        (seid, mut message): (Option<u64>, Message),
        now: Moment,
    ) {
        self.add_load_control(to.ip(), &mut message, now);
        let bytes = Packet { seid, sequence, message }.encode();
        self.answers.answer(to, sequence, &bytes);
        self.out.push(Outgoing { to, bytes });
    }

    /// Handles datagrams in order. Consecutive session deletions are carried out together.
    pub fn receive_all<'a>(
        &mut self,
        datagrams: impl IntoIterator<Item = (SocketAddr, &'a [u8])>,
        now: Moment,
    ) {
        let mut deletions = Vec::new();
        for (from, bytes) in datagrams {
            let packet =
                Header::decode(bytes).ok().filter(|(header, _)| header.message_type == DELETION);
            match packet.and_then(|(header, _)| Some((header, Packet::decode(bytes).ok()?))) {
                Some((header, packet)) if self.is_allowed(from) => {
                    if self.is_new(from, bytes, &header, now) {
                        deletions.push((from, packet));
                    }
                }
                _ => {
                    self.delete_together(&mut deletions, now);
                    self.receive(from, bytes, now);
                }
            }
        }
        self.delete_together(&mut deletions, now);
        self.schedule_lost_peers(now);
    }

    fn delete_together(&mut self, requests: &mut Vec<(SocketAddr, Packet)>, now: Moment) {
        if requests.is_empty() {
            return;
        }
        let mut removed =
            self.remove_all(requests.iter().map(|(from, p)| (from.ip(), p.seid.unwrap_or(0))));
        for (from, packet) in requests.drain(..) {
            metrics::N4_REQUESTS.with_label_values(&[packet.message.name()]).inc();
            let answer = self.delete(from.ip(), packet.seid.unwrap_or(0), &mut removed, now);
            self.answer(from, packet.sequence, answer, now);
        }
    }

    /// The response to a request with its header's SEID; `None` without one.
    fn carry_out(
        &mut self,
        from: SocketAddr,
        packet: Packet,
        now: Moment,
    ) -> Option<(Option<u64>, Message)> {
        let seid = packet.seid.unwrap_or(0);
        Some(match packet.message {
            Message::HeartbeatRequest(request) => (None, self.heartbeat(from, request, now)),
            Message::AssociationSetupRequest(request) => {
                (None, self.set_up_association(from, request, now))
            }
            Message::AssociationUpdateRequest(request) => {
                (None, self.update_association(from, request, now))
            }
            Message::AssociationReleaseRequest(request) => {
                (None, self.release_association(from, request))
            }
            Message::SessionEstablishmentRequest(request) => {
                self.establish(from.ip(), request, now)
            }
            Message::SessionModificationRequest(request) => {
                self.modify(from.ip(), seid, request, now)
            }
            Message::SessionDeletionRequest(_) => {
                self.delete(from.ip(), seid, &mut Removed::new(), now)
            }
            Message::PfdManagementRequest(request) => (None, self.manage_pfds_of(from, request)),
            Message::SessionSetDeletionRequest(request) => {
                (None, self.delete_session_set(from.ip(), request))
            }
            other => {
                if let Some(suppressed) = martlet_log_limit::line("unexpected request", from.ip()) {
                    tracing::warn!(
                        peer = %from, message_name = other.name(), suppressed,
                        "unexpected PFCP request"
                    );
                }
                return None;
            }
        })
    }

    fn receive_response(&mut self, from: SocketAddr, bytes: &[u8], header: Header, now: Moment) {
        let packet = match Packet::decode(bytes) {
            Ok(packet) => packet,
            Err(error) => {
                metrics::N4_DROPPED.with_label_values(&["malformed"]).inc();
                if let Some(suppressed) = martlet_log_limit::line("malformed response", from.ip()) {
                    tracing::warn!(
                        peer = %from, suppressed, message_type = header.message_type, %error,
                        "malformed PFCP response"
                    );
                }
                return;
            }
        };
        if !self.requests.answered(from, header.sequence) {
            metrics::N4_DROPPED.with_label_values(&["unexpected"]).inc();
            return tracing::debug!(
                peer = %from, sequence = header.sequence,
                "unexpected PFCP response"
            );
        }
        if let Some((pending, usage)) = self.pending.remove(&header.sequence) {
            if is_congested(&packet.message) {
                self.retain_usage(pending, usage);
            }
            self.answered(pending, packet.message, now);
        }
    }

    /// Sends a request; false while too many are pending.
    pub(super) fn send(
        &mut self,
        to: SocketAddr,
        seid: Option<u64>,
        message: Message,
        pending: Pending,
        now: Moment,
    ) -> bool {
        let name = message.name();
        let usage = match (&pending, &message) {
            (Pending::Usage { .. }, Message::SessionReportRequest(report)) => {
                report.usage_reports.clone()
            }
            _ => Vec::new(),
        };
        let build = |sequence| Packet { seid, sequence, message }.encode();
        let Some((sequence, bytes)) = self.requests.send(to, now.instant, build) else {
            metrics::N4_DROPPED.with_label_values(&["too_many_requests"]).inc();
            if let Some(suppressed) = martlet_log_limit::line("too_many_requests", to.ip()) {
                tracing::warn!(
                    peer = %to, request = name, suppressed,
                    "PFCP request not sent: too many pending"
                );
            }
            self.retain_usage(pending, usage);
            return false;
        };
        self.pending.insert(sequence, (pending, usage));
        self.out.push(Outgoing { to, bytes });
        true
    }

    /// Handles an event of the datapath.
    pub fn event(&mut self, event: Event, now: Moment) {
        match event {
            Event::DownlinkData { seid, pdr, qfi, dscp } => {
                self.downlink_data(seid, pdr, qfi, dscp, now)
            }
            Event::ErrorIndication { peer, teid } => self.error_indication(peer, teid, now),
            Event::Answer { server, answer } => self.answer_seen(server, &answer, now),
            Event::UsageReached { seid, urr, limit } => self.volume_reached(seid, urr, limit, now),
            Event::TrafficStarted { seid, urr } => self.traffic_started(seid, urr, now),
        }
    }

    /// Handles expired deadlines.
    pub fn poll(&mut self, now: Moment) {
        for due in self.requests.due(now.instant) {
            match due {
                Due::Resend { to, bytes } => self.out.push(Outgoing { to, bytes }),
                Due::Failed { to, sequence } => {
                    if let Some((pending, usage)) = self.pending.remove(&sequence) {
                        if let Some(suppressed) = martlet_log_limit::line("timed_out", to.ip()) {
                            tracing::warn!(
                                peer = %to, request = pending.name(), suppressed,
                                "PFCP request timed out"
                            );
                        }
                        self.retain_usage(pending, usage);
                        self.unanswered(pending, now);
                    }
                }
            }
        }
        while let Some(deadline) = self.deadlines.due(now.instant) {
            match deadline {
                Deadline::Heartbeat { association } => self.send_heartbeat(association, now),
                Deadline::Retention { association } => self.give_up(association),
                Deadline::Stale { association } => self.end_stale_sessions(association),
                Deadline::Notification { seid } => self.notify(seid, now),
                Deadline::Period { seid, urr } => self.period_over(seid, urr, now),
                Deadline::TimeThreshold { seid, urr } => self.time_reached(seid, urr, now),
                Deadline::TimeQuota { seid, urr } => self.time_quota_over(seid, urr, now),
                Deadline::Monitoring { seid, urr } => self.split_usage(seid, urr, now),
                Deadline::QuotaHolding { seid, urr } => self.maybe_unused(seid, urr, now),
                Deadline::QuotaValidity { seid, urr } => self.quota_invalid(seid, urr, now),
                Deadline::TrafficStop { seid, urr } => self.maybe_stopped(seid, urr, now),
                Deadline::Names => self.names_due(now),
                Deadline::Inactivity { seid } => self.maybe_idle(seid, now),
                Deadline::Advertisement { seid } => self.advertise(seid, now),
            }
        }
        self.schedule_lost_peers(now);
        self.forget_lost_peers(now.instant);
    }
}
