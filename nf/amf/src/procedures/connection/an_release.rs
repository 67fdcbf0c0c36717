//! AN release requested by the gNB (TS 23.502, 4.2.6; TS 38.413, 8.3.2): the UE enters CM-IDLE.
//!
//! ```text
//! gNB -> AMF   UE CONTEXT RELEASE REQUEST
//! AMF -> SMFs  Nsmf_PDUSession_UpdateSMContext (DEACTIVATED)
//! AMF -> gNB   UE CONTEXT RELEASE COMMAND
//! ```
use super::ue_context_release;
use crate::metrics::Procedure;
use crate::served::cause_to_sbi;
use crate::ue::Ue;
use martlet_ngap::cause;
use martlet_ngap::ngap::Cause;

/// Deactivates all user planes and releases the UE context at the gNB. `sessions` are those that
/// the gNB reports active.
pub(crate) async fn run(ue: &mut Ue, why: Cause, sessions: Vec<u8>) {
    let procedure = Procedure::start("an_release");
    tracing::debug!(
        supi = ue.label(),
        gnb = ue.gnb(),
        cause = cause::text(&why),
        ?sessions,
        "AN release requested by the gNB"
    );
    let number = cause_to_sbi(&why);
    // The user planes are deactivated before the release (steps 5 to 7 before step 2). Sessions
    // that the gNB does not report have none there either.
    ue.deactivate_all(number).await;
    ue_context_release::run(ue, why);
    procedure.succeeded();
}
