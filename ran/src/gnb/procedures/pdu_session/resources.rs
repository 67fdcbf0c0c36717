//! Setup of a PDU session's user plane resources, for each message that requests it.
use crate::gnb::config::GnbConfig;
use crate::gnb::ue::context::UeContext;
use martlet_ngap::ngap::{Cause, CauseProtocol, CauseRadioNetwork};
use martlet_ngap::transfer::{
    FailedFlow, FlowTunnel, Protection, SecurityOutcome, SetupRequest, SetupResponse,
    SetupUnsuccessful, TransferError, UserPlaneSecurity,
};

/// Applies the security indication as far as the gNB supports it (TS 38.413, 8.2.1.2).
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

/// The security result that the SMF gets: only for a preference.
pub(crate) fn reported(
    (outcome, asked): (SecurityOutcome, UserPlaneSecurity),
) -> Option<SecurityOutcome> {
    [asked.integrity, asked.confidentiality].contains(&Protection::Preferred).then_some(outcome)
}

/// The flows that the gNB sets up, and those that it does not, since it is not configured for their
/// 5QI.
pub(crate) fn flows_of(config: &GnbConfig, request: &SetupRequest) -> (Vec<u8>, Vec<FailedFlow>) {
    let flows = request.flows.iter().map(|flow| (flow.qfi, flow.qos.five_qi.five_qi()));
    supported(config, flows)
}

/// The same for flows with their 5QIs.
pub(crate) fn supported(
    config: &GnbConfig,
    flows: impl Iterator<Item = (u8, Option<u8>)>,
) -> (Vec<u8>, Vec<FailedFlow>) {
    let (mut qfis, mut failed) = (Vec::new(), Vec::new());
    for (qfi, five_qi) in flows {
        if five_qi.is_some_and(|five_qi| config.unsupported_5qis.contains(&five_qi)) {
            let cause = Cause::radioNetwork(CauseRadioNetwork::not_supported_5QI_value);
            failed.push(FailedFlow { qfi, cause });
        } else {
            qfis.push(qfi);
        }
    }
    (qfis, failed)
}

/// The result for one session of a request, with the transfer for the response or failed list.
pub(crate) enum Outcome {
    /// Set up.
    Done(Vec<u8>),
    /// Not set up.
    Failed(Vec<u8>),
}

/// Sets up the resources of session `psi` as its transfer requests. Returns the response transfer.
pub(crate) fn set_up(
    ue: &mut UeContext,
    psi: u8,
    transfer: &[u8],
) -> Result<Outcome, TransferError> {
    let request = match SetupRequest::decode(transfer) {
        Ok(request) => request,
        Err(error) => {
            tracing::warn!(
                supi = ue.supi(),
                gnb = ue.gnb_name(),
                psi,
                %error,
                "PDU session resource setup request"
            );
            return failed(error.cause());
        }
    };
    if ue.gnb.config().unsupported_session_types.contains(&request.session_type) {
        // The cause of OCUDU's gNB.
        return failed(Cause::protocol(CauseProtocol::unspecified));
    }
    let (qfis, failed_flows) = flows_of(ue.gnb.config(), &request);
    let security = match request
        .security
        .map(|asked| protect(ue.gnb.config(), asked).map(|done| (done, asked)))
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
    response.security = security.and_then(reported);
    response.failed_flows = failed_flows;
    Ok(Outcome::Done(response.encode()?))
}

/// The result for a session that is not set up.
pub(crate) fn failed(cause: Cause) -> Result<Outcome, TransferError> {
    Ok(Outcome::Failed(SetupUnsuccessful::new(cause).encode()?))
}
