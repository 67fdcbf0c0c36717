//! Forwarding of the frames of Ethernet sessions (TS 23.501, 5.8.2.5.3).
use super::egress::Egress;
use super::entry::Entry;
use super::forwarder::Forwarder;
use super::frame::{Frame, HEADROOM};
use super::lan::Lan;
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
        self.to_lan(lan, None, frame, &flow, now);
    }

    /// Forwards a frame to the session that owns the address, else floods it. `from` is the source
    /// session or the device.
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
            Some(owner) => lan.member(owner).into_iter().collect(),
            // A frame of the device to an unknown address may be for a UE that has not sent yet.
            None => lan.members_except(from),
        };
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
