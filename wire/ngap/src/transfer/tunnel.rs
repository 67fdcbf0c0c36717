//! GTP-U tunnel ends: an address and a TEID (TS 38.413, 9.3.2.2 to 9.3.2.5).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use oxirush_ngap::BitString;
use oxirush_ngap::ngap::{
    AssociatedQosFlowItem, AssociatedQosFlowList, GTPTEID, GTPTunnel, QosFlowPerTNLInformation,
    QosFlowPerTNLInformationItem, QosFlowPerTNLInformationList, TransportLayerAddress,
    UPTransportLayerInformation,
};

use super::TransferError;
use super::qos::{qfi_from, qfi_to};

/// One end of a GTP-U tunnel: packets for it are sent to `address`, UDP port 2152, with `teid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GtpTunnel {
    /// The address of the end: the IPv4 one where the end has both.
    pub address: IpAddr,
    /// The IPv6 address of an end that has both (the 160-bit form of TS 38.414, 5.1).
    pub second_address: Option<Ipv6Addr>,
    /// The tunnel endpoint identifier.
    pub teid: u32,
}

impl GtpTunnel {
    /// An end with one address.
    pub fn new(address: IpAddr, teid: u32) -> Self {
        Self { address, second_address: None, teid }
    }

    /// The address of this end for packets from another one: of the IP version that the other one
    /// has, if this end has it.
    pub fn address_from(&self, other: IpAddr) -> IpAddr {
        self.second_address.filter(|_| other.is_ipv6()).map_or(self.address, IpAddr::V6)
    }

    pub(super) fn to_asn(self) -> UPTransportLayerInformation<'static> {
        let bits = match (self.address, self.second_address) {
            (IpAddr::V4(v4), None) => BitString::from(v4.octets()),
            (IpAddr::V6(v6), _) => BitString::from(v6.octets()),
            (IpAddr::V4(v4), Some(v6)) => {
                BitString::from([v4.octets().as_slice(), v6.octets().as_slice()].concat())
            }
        };
        UPTransportLayerInformation::gTPTunnel(GTPTunnel::new(
            TransportLayerAddress(bits),
            GTPTEID(self.teid.to_be_bytes()),
            None,
        ))
    }

    pub(super) fn from_asn(
        information: &UPTransportLayerInformation<'_>,
    ) -> Result<Self, TransferError> {
        let UPTransportLayerInformation::gTPTunnel(tunnel) = information else {
            return Err(TransferError::semantic(
                "the user plane tunnel is of a kind that this release does not have",
            ));
        };
        let bits = &tunnel.transport_layer_address.0;
        let bytes = bits.as_octets();
        let teid = u32::from_be_bytes(tunnel.gtp_teid.0);
        let wrong = || {
            TransferError::semantic(format!(
                "a transport layer address of {} bits: IPv4 has 32, IPv6 128, both 160",
                bits.len()
            ))
        };
        let v6 =
            |bytes: &[u8]| <[u8; 16]>::try_from(bytes).map(Ipv6Addr::from).map_err(|_| wrong());
        match bits.len() {
            32 => {
                let bytes = <[u8; 4]>::try_from(bytes).map_err(|_| wrong())?;
                Ok(Self::new(IpAddr::V4(Ipv4Addr::from(bytes)), teid))
            }
            128 => Ok(Self::new(IpAddr::V6(v6(bytes)?), teid)),
            160 => {
                let (first, second) = bytes.split_first_chunk::<4>().ok_or_else(wrong)?;
                Ok(Self {
                    address: IpAddr::V4(Ipv4Addr::from(*first)),
                    second_address: Some(v6(second)?),
                    teid,
                })
            }
            _ => Err(wrong()),
        }
    }
}

/// A tunnel end and the QoS flows that use it (TS 38.413, 9.3.2.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowTunnel {
    /// The tunnel end.
    pub tunnel: GtpTunnel,
    /// The QoS flow identifiers, 0 to 63 each. At least one.
    pub qfis: Vec<u8>,
}

impl FlowTunnel {
    /// A tunnel end for these flows.
    pub fn new(tunnel: GtpTunnel, qfis: Vec<u8>) -> Self {
        Self { tunnel, qfis }
    }

    pub(super) fn to_asn(&self) -> QosFlowPerTNLInformation<'static> {
        let flows = self
            .qfis
            .iter()
            .map(|&qfi| AssociatedQosFlowItem::new(qfi_to(qfi), None, None))
            .collect();
        QosFlowPerTNLInformation::new(self.tunnel.to_asn(), AssociatedQosFlowList(flows), None)
    }

    pub(super) fn from_asn(
        information: &QosFlowPerTNLInformation<'_>,
    ) -> Result<Self, TransferError> {
        let flows = &information.associated_qos_flow_list.0;
        Ok(Self {
            tunnel: GtpTunnel::from_asn(&information.up_transport_layer_information)?,
            qfis: flows
                .iter()
                .map(|flow| qfi_from(&flow.qos_flow_identifier))
                .collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn list_to(tunnels: &[Self]) -> Option<QosFlowPerTNLInformationList<'static>> {
        (!tunnels.is_empty()).then(|| {
            let items = tunnels
                .iter()
                .map(|tunnel| QosFlowPerTNLInformationItem::new(tunnel.to_asn(), None));
            QosFlowPerTNLInformationList(items.collect())
        })
    }

    pub(super) fn list_from(
        list: Option<&QosFlowPerTNLInformationList<'_>>,
    ) -> Result<Vec<Self>, TransferError> {
        let items = list.map(|list| list.0.as_slice()).unwrap_or_default();
        items.iter().map(|item| Self::from_asn(&item.qos_flow_per_tnl_information)).collect()
    }
}
