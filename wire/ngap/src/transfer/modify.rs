//! PDU session resource modification by the core (TS 38.413, 8.2.3, 9.3.4.3, 9.3.4.4, 9.3.4.17).

use oxirush_ngap::ngap::{
    Cause, NetworkInstance, PDUSessionAggregateMaximumBitRate,
    PDUSessionResourceModifyRequestTransfer, PDUSessionResourceModifyResponseTransfer,
    PDUSessionResourceModifyUnsuccessfulTransfer, ProtocolIEContainer,
    QosFlowAddOrModifyRequestItem, QosFlowAddOrModifyRequestList, QosFlowAddOrModifyResponseItem,
    QosFlowAddOrModifyResponseList, QosFlowListWithCause, SecurityIndication, ULNGUUPTNLModifyItem,
    ULNGUUPTNLModifyList,
};
use oxirush_ngap::{AsnType, build_ngap_ie, extract_ngap_ies};

use super::error::{check, ie_error, read, refused, write};
use super::qos::{qfi_from, qfi_to};
use super::{
    Ambr, FailedFlow, FlowTunnel, GtpTunnel, QosParameters, TransferError, UserPlaneSecurity,
};

/// A flow to add, or to change: a flow whose parameters stay as they are has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowChange {
    /// QoS flow identifier, 0 to 63.
    pub qfi: u8,
    /// Its new parameters.
    pub qos: Option<QosParameters>,
}

/// A UPF tunnel end that replaces the one used with a given gNB tunnel end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UplinkTunnelChange {
    /// The new end at the UPF.
    pub uplink: GtpTunnel,
    /// The end at the gNB, which identifies the tunnel.
    pub downlink: GtpTunnel,
}

/// PDU Session Resource Modify Request Transfer, SMF to gNB (TS 38.413, 9.3.4.3). What is absent
/// stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModifyRequest {
    /// New aggregate maximum bit rate.
    pub ambr: Option<Ambr>,
    /// UPF tunnel ends that change.
    pub uplink_changes: Vec<UplinkTunnelChange>,
    /// Network instance, 1 to 256.
    pub network_instance: Option<u16>,
    /// Flows to add or to change.
    pub flows: Vec<FlowChange>,
    /// Flows to release.
    pub released_flows: Vec<FailedFlow>,
    /// The requirements on the user plane's security.
    pub security: Option<UserPlaneSecurity>,
}

