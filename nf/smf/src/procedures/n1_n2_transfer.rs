//! Messages to UE and gNB through the AMF: Namf_Communication_N1N2MessageTransfer (TS 29.518,
//! 5.2.2.3), and the N1 and N2 parts of responses to the AMF.
use crate::qos_flows::{DEFAULT_QFI, Flow};
use crate::session::Session;
use crate::session_event::UpdateResponse;
use crate::user_plane_path::UpfSession;
use martlet_ngap::transfer::{
    Arp, FiveQi, GuaranteedBitRate, QosFlow, QosParameters, SessionType, SetupRequest,
};
use martlet_sbi::{Multipart, Problem, StatusReply, content_type};
use martlet_sbi_api::common::{
    PduSessionType, PreemptionCapability, PreemptionVulnerability, RefToBinaryData,
};
use martlet_sbi_api::namf_communication::{
    N1MessageClass, N1MessageContainer, N1N2MessageTransferCause, N1N2MessageTransferReqData,
    N1N2MessageTransferRspData, N2InfoContainer, N2InfoContent, N2InformationClass,
    N2SmInformation, NgapIeType,
};
use martlet_sbi_api::nsmf_pdusession::{SmContextUpdatedData, UpCnxState};

/// Content identity of the N1 part. Any would do (TS 29.571, 5.4), but OAI's AMF finds the
/// part by this one alone.
pub const N1: &str = "n1SmMsg";
/// Content identity of the N2 part, likewise.
pub const N2: &str = "n2msg";

/// A reference to a binary part.
pub fn reference(id: &str) -> RefToBinaryData {
    RefToBinaryData { content_id: id.into() }
}

/// A response to the AMF with a NAS message for the UE.
pub fn n1_response(message: Vec<u8>) -> UpdateResponse {
    let data = SmContextUpdatedData { n1_sm_msg: Some(reference(N1)), ..Default::default() };
    Ok(Some(Multipart::new(data).part(N1, content_type::NAS, message)))
}

/// The NGAP form of an ARP.
pub fn ngap_arp(arp: &martlet_sbi_api::common::Arp) -> Arp {
    Arp {
        priority: arp.priority_level,
        may_preempt: arp.preempt_cap == PreemptionCapability::MayPreempt,
        preemptable: arp.preempt_vuln == PreemptionVulnerability::Preemptable,
    }
}

/// QoS parameters of a flow for the gNB.
pub fn qos_parameters(flow: &Flow) -> QosParameters {
    let gbr = flow.guaranteed.map(|guaranteed| {
        let maximum = flow.maximum.unwrap_or(guaranteed);
        GuaranteedBitRate {
            max_downlink: maximum.downlink,
            max_uplink: maximum.uplink,
            downlink: guaranteed.downlink,
            uplink: guaranteed.uplink,
            notify: false,
            max_loss_downlink: None,
            max_loss_uplink: None,
        }
    });
    QosParameters {
        five_qi: FiveQi::standard(flow.five_qi),
        arp: ngap_arp(&flow.arp),
        gbr,
        reflective: false,
    }
}

/// A response to the AMF with the state of the user plane connection.
pub fn connection_state(state: UpCnxState) -> UpdateResponse {
    let data = SmContextUpdatedData { up_cnx_state: Some(state), ..Default::default() };
    Ok(Some(Multipart::new(data)))
}

/// The problem for invalid N2 SM information.
pub fn n2_sm_error(error: impl std::fmt::Display) -> Problem {
    Problem::new(403, "N2_SM_ERROR").detail(error.to_string())
}

/// The problem for a failed N4 request.
pub fn peer_not_responding(error: impl std::fmt::Display) -> Problem {
    Problem::new(504, "PEER_NOT_RESPONDING").detail(error.to_string())
}

