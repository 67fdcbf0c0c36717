//! What the gNB initiates: modify indication and notify (TS 38.413, 8.2.4, 8.2.5, 9.3.4.5 to
//! 9.3.4.7, 9.3.4.13, 9.3.4.22).

use oxirush_ngap::ngap::{
    Cause, NotificationCause, PDUSessionResourceModifyConfirmTransfer,
    PDUSessionResourceModifyIndicationTransfer,
    PDUSessionResourceModifyIndicationUnsuccessfulTransfer,
    PDUSessionResourceNotifyReleasedTransfer, PDUSessionResourceNotifyTransfer,
    QosFlowModifyConfirmItem, QosFlowModifyConfirmList, QosFlowNotifyItem, QosFlowNotifyList,
};

use super::error::{read, write};
use super::qos::{qfi_from, qfi_to};
use super::{FailedFlow, FlowTunnel, GtpTunnel, TransferError};

/// PDU Session Resource Modify Indication Transfer, gNB to SMF (TS 38.413, 9.3.4.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModifyIndication {
    /// The end for downlink from now on, and its flows.
    pub downlink: FlowTunnel,
    /// Further downlink tunnel ends, for split sessions.
    pub additional_downlink: Vec<FlowTunnel>,
}

impl ModifyIndication {
    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        write(&PDUSessionResourceModifyIndicationTransfer::new(
            self.downlink.to_asn(),
            FlowTunnel::list_to(&self.additional_downlink),
            None,
        ))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: PDUSessionResourceModifyIndicationTransfer<'_> = read(bytes)?;
        Ok(Self {
            downlink: FlowTunnel::from_asn(&transfer.dl_qos_flow_per_tnl_information)?,
            additional_downlink: FlowTunnel::list_from(
                transfer.additional_dl_qos_flow_per_tnl_information.as_ref(),
            )?,
        })
    }
}

/// PDU Session Resource Modify Confirm Transfer, SMF to gNB (TS 38.413, 9.3.4.7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModifyConfirm {
    /// The flows that were modified. At least one.
    pub flows: Vec<u8>,
    /// The UPF's end of the tunnel.
    pub uplink: GtpTunnel,
    /// The flows that failed.
    pub failed_flows: Vec<FailedFlow>,
}

impl ModifyConfirm {
    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        let flows = self
            .flows
            .iter()
            .map(|&qfi| QosFlowModifyConfirmItem::new(qfi_to(qfi), None))
            .collect();
        write(&PDUSessionResourceModifyConfirmTransfer::new(
            QosFlowModifyConfirmList(flows),
            self.uplink.to_asn(),
            None,
            FailedFlow::list_to(&self.failed_flows),
            None,
        ))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: PDUSessionResourceModifyConfirmTransfer<'_> = read(bytes)?;
        let flows = transfer.qos_flow_modify_confirm_list.0;
        Ok(Self {
            flows: flows
                .iter()
                .map(|item| qfi_from(&item.qos_flow_identifier))
                .collect::<Result<_, _>>()?,
            uplink: GtpTunnel::from_asn(&transfer.ul_ngu_up_tnl_information)?,
            failed_flows: FailedFlow::list_from(transfer.qos_flow_failed_to_modify_list.as_ref())?,
        })
    }
}

/// Whether the guarantee of a GBR flow is fulfilled (TS 38.413, 9.3.4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowNotification {
    /// QoS flow identifier, 0 to 63.
    pub qfi: u8,
    /// Whether the guaranteed bit rate is fulfilled again, or no longer.
    pub fulfilled: bool,
}

/// PDU Session Resource Notify Transfer, gNB to SMF (TS 38.413, 9.3.4.5).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Notify {
    /// GBR flows whose guarantee is fulfilled again, or no longer.
    pub notified: Vec<FlowNotification>,
    /// Flows that the gNB released.
    pub released_flows: Vec<FailedFlow>,
}

impl Notify {
    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        let items = self.notified.iter().map(|flow| {
            let cause = if flow.fulfilled {
                NotificationCause::fulfilled
            } else {
                NotificationCause::not_fulfilled
            };
            QosFlowNotifyItem::new(qfi_to(flow.qfi), cause, None)
        });
        write(&PDUSessionResourceNotifyTransfer::new(
            (!self.notified.is_empty()).then(|| QosFlowNotifyList(items.collect())),
            FailedFlow::list_to(&self.released_flows),
            None,
        ))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: PDUSessionResourceNotifyTransfer = read(bytes)?;
        let notified = transfer.qos_flow_notify_list.map(|list| list.0).unwrap_or_default();
        Ok(Self {
            notified: notified
                .iter()
                .map(|item| {
                    Ok::<_, TransferError>(FlowNotification {
                        qfi: qfi_from(&item.qos_flow_identifier)?,
                        fulfilled: item.notification_cause == NotificationCause::fulfilled,
                    })
                })
                .collect::<Result<_, _>>()?,
            released_flows: FailedFlow::list_from(transfer.qos_flow_released_list.as_ref())?,
        })
    }
}

/// PDU Session Resource Notify Released Transfer, gNB to SMF (TS 38.413, 9.3.4.13).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyReleased {
    /// Why the gNB released the session's resources.
    pub cause: Cause,
}

impl NotifyReleased {
    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        write(&PDUSessionResourceNotifyReleasedTransfer::new(self.cause.clone(), None))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: PDUSessionResourceNotifyReleasedTransfer = read(bytes)?;
        Ok(Self { cause: transfer.cause })
    }
}

/// PDU Session Resource Modify Indication Unsuccessful Transfer, SMF to gNB (TS 38.413, 9.3.4.22).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModifyIndicationUnsuccessful {
    /// Why the change of the gNB is not carried out.
    pub cause: Cause,
}

impl ModifyIndicationUnsuccessful {
    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        let cause = self.cause.clone();
        write(&PDUSessionResourceModifyIndicationUnsuccessfulTransfer::new(cause, None))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: PDUSessionResourceModifyIndicationUnsuccessfulTransfer = read(bytes)?;
        Ok(Self { cause: transfer.cause })
    }
}
