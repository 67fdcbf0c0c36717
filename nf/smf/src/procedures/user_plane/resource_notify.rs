//! PDU Session Resource Notify (TS 38.413, 8.2.4): the gNB reports flows that it has released. They
//! are removed. Flows whose guaranteed bit rate is not fulfilled are logged only.
use crate::metrics;
use crate::procedures::n1_n2_transfer::n2_sm_error;
use crate::session::Session;
use crate::session_event::{SessionEvent, UpdateResponse};
use bytes::Bytes;
use martlet_ngap::transfer::Notify;
use std::time::Instant;

/// Logs a notification, and removes released flows.
pub fn run(session: &Session, bytes: &Bytes) -> UpdateResponse {
    let notify = Notify::decode(bytes).map_err(n2_sm_error)?;
    if let Some(suppressed) = martlet_log_limit::line("resource_notify", &session.supi) {
        tracing::info!(
            supi = %session.supi, session = session.id, ?notify, suppressed,
            "gNB notifies QoS flows"
        );
    }
    if !notify.released_flows.is_empty() {
        let qfis = notify.released_flows.iter().map(|flow| flow.qfi).collect();
        session.send_to_self(SessionEvent::FlowsNotSetUp(qfis));
    }
    metrics::procedure("resource_notify", "ok", Instant::now());
    Ok(None)
}
