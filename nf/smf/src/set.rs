//! SMFs of a set (TS 23.501, 5.22; TS 29.244, 5.22): where they keep their sessions in one place
//! (`smf.context_store.database`), another one goes on with the sessions of one that is gone. It does so when
//! somebody has something for a session, and by itself when it finds that a member does not answer.
//! Each session is claimed by one of them alone.
use crate::n4::take_control;
use crate::persisted::{self, PersistedSession, SMF, owner, owner_prefix};
use crate::procedures::establishment::pdu_session_establishment;
use crate::procedures::modification::network_requested_modification;
use crate::procedures::user_plane::n4_session_establishment;
use crate::session::{Session, SessionEvent};
use crate::sessions::SessionHandle;
use crate::{Smf, SmfConfig, metrics};
use martlet_context_store::{PeerContexts, StoreError};
use martlet_nf::{Shutdown, StartError};
use martlet_pfcp::Message;
use martlet_sbi::ApiRoot;
use martlet_sbi_api::namf_callback::AmfCallbackClient;
use martlet_sbi_api::nsmf_pdusession::{
    ResourceStatus, SmContextStatusNotification, SmfPduSessionClient, StatusInfo,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a member may take to say that it lives.
const PATIENCE: Duration = Duration::from_secs(1);
/// A member that did not answer so often in a row is gone.
const MISSED: u32 = 2;

/// A session that a member has left.
struct Left {
    contexts: PeerContexts,
    root: Option<ApiRoot>,
}

fn open(config: &SmfConfig, owner: &str) -> Result<PeerContexts, StoreError> {
    PeerContexts::open(&config.context_store, owner)
}

/// The other members that keep something.
fn others(config: &SmfConfig) -> Result<Vec<String>, StoreError> {
    let (Some(set), own) = (&config.set, owner(config)) else { return Ok(Vec::new()) };
    let mut owners = open(config, &own)?.owners(&owner_prefix(&set.id))?;
    owners.retain(|owner| *owner != own);
    Ok(owners)
}

/// What the other members have of sessions, each as it is kept.
pub fn elsewhere(config: &SmfConfig) -> Result<Vec<Vec<u8>>, StoreError> {
    // In a thread of its own: a database is not waited for within a runtime.
    let read = std::thread::scope(|scope| scope.spawn(|| read_elsewhere(config)).join());
    read.unwrap_or_else(|_| Ok(Vec::new()))
}

fn read_elsewhere(config: &SmfConfig) -> Result<Vec<Vec<u8>>, StoreError> {
    let mut all = Vec::new();
    for owner in others(config)? {
        let contexts = open(config, &owner)?.contexts()?;
        all.extend(contexts.into_iter().filter(|(id, _)| id != SMF).map(|(_, value)| value));
    }
    Ok(all)
}

fn find(config: &SmfConfig, reference: &str) -> Result<Option<Left>, StoreError> {
    for owner in others(config)? {
        let contexts = open(config, &owner)?;
        if contexts.context(reference)?.is_some() {
            let root = contexts.context(SMF)?.and_then(|value| persisted::root(&value));
            return Ok(Some(Left { contexts, root }));
        }
    }
    Ok(None)
}

/// Whether an SMF answers at all.
async fn lives(smf: &Smf, root: ApiRoot) -> bool {
    // Without another member's being asked instead.
    let peer = smf.context.nrf().at(root).within(PATIENCE);
    let answer = SmfPduSessionClient::new(peer).retrieve_sm_context("0", None).await;
    // It has no such session, but it says so; one that stands still says nothing.
    answer
        .err()
        .is_none_or(|problem| problem.transport.is_none() && problem.cause() != "TIMED_OUT_REQUEST")
}

/// Goes on with a session that a member of the set has left; `None` where there is none, or the
/// member lives.
pub async fn take_over(smf: &Arc<Smf>, reference: &str) -> Option<SessionHandle> {
    smf.config.set.as_ref()?;
    let number: u64 = reference.parse().ok()?;
    let (config, name) = (smf.config.clone(), reference.to_string());
    let left = tokio::task::spawn_blocking(move || find(&config, &name)).await.ok()?;
    let left = left
        .inspect_err(|error| tracing::warn!(%error, "the sessions of the set cannot be read"))
        .ok()??;
    if let Some(root) = left.root.clone()
        && lives(smf, root).await
    {
        // Its connection with the database ends where that may be waited for.
        tokio::task::spawn_blocking(move || drop(left));
        return None;
    }
    claim(smf, number, left).await
}

/// A session that was this SMF's before another one went on with it is not in the table any more,
/// or no more in a moment.
async fn gone(smf: &Smf, reference: &str) -> bool {
    for _ in 0..20 {
        let Some(stale) = smf.sessions.get(reference) else { return true };
        stale.send(SessionEvent::Taken);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

async fn claim(smf: &Arc<Smf>, reference: u64, left: Left) -> Option<SessionHandle> {
    let started = Instant::now();
    let name = reference.to_string();
    if !gone(smf, &name).await {
        return smf.sessions.get(&name);
    }
    let claimed =
        tokio::task::spawn_blocking(move || left.contexts.take_over(&reference.to_string())).await;
    let Ok(Ok(Some(value))) = claimed else {
        // Somebody else did, who may be this one; or its SMF is at work.
        return smf.sessions.get(&reference.to_string());
    };
    smf.contexts.regain(&name);
    let decoded = serde_json::from_slice::<PersistedSession>(&value);
    let decoded = decoded
        .inspect_err(|error| tracing::warn!(reference, %error, "a session of the set is lost"))
        .ok()?;
    let session = persisted::session(smf, reference, decoded, true);
    let session = session
        .inspect_err(|error| tracing::warn!(reference, %error, "a session of the set is lost"))
        .ok()?;
    let handle = smf.sessions.get(&reference.to_string())?;
    session.persist();
    tracing::info!(supi = %session.supi, session = session.id, "a session goes on here: its SMF is gone");
    martlet_sbi::trace::spawn(Default::default(), async move {
        let mut session = Box::new(session);
        adopt(&mut session).await;
        metrics::procedure("set_takeover", if session.lost { "lost" } else { "ok" }, started);
        session.persist();
        session.run().await;
    });
    Some(handle)
}

/// UPF, AMF and UDM learn which SMF has the session now.
async fn adopt(session: &mut Session) {
    let smf = session.smf.clone();
    let _turn = smf.restorations.acquire().await;
    for (bit, at) in session.place().into_iter().flat_map(|place| place.all()) {
        let request = take_control(session.reference | bit, smf.n4.address());
        match smf.n4.request(at.upf, Some(at.seid), request).await {
            Ok(Message::SessionModificationResponse(answer)) if answer.cause.is_accepted() => {}
            // A UPF that does not know sessions of several SMFs gets the session anew.
            outcome => {
                let outcome = outcome.map(|message| message.name());
                tracing::info!(supi = %session.supi, session = session.id, ?outcome, "the UPF does not hand the session over");
                if n4_session_establishment::restore(session).await.is_err()
                    && session.upf.is_none()
                {
                    return;
                }
            }
        }
    }
    session.registered = n4_session_establishment::register_again(session).await;
    session.sdm_subscription = None;
    network_requested_modification::subscribe(session).await;
    policy_anew(session).await;
    let mut body = SmContextStatusNotification::new(StatusInfo::new(ResourceStatus::Updated));
    body.new_smf_id = Some(smf.instance_id.clone());
    let amf = AmfCallbackClient::new(smf.context.callback_peer().about(&session.supi));
    if let Err(problem) = amf.sm_context_status_notify(&session.status_uri, body).await {
        tracing::info!(supi = %session.supi, session = session.id, %problem, "the AMF does not learn of the session's new SMF");
    }
}

impl Session {
    /// Whether the session is this SMF's still. Waits for the place of the sessions where this SMF
    /// was not heard of there for a while.
    pub(crate) async fn is_owned(&self) -> bool {
        self.smf.contexts.is_owner(self.reference).await
    }

    /// Another SMF of the set has gone on with the session, thinking that this one was gone: here
    /// it ends, without a word to anybody. Its address stays in use.
    pub(crate) fn drop_taken_over(&self) {
        tracing::warn!(supi = %self.supi, session = self.id, "another SMF of the set has gone on with the session: it ends here");
        metrics::taken_over();
        self.smf.sessions.remove(self.reference);
    }
}

/// Tells sessions that another SMF has taken; ends with an error where another process has this
/// SMF's name.
pub async fn fence(smf: &Arc<Smf>, shutdown: &Shutdown) -> Result<(), StartError> {
    let taken = |id: &str| {
        if let Some(session) = smf.sessions.get(id) {
            session.send(SessionEvent::Taken);
        }
    };
    tokio::select! {
        () = shutdown.wait() => Ok(()),
        superseded = smf.contexts.watch(taken) => Err(StartError(superseded.to_string())),
    }
}

/// The PCF would tell the SMF that is gone of a change: there is a new association, and what it
/// says now holds. What the UE itself has asked for stays until it gives it up.
async fn policy_anew(session: &mut Session) {
    let Some((pcf, id)) = session.policy.clone() else { return };
    let before = network_requested_modification::now(session);
    let subscribed = pdu_session_establishment::subscription(
        &session.smf,
        &session.supi,
        session.slice,
        &session.dnn,
    )
    .await;
    let made = match subscribed {
        Ok(subscribed) => pdu_session_establishment::policy(session, &subscribed).await,
        Err(problem) => Err(problem),
    };
    if let Err(problem) = made {
        tracing::warn!(supi = %session.supi, session = session.id, %problem, "no new policy association: the old one stays");
        return;
    }
    network_requested_modification::changed(session, before).await;
    if let Err(problem) = pcf.delete_sm_policy(&id, Default::default()).await {
        tracing::info!(supi = %session.supi, session = session.id, %problem, "the PCF keeps an old association");
    }
}

/// Looks after the other members: what one that does not answer has left is taken over.
pub async fn watch(smf: Arc<Smf>, shutdown: Shutdown) {
    let Some(every) =
        smf.config.set.as_ref().map(|set| Duration::from_millis(set.watch_ms.max(10).into()))
    else {
        return;
    };
    let mut missed: HashMap<String, u32> = HashMap::new();
    loop {
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            () = shutdown.wait() => return,
        }
        let config = smf.config.clone();
        let members = tokio::task::spawn_blocking(move || members(&config)).await;
        let Ok(Ok(members)) = members else { continue };
        for (owner, root) in members {
            let missed = missed.entry(owner.clone()).or_default();
            match lives(&smf, root).await {
                true => *missed = 0,
                false => *missed += 1,
            }
            if *missed == MISSED {
                take_all(&smf, &owner).await;
            }
        }
    }
}

fn members(config: &SmfConfig) -> Result<Vec<(String, ApiRoot)>, StoreError> {
    let mut all = Vec::new();
    for owner in others(config)? {
        let root = open(config, &owner)?.context(SMF)?.and_then(|value| persisted::root(&value));
        all.extend(root.map(|root| (owner, root)));
    }
    Ok(all)
}

async fn take_all(smf: &Arc<Smf>, owner: &str) {
    let (config, of) = (smf.config.clone(), owner.to_string());
    let all = tokio::task::spawn_blocking(move || open(&config, &of)?.contexts()).await;
    let Ok(Ok(all)) = all else { return };
    tracing::warn!(
        owner,
        sessions = all.len().saturating_sub(1),
        "an SMF of the set does not answer: its sessions are taken over"
    );
    for (id, _) in all {
        let Ok(reference) = id.parse() else { continue };
        let (config, of) = (smf.config.clone(), owner.to_string());
        let Ok(Ok(contexts)) = tokio::task::spawn_blocking(move || open(&config, &of)).await else {
            return;
        };
        claim(smf, reference, Left { contexts, root: None }).await;
    }
}
