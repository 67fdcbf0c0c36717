//! PDU Session Resource Notify (TS 38.413, 8.2.4): the gNB reports flows whose guaranteed bit rate
//! is not fulfilled. They are logged only.
use crate::metrics;
use crate::procedures::n1_n2_transfer::n2_sm_error;
use crate::session::Session;
use crate::session_event::UpdateResponse;
use bytes::Bytes;
use martlet_ngap::transfer::Notify;
use std::time::Instant;

/// Logs a notification.
pub fn run(session: &Session, bytes: &Bytes) -> UpdateResponse {
    let notify = Notify::decode(bytes).map_err(n2_sm_error)?;
    if let Some(suppressed) = martlet_log_limit::line("resource_notify", &session.supi) {
        tracing::info!(
            supi = %session.supi, session = session.id, ?notify, suppressed,
            "gNB notifies QoS flows"
        );
    }
    metrics::procedure("resource_notify", "ok", Instant::now());
    Ok(None)
}