impl ModifyRequest {
    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        type Asn = PDUSessionResourceModifyRequestTransfer<'static>;
        let refused = |error| refused::<Asn>(&error);
        let mut ies = Vec::new();
        macro_rules! ie {
            ($($ie:tt)*) => {
                ies.push(build_ngap_ie!(PDUSessionResourceModifyRequestTransfer,
                    $($ie)*).map_err(refused)?)
            };
        }
        if let Some(ambr) = self.ambr {
            ie!(PDUSessionAggregateMaximumBitRate(ambr.to_asn()));
        }
        if !self.uplink_changes.is_empty() {
            let items = self.uplink_changes.iter();
            let items = items.map(|it| {
                ULNGUUPTNLModifyItem::new(it.uplink.to_asn(), it.downlink.to_asn(), None)
            });
            ie!(UL_NGU_UP_TNLModifyList(ULNGUUPTNLModifyList(items.collect())));
        }
        if let Some(instance) = self.network_instance {
            ie!(NetworkInstance(NetworkInstance(instance.into())));
        }
        if !self.flows.is_empty() {
            let items = self.flows.iter().map(|flow| {
                QosFlowAddOrModifyRequestItem::new(
                    qfi_to(flow.qfi),
                    flow.qos.map(QosParameters::to_asn),
                    None,
                    None,
                )
            });
            ie!(QosFlowAddOrModifyRequestList(QosFlowAddOrModifyRequestList(items.collect())));
        }
        if let Some(list) = FailedFlow::list_to(&self.released_flows) {
            ie!(QosFlowToReleaseList(list));
        }
        if let Some(security) = self.security {
            ie!(SecurityIndication(security.to_asn()));
        }
        write(&Asn::new(ProtocolIEContainer(ies)))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        type Asn<'a> = PDUSessionResourceModifyRequestTransfer<'a>;
        let transfer: Asn<'_> = read(bytes)?;
        let deviations = Asn::check_structure(bytes).map_err(ie_error::<Asn<'_>>)?;
        check(Asn::NAME, &deviations)?;
        (|| {
            extract_ngap_ies!(transfer, PDUSessionResourceModifyRequestTransfer,
                opt ambr: PDUSessionAggregateMaximumBitRate =
                    PDUSessionAggregateMaximumBitRate(rate) => rate,
                opt changes: ULNGUUPTNLModifyList = UL_NGU_UP_TNLModifyList(list) => list,
                opt instance: NetworkInstance = NetworkInstance(instance) => instance,
                opt flows: QosFlowAddOrModifyRequestList =
                    QosFlowAddOrModifyRequestList(flows) => flows,
                opt released: QosFlowListWithCause = QosFlowToReleaseList(list) => list,
                lax security: SecurityIndication = SecurityIndication(security) => security,
            );
            Ok((ambr, changes, instance, flows, released, security))
        })()
        .map_err(ie_error::<Asn<'_>>)
        .and_then(|(ambr, changes, instance, flows, released, security)| {
            let changes = changes.map(|list| list.0).unwrap_or_default();
            let flows = flows.map(|list| list.0).unwrap_or_default();
            Ok(Self {
                ambr: ambr.as_ref().map(Ambr::from_asn),
                uplink_changes: changes
                    .iter()
                    .map(|item| {
                        Ok::<_, TransferError>(UplinkTunnelChange {
                            uplink: GtpTunnel::from_asn(&item.ul_ngu_up_tnl_information)?,
                            downlink: GtpTunnel::from_asn(&item.dl_ngu_up_tnl_information)?,
                        })
                    })
                    .collect::<Result<_, _>>()?,
                network_instance: instance
                    .map(|instance| {
                        u16::try_from(instance.0)
                            .map_err(|_| TransferError::semantic("a network instance over 65535"))
                    })
                    .transpose()?,
                flows: flows
                    .iter()
                    .map(|item| {
                        let qos = item.qos_flow_level_qos_parameters.as_ref();
                        Ok::<_, TransferError>(FlowChange {
                            qfi: qfi_from(&item.qos_flow_identifier)?,
                            qos: qos.map(QosParameters::from_asn).transpose()?,
                        })
                    })
                    .collect::<Result<_, _>>()?,
                released_flows: FailedFlow::list_from(released.as_ref())?,
                security: security.as_ref().map(UserPlaneSecurity::from_asn),
            })
        })
    }
}

/// PDU Session Resource Modify Response Transfer, gNB to SMF (TS 38.413, 9.3.4.4).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModifyResponse {
    /// A new end for downlink.
    pub downlink: Option<GtpTunnel>,
    /// The UPF's end that `downlink` belongs to.
    pub uplink: Option<GtpTunnel>,
    /// The flows that were added or changed.
    pub flows: Vec<u8>,
    /// Further downlink tunnel ends, for split sessions.
    pub additional_downlink: Vec<FlowTunnel>,
    /// The flows that failed.
    pub failed_flows: Vec<FailedFlow>,
}

impl ModifyResponse {
    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        let flows =
            self.flows.iter().map(|&qfi| QosFlowAddOrModifyResponseItem::new(qfi_to(qfi), None));
        write(&PDUSessionResourceModifyResponseTransfer::new(
            self.downlink.map(GtpTunnel::to_asn),
            self.uplink.map(GtpTunnel::to_asn),
            (!self.flows.is_empty()).then(|| QosFlowAddOrModifyResponseList(flows.collect())),
            FlowTunnel::list_to(&self.additional_downlink),
            FailedFlow::list_to(&self.failed_flows),
            None,
        ))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: PDUSessionResourceModifyResponseTransfer<'_> = read(bytes)?;
        let flows =
            transfer.qos_flow_add_or_modify_response_list.map(|list| list.0).unwrap_or_default();
        Ok(Self {
            downlink: transfer
                .dl_ngu_up_tnl_information
                .as_ref()
                .map(GtpTunnel::from_asn)
                .transpose()?,
            uplink: transfer
                .ul_ngu_up_tnl_information
                .as_ref()
                .map(GtpTunnel::from_asn)
                .transpose()?,
            flows: flows
                .iter()
                .map(|item| qfi_from(&item.qos_flow_identifier))
                .collect::<Result<_, _>>()?,
            additional_downlink: FlowTunnel::list_from(
                transfer.additional_dl_qos_flow_per_tnl_information.as_ref(),
            )?,
            failed_flows: FailedFlow::list_from(
                transfer.qos_flow_failed_to_add_or_modify_list.as_ref(),
            )?,
        })
    }
}

/// PDU Session Resource Modify Unsuccessful Transfer, gNB to SMF (TS 38.413, 9.3.4.17).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModifyUnsuccessful {
    /// Why nothing was modified.
    pub cause: Cause,
}

impl ModifyUnsuccessful {
    /// A rejection for this cause.
    pub fn new(cause: Cause) -> Self {
        Self { cause }
    }

    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        write(&PDUSessionResourceModifyUnsuccessfulTransfer::new(self.cause.clone(), None, None))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: PDUSessionResourceModifyUnsuccessfulTransfer = read(bytes)?;
        Ok(Self { cause: transfer.cause })
    }
}
