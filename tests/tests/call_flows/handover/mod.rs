//! Handover (TS 23.502, 4.9.1).
pub mod amf_change;
pub mod cancel;
pub mod failure;
pub mod intermediate_upf;
pub mod leaks;
pub mod malformed;
pub mod n2;
pub mod packet_loss;
pub mod xn;

use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ran::{Gnb, Ue};
use martlet_tests::{GATEWAY, TestCore, reaches};
use std::net::Ipv4Addr;

/// A core with two gNBs, and a phone with a session at the first.
pub async fn two_gnbs(sbi: Sbi) -> Result<(TestCore, Gnb, Gnb, Ue, Ipv4Addr)> {
    let core = TestCore::start(sbi, |_| {}).await?;
    let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
    let (phone, address) = core.phone_with_session(&one, 1).await?;
    Ok((core, one, other, phone, address))
}

/// The phone is connected at this gNB alone, and its session carries packets.
pub async fn is_served(core: &TestCore, phone: &Ue, by: &Gnb) -> Result<()> {
    reaches(phone, 1, GATEWAY).await?;
    core.until("one connection", |c| (c.registered, c.connected, c.sessions) == (1, 1, 1)).await?;
    ensure!(by.ue_counts().0 == 1, "the phone is at {}", by.name());
    Ok(())
}
