//! N4 above one datapath, with its SMF.
use super::test_clock::Timed;
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf_datapath::Event;
use martlet_upf_n4::testing::{SMF, address};
use martlet_upf_n4::{Moment, N4, Settings};
use std::collections::BTreeMap;
use std::time::Duration;

/// N4 above one datapath, and its SMF.
pub(super) struct Side {
    pub(super) n4: N4,
    sequence: u32,
    /// SEIDs that N4 has chosen, by those of the SMF.
    pub(super) seids: BTreeMap<u64, u64>,
    /// What N4 has sent by itself, with the SMF's SEID.
    pub(super) reports: Vec<(u64, Message)>,
}

impl Side {
    pub(super) fn new(settings: Settings, datapath: Timed, now: Moment) -> Side {
        let n4 = N4::new(settings, Box::new(datapath), now);
        let mut side = Side { n4, sequence: 0, seids: BTreeMap::new(), reports: Vec::new() };
        let request = AssociationSetupRequest {
            node_id: NodeId::Ip(SMF),
            recovery: RecoveryTimeStamp(1),
            up_features: None,
            cp_features: None,
            retention: None,
        };
        assert!(matches!(
            side.ask(None, request.into(), now),
            Message::AssociationSetupResponse(answer) if answer.cause.is_accepted()
        ));
        side
    }

    /// Sends a request and returns the response.
    pub(super) fn ask(&mut self, seid: Option<u64>, message: Message, now: Moment) -> Message {
        self.sequence += 1;
        let packet = Packet { seid, sequence: self.sequence, message };
        self.n4.receive(address(), &packet.encode(), now);
        self.take(now).expect("a response")
    }

    /// Reads what N4 has sent: answers reports, and returns the response to a request.
    pub(super) fn take(&mut self, now: Moment) -> Option<Message> {
        let mut answer = None;
        loop {
            let sent = self.n4.take_outgoing();
            if sent.is_empty() {
                return answer;
            }
            for out in sent {
                let packet = Packet::decode(&out.bytes).expect("the sent message decodes");
                if !packet.message.is_request() {
                    answer = Some(packet.message);
                    continue;
                }
                let cp = packet.seid.expect("a message of a session");
                self.reports.push((cp, without_packets(packet.message)));
                let response = SessionReportResponse {
                    cause: Cause::ACCEPTED,
                    offending_ie: None,
                    flags: None,
                };
                let seid = self.seids.get(&cp).copied().unwrap_or_default();
                let response = Packet::session(seid, packet.sequence, response).encode();
                self.n4.receive(address(), &response, now);
            }
        }
    }

    /// Lets time pass until then, by all deadlines.
    pub(super) fn advance(&mut self, from: Moment, to: Moment) {
        while let Some(due) = self.n4.next_timeout().filter(|due| *due <= to.instant) {
            let now = later(from, due.saturating_duration_since(from.instant));
            self.n4.poll(now);
            self.take(now);
        }
    }

    /// The SMF's SEID of a session.
    fn cp_of(&self, seid: u64) -> u64 {
        let of = self.seids.iter().find(|(_, own)| **own == seid);
        *of.expect("a session of ours").0
    }
}

pub(super) fn later(now: Moment, by: Duration) -> Moment {
    Moment { instant: now.instant + by, wall: now.wall + by }
}

/// A message without what differs: the times of packets by the machine's clock, and the order of
/// usage reports.
pub(super) fn without_packets(mut message: Message) -> Message {
    macro_rules! clear {
        ($reports:expr) => {{
            for report in &mut $reports {
                (report.first_packet, report.last_packet) = (None, None);
            }
            $reports.sort_by_key(|report| (report.urr_id.0, report.ur_seqn.0));
        }};
    }
    match &mut message {
        Message::SessionReportRequest(request) => clear!(request.usage_reports),
        Message::SessionModificationResponse(response) => clear!(response.usage_reports),
        Message::SessionDeletionResponse(response) => clear!(response.usage_reports),
        _ => {}
    }
    message
}

/// An event with the SMF's SEID.
pub(super) fn named(event: &Event, side: &Side) -> String {
    let mut event = event.clone();
    match &mut event {
        Event::DownlinkData { seid, .. }
        | Event::UsageReached { seid, .. }
        | Event::TrafficStarted { seid, .. } => *seid = side.cp_of(*seid),
        Event::ErrorIndication { .. } | Event::Answer { .. } => {}
    }
    format!("{event:?}")
}
