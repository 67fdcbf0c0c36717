//! The user plane security policy of a session (TS 33.501, 6.6.1; TS 23.501, 5.10.3): from the
//! subscription, else from the data network's configuration. The gNB enforces it.
use martlet_nas::NasPduSessionEstablishmentRequest;
use martlet_ngap::transfer::{Protection, UserPlaneSecurity};
use martlet_sbi_api::common::{UpConfidentiality, UpIntegrity, UpSecurity as SubscribedUpSecurity};
use martlet_store::{UpProtection, UpSecurityPolicy};
use serde::{Deserialize, Serialize};

/// The user plane security policy of a session. Field names are part of the stored format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpSecurity {
    policy: UpSecurityPolicy,
    /// The UE supports integrity protection at the full data rate, not only at 64 kbit/s (TS
    /// 24.501, 9.11.4.7).
    full_rate: bool,
}

/// Integrity protection maximum data rate: full data rate.
const FULL_RATE: u8 = 0xff;

impl UpSecurity {
    /// Chooses the policy: the subscription takes precedence over the data network (TS 33.515,
    /// 4.2.2.1.1).
    pub fn choose(
        subscribed: Option<&SubscribedUpSecurity>,
        of_network: Option<UpSecurityPolicy>,
        request: &NasPduSessionEstablishmentRequest,
    ) -> Option<Self> {
        let policy = subscribed.map(convert).or(of_network)?;
        let [uplink, _] = request.integrity_protection_maximum_data_rate.value.to_be_bytes();
        Some(UpSecurity { policy, full_rate: uplink == FULL_RATE })
    }

    /// The policy for gNBs.
    pub fn to_ngap(self) -> UserPlaneSecurity {
        let of = |protection| match protection {
            UpProtection::Required => Protection::Required,
            UpProtection::Preferred => Protection::Preferred,
            UpProtection::NotNeeded => Protection::NotNeeded,
        };
        let integrity = of(self.policy.integrity);
        UserPlaneSecurity {
            integrity,
            confidentiality: of(self.policy.ciphering),
            full_rate_integrity: self.full_rate && integrity != Protection::NotNeeded,
        }
    }
}

fn convert(subscribed: &SubscribedUpSecurity) -> UpSecurityPolicy {
    UpSecurityPolicy {
        integrity: match subscribed.up_integr {
            UpIntegrity::Required => UpProtection::Required,
            UpIntegrity::NotNeeded => UpProtection::NotNeeded,
            _ => UpProtection::Preferred,
        },
        ciphering: match subscribed.up_confid {
            UpConfidentiality::Required => UpProtection::Required,
            UpConfidentiality::NotNeeded => UpProtection::NotNeeded,
            _ => UpProtection::Preferred,
        },
    }
}
