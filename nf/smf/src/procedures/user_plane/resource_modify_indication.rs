//! PDU Session Resource Modify Indication (TS 38.413, 8.2.5): the gNB moves its N3 tunnel endpoint.
//! A second tunnel for part of the flows is rejected.
use super::n4_session_modification::modify;
use crate::metrics;
use crate::n4::forward_to_gnb;
use crate::procedures::n1_n2_transfer::{N2, n2_sm_error, peer_not_responding, reference};
use crate::session::Session;
use crate::session_event::UpdateResponse;
use bytes::Bytes;
use martlet_ngap::ngap::{Cause, CauseRadioNetwork};
use martlet_ngap::transfer::{FailedFlow, ModifyConfirm, ModifyIndication};
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::nsmf_pdusession::{N2SmInfoType, SmContextUpdatedData};
use std::time::Instant;

/// Forwards the downlink to the new endpoint, and confirms.
pub async fn run(session: &mut Session, bytes: &Bytes) -> UpdateResponse {
    let started = Instant::now();
    let indication = ModifyIndication::decode(bytes).map_err(n2_sm_error)?;
    let before = session.user_plane.connection;
    let Some(access) = session.user_plane.access().filter(|_| before.is_activated()) else {
        return Err(n2_sm_error("the session has no user plane"));
    };
    let gnb = session.gnb_tunnel(&indication.downlink.tunnel);
    session.user_plane.connection.activate(gnb);
    if let Err(error) = modify(session, forward_to_gnb(gnb.0, gnb.1)).await {
        session.user_plane.connection = before;
        return Err(peer_not_responding(error));
    }
    let second = indication.additional_downlink.iter().flat_map(|tunnel| &tunnel.qfis);
    let cause = Cause::radioNetwork(CauseRadioNetwork::unspecified);
    let failed_flows = second.map(|qfi| FailedFlow { qfi: *qfi, cause: cause.clone() }).collect();
    let (flows, uplink) = (indication.downlink.qfis, access.n3());
    let confirm = ModifyConfirm { flows, uplink, failed_flows }.encode();
    let confirm = confirm.map_err(|error| Problem::system_failure(error.to_string()))?;
    metrics::procedure("modify_indication", "ok", started);
    let data = SmContextUpdatedData {
        n2_sm_info: Some(reference(N2)),
        n2_sm_info_type: Some(N2SmInfoType::PduResModCfm),
        ..Default::default()
    };
    Ok(Some(Multipart::new(data).part(N2, content_type::NGAP, confirm)))
}
