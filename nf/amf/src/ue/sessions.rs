//! A UE's PDU sessions, and their SM contexts at SMFs (TS 29.502).
use super::Ue;
use futures_util::future::join_all;
use martlet_interop::SbiQuirk;
use martlet_nas::identifiers::Slice;
use martlet_sbi::{ApiRoot, Multipart, Problem};
use martlet_sbi_api::common::{Dnn, NgApCause};
use martlet_sbi_api::nsmf_pdusession::{
    Cause, SmContextReleaseData, SmContextUpdateData, SmContextUpdatedData, SmfPduSessionClient,
    UpCnxState,
};

/// The address of an SM context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SmContext {
    /// Root of the SMF.
    pub root: ApiRoot,
    /// `smContextRef`.
    pub reference: String,
}

impl SmContext {
    /// From the `Location` of a created context. `smf` is the root if the location has none.
    /// `tolerates` says whether the location may be the reference alone
    /// ([`SbiQuirk::BareSmContextReference`]).
    pub fn from_location(
        location: &str,
        smf: &ApiRoot,
        tolerates: impl FnOnce(SbiQuirk) -> bool,
    ) -> Option<Self> {
        let (mut root, path) = ApiRoot::split(location).unwrap_or_else(|| (smf.clone(), location));
        if !path.is_empty() && !path.contains('/') {
            return tolerates(SbiQuirk::BareSmContextReference)
                .then(|| SmContext { root, reference: path.to_string() });
        }
        let (before, rest) = path.split_once("/nsmf-pdusession/")?;
        if !before.is_empty() {
            root.prefix = before.to_string();
        }
        let reference = rest.split('/').nth(2).filter(|text| !text.is_empty())?;
        Some(SmContext { root, reference: reference.to_string() })
    }
}

/// A PDU session.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    /// Number of the session, never reused. It is part of the status callback URI.
    pub number: u64,
    pub slice: Slice,
    pub dnn: Dnn,
    pub context: SmContext,
    /// Whether its user plane is active, or being activated.
    pub active: bool,
    /// The release has been sent to the UE and its gNB.
    pub releasing: bool,
}

impl Ue {
    /// A client of the SMF that has the context.
    pub fn smf(&self, context: &SmContext) -> SmfPduSessionClient {
        let peer = self.amf.context.peer_at(context.root.clone());
        SmfPduSessionClient::new(match &self.identity.supi {
            Some(supi) => peer.about(supi),
            None => peer,
        })
    }

    /// Updates a session's SM context (Nsmf_PDUSession_UpdateSMContext).
    pub async fn update_session(
        &self,
        psi: u8,
        change: Multipart<SmContextUpdateData>,
    ) -> Result<Option<Multipart<SmContextUpdatedData>>, Problem> {
        let Some(session) = self.sessions.get(&psi) else {
            return Err(Problem::new(404, "CONTEXT_NOT_FOUND")
                .detail(format!("the UE has no PDU session {psi}")));
        };
        self.smf(&session.context).update_sm_context(&session.context.reference, change).await
    }

    /// Deactivates the user planes of these sessions at their SMFs concurrently (TS 23.502, 4.2.6,
    /// step 5).
    pub async fn deactivate_sessions(&mut self, sessions: &[u8], cause: Option<NgApCause>) {
        let location = self.connection.as_ref().map(|connection| connection.location.to_sbi());
        let updates = sessions.iter().map(|psi| {
            let change = SmContextUpdateData {
                up_cnx_state: Some(UpCnxState::Deactivated),
                ng_ap_cause: cause,
                ue_location: location.clone(),
                ..Default::default()
            };
            self.update_session(*psi, change.into())
        });
        let outcomes = join_all(updates).await;
        for (psi, outcome) in sessions.iter().zip(outcomes) {
            if let Err(problem) = outcome {
                tracing::warn!(
                    supi = self.label(), psi, %problem,
                    "user plane deactivation failed at the SMF"
                );
                if problem.status() == 404 {
                    self.sessions.remove(psi);
                }
            }
            if let Some(session) = self.sessions.get_mut(psi) {
                session.active = false;
            }
        }
    }

    /// Deactivates all active user planes.
    pub async fn deactivate_all(&mut self, cause: Option<NgApCause>) {
        let active = self.active_sessions();
        if !active.is_empty() {
            self.deactivate_sessions(&active, cause).await;
        }
    }

    /// Releases the SM contexts of these sessions concurrently.
    pub async fn release_sessions(&mut self, sessions: Vec<(u8, Session)>, cause: Option<Cause>) {
        let location = self.connection.as_ref().map(|connection| connection.location.to_sbi());
        let releases = sessions.iter().map(|(_, session)| {
            let data = SmContextReleaseData {
                cause: cause.clone(),
                ue_location: location.clone(),
                ..Default::default()
            };
            let smf = self.smf(&session.context);
            let reference = session.context.reference.clone();
            async move { smf.release_sm_context(&reference, Some(data.into())).await }
        });
        let outcomes = join_all(releases).await;
        for ((psi, _), outcome) in sessions.iter().zip(outcomes) {
            match outcome {
                Err(problem) if problem.status() != 404 => {
                    tracing::warn!(
                        supi = self.label(), psi, %problem,
                        "SM context release failed at the SMF"
                    );
                }
                _ => tracing::debug!(supi = self.label(), psi, "SM context released"),
            }
        }
    }

    /// Releases all sessions.
    pub async fn release_all_sessions(&mut self, cause: Option<Cause>) {
        let sessions: Vec<_> = std::mem::take(&mut self.sessions).into_iter().collect();
        if !sessions.is_empty() {
            self.release_sessions(sessions, cause).await;
        }
    }

    /// The sessions whose user plane is active.
    pub fn active_sessions(&self) -> Vec<u8> {
        self.sessions.iter().filter(|(_, session)| session.active).map(|(psi, _)| *psi).collect()
    }

    /// Releases the sessions that the UE reports inactive (TS 24.501, 5.5.1.3.4 and 5.6.1.4).
    /// Returns those whose resources the gNB has still to release.
    pub async fn release_mismatched(&mut self, active_in_ue: impl Fn(u8) -> bool) -> Vec<u8> {
        let gone: Vec<u8> =
            self.sessions.keys().copied().filter(|psi| !active_in_ue(*psi)).collect();
        let at_gnb = self.active_sessions().into_iter().filter(|psi| gone.contains(psi)).collect();
        let sessions: Vec<_> =
            gone.into_iter().filter_map(|psi| Some((psi, self.sessions.remove(&psi)?))).collect();
        if !sessions.is_empty() {
            self.release_sessions(sessions, Some(Cause::PduSessionStatusMismatch)).await;
        }
        at_gnb
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sm_context_address_is_read_from_its_location() {
        let smf = ApiRoot::http("smf:80");
        let at = |location: &str| SmContext::from_location(location, &smf, |_| true);
        let context = at("http://127.0.0.16:7777/nsmf-pdusession/v1/sm-contexts/42").unwrap();
        assert_eq!(
            (context.root.to_string(), context.reference),
            ("http://127.0.0.16:7777".into(), "42".into())
        );
        let context = at("https://smf.example/core/nsmf-pdusession/v1/sm-contexts/a").unwrap();
        assert_eq!(context.root.to_string(), "https://smf.example/core");
        assert_eq!(at("/nsmf-pdusession/v1/sm-contexts/a").unwrap().root, smf);
        for wrong in
            ["", "http://smf", "http://smf/nsmf-pdusession/v1/sm-contexts/", "sm-contexts/a"]
        {
            assert!(at(wrong).is_none(), "{wrong}");
        }
    }
}
