//! Packet detection rules (TS 29.244, 5.2.1A).
use super::{
    Application, Direction, Endpoint, Flow, LocalTunnel, PdrExtras, PredefinedRule, Prefix,
    RuleError, SdfRule, shared,
};
use martlet_pfcp::ie::{
    CreatePdr, FTeid, FailedRuleId, FarId, Interface, OuterHeaderRemoval, Pdi, SdfFilter,
    UeIpAddress, UpdatePdr,
};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// An address that a UE has, or a prefix of which it has all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UeAddress {
    /// An IPv4 address.
    V4(Ipv4Addr),
    /// An IPv6 prefix of 64 bits.
    V6(u64),
}

impl UeAddress {
    /// The address or prefix of which this is part.
    pub fn of(address: IpAddr) -> UeAddress {
        match address {
            IpAddr::V4(address) => UeAddress::V4(address),
            IpAddr::V6(address) => UeAddress::V6((address.to_bits() >> 64) as u64),
        }
    }
}

/// The values that the UP function found or allocated for the detection information of a PDR.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The tunnel of the request, or the one allocated for it.
    pub local: Option<LocalTunnel>,
    /// Addresses that were chosen.
    pub ue: Vec<UeAddress>,
    /// The application that the request names.
    pub application: Option<Arc<Application>>,
    /// Predefined rules that the request activates.
    pub predefined: Vec<Arc<PredefinedRule>>,
}

/// A packet detection rule: its conditions, and the rules that apply to its packets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pdr {
    /// PDR ID.
    pub id: u16,
    /// Of matching rules, the one with the lowest precedence value applies.
    pub precedence: u32,
    /// The source interface.
    pub source: Interface,
    /// The local tunnel.
    pub local: Option<LocalTunnel>,
    /// Network instance of the source.
    pub network_instance: Option<Arc<[u8]>>,
    /// Addresses of the UE, one of which must match.
    pub ue: Vec<UeAddress>,
    /// Service data flows in their original form, one of which must match; empty: all packets.
    pub filters: Vec<SdfFilter>,
    /// The application whose flows match in place of filters.
    pub application: Option<Arc<Application>>,
    /// Filters, or flows of the application, in matching form; set by
    /// [`Session::resolve`](super::Session::resolve).
    pub rules: Vec<SdfRule>,
    /// QFIs, one of which must match; empty: all.
    pub qfis: Vec<u8>,
    /// Whether the outer header is removed.
    pub outer_header_removal: bool,
    /// FAR ID.
    pub far: u32,
    /// QER IDs.
    pub qers: Vec<u32>,
    /// URR IDs.
    pub urrs: Vec<u32>,
    /// Packets from the access network return to it: data forwarded by a gNB during a handover (TS
    /// 23.502, 4.9.1.3). Set by [`Session::resolve`](super::Session::resolve).
    pub returns: bool,
    /// Conditions that few PDRs have.
    pub extras: Option<Box<PdrExtras>>,
}

impl Pdr {
    /// Parses a Create PDR; `found` has the values of its detection information that were requested
    /// or allocated.
    pub fn create(ie: &CreatePdr, found: Found) -> Result<Self, RuleError> {
        let id = ie.pdr_id.0;
        // A predefined rule has its own FAR where the PDR names none (table 7.5.2.2-1).
        let predefined =
            (!found.predefined.is_empty()).then(|| FarId(super::predefined::far_id(id)));
        let far = ie
            .far_id
            .or(predefined)
            .ok_or_else(|| RuleError::conditional::<FarId>(format!("PDR {id} has no FAR ID")))?;
        let mut pdr = Pdr {
            id,
            precedence: ie.precedence.0,
            source: Interface::Core,
            local: None,
            network_instance: None,
            ue: Vec::new(),
            filters: Vec::new(),
            application: None,
            rules: Vec::new(),
            qfis: Vec::new(),
            outer_header_removal: ie.outer_header_removal.is_some(),
            far: far.0,
            qers: ie.qer_ids.iter().map(|qer| qer.0).collect(),
            urrs: ie.urr_ids.iter().map(|urr| urr.0).collect(),
            returns: false,
            extras: None,
        };
        let predefined = found.predefined.clone();
        pdr.detect(&ie.pdi, found)?;
        pdr.check_removal(ie.outer_header_removal)?;
        pdr.activate(predefined)?;
        Ok(pdr)
    }