/// Whether the AMF has sent the messages at once, because the UE is connected.
pub fn is_initiated(response: Result<StatusReply<N1N2MessageTransferRspData>, Problem>) -> bool {
    let initiated = N1N2MessageTransferCause::N1N2TransferInitiated;
    response.is_ok_and(|reply| reply.body.is_some_and(|body| body.cause == initiated))
}

/// PDU Session Resource Setup Request Transfer; `None` if there is no N4 session, or, with a log
/// line, if it cannot be encoded.
pub fn setup_request(session: &Session) -> Option<Vec<u8>> {
    setup_request_at(session, session.user_plane.access()?)
}

/// The same, with the tunnel endpoint of another UPF.
pub fn setup_request_at(session: &Session, upf: UpfSession) -> Option<Vec<u8>> {
    let qos = &session.qos;
    let mut flows = vec![QosFlow::standard(DEFAULT_QFI, qos.five_qi, ngap_arp(&qos.arp))];
    let flow = |flow: &Flow| QosFlow { qfi: flow.qfi, qos: qos_parameters(flow) };
    flows.extend(qos.flows.iter().map(flow));
    let kind = match session.parameters.kind {
        PduSessionType::Ipv6 => SessionType::Ipv6,
        PduSessionType::Ipv4v6 => SessionType::Ipv4v6,
        PduSessionType::Ethernet => SessionType::Ethernet,
        PduSessionType::Unstructured => SessionType::Unstructured,
        _ => SessionType::Ipv4,
    };
    let request = SetupRequest::new(upf.n3(), kind, flows)
        .with_ambr(qos.ambr.downlink.bps(), qos.ambr.uplink.bps());
    let request = match session.user_plane.security {
        Some(policy) => request.with_security(policy.to_ngap()),
        None => request,
    };
    let failed = |error: &_| tracing::error!(%error, "N2 SM information not encoded");
    request.encode().inspect_err(failed).ok()
}

/// Sends messages to the UE and its gNB.
pub async fn transfer(
    session: &Session,
    n1: Option<Vec<u8>>,
    n2: Option<(NgapIeType, Vec<u8>)>,
) -> Result<StatusReply<N1N2MessageTransferRspData>, Problem> {
    let body = transfer_body(session, n1, n2);
    session.amf.client.n1_n2_message_transfer(&session.supi, body).await
}

/// The body of an N1N2MessageTransfer request.
pub fn transfer_body(
    session: &Session,
    n1: Option<Vec<u8>>,
    n2: Option<(NgapIeType, Vec<u8>)>,
) -> Multipart<N1N2MessageTransferReqData> {
    let mut data =
        N1N2MessageTransferReqData { pdu_session_id: Some(session.id), ..Default::default() };
    let root = session.smf.context.api_root();
    data.nf_id = Some(session.smf.instance_id.clone());
    data.n1n2_failure_txf_notif_uri =
        Some(format!("{root}/nsmf-callback/v1/n1-n2-transfer-failure/{}", session.reference));
    data.n1_message_container =
        n1.as_ref().map(|_| N1MessageContainer::new(N1MessageClass::Sm, reference(N1)));
    if let Some((kind, _)) = &n2 {
        let content = N2InfoContent {
            ngap_message_type: None,
            ngap_ie_type: Some(kind.clone()),
            ngap_data: reference(N2),
        };
        let mut container = N2InfoContainer::new(N2InformationClass::Sm);
        container.sm_info = Some(N2SmInformation {
            pdu_session_id: session.id,
            n2_info_content: Some(content),
            s_nssai: Some(session.slice),
            ..Default::default()
        });
        data.n2_info_container = Some(container);
        data.arp = Some(session.qos.arp.clone());
        data.five_qi = Some(session.qos.five_qi);
    }
    let mut body = Multipart::new(data);
    if let Some(n1) = n1 {
        body = body.part(N1, content_type::NAS, n1);
    }
    if let Some((_, n2)) = n2 {
        body = body.part(N2, content_type::NGAP, n2);
    }
    body
}
