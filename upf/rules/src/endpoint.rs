//! Traffic endpoints: tunnel and addresses that several PDRs have (TS 29.244, 5.2.1A.3).
use super::LocalTunnel;
use martlet_pfcp::ie::{
    EthernetPduSessionInformation, FTeid, FramedIpv6Route, FramedRoute, NetworkInstance, Pdi, Qfi,
    UeIpAddress,
};

/// A traffic endpoint, with the values that the UP function chose.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Endpoint {
    /// Traffic Endpoint ID.
    pub id: u8,
    /// Our end of its tunnel.
    pub local: Option<LocalTunnel>,
    /// Network instance.
    pub network_instance: Option<NetworkInstance>,
    /// Addresses of the UE.
    pub ue: Vec<UeIpAddress>,
    /// Whether it is for all traffic of an Ethernet session.
    pub ethernet: Option<u8>,
    /// IPv4 networks behind the UE.
    pub framed_routes: Vec<FramedRoute>,
    /// IPv6 networks behind the UE.
    pub framed_ipv6_routes: Vec<FramedIpv6Route>,
    /// QFIs, one of which must match.
    pub qfis: Vec<u8>,
}

impl Endpoint {
    /// The detection information of a PDR that names this endpoint, whose own elements precede.
    pub fn complete(&self, pdi: &Pdi) -> Pdi {
        let mut whole = pdi.clone();
        whole.local_fteid = whole.local_fteid.or(self.local.map(FTeid::from));
        whole.network_instance = whole.network_instance.or_else(|| self.network_instance.clone());
        whole.ethernet = whole.ethernet.or(self.ethernet.map(EthernetPduSessionInformation));
        if whole.ue_ip_addresses.is_empty() {
            whole.ue_ip_addresses.clone_from(&self.ue);
        }
        if whole.framed_routes.is_empty() && whole.framed_ipv6_routes.is_empty() {
            whole.framed_routes.clone_from(&self.framed_routes);
            whole.framed_ipv6_routes.clone_from(&self.framed_ipv6_routes);
        }
        if whole.qfis.is_empty() {
            whole.qfis = self.qfis.iter().map(|qfi| Qfi(*qfi)).collect();
        }
        whole
    }
}
