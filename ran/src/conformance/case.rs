//! A case: what gNB and UE do, and what a clause requires of the core.
use super::bench::Bench;
use super::unmet::Unmet;
use std::future::Future;
use std::pin::Pin;

/// Whether gNB and UE follow the specifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// They do.
    Valid,
    /// They do not: the core has to reject, ignore or contain it.
    Invalid,
}

/// The course of a case.
pub type CaseFuture<'a> = Pin<Box<dyn Future<Output = Result<(), Unmet>> + 'a>>;

/// A case.
pub struct Case {
    /// Its name, unique.
    pub name: &'static str,
    /// Whether gNB and UE follow the specifications.
    pub behaviour: Behaviour,
    /// What gNB or UE do.
    pub stimulus: &'static str,
    /// What the core has to do.
    pub expected: &'static str,
    /// The clause that requires it.
    pub clause: &'static str,
    /// Plays it.
    pub run: for<'a> fn(&'a Bench) -> CaseFuture<'a>,
}
