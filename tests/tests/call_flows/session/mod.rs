//! PDU sessions at the AMF (TS 23.502, 4.3; TS 38.413, 8.2).
pub mod pdu_session_establishment;
pub mod pdu_session_resource_modify_indication;
pub mod pdu_session_resource_notify;
pub mod user_plane_activation;

use anyhow::{Context, Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ran::Ue;
use martlet_ran::ue::PduSession;
use martlet_tests::{SeparateUpf, TestCore, eventually, xdp_datapath};
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
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    loop {
        let now = session(ue, psi).await?;
        if is(&now) {
            return Ok(now);
        }
        ensure!(tokio::time::Instant::now() < deadline, "{what}: {now:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A core with a second UPF beside its own, once the SMF is associated with both. `None` where the
/// test is skipped.
pub async fn with_second_upf(
    sbi: Sbi,
    change: impl FnOnce(&mut Config),
) -> Result<Option<(SeparateUpf, TestCore)>> {
    if xdp_datapath() {
        martlet_tests::skip("XDP programs of two UPFs cannot share the loopback interface");
        return Ok(None);
    }
    let upf = SeparateUpf::start().await?;
    let core = TestCore::start(sbi, |config| {
        SeparateUpf::add_to_core(config);
        change(config);
    })
    .await?;
    until_both_upfs_are_associated(&core).await?;
    Ok(Some((upf, core)))
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
