//! N2 handover (TS 38.413, 8.4.1, 8.4.2, 9.3.4.10, 9.3.4.11, 9.3.4.14, 9.3.4.18, 9.3.4.19).

use oxirush_ngap::ngap::{
    Cause, DataForwardingAccepted, DirectForwardingPathAvailability, HandoverCommandTransfer,
    HandoverPreparationUnsuccessfulTransfer, HandoverRequestAcknowledgeTransfer,
    HandoverRequiredTransfer, HandoverResourceAllocationUnsuccessfulTransfer,
    QosFlowItemWithDataForwarding, QosFlowListWithDataForwarding, QosFlowToBeForwardedItem,
    QosFlowToBeForwardedList,
};

use super::error::{read, write};
use super::qos::{qfi_from, qfi_to};
use super::{FailedFlow, GtpTunnel, SecurityOutcome, TransferError};

/// Handover Required Transfer, source gNB to SMF (TS 38.413, 9.3.4.14).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HandoverRequired {
    /// Whether source and target can forward data without the core.
    pub direct_forwarding: bool,
}

impl HandoverRequired {
    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        let direct = self
            .direct_forwarding
            .then_some(DirectForwardingPathAvailability::direct_path_available);
        write(&HandoverRequiredTransfer::new(direct, None))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: HandoverRequiredTransfer = read(bytes)?;
        Ok(Self { direct_forwarding: transfer.direct_forwarding_path_availability.is_some() })
    }
}

/// Handover Request Acknowledge Transfer, target gNB to SMF (TS 38.413, 9.3.4.11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoverRequestAcknowledge {
    /// The target gNB's end of the N3 tunnel.
    pub downlink: GtpTunnel,
    /// Tunnel endpoint for forwarded downlink data.
    pub forwarding: Option<GtpTunnel>,
    /// The result of a security preference.
    pub security: Option<SecurityOutcome>,
    /// The flows that were set up, each with whether its data can be forwarded. At least one.
    pub flows: Vec<(u8, bool)>,
    /// The flows that failed.
    pub failed_flows: Vec<FailedFlow>,
}

impl HandoverRequestAcknowledge {
    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        let flows = self.flows.iter().map(|&(qfi, forwarded)| {
            let accepted = forwarded.then_some(DataForwardingAccepted::data_forwarding_accepted);
            QosFlowItemWithDataForwarding::new(qfi_to(qfi), accepted, None)
        });
        write(&HandoverRequestAcknowledgeTransfer::new(
            self.downlink.to_asn(),
            self.forwarding.map(GtpTunnel::to_asn),
            self.security.map(SecurityOutcome::to_asn),
            QosFlowListWithDataForwarding(flows.collect()),
            FailedFlow::list_to(&self.failed_flows),
            None,
            None,
        ))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: HandoverRequestAcknowledgeTransfer<'_> = read(bytes)?;
        let flows = transfer.qos_flow_setup_response_list.0.iter();
        Ok(Self {
            downlink: GtpTunnel::from_asn(&transfer.dl_ngu_up_tnl_information)?,
            forwarding: transfer
                .dl_forwarding_up_tnl_information
                .as_ref()
                .map(GtpTunnel::from_asn)
                .transpose()?,
            security: transfer.security_result.as_ref().map(SecurityOutcome::from_asn),
            flows: flows
                .map(|item| {
                    let qfi = qfi_from(&item.qos_flow_identifier)?;
                    Ok::<_, TransferError>((qfi, item.data_forwarding_accepted.is_some()))
                })
                .collect::<Result<_, _>>()?,
            failed_flows: FailedFlow::list_from(transfer.qos_flow_failed_to_setup_list.as_ref())?,
        })
    }
}

/// Handover Command Transfer, SMF to source gNB (TS 38.413, 9.3.4.10).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HandoverCommand {
    /// Tunnel endpoint for the data that the source forwards.
    pub forwarding: Option<GtpTunnel>,
    /// The flows whose data it forwards.
    pub flows: Vec<u8>,
}

impl HandoverCommand {
    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        let flows = self.flows.iter().map(|&qfi| QosFlowToBeForwardedItem::new(qfi_to(qfi), None));
        write(&HandoverCommandTransfer::new(
            self.forwarding.map(GtpTunnel::to_asn),
            (!self.flows.is_empty()).then(|| QosFlowToBeForwardedList(flows.collect())),
            None,
            None,
        ))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: HandoverCommandTransfer<'_> = read(bytes)?;
        let flows = transfer.qos_flow_to_be_forwarded_list.map(|list| list.0).unwrap_or_default();
        Ok(Self {
            forwarding: transfer
                .dl_forwarding_up_tnl_information
                .as_ref()
                .map(GtpTunnel::from_asn)
                .transpose()?,
            flows: flows
                .iter()
                .map(|item| qfi_from(&item.qos_flow_identifier))
                .collect::<Result<_, _>>()?,
        })
    }
}

/// Handover Preparation Unsuccessful Transfer, SMF to source gNB (TS 38.413, 9.3.4.18).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoverPreparationUnsuccessful {
    /// Why the session is not handed over.
    pub cause: Cause,
}

impl HandoverPreparationUnsuccessful {
    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        write(&HandoverPreparationUnsuccessfulTransfer::new(self.cause.clone(), None))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: HandoverPreparationUnsuccessfulTransfer = read(bytes)?;
        Ok(Self { cause: transfer.cause })
    }
}

/// Handover Resource Allocation Unsuccessful Transfer, target gNB to SMF (TS 38.413, 9.3.4.19).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoverResourceAllocationUnsuccessful {
    /// Why the target did not take the session.
    pub cause: Cause,
}

impl HandoverResourceAllocationUnsuccessful {
    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        write(&HandoverResourceAllocationUnsuccessfulTransfer::new(self.cause.clone(), None, None))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: HandoverResourceAllocationUnsuccessfulTransfer = read(bytes)?;
        Ok(Self { cause: transfer.cause })
    }
}
