//! The calls of a UE's task to the SMFs of its PDU sessions (TS 29.502).
use super::{Session, SmContext, Ue};
use crate::served::plmn_to_sbi;
use futures_util::future::join_all;
use martlet_sbi::{Multipart, Problem};
use martlet_sbi_api::common::NgApCause;
use martlet_sbi_api::nsmf_pdusession::{
    Cause, SmContextReleaseData, SmContextUpdateData, SmContextUpdatedData, SmfPduSessionClient,
    UpCnxState,
};

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
        mut change: Multipart<SmContextUpdateData>,
    ) -> Result<Option<Multipart<SmContextUpdatedData>>, Problem> {
        let Some(session) = self.sessions.get(&psi) else {
            return Err(Problem::new(404, "CONTEXT_NOT_FOUND")
                .detail(format!("the UE has no PDU session {psi}")));
        };
        if session.is_unannounced {
            self.announce(psi, session, &mut change.json);
        }
        self.smf(&session.context).update_sm_context(&session.context.reference, change).await
    }

    /// Adds that this AMF serves the UE (TS 29.502, 5.2.2.3.5): serving NF, GUAMI, network and
    /// status URI.
    pub fn announce(&self, psi: u8, session: &Session, change: &mut SmContextUpdateData) {
        let Some(supi) = &self.identity.supi else { return };
        let root = self.amf.context.api_root();
        let (number, segment) = (session.number, martlet_sbi::path_segment(supi));
        change.serving_nf_id = Some(self.amf.instance_id.clone());
        change.guami = Some(self.guami().sbi.clone());
        change.serving_network = Some(plmn_to_sbi(self.guami().plmn).into());
        change.sm_context_status_uri =
            Some(format!("{root}/namf-callback/v1/sm-context-status/{segment}/{psi}/{number}"));
    }

    /// Deactivates the user planes of these sessions at their SMFs concurrently (TS 23.502, 4.2.6,
    /// step 5).
    pub async fn deactivate_sessions(&mut self, sessions: &[u8], cause: Option<NgApCause>) {
        let location = self.connection.as_ref().map(|connection| connection.location.to_sbi());
        let time_zone = &self.amf.config.network_name.time_zone;
        let updates = sessions.iter().map(|psi| {
            let change = SmContextUpdateData {
                up_cnx_state: Some(UpCnxState::Deactivated),
                ng_ap_cause: cause,
                ue_location: location.clone(),
                ue_time_zone: time_zone.clone(),
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
                session.state.deactivate();
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
        let time_zone = &self.amf.config.network_name.time_zone;
        let releases = sessions.iter().map(|(_, session)| {
            let data = SmContextReleaseData {
                cause: cause.clone(),
                ue_location: location.clone(),
                ue_time_zone: time_zone.clone(),
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
        self.sessions
            .iter()
            .filter(|(_, session)| session.state.is_active())
            .map(|(psi, _)| *psi)
            .collect()
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
