//! The probe of an association: whether its gNB still answers.
use super::{Gnb, downlink};
use crate::metrics;
use std::time::Duration;

/// Interval between two checks of the probed association.
const POLL: Duration = Duration::from_millis(10);

/// Whether the gNB of an association answers within `limit`: it acknowledges an AMF CONFIGURATION
/// UPDATE that changes nothing (TS 38.413, 8.7.3), by SCTP or by any message. A gNB that was
/// restarted does not: its SCTP aborts the old association, or does not know it.
pub(crate) async fn answers(gnb: &Gnb, name: &str, limit: Duration) -> bool {
    if gnb.claim.has_fresh_answer() {
        return true;
    }
    metrics::probe();
    let before = gnb.received();
    let probe = async {
        let Ok(message) = downlink::amf_configuration_update(name) else { return false };
        if !gnb.send(0, &message).await {
            return false;
        }
        loop {
            tokio::time::sleep(POLL).await;
            if gnb.is_acknowledged() || gnb.received() != before {
                return true;
            }
            if gnb.setup().is_none() {
                // The association has ended.
                return false;
            }
        }
    };
    let answers = tokio::time::timeout(limit, probe).await.unwrap_or(false);
    if answers {
        gnb.claim.set_answered();
    }
    answers
}
