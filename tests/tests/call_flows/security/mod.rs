//! Authentication, NAS and user plane security (TS 33.501), the SCAS test cases, and attacks by
//! those who reach an interface.
//!
//! `MARTLET_ATTACK_ROUNDS=1000` repeats each attack that is a matter of timing 1,000 times: see
//! `make attack-soak`.
pub mod attack_buffer;
pub mod attack_callbacks;
pub mod attack_context_transfer;
pub mod attack_flood;
pub mod attack_initial_message;
pub mod attack_n3;
pub mod attack_n4;
pub mod attack_n6;
pub mod attack_ng_setup;
pub mod attack_nrf;
pub mod attack_path_switch;
pub mod attack_sbi;
pub mod attack_switch;
pub mod attack_ue_to_ue;
pub mod scas;
pub mod scas_ausf;

use std::time::Duration;

/// How often an attack is repeated.
pub fn rounds(default: u32) -> u32 {
    std::env::var("MARTLET_ATTACK_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// The time limit of a test with so many rounds.
pub fn limit(rounds: u32) -> Duration {
    Duration::from_secs(300 + u64::from(rounds))
}
