//! Release of a session whose address is in no pool after a restart of the SMF with other pools (TS
//! 23.502, 4.3.4.2, step 1b). The UE establishes it again, with an address of the new pool.
use super::{orphaned_session_release, pdu_session_release};
use crate::session::Session;
use martlet_nas::GsmCause;
use std::time::Duration;

/// How long the release waits for UPF and AMF, which may be starting, too.
const LIMIT: Duration = Duration::from_secs(10);
/// Time between two requests to the AMF.
const INTERVAL: Duration = Duration::from_millis(500);

/// Releases the session as soon as its UPF and its AMF respond. Returns `false` if it has ended.
pub async fn run(session: &mut Session) -> bool {
    let _ = tokio::time::timeout(LIMIT, until_reachable(session)).await;
    tracing::warn!(
        supi = %session.supi, session = session.id, dnn = %session.dnn,
        addresses = %session.parameters.addresses, "address in no pool, releasing the session"
    );
    pdu_session_release::by_network(session, GsmCause::ReactivationRequested).await
}

async fn until_reachable(session: &Session) {
    let n4 = &session.smf.n4;
    for (_, at) in session.user_plane.path().into_iter().flat_map(|path| path.all()) {
        if !n4.is_up(at.upf) {
            n4.wait_associated_after(at.upf, at.generation, LIMIT).await;
        }
    }
    let has_answered = |answer: Result<(), martlet_sbi::Problem>| {
        answer.err().is_none_or(|problem| problem.transport.is_none() && problem.status() < 500)
    };
    while !has_answered(orphaned_session_release::ask_amf(session).await) {
        tokio::time::sleep(INTERVAL).await;
    }
}