    /// Applies an update; absent IEs leave their fields unchanged.
    pub fn update(&mut self, ie: &UpdatePdr, found: Found) -> Result<(), RuleError> {
        if let Some(precedence) = ie.precedence {
            self.precedence = precedence.0;
        }
        let mut predefined = self.predefined().to_vec();
        predefined.extend(found.predefined.iter().cloned());
        predefined.retain(|rule| {
            ie.deactivate_predefined_rules.iter().all(|gone| gone.0 != rule.name.as_bytes())
        });
        if let Some(pdi) = &ie.pdi {
            self.detect(pdi, found)?;
        }
        self.check_removal(ie.outer_header_removal)?;
        self.outer_header_removal |= ie.outer_header_removal.is_some();
        self.activate(predefined)?;
        if let Some(far) = ie.far_id {
            self.far = far.0;
        }
        if !ie.qer_ids.is_empty() {
            self.qers = ie.qer_ids.iter().map(|qer| qer.0).collect();
        }
        if !ie.urr_ids.is_empty() {
            self.urrs = ie.urr_ids.iter().map(|urr| urr.0).collect();
        }
        Ok(())
    }

    /// Supported outer header removals (8.2.64): GTP-U over IPv4 (0), IPv6 (1) or either (6); and
    /// UDP over IPv6 (3), which carries unstructured data on N6, outside of a tunnel of GTP-U.
    /// Others are UDP over IPv4 (2), IP in IP (4, 5) and VLAN tags (7, 8).
    fn check_removal(&self, removal: Option<OuterHeaderRemoval>) -> Result<(), RuleError> {
        match removal.map(|removal| removal.description) {
            None | Some(0 | 1 | 6) => Ok(()),
            Some(3) if self.local.is_none() => Ok(()),
            Some(3) => Err(failure(self.id, "removes UDP and IPv6 without GTP-U from its tunnel")),
            Some(_) => Err(failure(self.id, "removes an outer header that is not GTP-U")),
        }
    }

    fn detect(&mut self, pdi: &Pdi, found: Found) -> Result<(), RuleError> {
        if pdi.application_id.is_some() && !pdi.sdf_filters.is_empty() {
            return Err(failure(self.id, "has both SDF filters and an application"));
        }
        // The CP function sends data to UEs in a GTP-U tunnel (TS 29.244, 5.3).
        let is_served = match pdi.source_interface.0 {
            Interface::Access | Interface::Core | Interface::SgiLan => true,
            Interface::CpFunction => found.local.is_some(),
            Interface::Other(_) => false,
        };
        if !is_served {
            return Err(failure(self.id, "has a source interface that is not served here"));
        }
        self.source = pdi.source_interface.0;
        self.local = found.local;
        self.application = found.application;
        self.network_instance =
            pdi.network_instance.as_ref().map(|instance| shared((&*instance.name()).into()));
        self.ue.clear();
        for address in pdi.ue_ip_addresses.iter().filter(|ie| !ie.choose_ipv4 && !ie.choose_ipv6) {
            self.ue.extend(ue_addresses(self.id, address)?);
        }
        self.ue.extend(found.ue);
        self.filters = pdi.sdf_filters.clone();
        self.qfis = pdi.qfis.iter().map(|qfi| qfi.0 & 0x3f).collect();
        self.extras = PdrExtras::of(self.id, pdi)?;
        match (self.local, self.source) {
            (None, Interface::Access) => {
                let why = format!(
                    "PDR {} detects packets of the access and has no local F-TEID",
                    self.id
                );
                Err(RuleError::conditional::<FTeid>(why))
            }
            (None, _) if self.ue.is_empty() && !self.is_ethernet() => {
                let why = format!(
                    "PDR {} detects packets of the core without F-TEID and UE IP address",
                    self.id
                );
                Err(RuleError::conditional::<UeIpAddress>(why))
            }
            _ => Ok(()),
        }
    }

