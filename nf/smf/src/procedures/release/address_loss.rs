//! Release of a session whose address is in no pool after a restart of the SMF with other pools (TS
//! 23.502, 4.3.4.2, step 1b). The UE establishes it again, with an address of the new pool.
use super::{orphaned_session_release, pdu_session_release};
use crate::session::Session;
use martlet_nas::GsmCause;
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Sessions that are released at the same time.
pub const MAX_CONCURRENT: usize = 256;
/// How long the release waits for UPF and AMF, which may be starting, too.
const LIMIT: Duration = Duration::from_secs(10);
/// Time between two requests to the AMF.
const INTERVAL: Duration = Duration::from_millis(500);

/// Releases the session as soon as its UPF and its AMF respond, and fewer than [`MAX_CONCURRENT`]
/// others are being released. Returns `false` if it has ended.
pub async fn run(session: &mut Session) -> bool {
    let smf = session.smf.clone();
    let _permit = acquire_when(&smf.address_losses, until_reachable(session)).await;
    tracing::warn!(
        supi = %session.supi, session = session.id, dnn = %session.dnn,
        addresses = %session.parameters.addresses, "address in no pool, releasing the session"
    );
    pdu_session_release::by_network(session, GsmCause::ReactivationRequested).await
}

/// A permit, held while `reachable` is awaited. That ends [`LIMIT`] after the call, however long
/// the permit takes.
async fn acquire_when(
    permits: &Semaphore,
    reachable: impl Future<Output = ()>,
) -> Option<SemaphorePermit<'_>> {
    let started = Instant::now();
    let permit = permits.acquire().await.ok();
    let left = LIMIT.saturating_sub(started.elapsed());
    if !left.is_zero() {
        let _ = tokio::time::timeout(left, reachable).await;
    }
    permit
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::ready;

    #[tokio::test]
    async fn a_session_waits_for_the_release_of_others() {
        let permits = Semaphore::new(1);
        let first = acquire_when(&permits, ready(())).await;
        let second = acquire_when(&permits, ready(()));
        let second = tokio::time::timeout(Duration::from_millis(20), second).await;
        assert!(first.is_some() && second.is_err());
        drop(first);
        assert!(acquire_when(&permits, ready(())).await.is_some());
    }
}
