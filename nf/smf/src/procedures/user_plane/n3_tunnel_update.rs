//! Update of the UPF's N3 tunnel endpoint at the gNB (PDU Session Resource Modify; TS 38.413,
//! 8.2.3), after the session has moved to another UPF.
use crate::procedures::n1_n2_transfer::transfer_body;
use crate::session::Session;
use martlet_ngap::transfer::{GtpTunnel, ModifyRequest, UplinkTunnelChange};
use martlet_sbi_api::namf_communication::NgapIeType;

/// Sends the gNB of an activated session the UPF's current tunnel endpoint.
pub async fn send(session: &Session) {
    let user_plane = &session.user_plane;
    let Some(((teid, address), upf)) = user_plane.connection.gnb().zip(user_plane.access()) else {
        return;
    };
    let change = UplinkTunnelChange { uplink: upf.n3(), downlink: GtpTunnel::new(address, teid) };
    let request =
        ModifyRequest { uplink_changes: vec![change], ..ModifyRequest::default() }.encode();
    let failed = |error: &_| tracing::error!(%error, "N2 SM information not encoded");
    let Ok(request) = request.inspect_err(failed) else { return };
    let body = transfer_body(session, None, Some((NgapIeType::PduResModReq, request)));
    if let Err(problem) = session.amf.client.n1_n2_message_transfer(&session.supi, body).await {
        tracing::warn!(
            supi = %session.supi, session = session.id, %problem,
            "N3 tunnel update to gNB failed"
        );
    }
}
