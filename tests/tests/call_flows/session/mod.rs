//! PDU sessions (TS 23.502, 4.3) and their charging.
pub mod branching;
pub mod charging;
pub mod establishment;
pub mod ethernet;
pub mod framed_routes;
pub mod modification_by_network;
pub mod modification_by_ue;
pub mod rejection;
pub mod release;
pub mod ssc_mode;
pub mod status;
pub mod unstructured;

use anyhow::Result;
use martlet_tests::{TestCore, eventually, programs_carry_packets};

pub fn skipped() -> bool {
    if programs_carry_packets() {
        eprintln!("SKIPPED: there is one loopback interface for programs, and two UPFs");
    }
    programs_carry_packets()
}

/// Waits until the SMF is associated with both.
pub async fn both_are_there(core: &TestCore) -> Result<()> {
    let up = |n: usize| core.status("smf")["upfs"][n]["associated"] == true;
    eventually(
        "both UPFs are associated",
        || (up(0) && up(1)).then_some(()),
        || core.status("smf").to_string(),
    )
    .await
}
