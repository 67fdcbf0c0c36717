//! The gNB's part of a UE's PDU sessions: what the setup of resources has in common, whichever
//! message asks for it.
use crate::gnb::GnbConfig;
use crate::gnb::ue_task::UeTask;
use martlet_ngap::ngap::{Cause, CauseRadioNetwork};
use martlet_ngap::transfer::{
    FlowTunnel, GtpTunnel, Protection, SecurityOutcome, SetupRequest, SetupResponse,
    SetupUnsuccessful, TransferError, UserPlaneSecurity,
};

/// User plane resources of one PDU session at the gNB.
pub(crate) struct RanSession {
    /// The UPF's end of the tunnel.
    pub(crate) uplink: GtpTunnel,
    /// QoS flows.
    pub(crate) qfis: Vec<u8>,
    /// How the user plane is protected, and what was asked for.
    pub(crate) security: Option<(SecurityOutcome, UserPlaneSecurity)>,
}

/// Protects the user plane as it is asked for, where the gNB can (TS 38.413, 8.2.1.2).
pub(crate) fn protect(
    config: &GnbConfig,
    asked: UserPlaneSecurity,
) -> Result<SecurityOutcome, Cause> {
    let of = |asked, able: bool, impossible| match asked {
        Protection::Required if !able => Err(Cause::radioNetwork(impossible)),
        Protection::Required | Protection::Preferred => Ok(able),
        Protection::NotNeeded => Ok(false),
    };
    let (no_integrity, no_ciphering) = (
        CauseRadioNetwork::up_integrity_protection_not_possible,
        CauseRadioNetwork::up_confidentiality_protection_not_possible,
    );
    Ok(SecurityOutcome {
        integrity: of(asked.integrity, config.up_integrity, no_integrity)?,
        confidentiality: of(asked.confidentiality, config.up_ciphering, no_ciphering)?,
    })
}

/// What the SMF is told: what became of a preference.
pub(crate) fn told(
    (outcome, asked): (SecurityOutcome, UserPlaneSecurity),
) -> Option<SecurityOutcome> {
    [asked.integrity, asked.confidentiality].contains(&Protection::Preferred).then_some(outcome)
}

/// What becomes of one session of a request: the transfer for its response list, or for its failed
/// list.
pub(crate) enum Outcome {
    /// Set up.
    Done(Vec<u8>),
    /// Not set up.
    Failed(Vec<u8>),
}

/// Set up the resources of session `psi` as its transfer says, and answer with a transfer.
pub(crate) fn set_up(ue: &mut UeTask, psi: u8, transfer: &[u8]) -> Result<Outcome, TransferError> {
    let request = match SetupRequest::decode(transfer) {
        Ok(request) => request,
        Err(error) => {
            tracing::warn!(supi = ue.supi(), gnb = ue.gnb_name(), psi, %error, "PDU session resource setup request");
            return failed(error.cause());
        }
    };
    let qfis: Vec<u8> = request.flows.iter().map(|flow| flow.qfi).collect();
    let security = match request
        .security
        .map(|asked| protect(ue.gnb().config(), asked).map(|done| (done, asked)))
        .transpose()
    {
        Ok(security) => security,
        Err(cause) => return failed(cause),
    };
    let downlink = ue.activate(psi, request.uplink, &qfis);
    if let Some(session) = ue.sessions.get_mut(&psi) {
        session.security = security;
    }
    let mut response = SetupResponse::new(FlowTunnel::new(downlink, qfis));
    response.security = security.and_then(told);
    Ok(Outcome::Done(response.encode()?))
}

/// A session that is not set up, and why.
pub(crate) fn failed(cause: Cause) -> Result<Outcome, TransferError> {
    Ok(Outcome::Failed(SetupUnsuccessful::new(cause).encode()?))
}
