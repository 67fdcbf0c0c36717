//! F-TEIDs that the SMF allocates (TS 29.244, 5.5.2), for a UPF without the feature FTUP.
//!
//! Rules ask for an F-TEID with CHOOSE. Before such a UPF gets them, each CHOOSE becomes an F-TEID
//! of this SMF, and the response gets these as if the UPF had allocated them. So procedures do not
//! depend on who allocates.
//!
//! A TEID is in use until the UPF confirms that the session is deleted or its PDR removed. Without
//! a response it is held for 10 minutes, and so are those of a session whose deletion the UPF
//! rejects, or that has ended at another member of the SMF set. TEIDs are stored with the session.
//! The members of an SMF set draw from separate ranges; other SMFs at the same UPF do not know each
//! other's TEIDs, so that such a UPF has to serve one SMF or one set.
mod allocation;
mod table;

pub(super) use table::UpfTeids;

use super::N4;
use super::session_rules::UPLINK;
use crate::config::UpfConfig;
use crate::user_plane_path::UpfSession;
use martlet_pfcp::AssociationSetupResponse;
use martlet_pfcp::ie::{PdrId, UpFunctionFeatures, UserPlaneIpResource};
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::MutexGuard;

/// The TEIDs that the SMF allocated for an N4 session: N4 address of the UPF, its session endpoint
/// identifier, and the PDRs with their TEIDs. Part of the stored format.
pub type SessionTeids = (SocketAddr, u64, Vec<(u16, u32)>);

/// Those of a session that was stored without them: that of its N3 endpoint.
pub fn n3_teid(at: &UpfSession) -> SessionTeids {
    (at.upf, at.seid, vec![(UPLINK, at.teid)])
}

/// From where the SMF allocates F-TEIDs of a UPF that has sent this response: from what the UPF
/// says, else from the configuration. Nowhere if the UPF allocates them.
fn resources(config: &UpfConfig, response: &AssociationSetupResponse) -> Vec<UserPlaneIpResource> {
    let features = response.up_features.unwrap_or_default();
    if features.has(UpFunctionFeatures::FTUP) && !config.allocate_fteids {
        return Vec::new();
    }
    let has_address =
        |resource: &&UserPlaneIpResource| resource.ipv4.is_some() || resource.ipv6.is_some();
    let announced: Vec<_> = response.ip_resources.iter().filter(has_address).cloned().collect();
    if !announced.is_empty() {
        return announced;
    }
    let configured = config.n3_address.map(|address| match address {
        IpAddr::V4(ip) => UserPlaneIpResource { ipv4: Some(ip), ..Default::default() },
        IpAddr::V6(ip) => UserPlaneIpResource { ipv6: Some(ip), ..Default::default() },
    });
    configured.into_iter().collect()
}

impl N4 {
    fn fteids(&self) -> MutexGuard<'_, HashMap<SocketAddr, UpfTeids>> {
        self.fteids.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// A UPF has accepted the association, and has lost its sessions or not.
    pub(super) fn set_fteid_resources(
        &self,
        config: &UpfConfig,
        response: &AssociationSetupResponse,
        lost: bool,
    ) {
        let upf = config.n4;
        let resources = resources(config, response);
        let features = response.up_features.unwrap_or_default();
        let is_due = !features.has(UpFunctionFeatures::FTUP) || config.allocate_fteids;
        let address = |resource: &UserPlaneIpResource| {
            resource.ipv4.map(IpAddr::V4).or(resource.ipv6.map(IpAddr::V6))
        };
        if let Some(address) = resources.iter().find_map(address) {
            tracing::info!(%upf, %address, "SMF allocates the F-TEIDs of the UPF");
        } else if is_due && let Some(suppressed) = martlet_log_limit::line("upf_ftup", upf) {
            tracing::error!(
                %upf, suppressed,
                "UPF does not allocate F-TEIDs (FTUP) and does not say its address: set \
                 smf.upfs[].n3_address, or sessions fail there"
            );
        }
        let mut tables = self.fteids();
        let teids = tables.entry(upf).or_default();
        if resources.is_empty() {
            *teids = UpfTeids { is_known: true, ..UpfTeids::default() };
            return;
        }
        (teids.resources, teids.is_known) = (resources, true);
        if lost {
            teids.lost();
        }
    }

    /// The TEIDs that the SMF allocated for an N4 session, if any.
    pub fn allocated_teids(&self, upf: SocketAddr, seid: u64) -> Option<SessionTeids> {
        let tables = self.fteids();
        let teids = tables.get(&upf)?.of_sessions.get(&seid)?;
        (!teids.is_empty()).then(|| (upf, seid, teids.clone()))
    }

    /// An N4 session is not deleted: the UPF may keep it.
    pub(super) fn session_abandoned(&self, upf: SocketAddr, seid: u64) {
        if let Some(of_upf) = self.fteids().get_mut(&upf) {
            of_upf.abandoned(seid);
        }
    }

    /// Sessions of which this SMF may know TEIDs have ended at another member of the set, which has
    /// requested their deletion.
    pub fn sessions_ended(&self, references: &[u64]) {
        if references.is_empty() {
            return;
        }
        let references: HashSet<u64> = references.iter().copied().collect();
        self.fteids().values_mut().for_each(|of_upf| of_upf.ended(&references));
    }

    /// An N4 session of a former process, or of another member of the set, has these TEIDs.
    pub fn restore_teids(&self, reference: u64, (upf, seid, teids): &SessionTeids) {
        let mut tables = self.fteids();
        let of_upf = tables.entry(*upf).or_default();
        if !of_upf.is_known || !of_upf.resources.is_empty() {
            let teids: Vec<_> = teids.iter().map(|(pdr, teid)| (PdrId(*pdr), *teid)).collect();
            of_upf.keep(reference, *seid, &teids);
        }
    }
}

#[cfg(test)]
mod tests;
