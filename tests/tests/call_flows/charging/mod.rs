//! Charging of PDU sessions: usage and quotas, to the byte (TS 32.255).
pub mod charging_session;
pub mod quota_management;

use anyhow::{Context, Result};
use martlet::config::Config;
use martlet_ran::Ue;
use martlet_smf::ChargingMode;
use martlet_tests::{GATEWAY, TestCore, ping};
use std::net::Ipv4Addr;

pub const SUPI: &str = "imsi-001010000000001";

pub fn online(config: &mut Config) {
    config.chf.enabled = true;
    config.smf.charging.mode = ChargingMode::Online;
}

/// Uplink and downlink bytes in the account of a UE.
pub async fn account(core: &TestCore, supi: &str) -> Result<(u64, u64)> {
    let shown = core.query(&format!("charging/{supi}")).await?;
    let of = |name: &str| shown["accounts"][supi][name].as_u64();
    Ok((of("uplink").context("no account")?, of("downlink").context("no account")?))
}

/// Sends echo requests and waits for each reply. Returns the bytes of one packet.
pub async fn pings(ue: &Ue, from: Ipv4Addr, count: u16) -> Result<u64> {
    for n in 0..count {
        ue.send_ip(1, ping(from, GATEWAY, n)).await?;
        ue.recv_ip().await?;
    }
    Ok(ping(from, GATEWAY, 0).len() as u64)
}
