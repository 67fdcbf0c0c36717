//! Path switch after an Xn handover (TS 38.413, 8.4.4, 9.3.4.8, 9.3.4.9, 9.3.4.15, 9.3.4.20).

use oxirush_ngap::ngap::{
    Cause, DLNGUTNLInformationReused, PathSwitchRequestAcknowledgeTransfer,
    PathSwitchRequestSetupFailedTransfer, PathSwitchRequestTransfer,
    PathSwitchRequestUnsuccessfulTransfer, QosFlowAcceptedItem, QosFlowAcceptedList,
    UserPlaneSecurityInformation,
};

use super::error::{read, write};
use super::qos::{qfi_from, qfi_to};
use super::{GtpTunnel, SecurityOutcome, TransferError, UserPlaneSecurity};

/// Path Switch Request Transfer, gNB to SMF (TS 38.413, 9.3.4.8).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathSwitchRequest {
    /// The target gNB's end of the N3 tunnel.
    pub downlink: GtpTunnel,
    /// Whether that end is the one used before.
    pub reused: bool,
    /// The user plane security at the source gNB: the outcome and the policy.
    pub security: Option<(SecurityOutcome, UserPlaneSecurity)>,
    /// The flows that were taken over. At least one.
    pub flows: Vec<u8>,
}

impl PathSwitchRequest {
    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        let flows =
            self.flows.iter().map(|&qfi| QosFlowAcceptedItem::new(qfi_to(qfi), None)).collect();
        write(&PathSwitchRequestTransfer::new(
            self.downlink.to_asn(),
            self.reused.then_some(DLNGUTNLInformationReused::R_true),
            self.security.map(|(outcome, asked)| {
                UserPlaneSecurityInformation::new(outcome.to_asn(), asked.to_asn(), None)
            }),
            QosFlowAcceptedList(flows),
            None,
        ))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: PathSwitchRequestTransfer<'_> = read(bytes)?;
        let flows = &transfer.qos_flow_accepted_list.0;
        Ok(Self {
            downlink: GtpTunnel::from_asn(&transfer.dl_ngu_up_tnl_information)?,
            reused: transfer.dl_ngu_tnl_information_reused.is_some(),
            security: transfer.user_plane_security_information.as_ref().map(|information| {
                (
                    SecurityOutcome::from_asn(&information.security_result),
                    UserPlaneSecurity::from_asn(&information.security_indication),
                )
            }),
            flows: flows
                .iter()
                .map(|item| qfi_from(&item.qos_flow_identifier))
                .collect::<Result<_, _>>()?,
        })
    }
}

/// Path Switch Request Acknowledge Transfer, SMF to gNB (TS 38.413, 9.3.4.9).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathSwitchAcknowledge {
    /// The UPF's end, where it changed.
    pub uplink: Option<GtpTunnel>,
    /// The user plane security policy, where the gNB had another one.
    pub security: Option<UserPlaneSecurity>,
}

impl PathSwitchAcknowledge {
    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        write(&PathSwitchRequestAcknowledgeTransfer::new(
            self.uplink.map(GtpTunnel::to_asn),
            self.security.map(UserPlaneSecurity::to_asn),
            None,
        ))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: PathSwitchRequestAcknowledgeTransfer<'_> = read(bytes)?;
        Ok(Self {
            uplink: transfer
                .ul_ngu_up_tnl_information
                .as_ref()
                .map(GtpTunnel::from_asn)
                .transpose()?,
            security: transfer.security_indication.as_ref().map(UserPlaneSecurity::from_asn),
        })
    }
}

/// Path Switch Request Setup Failed Transfer, gNB to SMF: the target gNB did not admit the session
/// (TS 38.413, 9.3.4.15).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathSwitchSetupFailed {
    /// Why.
    pub cause: Cause,
}

impl PathSwitchSetupFailed {
    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        write(&PathSwitchRequestSetupFailedTransfer::new(self.cause.clone(), None))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: PathSwitchRequestSetupFailedTransfer = read(bytes)?;
        Ok(Self { cause: transfer.cause })
    }
}

/// Path Switch Request Unsuccessful Transfer, SMF to gNB: the core did not switch the session (TS
/// 38.413, 9.3.4.20).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathSwitchUnsuccessful {
    /// Why.
    pub cause: Cause,
}

impl PathSwitchUnsuccessful {
    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        write(&PathSwitchRequestUnsuccessfulTransfer::new(self.cause.clone(), None))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: PathSwitchRequestUnsuccessfulTransfer = read(bytes)?;
        Ok(Self { cause: transfer.cause })
    }
}
