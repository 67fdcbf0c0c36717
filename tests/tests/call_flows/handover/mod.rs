//! Handover (TS 23.502, 4.9.1).
pub mod handover_cancel;
pub mod handover_preparation;
pub mod inter_amf_source;
pub mod inter_amf_target;
pub mod kamf_change;
pub mod leaks;
pub mod malformed;
pub mod n2_handover;
pub mod packet_loss;
pub mod xn_handover;

use anyhow::{Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ran::{Gnb, Ue};
use martlet_tests::{GATEWAY, SecondAmf, TestCore, reaches};
use std::net::Ipv4Addr;

/// A core with two gNBs, and a UE with a session at the first.
pub async fn two_gnbs(sbi: Sbi) -> Result<(TestCore, Gnb, Gnb, Ue, Ipv4Addr)> {
    let core = TestCore::start(sbi, |_| {}).await?;
    let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
    let (ue, address) = core.ue_with_session(&one, 1).await?;
    Ok((core, one, other, ue, address))
}

/// Checks that the UE is connected through this gNB only and that its session carries packets.
pub async fn expect_served_by(core: &TestCore, ue: &Ue, by: &Gnb) -> Result<()> {
    reaches(ue, 1, GATEWAY).await?;
    core.until("one connection", |c| (c.registered, c.connected, c.sessions) == (1, 1, 1)).await?;
    ensure!(by.ue_counts().0 == 1, "the UE is not connected to {}", by.name());
    Ok(())
}

/// A core with two AMFs, each with its own tracking area and gNB.
pub async fn two_areas(
    sbi: Sbi,
    change: impl FnOnce(&mut Config),
) -> Result<(TestCore, SecondAmf, Gnb, Gnb)> {
    with_second_area(TestCore::start(sbi, change).await?).await
}

/// Adds a second AMF to a core, and a gNB at each: see [`two_areas`].
pub async fn with_second_area(core: TestCore) -> Result<(TestCore, SecondAmf, Gnb, Gnb)> {
    let second =
        core.second_amf(|config| config.amf.tais.iter_mut().for_each(|tai| tai.tac += 1)).await?;
    let here = core.gnb(1).await?;
    let mut config = second.gnb_config(&core, 2);
    config.tac += 1;
    Ok((core, second, here, Gnb::connect(config).await?))
}
