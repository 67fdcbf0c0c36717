//! Forwarding action rules (TS 29.244, 5.2.2).
use super::{Redirect, RuleError, shared};
use martlet_pfcp::ie::{
    ApplyAction, CreateFar, DuplicatingParameters, FailedRuleId, ForwardingParameters, Interface,
    OuterHeaderCreation, TransportLevelMarking, UpdateDuplicatingParameters, UpdateFar,
};
use std::net::{IpAddr, SocketAddrV6};
use std::sync::Arc;

/// The far end of a GTP-U tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tunnel {
    /// Tunnel endpoint identifier that the peer chose.
    pub teid: u32,
    /// The peer.
    pub peer: IpAddr,
}

/// The action of a FAR; exactly one of these flags of Apply Action is set (8.2.26).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Dropped.
    Drop,
    /// Forwarded.
    Forward,
    /// Buffered; `notify` reports the first packet to the CP function.
    Buffer {
        /// NOCP is set.
        notify: bool,
    },
}

/// The destination of copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Duplicate {
    /// The tunnel.
    pub tunnel: Tunnel,
    /// The tunnel leads to the access network.
    pub to_access: bool,
    /// Type of service of its outer header.
    pub marking: Option<u8>,
}

/// Copies of one packet.
const MAX_DUPLICATES: usize = 4;

/// Where packets go.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Far {
    /// FAR ID.
    pub id: u32,
    /// The action.
    pub action: Action,
    /// Destination interface; present if the action is to forward.
    pub destination: Option<Interface>,
    /// Network instance of the destination.
    pub network_instance: Option<Arc<[u8]>>,
    /// The tunnel for packets; none if they are sent unchanged.
    pub tunnel: Option<Tunnel>,
    /// Destination on N6 of packets of an unstructured session, over UDP (TS 29.561, 7.2).
    pub datagrams: Option<SocketAddrV6>,
    /// BAR ID.
    pub bar: Option<u8>,
    /// Packets are dropped because the tunnel to the access network is not known yet.
    pub headerless: bool,
    /// Type of service, or traffic class, of the outer header.
    pub marking: Option<u8>,
    /// Forwarding Policy Identifier.
    pub policy: Option<Arc<[u8]>>,
    /// Destination to which traffic is redirected.
    pub redirect: Option<Arc<Redirect>>,
    /// DUPL is set.
    pub duplicates: bool,
    /// Destinations of copies, if it duplicates.
    pub copies: Vec<Duplicate>,
}

impl Far {
    /// A FAR without a destination.
    pub fn new(id: u32, action: Action) -> Self {
        Far {
            id,
            action,
            destination: None,
            network_instance: None,
            tunnel: None,
            datagrams: None,
            bar: None,
            headerless: false,
            marking: None,
            policy: None,
            redirect: None,
            duplicates: false,
            copies: Vec::new(),
        }
    }

    /// From a Create IE.
    pub fn create(ie: &CreateFar) -> Result<Self, RuleError> {
        let id = ie.far_id.0;
        let mut far =
            Far { bar: ie.bar_id.map(|bar| bar.0), ..Far::new(id, action(id, ie.apply_action)?) };
        if let Some(parameters) = &ie.forwarding_parameters {
            far.destination = Some(destination(id, parameters.destination_interface.0)?);
            let instance = parameters.network_instance.as_ref();
            far.network_instance = instance.map(|instance| shared((&*instance.name()).into()));
            if let Some(header) = &parameters.outer_header_creation {
                far.set_outer_header(header)?;
            }
            far.marking = parameters.transport_level_marking.map(marked);
            far.policy =
                parameters.forwarding_policy.as_ref().map(|name| shared(name.0.as_slice().into()));
            let redirect = parameters.redirect.as_ref().map(|ie| Redirect::of(id, ie));
            far.redirect = redirect.transpose()?.map(Arc::new);
        }
        far.duplicates = ie.apply_action.has(ApplyAction::DUPL);
        far.copies =
            ie.duplicating_parameters.iter().map(|ie| copy(id, ie)).collect::<Result<_, _>>()?;
        far.complete()?;
        Ok(far)
    }

