//! Forwarding of the frames of Ethernet sessions (TS 23.501, 5.8.2.5.3).
use super::egress::Egress;
use super::entry::Entry;
use super::forwarder::Forwarder;
use super::frame::{Frame, HEADROOM};
use super::lan::{DEVICE, Lan};
use martlet_upf_config::UeToUe;
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_datapath::{DatapathError, ResourceError};
use martlet_upf_rules::{Flow, Session, SessionKind};
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

impl<O: Egress> Forwarder<O> {
    /// The network of an Ethernet session.
    pub(super) fn lan_of(
        &self,
        session: &Session,
    ) -> Result<Option<Arc<Lan<Entry>>>, DatapathError> {
        if session.kind != SessionKind::Ethernet {
            return Ok(None);
        }
        let name = session.network().unwrap_or_default();
        let found = self.lans.iter().find(|lan| lan.name == name).cloned();
        found.map(Some).ok_or_else(|| {
            let name = String::from_utf8_lossy(name).into_owned();
            ResourceError::EthernetNetwork { name }.into()
        })
    }

    /// A frame from the TAP device.
    pub(super) fn receive_from_lan(&self, lan: &Lan<Entry>, frame: &Frame<'_>, now: Instant) {
        self.counters.received_packets.add(1);
        let Some(flow) = Flow::of_frame(frame.packet()) else {
            return self.counters.dropped(DropReason::Malformed);
        };
        if let Some(header) = &flow.ethernet {
            lan.learn_behind_device(header.source, now);
        }
        self.to_lan(lan, None, frame, &flow, now);
    }

