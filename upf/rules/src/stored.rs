//! Sessions in compact form: content equal in many sessions is stored once. Most sessions differ in
//! TEIDs and addresses only.
use super::{Session, UeAddress, shared};
use martlet_pfcp::ie::FSeid;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// A session, in little memory.
#[derive(Debug, Clone)]
pub struct StoredSession {
    /// All fields but those below.
    rules: Arc<Session>,
    seid: u64,
    cp: FSeid,
    /// TEIDs of PDRs with a local tunnel and of FARs with a remote one, in the order of their IDs.
    teids: Box<[u32]>,
    /// Addresses of the UE, without duplicates; PDRs store an index into them.
    ue: Box<[UeAddress]>,
}

/// Each TEID of a session, in a fixed order.
fn teids(session: &mut Session) -> impl Iterator<Item = &mut u32> {
    let ours =
        session.pdrs.values_mut().filter_map(|pdr| pdr.local.as_mut()).map(|local| &mut local.teid);
    // A FAR that others share is not copied when it is only read.
    let with_tunnel = session.fars.values_mut_if(|far| far.tunnel.is_some());
    ours.chain(with_tunnel.filter_map(|far| far.tunnel.as_mut()).map(|tunnel| &mut tunnel.teid))
}

fn unset() -> FSeid {
    FSeid::new(0, IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}

impl From<Session> for StoredSession {
    fn from(mut session: Session) -> Self {
        let seid = std::mem::take(&mut session.seid);
        let cp = std::mem::replace(&mut session.cp, unset());
        let teids: Box<[u32]> = teids(&mut session).map(std::mem::take).collect();
        let mut ue: Vec<UeAddress> = Vec::new();
        for address in session.pdrs.values_mut().flat_map(|pdr| &mut pdr.ue) {
            let index = ue.iter().position(|known| known == address).unwrap_or_else(|| {
                ue.push(*address);
                ue.len() - 1
            });
            *address = UeAddress::V6(index as u64);
        }
        session.share();
        StoredSession { rules: shared(Arc::new(session)), seid, cp, teids, ue: ue.into() }
    }
}

impl StoredSession {
    /// The whole session.
    pub fn whole(&self) -> Session {
        let mut session = Session::clone(&self.rules);
        (session.seid, session.cp) = (self.seid, self.cp);
        teids(&mut session).zip(&self.teids).for_each(|(stored, teid)| *stored = *teid);
        for address in session.pdrs.values_mut().flat_map(|pdr| &mut pdr.ue) {
            if let UeAddress::V6(index) = *address
                && let Some(own) = self.ue.get(index as usize)
            {
                *address = *own;
            }
        }
        session
    }

    /// Its rules, correct except for F-SEIDs, TEIDs and addresses of the UE.
    pub fn rules(&self) -> &Session {
        &self.rules
    }

    /// The CP function's end.
    pub fn cp(&self) -> FSeid {
        self.cp
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Far, LocalTunnel, Pdr, Tunnel};
    use martlet_pfcp::ie::{Interface, NodeId};

    fn session(n: u32) -> Session {
        let gnb = IpAddr::from([192, 0, 2, 1]);
        let mut session =
            Session::new(n.into(), FSeid::new(u64::from(n) + 7, gnb), NodeId::Ip(gnb));
        let (v4, v6) = (
            UeAddress::V4(Ipv4Addr::from_bits(0x0a00_0000 + n)),
            UeAddress::V6(u64::from(n) << 40),
        );
        for (id, ue) in [(1, vec![v4, v6]), (2, vec![v6]), (3, vec![])] {
            let local = LocalTunnel {
                teid: 100 * n + u32::from(id),
                ipv4: Some([192, 0, 2, 2].into()),
                ipv6: None,
            };
            let pdr = Pdr {
                id,
                precedence: 5,
                source: Interface::Access,
                local: (id != 2).then_some(local),
                network_instance: None,
                ue,
                filters: vec![],
                application: None,
                rules: vec![],
                qfis: vec![],
                outer_header_removal: true,
                far: id.into(),
                qers: vec![],
                urrs: vec![4],
                returns: false,
                extras: None,
            };
            session.pdrs.insert(id, pdr);
            let far = Far {
                destination: Some(Interface::Access),
                tunnel: (id != 1).then_some(Tunnel { teid: 7 * n + u32::from(id), peer: gnb }),
                ..Far::new(id.into(), Action::Forward)
            };
            session.fars.insert(id.into(), far);
        }
        session
    }

    #[test]
    fn a_stored_session_is_restored_and_shares_equal_rules() {
        let sessions: Vec<StoredSession> = (1..4).map(|n| session(n).into()).collect();
        for (n, stored) in (1..).zip(&sessions) {
            assert_eq!(stored.whole(), session(n));
            assert_eq!(stored.cp(), session(n).cp);
            assert_eq!(stored.rules().pdrs[&1].urrs, [4]);
        }
        assert!(Arc::ptr_eq(&sessions[0].rules, &sessions[2].rules));
        let mut other = session(4);
        other.pdrs.get_mut(&1).unwrap().precedence = 6;
        assert!(!Arc::ptr_eq(&sessions[0].rules, &StoredSession::from(other).rules));
    }
}