    /// Applies an update; absent IEs leave their fields unchanged.
    pub fn update(&mut self, ie: &UpdateFar) -> Result<Option<Tunnel>, RuleError> {
        let old = self.tunnel;
        if let Some(apply) = ie.apply_action {
            self.action = action(self.id, apply)?;
            self.duplicates = apply.has(ApplyAction::DUPL);
            self.headerless = false;
        }
        if let Some(bar) = ie.bar_id {
            self.bar = Some(bar.0);
        }
        let mut markers = false;
        if let Some(parameters) = &ie.update_forwarding_parameters {
            if let Some(interface) = parameters.destination_interface {
                self.destination = Some(destination(self.id, interface.0)?);
            }
            if let Some(instance) = &parameters.network_instance {
                self.network_instance = Some(shared((&*instance.name()).into()));
            }
            if let Some(header) = parameters.outer_header_creation {
                self.set_outer_header(&header)?;
            }
            if let Some(marking) = parameters.transport_level_marking {
                self.marking = Some(marked(marking));
            }
            if let Some(name) = &parameters.forwarding_policy {
                self.policy = Some(shared(name.0.as_slice().into()));
            }
            if let Some(redirect) = &parameters.redirect {
                self.redirect = Some(Arc::new(Redirect::of(self.id, redirect)?));
            }
            markers = parameters.flags.is_some_and(|flags| flags.0 & 0x02 != 0);
        }
        for (n, ie) in ie.update_duplicating_parameters.iter().enumerate() {
            self.copy_to(n, ie)?;
        }
        self.complete()?;
        Ok(old.filter(|_| markers))
    }

    fn set_outer_header(&mut self, header: &OuterHeaderCreation) -> Result<(), RuleError> {
        (self.tunnel, self.datagrams) = match (header.teid, header.ipv6, header.port) {
            (None, Some(ip), Some(port)) => (None, Some(SocketAddrV6::new(ip, port, 0, 0))),
            _ => (Some(tunnel(self.id, header)?), None),
        };
        Ok(())
    }

    /// Changes the destination of the n-th copy, or adds one.
    fn copy_to(&mut self, n: usize, ie: &UpdateDuplicatingParameters) -> Result<(), RuleError> {
        let id = self.id;
        match (self.copies.get_mut(n), &ie.outer_header_creation) {
            (Some(known), header) => {
                if let Some(header) = header {
                    known.tunnel = tunnel(id, header)?;
                }
                if let Some(interface) = ie.destination_interface {
                    known.to_access = interface.0 == Interface::Access;
                }
                if let Some(marking) = ie.transport_level_marking {
                    known.marking = Some(marked(marking));
                }
                Ok(())
            }
            (None, header) => {
                let new = DuplicatingParameters {
                    destination_interface: ie.destination_interface.unwrap_or_default(),
                    outer_header_creation: *header,
                    transport_level_marking: ie.transport_level_marking,
                    forwarding_policy: ie.forwarding_policy.clone(),
                };
                self.copies.push(copy(id, &new)?);
                Ok(())
            }
        }
    }

