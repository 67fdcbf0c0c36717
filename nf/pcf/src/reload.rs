//! A new configuration: SMFs and AMFs are notified of the policies that it changes.
use crate::{Pcf, PcfConfig};
use martlet_sbi::{ApiRoot, Problem};
use martlet_sbi_api::npcf_sm_policy_control::SmPolicyDecision;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// Pauses before notifications are repeated that failed, such as while an SMF restarts.
const PAUSES: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
];

/// The identity of an association whose policy has changed.
enum Changed {
    /// A session, with the decision before.
    Session(String, Box<SmPolicyDecision>),
    /// A UE, with another RFSP index.
    Ue(String),
}

/// Consumers that do not answer. They are not asked again before the next pause.
#[derive(Default)]
pub(crate) struct Absent(HashSet<ApiRoot>);

impl Absent {
    /// Whether a notification to this URI would not be answered.
    pub fn contains(&self, uri: &str) -> bool {
        ApiRoot::split(uri).is_some_and(|(root, _)| self.0.contains(&root))
    }

    /// Adds a consumer that has not answered. Returns whether to repeat the notification.
    pub fn is_to_repeat(&mut self, uri: &str, problem: &Problem) -> bool {
        let is_absent = problem.transport.is_some();
        if is_absent {
            self.0.extend(ApiRoot::split(uri).map(|(root, _)| root));
        }
        is_absent || problem.status() == 429 || problem.status() >= 500
    }
}

impl Pcf {
    /// Applies a configuration. Notifies the SMFs of sessions whose decision changed (TS 29.512,
    /// 4.2.3.2), and the AMFs of UEs whose RFSP index changed (TS 29.507, 4.2.4.2). Returns the
    /// numbers of sessions and UEs.
    pub(crate) fn apply_config(self: &Arc<Self>, config: PcfConfig) -> (usize, usize) {
        let all = self.sm.all();
        let before: Vec<_> = all.iter().map(|(_, association)| self.decide(association)).collect();
        let (rfsp_before, rfsp) = (self.config().default_rfsp, config.default_rfsp);
        self.set_config(config);
        let mut changed = Vec::new();
        for ((id, association), before) in all.into_iter().zip(before) {
            if self.is_changed(&before, &association) {
                changed.push(Changed::Session(id, before.into()));
            }
        }
        let sessions = changed.len();
        if rfsp_before != rfsp {
            let ues = self.am.select(|ue| {
                let (before, now) = (rfsp_before.or(ue.request.rfsp), rfsp.or(ue.request.rfsp));
                // A notification cannot remove the index.
                now.is_some() && now != before
            });
            changed.extend(ues.into_iter().map(Changed::Ue));
        }
        let (ues, pcf) = (changed.len() - sessions, self.clone());
        martlet_nf::spawn(async move { pcf.notify_changes(changed).await });
        (sessions, ues)
    }

    /// Notifies the consumers of changed policies.
    async fn notify_changes(&self, mut waiting: Vec<Changed>) {
        for pause in PAUSES.map(Some).into_iter().chain([None]) {
            let (mut failed, mut absent) = (Vec::new(), Absent::default());
            // Sequentially, so as not to overload an SMF.
            for changed in waiting {
                let has_failed = match &changed {
                    Changed::Session(id, before) => {
                        self.notify_session(id, before, &mut absent).await
                    }
                    Changed::Ue(id) => self.notify_rfsp(id, &mut absent).await,
                };
                if has_failed {
                    failed.push(changed);
                }
            }
            if failed.is_empty() {
                return;
            }
            let Some(pause) = pause else {
                let policies = failed.len();
                return tracing::warn!(policies, "policy update notifications not delivered");
            };
            tokio::time::sleep(pause).await;
            waiting = failed;
        }
    }
}
