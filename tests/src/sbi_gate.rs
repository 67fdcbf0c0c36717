//! A gate on the service-based interface: a test holds requests, or lets them fail.
use martlet_sbi::{OperationInfo, Problem};
use std::collections::HashMap;
use tokio::sync::watch;

/// The requests that a core with HTTP sends pass here. Operations are named `service operation`.
#[derive(Default)]
pub struct SbiGate(watch::Sender<Gates>);

#[derive(Default)]
struct Gates {
    /// The number of requests of an operation that still pass.
    closed: HashMap<String, usize>,
    /// The number of requests that were held since the gate was closed.
    held: HashMap<String, usize>,
    /// The status of the answer to each request of an operation.
    failing: HashMap<String, u16>,
    /// The number of requests that were answered so since the gate was last open.
    failed: HashMap<String, usize>,
}

/// What happens to a request.
enum Passage {
    Open,
    Closed,
    Failing(u16),
}

impl SbiGate {
    /// From now on, requests of an operation are held, except for the first `passing` ones.
    pub fn close(&self, operation: &str, passing: usize) {
        self.0.send_modify(|gates| _ = gates.closed.insert(operation.into(), passing));
    }

    /// From now on, requests of an operation are answered with a status.
    pub fn fail(&self, operation: &str, status: u16) {
        self.0.send_modify(|gates| _ = gates.failing.insert(operation.into(), status));
    }

    /// Sends all requests that are held. None is held any more, and none fails.
    pub fn open(&self) {
        self.0.send_modify(|gates| *gates = Gates::default());
    }

    /// The number of requests of an operation that were held since its gate was closed.
    pub fn held(&self, operation: &str) -> usize {
        self.0.borrow().held.get(operation).copied().unwrap_or_default()
    }

    /// The number of requests of an operation that have failed since the gate was last open.
    pub fn failed(&self, operation: &str) -> usize {
        self.0.borrow().failed.get(operation).copied().unwrap_or_default()
    }

    /// Waits as long as the request is held. Returns the problem with which it is answered.
    pub(crate) async fn pass(&self, operation: &OperationInfo) -> Result<(), Problem> {
        let name = format!("{} {}", operation.api, operation.name);
        let mut changed = self.0.subscribe();
        let mut is_held = false;
        loop {
            match self.passage(&name, is_held) {
                Passage::Open => return Ok(()),
                Passage::Failing(status) => return Err(Problem::new(status, "SYSTEM_FAILURE")),
                Passage::Closed => is_held = true,
            }
            if changed.changed().await.is_err() {
                return Ok(());
            }
        }
    }

    /// `is_held`: the request is counted as held.
    fn passage(&self, name: &str, is_held: bool) -> Passage {
        let mut passage = Passage::Open;
        self.0.send_if_modified(|gates| {
            if let Some(status) = gates.failing.get(name) {
                passage = Passage::Failing(*status);
            }
            match gates.closed.get_mut(name) {
                Some(0) => {
                    passage = Passage::Closed;
                    *gates.held.entry(name.into()).or_default() += usize::from(!is_held);
                }
                Some(passing) => *passing -= 1,
                None => {}
            }
            if let Passage::Failing(_) = passage {
                *gates.failed.entry(name.into()).or_default() += 1;
            }
            false
        });
        passage
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi_api::nudm_sdm::NUDM_SDM;
    use std::sync::Arc;

    #[tokio::test]
    async fn requests_are_held_until_the_gate_is_open() {
        const UNSUBSCRIBE: &str = "nudm-sdm Unsubscribe";
        let gate = Arc::new(SbiGate::default());
        gate.close(UNSUBSCRIBE, 1);
        gate.pass(NUDM_SDM::unsubscribe()).await.unwrap();
        gate.pass(NUDM_SDM::subscribe()).await.unwrap();
        let held = tokio::spawn({
            let gate = gate.clone();
            async move { gate.pass(NUDM_SDM::unsubscribe()).await }
        });
        while gate.held(UNSUBSCRIBE) == 0 {
            tokio::task::yield_now().await;
        }
        gate.close("nudm-sdm Subscribe", 0);
        tokio::task::yield_now().await;
        assert!(!held.is_finished() && gate.held(UNSUBSCRIBE) == 1);
        gate.open();
        held.await.unwrap().unwrap();
        gate.fail(UNSUBSCRIBE, 503);
        assert_eq!(gate.pass(NUDM_SDM::unsubscribe()).await.unwrap_err().status(), 503);
        assert_eq!(gate.failed(UNSUBSCRIBE), 1);
    }
}