    /// Forwarding requires forwarding parameters (TS 29.244, table 7.5.2.3-1).
    fn complete(&mut self) -> Result<(), RuleError> {
        if self.action == Action::Forward && self.destination.is_none() {
            let why = format!("FAR {} is to forward and has no Forwarding Parameters", self.id);
            return Err(RuleError::conditional::<ForwardingParameters>(why));
        }
        // Data for the CP function goes into a GTP-U tunnel (5.3); nothing else leads to it.
        let to_cp = self.destination == Some(Interface::CpFunction);
        if self.action == Action::Forward && to_cp && self.tunnel.is_none() {
            let why = format!("FAR {} forwards to the CP function without a tunnel", self.id);
            return Err(RuleError::failure(FailedRuleId::Far(self.id), why));
        }
        if self.duplicates && self.copies.is_empty() {
            let why = format!("FAR {} is to duplicate and has no Duplicating Parameters", self.id);
            return Err(RuleError::conditional::<DuplicatingParameters>(why));
        }
        if self.copies.len() > MAX_DUPLICATES {
            let why = format!("{} copies in FAR {}", self.copies.len(), self.id);
            return Err(RuleError::no_resources(why));
        }
        // Towards the UE there is always a tunnel (TS 23.501, 8.3.1). While an SMF does not know
        // it, it drops or buffers, or, as free5GC's, forwards without an outer header: then packets
        // are dropped until it names the tunnel.
        let nowhere = self.destination == Some(Interface::Access) && self.tunnel.is_none();
        match self.action {
            Action::Forward if nowhere => (self.action, self.headerless) = (Action::Drop, true),
            Action::Drop if self.headerless && !nowhere => {
                (self.action, self.headerless) = (Action::Forward, false)
            }
            _ => {}
        }
        Ok(())
    }
}

fn action(id: u32, apply: ApplyAction) -> Result<Action, RuleError> {
    let failure =
        |why: &str| Err(RuleError::failure(FailedRuleId::Far(id), format!("FAR {id} {why}")));
    let others = [ApplyAction::IPMA, ApplyAction::IPMD, ApplyAction::DFRT];
    if others.into_iter().any(|other| apply.has(other)) {
        let why = format!("FAR {id} is about multicast or redundant transmission, not done here");
        return Err(RuleError::not_supported::<ApplyAction>(FailedRuleId::Far(id), why));
    }
    if apply.has(ApplyAction::BUFF) {
        Ok(Action::Buffer { notify: apply.has(ApplyAction::NOCP) })
    } else if apply.has(ApplyAction::FORW) {
        Ok(Action::Forward)
    } else if apply.has(ApplyAction::DROP) {
        Ok(Action::Drop)
    } else {
        failure("requests an unsupported action")
    }
}

fn destination(id: u32, interface: Interface) -> Result<Interface, RuleError> {
    match interface {
        Interface::Access | Interface::Core | Interface::SgiLan | Interface::CpFunction => {
            Ok(interface)
        }
        Interface::Other(_) => {
            let why = format!("FAR {id} forwards to an interface that is not served here");
            Err(RuleError::failure(FailedRuleId::Far(id), why))
        }
    }
}

fn tunnel(id: u32, header: &OuterHeaderCreation) -> Result<Tunnel, RuleError> {
    let peer = header.ipv4.map(IpAddr::from).or(header.ipv6.map(IpAddr::from));
    match (header.teid, peer) {
        (Some(teid), Some(peer)) => Ok(Tunnel { teid, peer }),
        _ => {
            let why = format!(
                "FAR {id} requests an outer header {:#06x} that is not GTP-U",
                header.description
            );
            Err(RuleError::failure(FailedRuleId::Far(id), why))
        }
    }
}

/// The bits of the marking that count.
fn marked(ie: TransportLevelMarking) -> u8 {
    ie.traffic_class & ie.mask
}

/// Copies are sent in tunnels of GTP-U alone.
fn copy(id: u32, ie: &DuplicatingParameters) -> Result<Duplicate, RuleError> {
    let header = ie.outer_header_creation.as_ref().ok_or_else(|| {
        let why = format!("FAR {id} duplicates packets and has no Outer Header Creation for them");
        RuleError::conditional::<OuterHeaderCreation>(why)
    })?;
    Ok(Duplicate {
        tunnel: tunnel(id, header)?,
        to_access: ie.destination_interface.0 == Interface::Access,
        marking: ie.transport_level_marking.map(marked),
    })
}
