//! Predefined rules, which a PDR activates by name (TS 29.244, 5.19).
use super::{Action, BitRate, Far, Qer, RuleError, SdfRule};
use martlet_pfcp::ie::{FailedRuleId, GateStatus, Interface, SdfFilter};
use std::sync::Arc;

/// Identifiers that the UP function allocates have this bit (8.2.74, 8.2.75).
pub(super) const ALLOCATED: u32 = 0x8000_0000;

/// A rule that is configured at the UP function.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PredefinedRule {
    /// Its name.
    pub name: String,
    /// Its number among the configured ones.
    pub number: u16,
    /// Flows, of which a packet belongs to one; empty: all that the PDR matches.
    pub filters: Vec<SdfFilter>,
    /// Whether packets are dropped.
    pub drop: bool,
    /// Maximum bit rate.
    pub mbr: Option<BitRate>,
    /// QoS flow of downlink packets.
    pub qfi: Option<u8>,
}

impl PredefinedRule {
    /// Its flows in matching form.
    pub(super) fn rules(&self, pdr: u16) -> Result<Vec<SdfRule>, RuleError> {
        let failure = |why: String| {
            let why = format!("PDR {pdr} activates {}: {why}", self.name);
            RuleError::failure(FailedRuleId::Pdr(pdr), why)
        };
        let parse = |filter| SdfRule::of(filter).map_err(|error| failure(error.to_string()));
        self.filters.iter().map(parse).collect()
    }

    /// Its QER, if it enforces or marks something.
    pub(super) fn qer(&self) -> Option<Qer> {
        let id = ALLOCATED | u32::from(self.number);
        let closed = GateStatus { uplink_closed: self.drop, downlink_closed: self.drop };
        let qer = Qer { id, gate: closed, mbr: self.mbr, qfi: self.qfi, ..Qer::default() };
        (self.drop || self.mbr.is_some() || self.qfi.is_some()).then_some(qer)
    }
}

/// The FAR of a PDR that activates predefined rules and names none: from the UE to the data
/// network.
pub(super) fn far_of(pdr: u16, network_instance: Option<Arc<[u8]>>) -> Far {
    let id = far_id(pdr);
    Far { destination: Some(Interface::Core), network_instance, ..Far::new(id, Action::Forward) }
}

/// The ID of that FAR.
pub(super) fn far_id(pdr: u16) -> u32 {
    ALLOCATED | u32::from(pdr)
}
