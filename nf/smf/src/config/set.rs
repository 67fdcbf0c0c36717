//! The SMF set.
use martlet_nf::{SetMember, nf_set};
use serde::{Deserialize, Serialize};

/// The SMF set of this SMF (TS 23.501, 5.22). Its members share one `context_store.database`. Each
/// has its own pools and N4 address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetConfig {
    /// Identity of the set: letters and digits.
    pub id: String,
    /// Number of this SMF in the set, 0 to 127.
    pub member: u8,
    /// MCC and MNC without a separator, such as `00101`.
    #[serde(default = "nf_set::default_plmn")]
    pub plmn: String,
    /// Priority of this SMF in the NRF; the lowest value is preferred.
    #[serde(default)]
    pub priority: u16,
    /// Milliseconds between health checks of the other members. After two failed checks their
    /// sessions are taken over.
    #[serde(default = "default_health_check_ms")]
    pub health_check_ms: u32,
}

fn default_health_check_ms() -> u32 {
    1000
}

impl SetConfig {
    /// This SMF in its set.
    pub fn member(&self) -> SetMember<'_> {
        SetMember { nf: "smf", id: &self.id, member: self.member, plmn: &self.plmn }
    }
}
