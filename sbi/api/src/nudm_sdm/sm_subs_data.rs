//! Session management data as they are answered (TS 29.503, 6.1.6).
use super::{ExtendedSmSubsData, SessionManagementSubscriptionData};
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};

/// Session management data of a subscriber, by slice (TS 29.503, 6.1.6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(untagged)]
pub enum SmSubsData {
    /// All of it.
    Individual(Vec<SessionManagementSubscriptionData>),
    /// With IDs of shared data.
    Extended(ExtendedSmSubsData),
}

impl SmSubsData {
    /// The subscriber's individual data.
    pub fn individual(&self) -> &[SessionManagementSubscriptionData] {
        match self {
            SmSubsData::Individual(data) => data,
            SmSubsData::Extended(data) => {
                data.individual_sm_subs_data.as_deref().unwrap_or_default()
            }
        }
    }
}
