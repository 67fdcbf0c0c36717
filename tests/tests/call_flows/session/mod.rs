//! PDU sessions (TS 23.502, 4.3) and their charging.
pub mod branching;
pub mod charging;
pub mod ethernet;
pub mod framed_routes;
pub mod network_requested_modification;
pub mod pdu_session_establishment;
pub mod pdu_session_release;
pub mod rejection;
pub mod ssc_mode;
pub mod status;
pub mod ue_requested_modification;
pub mod unstructured;

use anyhow::Result;
use martlet_tests::{TestCore, eventually, xdp_datapath};

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
