//! A case: what gNB and UE do, and what a clause requires of the core.
use super::bench::Bench;
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

/// Why a case did not pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmet {
    /// The core did not do what the clause requires: what was received in its place.
    Failed(String),
    /// The case needs something that the bench was not given.
    NotRun(&'static str),
}

impl<E: std::error::Error> From<E> for Unmet {
    fn from(error: E) -> Self {
        Unmet::Failed(error.to_string())
    }
}

/// The course of a case.
pub type Course<'a> = Pin<Box<dyn Future<Output = Result<(), Unmet>> + 'a>>;

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
    pub run: for<'a> fn(&'a Bench) -> Course<'a>,
}

/// Fails the case unless the condition holds.
pub(super) fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), Unmet> {
    if holds { Ok(()) } else { Err(Unmet::Failed(otherwise())) }
}

/// A failed case.
pub(super) fn failed<T>(what: impl Into<String>) -> Result<T, Unmet> {
    Err(Unmet::Failed(what.into()))
}
