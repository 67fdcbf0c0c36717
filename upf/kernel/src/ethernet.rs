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
        let Some(header) = &flow.ethernet else {
            return self.counters.dropped(DropReason::Malformed);
        };
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
            return self.counters.dropped(DropReason::UeToUe);
        }
        for entry in members.iter().filter(|entry| local && Some(entry.seid) != from) {
            let packet = frame.packet();
            let mut copy = vec![0; HEADROOM + packet.len()];
            copy[HEADROOM..].copy_from_slice(packet);
            self.to_ue(entry, &mut Frame::new(&mut copy, HEADROOM), flow, now);
        }
        let further = from.is_some() && (owner.is_none() || !local);
        if further && lan.device.is_some() && !self.perimeter.permits_frame(flow, frame.packet()) {
            return self.counters.dropped(DropReason::N6Isolation);
        }
        if let Some(mut device) = lan.device.as_ref().filter(|_| further)
            && device.write(frame.packet()).is_err()
        {
            self.counters.dropped(DropReason::N6);
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

    #[test]
    fn frames_to_a_host_behind_the_device_reach_no_other_ue() {
        let (dnn, interface) = ("lan".into(), "lan0".into());
        let ethernet = EthernetConfig { dnn, interface, gateways: vec![] };
        let mut config = UpfConfig::default();
        config.n6.ethernet = vec![ethernet];
        let perimeter = Arc::new(Perimeter::new(Policy::default()));
        let mut bench = Bench::configured(&config, perimeter);
        let network: Arc<[u8]> = NetworkInstance::new("lan").0.into();
        join(&mut bench, 1, 0x0101, &network);
        join(&mut bench, 2, 0x0202, &network);
        let (host, ue) = ([2, 0, 0, 0, 0, 9], [2, 0, 0, 0, 0, 1]);
        let frame = |to: [u8; 6], from: [u8; 6]| {
            [&to[..], &from, &[0x88, 0xb5], b"whatever it is"].concat()
        };
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
}
