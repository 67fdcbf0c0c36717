//! PFCP session set deletion (TS 29.244, 6.2.9): the sessions of connection sets end.
use super::N4;
use martlet_pfcp::ie::{Cause, FqCsid, OffendingIe};
use martlet_pfcp::{IeValue, Message, SessionSetDeletionRequest, SessionSetDeletionResponse};
use std::net::IpAddr;

impl N4 {
    /// Removes the sessions of the sender that belong to one of the sets.
    pub(super) fn delete_session_set(
        &mut self,
        from: IpAddr,
        request: SessionSetDeletionRequest,
    ) -> Message {
        let answer = |cause, offending: Option<u16>| SessionSetDeletionResponse {
            node_id: self.settings.node_id.clone(),
            cause,
            offending_ie: offending.map(OffendingIe),
        };
        let Some(id) = self.association_from(&request.node_id, from) else {
            return answer(Cause::NO_ESTABLISHED_ASSOCIATION, None).into();
        };
        if request.fq_csids.is_empty() {
            return answer(Cause::CONDITIONAL_IE_MISSING, Some(FqCsid::TYPE)).into();
        }
        let accepted = answer(Cause::ACCEPTED, None);
        let own = self.associations.get(&id).map(|association| association.sessions.clone());
        let mut gone: Vec<u64> = own.into_iter().flatten().collect();
        gone.retain(|seid| {
            self.sessions.get(seid).is_some_and(|context| context.is_in(&request.fq_csids))
        });
        tracing::info!(smf = %from, sessions = gone.len(), "session sets deleted");
        self.forget_sessions(&gone);
        accepted.into()
    }
}