    /// Sets the predefined rules.
    fn activate(&mut self, mut rules: Vec<Arc<PredefinedRule>>) -> Result<(), RuleError> {
        rules.sort_by_key(|rule| rule.number);
        rules.dedup();
        if rules.is_empty() && self.predefined().is_empty() {
            return Ok(());
        }
        if !rules.is_empty() && self.application.is_some() {
            return Err(failure(self.id, "has both an application and predefined rules"));
        }
        self.extras.get_or_insert_default().predefined = rules;
        if self.extras.as_deref() == Some(&PdrExtras::default()) {
            self.extras = None;
        }
        Ok(())
    }

    /// Takes tunnel and addresses of a traffic endpoint that has changed.
    ///
    /// # Errors
    /// An invalid address.
    pub fn follow(&mut self, endpoint: &Endpoint) -> Result<(), RuleError> {
        self.local = endpoint.local.or(self.local);
        if let Some(instance) = &endpoint.network_instance {
            self.network_instance = Some(shared((&*instance.name()).into()));
        }
        let mut ue = Vec::new();
        for address in &endpoint.ue {
            ue.extend(ue_addresses(self.id, address)?);
        }
        if !ue.is_empty() {
            self.ue = ue;
        }
        if !endpoint.qfis.is_empty() {
            self.qfis.clone_from(&endpoint.qfis);
        }
        Ok(())
    }

    /// Traffic Endpoint IDs.
    pub fn endpoints(&self) -> &[u8] {
        self.extras.as_ref().map_or(&[], |extras| &extras.endpoints)
    }

    /// The predefined rules that it activates.
    pub fn predefined(&self) -> &[Arc<PredefinedRule>] {
        self.extras.as_ref().map_or(&[], |extras| &extras.predefined)
    }

    /// Whether it matches uplink packets: those from the access interface.
    pub fn direction(&self) -> Direction {
        match self.source {
            Interface::Access if !self.returns => Direction::Uplink,
            _ => Direction::Downlink,
        }
    }

    /// Whether it matches Ethernet frames.
    pub fn is_ethernet(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.ethernet)
    }

    /// Networks behind the UE.
    pub fn routes(&self) -> &[Prefix] {
        self.extras.as_ref().map_or(&[], |extras| &extras.routes)
    }

    fn routes_to(&self, address: IpAddr) -> bool {
        self.routes().iter().any(|route| route.contains(address))
    }

    /// Whether a packet in the PDR's tunnel, or to its UE, matches. `qfi` is that of its PDU
    /// session container.
    pub fn matches(&self, flow: &Flow, qfi: Option<u8>) -> bool {
        let direction = self.direction();
        self.admits(flow, qfi)
            && (self.rules.is_empty()
                || self.rules.iter().any(|rule| rule.matches(flow, direction)))
    }

    /// Whether such a packet matches apart from its service data flow or application.
    pub fn admits(&self, flow: &Flow, qfi: Option<u8>) -> bool {
        let direction = self.direction();
        let address = match direction {
            Direction::Uplink => flow.source,
            Direction::Downlink => flow.destination,
        };
        (self.ue.is_empty() || self.ue.contains(&UeAddress::of(address)) || self.routes_to(address))
            && self.extras.as_ref().is_none_or(|extras| extras.matches(flow, direction))
            && (self.qfis.is_empty() || qfi.is_some_and(|qfi| self.qfis.contains(&qfi)))
    }
}

fn failure(id: u16, why: &str) -> RuleError {
    RuleError::failure(FailedRuleId::Pdr(id), format!("PDR {id} {why}"))
}

fn ue_addresses(id: u16, ie: &UeIpAddress) -> Result<Vec<UeAddress>, RuleError> {
    if ie.ipv6_prefix_length.is_some_and(|length| length != 64) {
        return Err(failure(id, "has an IPv6 prefix that is not of 64 bits"));
    }
    let v4 = ie.ipv4.map(UeAddress::V4);
    let v6 = ie.ipv6.map(|address| UeAddress::of(address.into()));
    Ok(v4.into_iter().chain(v6).collect())
}
