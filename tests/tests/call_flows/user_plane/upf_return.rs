//! Return of sessions to a UPF that is associated again (TS 23.527, 4.2).
#[cfg(debug_assertions)]
use crate::function_restart::{ALONE, restart};
use crate::user_plane::upf_failover::sessions_at_another_upf;
#[cfg(debug_assertions)]
use crate::user_plane::upf_failover::{SessionsAtAnotherUpf, sessions_at_first_upf};
use martlet_tests::in_namespace;
#[cfg(debug_assertions)]
use martlet_tests::{TestCore, eventually};
#[cfg(debug_assertions)]
use std::time::Duration;

/// Waits until the SMF has stored its sessions: it loses what it has changed since.
#[cfg(debug_assertions)]
async fn until_stored(core: &TestCore) -> anyhow::Result<()> {
    // The last messages of gNBs and UPFs may not have arrived.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let stored = || (core.status("smf")["context_store"]["unwritten"] == 0).then_some(());
    let status = || core.status("smf").to_string();
    eventually("the SMF has stored its contexts", stored, status).await
}

#[test]
fn sessions_return_to_a_upf_that_is_back() {
    in_namespace(|| async {
        let Some(lost) = sessions_at_another_upf().await? else { return Ok(()) };
        lost.return_to_their_upf().await
    });
}

/// Which UPF a session left is stored with the session.
#[cfg(debug_assertions)]
#[test]
fn sessions_return_to_a_upf_that_is_back_after_a_restart_of_the_smf() {
    in_namespace(|| async {
        let _alone = ALONE.lock().await;
        let Some(lost) = sessions_at_another_upf().await? else { return Ok(()) };
        until_stored(&lost.core).await?;
        restart(&lost.core, "smf").await?;
        lost.return_to_their_upf().await
    });
}

/// The UPF and the SMF fail at the same time: no process has seen the UPF fail.
#[cfg(debug_assertions)]
#[test]
fn sessions_of_a_upf_that_failed_before_a_restart_of_the_smf_move_and_return() {
    in_namespace(|| async {
        let _alone = ALONE.lock().await;
        let Some((upf, core, gnb, active, idle)) = sessions_at_first_upf().await? else {
            return Ok(());
        };
        until_stored(&core).await?;
        upf.stop().await?;
        restart(&core, "smf").await?;
        let lost = SessionsAtAnotherUpf { core, gnb, active, idle };
        lost.until_moved().await?;
        lost.return_to_their_upf().await
    });
}
