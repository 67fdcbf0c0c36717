//! Takeover of a session whose SMF has failed, by another member of the set (TS 23.501, 5.22). Of
//! several members one succeeds.
//!
//! ```text
//! SMF                           UPF    UDM    PCF    AMF
//!  | take over the context       |      |      |      |   take_over
//!  |-- N4: new CP F-SEID ------->|      |      |      |   announce
//!  |-- registration ------------------>|       |      |
//!  |-- new policy association --------------->|       |
//!  |-- SMContextStatusNotify: new SMF -------------->|
//! ```
use super::peers::{self, PeerSession};
use crate::metrics;
use crate::n4::change_cp_fseid;
use crate::persisted::{self, PersistedSession};
use crate::procedures::modification::network_requested_modification;
use crate::procedures::policy::sm_policy_association;
use crate::procedures::subscription::{sm_subscription_data, smf_registration};
use crate::procedures::user_plane::{n4_session_modification, restoration};
use crate::session::Session;
use crate::session_event::SessionEvent;
use crate::session_table::SessionHandle;
use crate::shared::Smf;
use martlet_sbi::ApiRoot;
use martlet_sbi_api::namf_callback::AmfCallbackClient;
use martlet_sbi_api::nsmf_pdusession::{
    ResourceStatus, SmContextStatusNotification, SmfPduSessionClient, StatusInfo,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Timeout of a health check.
const HEALTH_CHECK_TIMEOUT: Duration = Duration::from_secs(1);

/// Whether an SMF responds.
pub async fn is_alive(smf: &Smf, root: ApiRoot) -> bool {
    // Without a retry at another member of the set.
    let peer = smf.context.nrf().at(root).within(HEALTH_CHECK_TIMEOUT);
    let response = SmfPduSessionClient::new(peer).retrieve_sm_context("0", None).await;
    // The session does not exist, and the SMF responds so; a stopped SMF does not respond.
    response
        .err()
        .is_none_or(|problem| problem.transport.is_none() && problem.cause() != "TIMED_OUT_REQUEST")
}

/// Takes over the session with a reference from a member that does not respond. Returns `None` if
/// there is none, or if its SMF responds.
pub async fn take_over(smf: &Arc<Smf>, reference: &str) -> Option<SessionHandle> {
    let set = smf.set.clone()?;
    let number: u64 = reference.parse().ok()?;
    let (config, name) = (smf.config.clone(), reference.to_string());
    let find = move || peers::find(&set, &config, &name);
    let found = tokio::task::spawn_blocking(find).await.ok()?;
    let found = found
        .inspect_err(|error| tracing::warn!(%error, "sessions of the SMF set not readable"))
        .ok()??;
    if let Some(root) = found.root.clone()
        && is_alive(smf, root).await
    {
        return None;
    }
    take_over_from(smf, number, found).await
}

/// Waits until a session that this SMF had, and lost, is removed from the table.
pub async fn is_removed(smf: &Smf, reference: &str) -> bool {
    for _ in 0..20 {
        let Some(lost) = smf.sessions.get(reference) else { return true };
        lost.send(SessionEvent::TakenOver);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

/// Takes over a session, and starts its task.
async fn take_over_from(
    smf: &Arc<Smf>,
    reference: u64,
    peer: PeerSession,
) -> Option<SessionHandle> {
    let name = reference.to_string();
    if !is_removed(smf, &name).await {
        return smf.sessions.get(&name);
    }
    let id = name.clone();
    let taken = tokio::task::spawn_blocking(move || peer.contexts.take_over(&id)).await;
    let Ok(Ok(Some(value))) = taken else {
        // Another task of this SMF may have taken it over.
        return smf.sessions.get(&name);
    };
    adopt(smf, reference, &value).await
}

/// Starts the task of a session that was taken over in the database, and [`is_removed`] here.
pub async fn adopt(smf: &Arc<Smf>, reference: u64, value: &[u8]) -> Option<SessionHandle> {
    let started = Instant::now();
    let name = reference.to_string();
    smf.contexts.regain(&name);
    let failed = |error: &dyn std::fmt::Display| {
        tracing::warn!(reference, %error, "session not taken over");
        // It is stored as this SMF's own.
        smf.contexts.remove(name.clone());
    };
    let stored = martlet_erased::from_json::<PersistedSession>(value);
    let stored = stored.inspect_err(|error| failed(error)).ok()?;
    let session = persisted::session(smf, reference, stored, true);
    let session = session.inspect_err(|error| failed(error)).ok()?;
    let handle = smf.sessions.get(&name)?;
    session.persist();
    tracing::info!(
        supi = %session.supi, session = session.id, "session taken over from a failed SMF"
    );
    let mut session = Box::new(session);
    martlet_sbi::trace::spawn(Default::default(), async move {
        // Boxed, so that the task of an idle session is small.
        Box::pin(announce(&mut session)).await;
        let result = if session.user_plane.is_lost() { "lost" } else { "ok" };
        metrics::procedure("set_takeover", result, started);
        session.persist();
        if session.user_plane.is_lost() {
            session.send_to_self(SessionEvent::UserPlaneLost);
        }
        session.run().await;
    });
    Some(handle)
}

/// Announces the session's new SMF to UPF, UDM, PCF and AMF.
async fn announce(session: &mut Session) {
    let smf = session.smf.clone();
    let _permit = smf.restorations.acquire().await;
    let (supi, id) = (session.supi.clone(), session.id);
    for (bit, at) in session.user_plane.path().into_iter().flat_map(|path| path.all()) {
        let request = change_cp_fseid(session.reference | bit, smf.n4.address());
        let outcome = n4_session_modification::request(session, at, request).await;
        // A UPF without support for SMF sets gets the session again.
        if let Err(error) = outcome {
            tracing::info!(%supi, session = id, %error, "CP F-SEID not changed, restoring");
            if restoration::restore(session).await.is_err() && session.user_plane.is_lost() {
                return;
            }
        }
    }
    session.udm.is_registered = smf_registration::register_again(session).await;
    session.udm.sdm_subscription = None;
    sm_subscription_data::subscribe(session).await;
    renew_policy_association(session).await;
    let mut body = SmContextStatusNotification::new(StatusInfo::new(ResourceStatus::Updated));
    body.new_smf_id = Some(smf.instance_id.clone());
    body.new_smf_set_id = smf.set_id();
    let amf = AmfCallbackClient::new(smf.context.callback_peer().about(&supi));
    if let Err(problem) = amf.sm_context_status_notify(&session.amf.status_uri, body).await {
        tracing::info!(%supi, session = id, %problem, "notification of the new SMF failed");
    }
}

/// The PCF would notify the failed SMF: creates a new association, and enforces its decision. The
/// new association has none of the rules that the UE requested: their flows end at UE and UPF.
async fn renew_policy_association(session: &mut Session) {
    let Some(old) = session.policy.clone() else { return };
    let before = session.qos.clone();
    session.qos.rules = Default::default();
    let supi = session.supi.clone();
    let found =
        sm_subscription_data::get(&session.smf, &supi, &session.plmn, session.slice, &session.dnn);
    let created = match found.await {
        Ok(subscription) => {
            sm_policy_association::create(session, &subscription, &Default::default()).await
        }
        Err(problem) => Err(problem),
    };
    if let Err(problem) = created {
        let id = session.id;
        tracing::warn!(%supi, session = id, %problem, "policy association not renewed");
        session.qos = before;
        return;
    }
    network_requested_modification::enforce(session, before).await;
    if let Err(problem) = sm_policy_association::delete(&old, session.plmn.clone(), None).await {
        let id = session.id;
        tracing::info!(%supi, session = id, %problem, "old policy association not deleted");
    }
}
