//! PDU sessions (TS 23.502, 4.3) and their charging.
pub mod anchor_relocation;
pub mod branching;
pub mod charging;
pub mod ethernet;
pub mod framed_routes;
pub mod network_requested_modification;
pub mod pdu_session_establishment;
pub mod pdu_session_release;
pub mod rejection;
pub mod status;
pub mod ue_requested_modification;
pub mod unstructured;

use anyhow::{Context, Result, ensure};
use martlet_ran::Ue;
use martlet_ran::ue::PduSession;
use martlet_tests::{TestCore, eventually, xdp_datapath};
use std::time::Duration;

/// A session of a UE.
pub async fn session(ue: &Ue, psi: u8) -> Result<PduSession> {
    let status = ue.status().await?;
    status.sessions.into_iter().find(|session| session.psi == psi).context("no such session")
}

/// Waits until a session of a UE matches.
pub async fn until(
    ue: &Ue,
    psi: u8,
    what: &str,
    is: impl Fn(&PduSession) -> bool,
) -> Result<PduSession> {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    loop {
        let now = session(ue, psi).await?;
        if is(&now) {
            return Ok(now);
        }
        ensure!(tokio::time::Instant::now() < deadline, "{what}: {now:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Whether a test with two UPFs is skipped, since the datapath is XDP.
pub fn skipped() -> bool {
    if xdp_datapath() {
        martlet_tests::skip("XDP programs of two UPFs cannot share the loopback interface");
    }
    xdp_datapath()
}

/// Waits until the SMF is associated with two UPFs.
pub async fn until_both_upfs_are_associated(core: &TestCore) -> Result<()> {
    let up = |n: usize| core.status("smf")["upfs"][n]["associated"] == true;
    eventually(
        "both UPFs are associated",
        || (up(0) && up(1)).then_some(()),
        || core.status("smf").to_string(),
    )
    .await
}
