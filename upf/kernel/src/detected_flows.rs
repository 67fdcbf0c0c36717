//! Connections of applications that PFDs describe by URLs (TS 29.244, 8.2.39): a connection belongs
//! to those whose URLs its last request has.
use martlet_upf_rules::url::{Segment, segment};
use martlet_upf_rules::{Application, Flow, Pdr, Session};
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

const TCP: u8 = 6;
/// Maximum number of connections of one session; the oldest is removed first.
const MAX_FLOWS: usize = 1024;

/// Address and port of the UE, and of the server.
type Key = (IpAddr, u16, IpAddr, u16);

/// The connections of one session that belong to applications.
pub(super) struct DetectedFlows {
    /// The session's applications with URLs.
    applications: Vec<Arc<Application>>,
    flows: HashMap<Key, Vec<Arc<Application>>>,
    order: VecDeque<Key>,
}

impl DetectedFlows {
    /// For the applications of changed rules; `None` without URLs. Connections of applications
    /// whose URLs are the same stay.
    pub fn renewed(old: Option<Box<DetectedFlows>>, session: &Session) -> Option<Box<Self>> {
        let mut applications: Vec<Arc<Application>> = Vec::new();
        let named = session.pdrs.values().filter_map(|pdr| pdr.application.as_ref());
        for application in named.filter(|application| !application.urls.is_empty()) {
            if applications.iter().all(|known| known.id != application.id) {
                applications.push(application.clone());
            }
        }
        if applications.is_empty() {
            return None;
        }
        let (mut flows, mut order) = old.map(|old| (old.flows, old.order)).unwrap_or_default();
        let same = |of: &Arc<Application>| {
            applications.iter().any(|known| known.id == of.id && known.urls == of.urls)
        };
        flows.retain(|_, of: &mut Vec<Arc<Application>>| {
            of.retain(same);
            !of.is_empty()
        });
        order.retain(|key| flows.contains_key(key));
        Some(Box::new(DetectedFlows { applications, flows, order }))
    }

    /// Notes what a packet of the UE requests.
    pub fn note(&mut self, packet: &[u8], flow: &Flow) {
        let Some((near, far)) = flow.ports else { return };
        let key = (flow.source, near, flow.destination, far);
        let requested = match segment(packet, flow) {
            None => return,
            Some(Segment::Opening | Segment::Request(None)) => Vec::new(),
            Some(Segment::Request(Some(url))) => {
                let has =
                    |of: &&Arc<Application>| of.urls.iter().any(|pattern| pattern.matches(&url));
                self.applications.iter().filter(has).cloned().collect()
            }
        };
        if requested.is_empty() {
            if self.flows.remove(&key).is_some() {
                self.order.retain(|known| *known != key);
            }
            return;
        }
        if self.flows.insert(key, requested).is_none() {
            self.order.push_back(key);
        }
        while self.order.len() > MAX_FLOWS {
            if let Some(oldest) = self.order.pop_front() {
                self.flows.remove(&oldest);
            }
        }
    }