    /// Forwards a frame to the session that owns the address, or to the device, else floods it.
    /// `from` is the source session or the device.
    pub(super) fn to_lan(
        &self,
        lan: &Lan<Entry>,
        from: Option<u64>,
        frame: &Frame<'_>,
        flow: &Flow,
        now: Instant,
    ) {
        // A frame of a session was counted as forwarded.
        let dropped = |reason| {
            self.counters.lost_packets.add(u64::from(from.is_some()));
            self.counters.dropped(reason);
        };
        let Some(header) = &flow.ethernet else { return dropped(DropReason::Malformed) };
        let owner = lan.owner(header.destination).filter(|_| !header.is_group());
        let members = match owner {
            Some(DEVICE) => Vec::new(),
            Some(owner) => lan.member(owner).into_iter().collect(),
            // A frame of the device to an unknown address may be for a UE that has not sent yet.
            None => lan.members_except(from),
        };
        let owner = owner.filter(|owner| *owner != DEVICE);
        // Frames of a session to itself, or between sessions that may not be switched here, are
        // dropped.
        let switched = self.limits.local_switching && lan.ue_to_ue == UeToUe::Allow;
        let local = from.is_none() || switched;
        if !local && lan.ue_to_ue == UeToUe::Deny && owner.is_some() {
            return dropped(DropReason::UeToUe);
        }
        let mut copies = 0;
        for entry in members.iter().filter(|entry| local && Some(entry.seid) != from) {
            let packet = frame.packet();
            let mut copy = vec![0; HEADROOM + packet.len()];
            copy[HEADROOM..].copy_from_slice(packet);
            self.to_ue(entry, &mut Frame::new(&mut copy, HEADROOM), flow, now);
            copies += 1;
        }
        match (from, copies) {
            (Some(_), _) => self.counters.switched_packets.add(copies),
            (None, 0) => dropped(DropReason::UnknownUe),
            (None, _) => self.counters.originated_packets.add(copies - 1),
        }
        let further = from.is_some() && (owner.is_none() || !local);
        if further && lan.device.is_some() && !self.perimeter.permits_frame(flow, frame.packet()) {
            return dropped(DropReason::N6Isolation);
        }
        if let Some(mut device) = lan.device.as_ref().filter(|_| further)
            && device.write(frame.packet()).is_err()
        {
            dropped(DropReason::N6);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Bench;
    use martlet_pfcp::ie::NetworkInstance;
    use martlet_upf_config::{EthernetConfig, UpfConfig};
    use martlet_upf_datapath::Change;
    use martlet_upf_datapath::conformance::{Rig, g_pdu, session};
    use martlet_upf_datapath::perimeter::{Perimeter, Policy};
    use martlet_upf_datapath::telemetry::balance;
    use martlet_upf_rules::PdrExtras;

    /// Creates an Ethernet session of a network.
    fn join(bench: &mut Bench, seid: u64, teid: u32, network: &Arc<[u8]>) {
        let mut session = session(bench, seid, teid, bench.ue());
        session.kind = SessionKind::Ethernet;
        for pdr in session.pdrs.values_mut() {
            pdr.extras = Some(Box::new(PdrExtras { ethernet: true, ..PdrExtras::default() }));
            pdr.network_instance = pdr.local.is_none().then(|| network.clone());
            pdr.ue.clear();
        }
        bench.datapath().apply(&Change::to(&session)).expect("the session");
    }

    /// Two sessions of a network, with the tunnels 0x0101 and 0x0202.
    fn two_sessions() -> Bench {
        let (dnn, interface) = ("lan".into(), "lan0".into());
        let ethernet = EthernetConfig { dnn, interface, gateways: vec![] };
        let mut config = UpfConfig::default();
        config.n6.ethernet = vec![ethernet];
        let perimeter = Arc::new(Perimeter::new(Policy::default()));
        let mut bench = Bench::configured(&config, perimeter);
        let network: Arc<[u8]> = NetworkInstance::new("lan").0.into();
        join(&mut bench, 1, 0x0101, &network);
        join(&mut bench, 2, 0x0202, &network);
        bench
    }

    fn frame(to: [u8; 6], from: [u8; 6]) -> Vec<u8> {
        [&to[..], &from, &[0x88, 0xb5], b"whatever it is"].concat()
    }

    #[test]
    fn frames_to_a_host_behind_the_device_reach_no_other_ue() {
        let mut bench = two_sessions();
        let (host, ue) = ([2, 0, 0, 0, 0, 9], [2, 0, 0, 0, 0, 1]);
        let copies = |bench: &Bench| bench.left.to_peers.lock().unwrap().drain(..).count();
        bench.send_n3(&g_pdu(0x0101, Some(1), &frame(host, ue)));
        assert_eq!(copies(&bench), 1, "the address is not known yet");
        let mut answer = frame(ue, host);
        let lan = bench.forwarder.lans[0].clone();
        bench.forwarder.receive_from_lan(&lan, &Frame::new(&mut answer, 0), Instant::now());
        assert_eq!(copies(&bench), 1, "the answer");
        bench.send_n3(&g_pdu(0x0101, Some(1), &frame(host, ue)));
        assert_eq!(copies(&bench), 0);
    }

    #[test]
    fn received_and_sent_frames_are_equal() {
        let mut bench = two_sessions();
        let (host, ue, all) = ([2, 0, 0, 0, 0, 9], [2, 0, 0, 0, 0, 1], [0xff; 6]);
        let counters = bench.datapath().counters();
        // The thread of the socket counts what it receives.
        counters.received_packets.add(1);
        bench.send_n3(&g_pdu(0x0101, Some(1), &frame(all, ue)));
        let lan = bench.forwarder.lans[0].clone();
        let other_host = [2, 0, 0, 0, 0, 8];
        for (to, from) in [(all, host), (ue, host), (host, other_host)] {
            let mut bytes = frame(to, from);
            bench.forwarder.receive_from_lan(&lan, &Frame::new(&mut bytes, 0), Instant::now());
        }
        assert_eq!((counters.uplink_packets.get(), counters.downlink_packets.get()), (1, 4));
        assert_eq!(counters.drops(DropReason::UnknownUe).get(), 1, "it is for another host");
        assert_eq!(balance(&counters, 0), (6, 6), "{:?}", counters.named());
    }
}
