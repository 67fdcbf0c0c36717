//! Fields that a format of files does not carry.
use martlet::exchange::Losses;

/// The error of a command that would lose fields, with its name.
pub(super) fn refused(losses: &Losses, what: &str) -> anyhow::Error {
    anyhow::anyhow!("this {what} would lose fields; --lossy allows it:\n{losses}")
}
