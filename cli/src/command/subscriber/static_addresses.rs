//! The check of static addresses before a command writes to a database itself. The API has the same
//! check.
use super::database::{DatabaseArgs, Opened};
use anyhow::Result;
use martlet_store::{StaticAddresses, Subscriber, has_new_static_address};
use std::time::Duration;

/// Maximum time of the comparison with the subscribers of a database.
const MAX_COMPARISON: Duration = Duration::from_secs(2);

/// The static addresses of a database; those of `wanted` alone if it is given.
pub(super) fn of_database(
    opened: &Opened,
    database: &DatabaseArgs,
    wanted: Option<&Subscriber>,
) -> Result<StaticAddresses> {
    let pools = database.address_pools(&opened.config);
    Ok(StaticAddresses::read(&opened.store, pools, wanted, MAX_COMPARISON)?)
}

/// Prints a note if not all subscribers were compared.
pub(super) fn report(addresses: &StaticAddresses) {
    if !addresses.is_complete() {
        eprintln!(
            "note: not all subscribers of the database were compared: others may have the same \
             static address"
        );
    }
}

/// Checks the static addresses of a subscriber that is to be written, as far as it did not have
/// them `before`.
///
/// # Errors
/// Another subscriber has an address, or it is not in the pool.
pub(super) fn check(
    opened: &Opened,
    database: &DatabaseArgs,
    before: Option<&Subscriber>,
    subscriber: &Subscriber,
) -> Result<()> {
    if !has_new_static_address(before, subscriber) {
        return Ok(());
    }
    let mut addresses = of_database(opened, database, Some(subscriber))?;
    addresses.add(subscriber)?;
    addresses.finish()?;
    report(&addresses);
    Ok(())
}
