//! Optional parts of a PDR: Ethernet filters (TS 23.501, 5.6.10.2) and framed routes (5.6.14).
use super::{Direction, Flow, FrameRule, PredefinedRule, RuleError};
use martlet_pfcp::ie::{FailedRuleId, Pdi};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// Limit of networks behind one UE.
const MAX_ROUTES: usize = 16;

/// A network that is routed to a UE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix {
    /// Its first address.
    pub network: IpAddr,
    /// Its bits.
    pub length: u8,
}

impl Prefix {
    /// The network of this length that an address is in.
    pub fn of(address: IpAddr, length: u8) -> Prefix {
        let network = match address {
            IpAddr::V4(ip) => {
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub(length.into())).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() & mask))
            }
            IpAddr::V6(ip) => {
                let mask =
                    u128::MAX.checked_shl(128_u32.saturating_sub(length.into())).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & mask))
            }
        };
        Prefix { network, length }
    }

    /// Whether an address is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.network.is_ipv4() == address.is_ipv4() && Prefix::of(address, self.length) == *self
    }

    /// Parses `NETWORK/LENGTH`, and the optional fields of a framed route after it (RFC 2865,
    /// 5.22).
    fn parse(text: &str) -> Option<Prefix> {
        let (address, length) = text.split_ascii_whitespace().next()?.split_once('/')?;
        let (address, length): (IpAddr, u8) = (address.parse().ok()?, length.parse().ok()?);
        let prefix = Prefix::of(address, length);
        (length > 0
            && length <= if address.is_ipv4() { 32 } else { 128 }
            && prefix.network == address)
            .then_some(prefix)
    }
}

/// Conditions that few PDRs have.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct PdrExtras {
    /// Whether it matches all frames of an Ethernet session.
    pub ethernet: bool,
    /// Ethernet filters, one of which must match; empty: all frames.
    pub frames: Vec<FrameRule>,
    /// Networks behind the UE.
    pub routes: Vec<Prefix>,
    /// Traffic Endpoint IDs.
    pub endpoints: Vec<u8>,
    /// Predefined rules that it activates.
    pub predefined: Vec<Arc<PredefinedRule>>,
}

impl PdrExtras {
    /// Parses a PDI; `None` if it has none of these conditions.
    ///
    /// # Errors
    /// An invalid framed route.
    pub fn of(id: u16, pdi: &Pdi) -> Result<Option<Box<PdrExtras>>, RuleError> {
        let failure =
            |why: String| RuleError::failure(FailedRuleId::Pdr(id), format!("PDR {id} {why}"));
        let texts = pdi
            .framed_routes
            .iter()
            .map(|r| &r.0)
            .chain(pdi.framed_ipv6_routes.iter().map(|r| &r.0));
        let route = |text: &String| {
            let text = text.chars().take(100).collect::<String>();
            Prefix::parse(&text)
                .ok_or_else(|| failure(format!("has an invalid framed route {text:?}")))
        };
        let frame = |filter| FrameRule::of(filter).map_err(|error| failure(error.to_string()));
        let frames = pdi.ethernet_filters.iter().map(frame);
        let extras = PdrExtras {
            ethernet: pdi.ethernet.is_some_and(|information| information.0 & 1 != 0)
                || !pdi.ethernet_filters.is_empty(),
            frames: frames.collect::<Result<_, _>>()?,
            routes: texts.map(route).collect::<Result<_, _>>()?,
            endpoints: pdi.traffic_endpoints.iter().map(|id| id.0).collect(),
            predefined: Vec::new(),
        };
        if extras.routes.len() > MAX_ROUTES {
            return Err(RuleError::no_resources(format!(
                "{} framed routes in PDR {id}",
                extras.routes.len()
            )));
        }
        Ok((extras != PdrExtras::default()).then(|| extras.into()))
    }

    /// Whether a frame is meant.
    pub fn matches(&self, flow: &Flow, direction: Direction) -> bool {
        (!self.ethernet || flow.ethernet.is_some())
            && (self.frames.is_empty()
                || self.frames.iter().any(|frame| frame.matches(flow, direction)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framed_routes_are_networks() {
        let route = Prefix::parse("10.60.0.0/16 0.0.0.0 1").unwrap();
        assert!(
            route.contains("10.60.255.1".parse().unwrap())
                && !route.contains("10.61.0.1".parse().unwrap())
        );
        assert!(!route.contains("::1".parse().unwrap()));
        assert!(Prefix::parse("fd60::/48").unwrap().contains("fd60::1".parse().unwrap()));
        for wrong in ["", "10.60.0.1/16", "10.60.0.0", "10.60.0.0/33", "0.0.0.0/0", "x/8"] {
            assert!(Prefix::parse(wrong).is_none(), "{wrong}");
        }
    }
}
