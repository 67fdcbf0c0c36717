//! A UDR that is cut off from the database while another UDR is not (TS 29.500, 5.2.7.2 and
//! 6.12): consumers are to use the other one.
//!
//! ```text
//! UDR            NRF            another UDR       consumer
//!  |  no answer of the database   |                 |
//!  |-- UDRs? ---->|               |                 |
//!  |-- status ------------------->|  it is ready    |
//!  |-- 500 NF_FAILOVER ---------------------------->|  waiting reads, and new requests
//!  |-- SUSPENDED ->|              |                 |
//! ```
//!
//! While no other UDR is ready, such as during an outage of the database itself, requests wait for
//! the database as long as they can: it may be back in time.
use crate::{Udr, problem};
use martlet_nf::{another_is_ready, failover_request};
use martlet_sbi::Problem;
use martlet_store::StoreError;
use std::future::Future;
use std::time::Duration;
use tokio::sync::watch;

/// Part of the time limit of a consumer's request after which the database does not answer. The
/// rest is for the request to another UDR.
const PART: f64 = 0.3;
/// Time limit of the look for another UDR.
const LOOK_LIMIT: Duration = Duration::from_secs(2);

/// Whether requests are refused.
pub(crate) struct CutOff(watch::Sender<bool>);

impl CutOff {
    pub fn new() -> Self {
        CutOff(watch::Sender::new(false))
    }

    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Sets it. Returns whether this is a change.
    fn set(&self, is_cut_off: bool) -> bool {
        self.0.send_if_modified(|now| std::mem::replace(now, is_cut_off) != is_cut_off)
    }

    /// The result of a read, or the request for a failover as soon as this UDR is cut off.
    pub async fn or_refuse<T>(
        &self,
        read: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, Problem> {
        let mut state = self.0.subscribe();
        tokio::select! {
            biased;
            outcome = read => outcome.map_err(problem::of_store),
            // The sender lives as long as this.
            _ = state.wait_for(|is_cut_off| *is_cut_off) => Err(failover_request()),
        }
    }
}

/// How long the database may take for the regular look at changes before it counts as absent.
pub(crate) fn limit(udr: &Udr) -> Duration {
    udr.context.timeout().mul_f64(PART)
}

/// The database answers.
pub(crate) fn end(udr: &Udr) {
    if udr.cut_off.set(false) {
        tracing::warn!("database answers: requests are served again");
    }
    udr.context.set_operative(true);
}

/// The database does not answer.
pub(crate) async fn check(udr: &Udr) {
    let looked = tokio::time::timeout(LOOK_LIMIT, another_is_ready(&udr.context)).await;
    let is_cut_off = looked.unwrap_or(false);
    if udr.cut_off.set(is_cut_off) {
        match is_cut_off {
            true => tracing::error!("cut off from the database: consumers use another UDR"),
            false => tracing::warn!("no other UDR is ready: requests wait for the database"),
        }
    }
    udr.context.set_operative(!is_cut_off);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waiting_reads_are_refused_once_the_udr_is_cut_off() {
        let cut_off = CutOff::new();
        assert_eq!(cut_off.or_refuse(async { Ok(1) }).await.unwrap(), 1);
        let never = cut_off.or_refuse(std::future::pending::<Result<(), StoreError>>());
        let set = async { assert!(cut_off.set(true) && !cut_off.set(true)) };
        let (refused, ()) = tokio::join!(never, set);
        let problem = refused.unwrap_err();
        assert_eq!((problem.status(), problem.cause()), (500, "NF_FAILOVER"));
        // What the cache has is served.
        assert_eq!(cut_off.or_refuse(async { Ok(2) }).await.unwrap(), 2);
    }
}
