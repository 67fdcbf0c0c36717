//! Quirks of gNBs on N3.
use super::{check, with_strictness};
use crate::user_plane::no_qfi::beside_the_gnb;
use anyhow::Result;
use martlet::core::Sbi;
use martlet_interop::N3Quirk;
use martlet_tests::{GATEWAY, TestCore, eventually, ping};

#[test]
fn n3_quirks_are_tolerated_unless_strict() {
    check(
        |_| "upf",
        |quirk, is_strict, core| match quirk {
            N3Quirk::NoQfi => Box::pin(no_qfi(is_strict, core)),
        },
    );
}

/// As free-ran-ue's gNB.
async fn no_qfi(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let core = core.insert(TestCore::start(Sbi::Local, with_strictness(is_strict)).await?);
    let gnb = core.gnb(1).await?;
    let (_ue, address) = core.ue_with_session(&gnb, 1).await?;
    let (socket, _, teid) = beside_the_gnb(core).await?;
    let packet = ping(address, GATEWAY, 1);
    socket.send(&martlet_upf::conformance::g_pdu(teid, None, &packet)).await?;
    let outcome = || {
        let status = core.status("upf");
        match (&status["counters"]["unmarked_packets"], &status["drops"]["no_qfi"]) {
            (passed, _) if *passed == 1 => Some(true),
            (_, dropped) if *dropped == 1 => Some(false),
            _ => None,
        }
    };
    eventually("the packet is counted", outcome, || core.status("upf").to_string()).await
}
