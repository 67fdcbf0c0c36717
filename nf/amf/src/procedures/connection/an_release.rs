//! AN release asked for by the gNB (TS 23.502, 4.2.6): the UE goes idle.
use super::ue_context_release;
use crate::metrics::Procedure;
use crate::served::cause_to_sbi;
use crate::ue::Ue;
use martlet_ngap::cause;
use martlet_ngap::ngap::Cause;

/// Has the SMFs deactivate the user plane, and releases the UE's context at the gNB. `sessions` are
/// those that the gNB says are active; all that are, where it says none.
pub(crate) async fn run(ue: &mut Ue, why: Cause, sessions: Vec<u8>) {
    let procedure = Procedure::start("an_release");
    tracing::debug!(
        supi = ue.label(),
        gnb = ue.gnb(),
        cause = cause::text(&why),
        ?sessions,
        "the UE goes idle"
    );
    let number = cause_to_sbi(&why);
    // The sessions that the gNB names come first, before it lets go of them (steps 5 to 7 before
    // step 2); what it does not name has no user plane there any more either.
    ue.deactivate_all(number).await;
    ue_context_release::run(ue, why);
    procedure.succeeded();
}