    /// Whether a packet of either direction belongs to the application of a PDR by its connection.
    pub fn has(&self, pdr: &Pdr, flow: &Flow) -> bool {
        let Some(application) = &pdr.application else { return false };
        let Some((from, to)) = flow.ports.filter(|_| flow.protocol == TCP) else { return false };
        let uplink = (flow.source, from, flow.destination, to);
        let downlink = (flow.destination, to, flow.source, from);
        let of = self.flows.get(&uplink).or_else(|| self.flows.get(&downlink));
        of.is_some_and(|of| of.iter().any(|known| known.id == application.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_pfcp::ie::{FSeid, NodeId};
    use martlet_upf_datapath::conformance::{Rig, session};
    use martlet_upf_rules::url::UrlPattern;

    /// A session whose PDR 1 detects an application by a URL.
    fn detecting(url: &str) -> Session {
        let bench = crate::bench::Bench::new(Default::default());
        let mut session = session(&bench, 1, 7, bench.ue());
        let urls = vec![UrlPattern::read(url.as_bytes()).unwrap()];
        let application = Application { id: b"a".to_vec(), rules: vec![], names: vec![], urls };
        session.pdrs.get_mut(&1).unwrap().application = Some(application.into());
        session
    }

    fn segment(port: u16, flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = (40 + payload.len() as u16).to_be_bytes();
        let mut packet = vec![0x45, 0, length[0], length[1], 0, 0, 0x40, 0, 64, TCP, 0, 0];
        packet.extend([10, 45, 0, 2, 10, 99, 0, 1]);
        packet.extend(port.to_be_bytes());
        packet.extend([0, 80, 0, 0, 0, 9, 0, 0, 0, 7, 0x50, flags, 1, 0, 0, 0, 0, 0]);
        packet.extend(payload);
        packet
    }

    fn note(flows: &mut DetectedFlows, port: u16, flags: u8, payload: &[u8]) -> Flow {
        let packet = segment(port, flags, payload);
        let flow = Flow::of(&packet).unwrap();
        flows.note(&packet, &flow);
        flow
    }

    const VIDEO: &[u8] = b"GET /video HTTP/1.1\r\nHost: a.example\r\n\r\n";
    const OTHER: &[u8] = b"GET /news HTTP/1.1\r\nHost: a.example\r\n\r\n";

    #[test]
    fn a_connection_belongs_to_its_last_request() {
        let session = detecting("http://a.example/video");
        let pdr = &session.pdrs[&1];
        let mut flows = DetectedFlows::renewed(None, &session).unwrap();
        let flow = note(&mut flows, 5000, 0x18, VIDEO);
        let back = Flow {
            source: flow.destination,
            destination: flow.source,
            ports: Some((80, 5000)),
            ..flow
        };
        assert!(flows.has(pdr, &flow) && flows.has(pdr, &back));
        assert!(!flows.has(pdr, &Flow { ports: Some((5001, 80)), ..flow }));
        assert!(!flows.has(&session.pdrs[&2], &flow), "a PDR without the application");
        // Bytes that are no request change nothing; another request, and another connection do.
        note(&mut flows, 5000, 0x18, b"more");
        assert!(flows.has(pdr, &flow));
        note(&mut flows, 5000, 0x18, OTHER);
        assert!(!flows.has(pdr, &flow) && flows.order.is_empty());
        note(&mut flows, 5000, 0x18, VIDEO);
        note(&mut flows, 5000, 0x02, b"");
        assert!(!flows.has(pdr, &flow));
    }

    #[test]
    fn connections_stay_while_the_urls_do() {
        let session = detecting("http://a.example/video");
        let mut flows = DetectedFlows::renewed(None, &session).unwrap();
        let flow = note(&mut flows, 5000, 0x18, VIDEO);
        let same = DetectedFlows::renewed(Some(flows), &session).unwrap();
        assert!(same.has(&session.pdrs[&1], &flow));
        let changed = detecting("http://a.example/");
        let flows = DetectedFlows::renewed(Some(same), &changed).unwrap();
        assert!(!flows.has(&changed.pdrs[&1], &flow) && flows.order.is_empty());
        let seid = FSeid::new(1, flow.source);
        let none = Session::new(1, seid, NodeId::Ip(flow.source));
        assert!(DetectedFlows::renewed(Some(flows), &none).is_none());
    }

    #[test]
    fn the_table_is_bounded() {
        let mut flows = DetectedFlows::renewed(None, &detecting("http://a.example/video")).unwrap();
        for port in 0..MAX_FLOWS as u16 + 9 {
            note(&mut flows, port, 0x18, VIDEO);
        }
        assert_eq!((flows.flows.len(), flows.order.len()), (MAX_FLOWS, MAX_FLOWS));
    }
}
