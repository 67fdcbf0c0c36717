//! Network triggered service request (TS 23.502, 4.2.3.3): downlink data for an idle UE.
//!
//! ```text
//! UPF                SMF                              AMF
//!  |-- report: data ->|-- N1N2MessageTransfer --------->|  data_arrived, notify
//!  |                  |<-- N1N2TransferFailure ---------|  transfer_failed
//! ```
use super::n4_session_modification::modify;
use crate::metrics;
use crate::n4::{RETRY_INTERVAL, drop_and_buffer};
use crate::procedures::n1_n2_transfer::{setup_request, transfer_body};
use crate::session::{Session, UpConnection};
use crate::session_event::SessionEvent;
use martlet_ngap::ngap::{Cause, CauseTransport};
use martlet_ngap::transfer::ReleaseCommand;
use martlet_sbi_api::namf_communication::NgapIeType;
use std::time::Instant;

/// The UPF reports downlink data. During an activation of the user plane connection nothing is
/// sent: the gNB gets the data when the activation is complete (4.2.3.2).
pub fn data_arrived(session: &mut Session) {
    let connection = &mut session.user_plane.connection;
    if session.gsm.is_releasing() || connection.is_activated() {
        return;
    }
    if !connection.data_arrived() {
        notify(session);
    }
}

/// Sends the AMF the request for the gNB's resources (step 3a). Does not wait for the response: the
/// UE may be sending a service request at this moment, and then the AMF waits for this session.
pub fn notify(session: &mut Session) {
    let started = Instant::now();
    let Some(n2) = setup_request(session) else { return };
    session.qos_in_setup = None;
    let body = transfer_body(session, None, Some((NgapIeType::PduResSetupReq, n2)));
    // A gNB rejects a session that it counts as set up (TS 38.413, 8.2.1.4): release it first.
    let cause = Cause::transport(CauseTransport::transport_resource_unavailable);
    let release = ReleaseCommand::new(cause).encode().ok();
    let is_lost = session.user_plane.connection == UpConnection::TunnelLost;
    let release = release.filter(|_| is_lost).map(|n2| {
        let mut body = transfer_body(session, None, Some((NgapIeType::PduResRelCmd, n2)));
        // The gNB of an idle UE has released all resources.
        body.json.skip_ind = Some(true);
        body
    });
    let (smf, amf) = (session.smf.clone(), session.amf.client.clone());
    let (supi, reference, id) = (session.supi.clone(), session.reference, session.id);
    martlet_nf::spawn(async move {
        if let Some(release) = release
            && let Err(problem) = amf.n1_n2_message_transfer(&supi, release).await
        {
            tracing::info!(%supi, session = id, %problem, "release of lost N3 tunnel failed");
        }
        match amf.n1_n2_message_transfer(&supi, body).await {
            Ok(_) => metrics::procedure("downlink_data_notification", "ok", started),
            Err(problem) => {
                metrics::procedure("downlink_data_notification", problem.cause(), started);
                tracing::info!(%supi, session = id, %problem, "UE not reachable");
                if let Some(handle) = smf.sessions.get(&reference.to_string()) {
                    handle.send(SessionEvent::TransferFailed);
                }
            }
        }
    });
}

/// The UE did not respond to paging: the UPF drops the buffered packets, and reports the next one.
pub async fn transfer_failed(session: &mut Session) {
    let user_plane = &mut session.user_plane;
    // The AMF did not deliver the accept of a new session either, and its setup.
    if std::mem::take(&mut user_plane.is_accept_at_gnb) {
        user_plane.connection.deactivate();
    }
    let connection = user_plane.connection;
    if connection.is_activating() || connection.is_activated() {
        return;
    }
    let Err(error) = modify(session, drop_and_buffer()).await else { return };
    let upf = session.user_plane.access().map(|access| access.upf);
    // An associated UPF that has not got the request reports no further packet: it gets it again.
    let silent = upf.filter(|upf| error.is_unanswered() && session.smf.n4.is_up(*upf));
    let Some(upf) = silent else {
        return tracing::debug!(supi = %session.supi, %error, "buffered packets not dropped");
    };
    if let Some(suppressed) = martlet_log_limit::line("buffer", upf) {
        let (supi, id) = (&session.supi, session.id);
        tracing::warn!(
            %supi, session = id, %upf, %error, suppressed,
            "buffered packets not dropped yet"
        );
    }
    session.send_to_self_after(RETRY_INTERVAL, || SessionEvent::TransferFailed);
}
