//! The gNB's part of a UE's PDU sessions: what the setup of resources has in common, whichever message asks for it.
use super::ue_task::UeTask;
use martlet_ngap::ngap::Cause;
use martlet_ngap::transfer::{FlowTunnel, GtpTunnel, SetupRequest, SetupResponse, SetupUnsuccessful, TransferError};

/// User plane resources of one PDU session at the gNB.
pub(crate) struct RanSession {
    /// The UPF's end of the tunnel.
    pub(crate) uplink: GtpTunnel,
    /// QoS flows.
    pub(crate) qfis: Vec<u8>,
}

/// What becomes of one session of a request: the transfer for its response list, or for its failed list.
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
    let downlink = ue.activate(psi, request.uplink, &qfis);
    let response = SetupResponse::new(FlowTunnel::new(downlink, qfis));
    Ok(Outcome::Done(response.encode()?))
}

/// A session that is not set up, and why.
pub(super) fn failed(cause: Cause) -> Result<Outcome, TransferError> {
    Ok(Outcome::Failed(SetupUnsuccessful::new(cause).encode()?))
}
