//! How many sessions a slice, or a data network in a slice, may have at a time (`smf.limits`):
//! beyond, UEs are refused with a cause that says which of both is full, and wait (TS 24.501, 6.2.7
//! and 6.2.8; T3584 and T3585).
use crate::LimitConfig;
use martlet_nas::GsmCause;
use martlet_sbi_api::common::Snssai;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What of its limits a session takes, for as long as it lasts.
pub type Room = Vec<OwnedSemaphorePermit>;

/// All limits, with what is free of each.
pub struct RoomLimits(Vec<(LimitConfig, Arc<Semaphore>)>);

impl RoomLimits {
    /// With nothing taken.
    pub fn new(config: &[LimitConfig]) -> Self {
        let limit =
            |limit: &LimitConfig| (limit.clone(), Arc::new(Semaphore::new(limit.max_sessions)));
        RoomLimits(config.iter().map(limit).collect())
    }

    /// Takes room for one session.
    ///
    /// # Errors
    /// What is full: cause #67 for the data network in the slice, #69 for the slice.
    pub fn take(&self, slice: Snssai, dnn: &str) -> Result<Room, GsmCause> {
        let mut room = Vec::new();
        for (limit, free) in self.0.iter().filter(|(limit, _)| limit.is_of(slice, dnn)) {
            room.push(free.clone().try_acquire_owned().map_err(
                |_| match limit.dnn.is_empty() {
                    true => GsmCause::InsufficientResourcesForSpecificSlice,
                    false => GsmCause::InsufficientResourcesForSpecificSliceAndDnn,
                },
            )?);
        }
        Ok(room)
    }

    /// The same for a session that is there already, whether there is room for it or not.
    pub fn keep(&self, slice: Snssai, dnn: &str) -> Room {
        let of = self.0.iter().filter(|(limit, _)| limit.is_of(slice, dnn));
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
    fn a_slice_and_a_data_network_in_it_have_limits_of_their_own() {
        let limits = RoomLimits::new(&[limit(1, "internet", 1), limit(1, "", 2)]);
        let (slice, other) = (Snssai::new(1, None), Snssai::new(2, None));
        let first = limits.take(slice, "Internet").unwrap();
        let full = limits.take(slice, "internet").unwrap_err();
        assert_eq!(full, GsmCause::InsufficientResourcesForSpecificSliceAndDnn);
        // What it had taken of the slice is free again.
        let second = limits.take(slice, "ims").unwrap();
        assert_eq!(
            limits.take(slice, "ims").unwrap_err(),
            GsmCause::InsufficientResourcesForSpecificSlice
        );
        assert!(limits.take(other, "internet").unwrap().is_empty());
        assert!(limits.keep(slice, "internet").is_empty());
        drop((first, second));
        assert_eq!(limits.take(slice, "internet").unwrap().len(), 2);
    }
}
