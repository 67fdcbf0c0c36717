//! NAS and NGAP timers.
use martlet_config::Finding;
use martlet_nas::timers;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Timers (TS 24.501, 10.2) and numbers of attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TimersConfig {
    /// T3502, seconds: retry time of a UE whose registration failed five times; 0 leaves the UE
    /// its default of 12 minutes.
    pub t3502_s: u32,
    /// T3512, seconds: period of periodic registration; 0 disables it. A subscription may have its
    /// own value.
    pub t3512_s: u32,
    /// T3513, milliseconds: time to answer a paging.
    pub t3513_ms: u32,
    /// Paging attempts before a UE counts as not responding.
    pub paging_attempts: u8,
    /// T3522, milliseconds: time for DEREGISTRATION ACCEPT.
    pub t3522_ms: u32,
    /// T3550, milliseconds: time for REGISTRATION COMPLETE.
    pub t3550_ms: u32,
    /// T3555, milliseconds: time for CONFIGURATION UPDATE COMPLETE.
    pub t3555_ms: u32,
    /// T3560, milliseconds: time for the responses to authentication and security mode control.
    pub t3560_ms: u32,
    /// T3570, milliseconds: time for IDENTITY RESPONSE.
    pub t3570_ms: u32,
    /// Transmissions of a NAS message before its procedure fails: 5 (TS 24.501, 5.4.1.3.7 and
    /// others).
    pub nas_attempts: u8,
    /// Mobile reachable timer: seconds added to T3512 as the UE has it.
    pub mobile_reachable_s: u32,
    /// Implicit deregistration timer, seconds.
    pub implicit_deregistration_s: u32,
    /// Time for a gNB to respond, milliseconds.
    pub ngap_ms: u32,
    /// Time from HANDOVER COMMAND to HANDOVER NOTIFY, milliseconds.
    pub handover_ms: u32,
    /// Time for which an answer of the NSSF holds for other UEs with the same subscribed and
    /// requested slices in the same tracking area, seconds; 0 asks for each registration.
    pub nssf_answer_s: u32,
    /// Retention of a deregistered UE's security context and 5G-GUTI, seconds.
    pub deregistered_s: u32,
}

impl Default for TimersConfig {
    fn default() -> Self {
        TimersConfig {
            t3502_s: 0,
            t3512_s: 3240,
            t3513_ms: 2000,
            paging_attempts: 4,
            t3522_ms: 6000,
            t3550_ms: 6000,
            t3555_ms: 6000,
            t3560_ms: 6000,
            t3570_ms: 6000,
            nas_attempts: 5,
            mobile_reachable_s: 240,
            implicit_deregistration_s: 3480,
            ngap_ms: 5000,
            handover_ms: 10_000,
            nssf_answer_s: 60,
            deregistered_s: 3600,
        }
    }
}

impl TimersConfig {
    pub(super) fn check(&self) -> Vec<Finding> {
        let nonzero = [
            ("t3513_ms", self.t3513_ms),
            ("t3522_ms", self.t3522_ms),
            ("t3550_ms", self.t3550_ms),
            ("t3555_ms", self.t3555_ms),
            ("t3560_ms", self.t3560_ms),
            ("t3570_ms", self.t3570_ms),
            ("ngap_ms", self.ngap_ms),
            ("handover_ms", self.handover_ms),
            ("paging_attempts", self.paging_attempts.into()),
            ("nas_attempts", self.nas_attempts.into()),
        ];
        let zero = nonzero.into_iter().filter(|(_, value)| *value == 0);
        zero.map(|(name, _)| Finding::new(name, "must not be 0; remove the key for the default"))
            .collect()
    }

    pub(crate) fn t3513(&self) -> Duration {
        Duration::from_millis(self.t3513_ms.into())
    }
    pub(crate) fn t3522(&self) -> Duration {
        Duration::from_millis(self.t3522_ms.into())
    }
    pub(crate) fn t3550(&self) -> Duration {
        Duration::from_millis(self.t3550_ms.into())
    }
    pub(crate) fn t3555(&self) -> Duration {
        Duration::from_millis(self.t3555_ms.into())
    }
    pub(crate) fn t3560(&self) -> Duration {
        Duration::from_millis(self.t3560_ms.into())
    }
    pub(crate) fn t3570(&self) -> Duration {
        Duration::from_millis(self.t3570_ms.into())
    }
    pub(crate) fn ngap(&self) -> Duration {
        Duration::from_millis(self.ngap_ms.into())
    }
    pub(crate) fn handover(&self) -> Duration {
        Duration::from_millis(self.handover_ms.into())
    }
    /// Mobile reachable timer for this T3512 (seconds). It follows the value that the UE gets,
    /// which is longer where T3512 cannot be encoded: else a UE would count as unreachable before
    /// its periodic registration (TS 24.501, 5.3.7).
    pub(crate) fn mobile_reachable(&self, t3512: u32) -> Duration {
        let of_ue = timers::t3512(t3512.into()).to_seconds().unwrap_or_default();
        Duration::from_secs(of_ue + u64::from(self.mobile_reachable_s))
    }
    pub(crate) fn implicit_deregistration(&self) -> Duration {
        Duration::from_secs(self.implicit_deregistration_s.into())
    }
    pub(crate) fn nssf_answer(&self) -> Duration {
        Duration::from_secs(self.nssf_answer_s.into())
    }
    pub(crate) fn deregistered(&self) -> Duration {
        Duration::from_secs(self.deregistered_s.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ue_is_reachable_until_after_its_periodic_registration() {
        let timers = TimersConfig::default();
        // 54 minutes cannot be encoded: the UE gets an hour.
        for (t3512, of_ue) in [(3240, 3600), (1900, 2400), (3600, 3600), (112_000, 144_000)] {
            assert_eq!(timers.mobile_reachable(t3512), Duration::from_secs(of_ue + 240), "{t3512}");
        }
    }
}
