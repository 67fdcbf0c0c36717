//! Limits for the number of sessions of a slice, or of a data network in a slice (`smf.limits`). A
//! rejected UE gets the cause and the back-off timer of TS 24.501, 6.2.7 and 6.2.8 (T3584, T3585).
use crate::config::LimitConfig;
use martlet_nas::GsmCause;
use martlet_sbi_api::common::Snssai;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A session's share of the limits; dropping it makes room for another session.
pub type LimitPermits = Vec<OwnedSemaphorePermit>;

/// All limits with their free permits.
pub struct SessionLimits(Vec<(LimitConfig, Arc<Semaphore>)>);

impl SessionLimits {
    /// Limits without sessions.
    pub fn new(config: &[LimitConfig]) -> Self {
        let limit =
            |limit: &LimitConfig| (limit.clone(), Arc::new(Semaphore::new(limit.max_sessions)));
        SessionLimits(config.iter().map(limit).collect())
    }

    /// Acquires the permits for a session.
    ///
    /// # Errors
    /// The reached limit: cause #67 for the data network in the slice, #69 for the slice.
    pub fn acquire(&self, slice: Snssai, dnn: &str) -> Result<LimitPermits, GsmCause> {
        let mut permits = Vec::new();
        for (limit, free) in self.0.iter().filter(|(limit, _)| limit.applies_to(slice, dnn)) {
            permits.push(free.clone().try_acquire_owned().map_err(
                |_| match limit.dnn.is_empty() {
                    true => GsmCause::InsufficientResourcesForSpecificSlice,
                    false => GsmCause::InsufficientResourcesForSpecificSliceAndDnn,
                },
            )?);
        }
        Ok(permits)
    }

    /// Acquires the free permits for a session that exists already, even if a limit is reached.
    pub fn acquire_free(&self, slice: Snssai, dnn: &str) -> LimitPermits {
        let of = self.0.iter().filter(|(limit, _)| limit.applies_to(slice, dnn));
        of.filter_map(|(_, free)| free.clone().try_acquire_owned().ok()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(sst: u8, dnn: &str, max_sessions: usize) -> LimitConfig {
        LimitConfig { sst, sd: None, dnn: dnn.into(), max_sessions }
    }

    #[test]
    fn a_slice_and_a_data_network_in_it_have_separate_limits() {
        let limits = SessionLimits::new(&[limit(1, "internet", 1), limit(1, "", 2)]);
        let (slice, other) = (Snssai::new(1, None), Snssai::new(2, None));
        let first = limits.acquire(slice, "Internet").unwrap();
        let full = limits.acquire(slice, "internet").unwrap_err();
        assert_eq!(full, GsmCause::InsufficientResourcesForSpecificSliceAndDnn);
        // The failed attempt released its permit for the slice.
        let second = limits.acquire(slice, "ims").unwrap();
        assert_eq!(
            limits.acquire(slice, "ims").unwrap_err(),
            GsmCause::InsufficientResourcesForSpecificSlice
        );
        assert!(limits.acquire(other, "internet").unwrap().is_empty());
        assert!(limits.acquire_free(slice, "internet").is_empty());
        drop((first, second));
        assert_eq!(limits.acquire(slice, "internet").unwrap().len(), 2);
    }
}
