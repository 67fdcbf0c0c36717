//! The check of static addresses before subscribers are written.
use crate::problem::Failure;
use crate::state::Oam;
use martlet_store::{AddressError, StaticAddresses, Store, Subscriber, has_new_static_address};
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum time of the comparison with the subscribers of the database.
const MAX_COMPARISON: Duration = Duration::from_secs(2);

impl From<AddressError> for Failure {
    fn from(error: AddressError) -> Self {
        match error.is_taken {
            true => Failure::conflict(error.detail).remedy(&error.remedy),
            false => Failure::field(&error.field, error.detail, &error.remedy),
        }
    }
}

fn report(addresses: &StaticAddresses, supi: &str) {
    if !addresses.is_complete() {
        tracing::warn!(supi, "static addresses were not compared with those of all subscribers");
    }
}

/// Checks the static addresses of a subscriber that is to be written, as far as it did not have
/// them `before`. They remain checked while what is returned exists. Blocks.
///
/// # Errors
/// Another subscriber has an address, or it is not in the pool: the field is named.
pub fn check<'a>(
    oam: &'a Oam,
    store: &Store,
    before: Option<&Subscriber>,
    subscriber: &Subscriber,
) -> Result<Option<MutexGuard<'a, ()>>, Failure> {
    if !has_new_static_address(before, subscriber) {
        return Ok(None);
    }
    let guard = oam.addresses.lock().unwrap_or_else(PoisonError::into_inner);
    let pools = oam.core.address_pools();
    let mut addresses = StaticAddresses::read(store, pools, Some(subscriber), MAX_COMPARISON)?;
    addresses.add(subscriber).and_then(|()| addresses.finish()).map_err(|error| {
        let field = error.field.clone();
        Failure::from(error).at(&field)
    })?;
    report(&addresses, &subscriber.supi);
    Ok(Some(guard))
}

/// The same for subscribers that are written together. The text of an error names the subscriber.
///
/// # Errors
/// As [`check`]; or two of them have an address.
pub fn check_all<'a>(
    oam: &'a Oam,
    store: &Store,
    subscribers: &[Subscriber],
) -> Result<Option<MutexGuard<'a, ()>>, Failure> {
    if !subscribers.iter().any(|one| has_new_static_address(None, one)) {
        return Ok(None);
    }
    let guard = oam.addresses.lock().unwrap_or_else(PoisonError::into_inner);
    let pools = oam.core.address_pools();
    let mut addresses = StaticAddresses::read(store, pools, None, MAX_COMPARISON)?;
    for subscriber in subscribers {
        addresses.add(subscriber)?;
    }
    addresses.finish()?;
    report(&addresses, "all of an import");
    Ok(Some(guard))
}
