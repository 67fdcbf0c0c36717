//! Sessions outlive the process: what of them is kept, and how a new SMF goes on with them (TS
//! 23.527, 4.3).
//!
//! What changes is written a moment later (`smf.state.interval_ms`), many sessions in one
//! transaction. Of an SMF that is killed, that moment is lost: a session that came up within it is
//! not known any more (the AMF learns it with the next update, the UPF with its next report), and
//! one that changed is as it was before.
use crate::addresses::Addresses;
use crate::flows::{Decided, Flow};
use crate::procedures::charging::converged_charging::{self, Charging};
use crate::procedures::user_plane::n4_session_establishment;
use crate::protection::UpPolicy;
use crate::session::{Place, Session, UpfSession};
use crate::{Smf, SmfConfig};
use martlet_nas::GsmCause;
use martlet_nf::StartError;
use martlet_sbi::ApiRoot;
use martlet_sbi_api::common::{Ambr, Arp, Dnn, PduSessionType, PlmnId, Snssai, Supi};
use martlet_sbi_api::namf_communication::AmfCommunicationClient;
use martlet_sbi_api::npcf_sm_policy_control::PcfSmPolicyControlClient;
use martlet_store::{Journal, StoreError};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::time::Instant;

/// Under what the SMF itself is kept; sessions are kept under their reference.
pub const SMF: &str = "smf";

/// Under whose name an SMF keeps its sessions.
pub fn owner(config: &SmfConfig) -> String {
    config
        .set
        .as_ref()
        .map_or_else(|| SMF.into(), |set| format!("{}{}", prefix(&set.id), set.member))
}

/// What the names of all SMFs of a set begin with.
pub fn prefix(set: &str) -> String {
    format!("smf-{set}-")
}

/// What is kept of the SMF itself.
#[derive(Serialize, Deserialize)]
struct KeptSmf {
    /// Seconds since 1900 at which the first SMF started that knew these sessions.
    recovery: u32,
    /// Where its services are.
    #[serde(default)]
    root: Option<ApiRoot>,
}

/// Where the services of an SMF are, by what it keeps of itself.
pub fn root(value: &[u8]) -> Option<ApiRoot> {
    serde_json::from_slice::<KeptSmf>(value).ok()?.root
}

/// What is kept of a session.
#[derive(Serialize, Deserialize)]
struct KeptSession {
    supi: Supi,
    id: u8,
    pti: u8,
    slice: Snssai,
    dnn: Dnn,
    plmn: PlmnId,
    amf: ApiRoot,
    status_uri: String,
    kind: PduSessionType,
    addresses: Addresses,
    #[serde(default = "one")]
    ssc_mode: u8,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    routes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<SocketAddrV6>,
    always_on: bool,
    ambr: Ambr,
    five_qi: u8,
    arp: Arp,
    policy: Option<(ApiRoot, String)>,
    decided: Arc<Decided>,
    flows: Vec<Flow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    charging: Option<converged_charging::Kept>,
    sdm_subscription: Option<String>,
    registered: bool,
    upf: (SocketAddr, u64, u32, IpAddr),
    #[serde(default, skip_serializing_if = "Option::is_none")]
    second: Option<Ipv6Addr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    anchor: Option<(SocketAddr, u64, u32, IpAddr)>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    intermediate: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tac: Option<u32>,
    gnb: Option<(u32, IpAddr)>,
    active: bool,
    stale: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    protection: Option<UpPolicy>,
}

fn one() -> u8 {
    1
}

/// What was kept.
#[derive(Default)]
pub struct Kept {
    /// What UPFs were told of the start; there were sessions then.
    pub recovery: Option<u32>,
    sessions: Vec<(u64, Vec<u8>)>,
}

/// That they cannot be read.
pub fn failed(error: StoreError) -> StartError {
    StartError(format!("{error}; `smf.state` says where sessions are kept"))
}

/// Opens the place where sessions are kept, and gives those that are there.
pub fn open(config: &SmfConfig) -> Result<(Option<Journal>, Kept), StartError> {
    let Some((journal, all)) = config.state.open(&owner(config)).map_err(failed)? else {
        return Ok((None, Kept::default()));
    };
    let mut kept = Kept::default();
    for (id, value) in all {
        match (id.as_str(), id.parse()) {
            (SMF, _) => {
                kept.recovery = serde_json::from_slice(&value).ok().map(|smf: KeptSmf| smf.recovery)
            }
            (_, Ok(reference)) => kept.sessions.push((reference, value)),
            _ => {}
        }
    }
    if kept.sessions.is_empty() {
        kept.recovery = None;
    }
    Ok((Some(journal), kept))
}

/// Goes on with what was kept. `elsewhere` are sessions of other members of the set, some of them
/// with addresses of this one's pools.
pub fn restore(smf: &Arc<Smf>, kept: Kept, elsewhere: Vec<Vec<u8>>) {
    let Some(journal) = &smf.journal else { return };
    let root = Some(smf.context.api_root().clone());
    let recovery = KeptSmf { recovery: smf.n4.recovery(), root };
    for value in elsewhere {
        #[derive(Deserialize)]
        struct Place {
            dnn: Dnn,
            addresses: Addresses,
        }
        if let Ok(place) = serde_json::from_slice::<Place>(&value) {
            smf.pools.keep(&place.dnn, &place.addresses);
        }
    }
    journal.put(SMF, serde_json::to_vec(&recovery).unwrap_or_default());
    let (started, all, mut restored) = (Instant::now(), kept.sessions.len(), 0);
    for (reference, value) in kept.sessions {
        match session(smf, reference, &value, false) {
            Ok(session) => {
                let mut session = Box::new(session);
                martlet_sbi::trace::spawn(Default::default(), async move {
                    // The SMF before may have ended between the session and its registration.
                    if !session.registered {
                        session.registered =
                            n4_session_establishment::register_again(&session).await;
                    }
                    session.run().await;
                });
                restored += 1;
            }
            Err(reason) => {
                tracing::warn!(reference, reason, "a session is not restored");
                journal.remove(reference.to_string());
            }
        }
    }
    if all > 0 {
        let ms = started.elapsed().as_millis() as u64;
        tracing::info!(sessions = restored, of = all, ms, "sessions from before are restored");
    }
}

/// A session as it was kept; `taken` from another SMF of the set.
pub fn session(
    smf: &Arc<Smf>,
    reference: u64,
    value: &[u8],
    taken: bool,
) -> Result<Session, String> {
    let kept: KeptSession = serde_json::from_slice(value).map_err(|e| e.to_string())?;
    // Addresses of another member's pools are that one's to give.
    if !smf.pools.keep(&kept.dnn, &kept.addresses) && smf.sessions.is_own(reference) {
        return Err(format!(
            "its address {} is not in a pool of {}, or is in use",
            kept.addresses, kept.dnn
        ));
    }
    let Some(inbox) =
        smf.sessions.add_again(reference, &kept.supi, kept.id, smf.config.session_queue)
    else {
        smf.pools.give_back(&kept.dnn, &kept.addresses);
        return Err("there is no room: raise smf.max_sessions".into());
    };
    let peer = |root: ApiRoot| smf.context.peer_at(root).about(&kept.supi);
    let (upf, seid, teid, address) = kept.upf;
    // The association with the UPF is to come: where the UPF keeps its sessions, it is the first.
    let generation = |upf| if taken { smf.n4.generation(upf) } else { 0 };
    let upf =
        UpfSession { upf, generation: generation(upf), seid, teid, address, second: kept.second };
    let anchor = kept.anchor.map(|(upf, seid, teid, address)| UpfSession {
        upf,
        generation: generation(upf),
        seid,
        teid,
        address,
        second: None,
    });
    let amf = AmfCommunicationClient::new(peer(kept.amf));
    let charging = kept.charging.map(|kept_so| Charging::restored(smf, &kept.supi, kept_so).into());
    let policy = kept.policy.map(|(root, id)| (PcfSmPolicyControlClient::new(peer(root)), id));
    let room = smf.limits.keep(kept.slice, &kept.dnn);
    smf.sessions.locate(reference, Place { upf, anchor, intermediate: kept.intermediate });
    Ok(Session {
        smf: smf.clone(),
        reference,
        inbox,
        supi: kept.supi,
        id: kept.id,
        pti: kept.pti,
        slice: kept.slice,
        dnn: kept.dnn,
        plmn: kept.plmn,
        amf,
        status_uri: kept.status_uri,
        kind: kept.kind,
        addresses: kept.addresses,
        ssc_mode: kept.ssc_mode,
        routes: kept.routes,
        server: kept.server,
        always_on: kept.always_on,
        ambr: kept.ambr,
        five_qi: kept.five_qi,
        arp: kept.arp,
        policy,
        decided: kept.decided,
        flows: kept.flows,
        charging,
        refusal: GsmCause::NetworkFailure,
        sdm_subscription: kept.sdm_subscription,
        modifying: None,
        registered: kept.registered,
        upf: Some(upf),
        anchor,
        intermediate: kept.intermediate,
        tac: kept.tac,
        relocating: false,
        gnb: kept.gnb,
        active: kept.active,
        activating: false,
        waiting: false,
        // A handover of the process before ends by the AMF's timer, and begins anew.
        handover: None,
        forwards: Vec::new(),
        left: Vec::new(),
        room,
        protection: kept.protection,
        stale: kept.stale,
        release_commands: 0,
        lost: false,
    })
}

/// For `martlet status`.
pub fn status(journal: Option<&Journal>) -> serde_json::Value {
    match journal {
        None => "not kept".into(),
        Some(journal) => {
            let (unwritten, failures) = journal.standing();
            serde_json::json!({"unwritten": unwritten, "failures": failures})
        }
    }
}

impl Session {
    /// Keeps the session as it is now.
    pub fn keep(&self) {
        let Some(journal) = &self.smf.journal else { return };
        // A session that is being released is not gone on with: its UE hears of the end.
        let Some(upf) = self.upf.filter(|_| !self.is_releasing() && !self.lost) else {
            return self.erase();
        };
        let kept = KeptSession {
            supi: self.supi.clone(),
            id: self.id,
            pti: self.pti,
            slice: self.slice,
            dnn: self.dnn.clone(),
            plmn: self.plmn.clone(),
            amf: self.amf.peer().root().clone(),
            status_uri: self.status_uri.clone(),
            kind: self.kind.clone(),
            addresses: self.addresses,
            ssc_mode: self.ssc_mode,
            routes: self.routes.clone(),
            server: self.server,
            always_on: self.always_on,
            ambr: self.ambr.clone(),
            five_qi: self.five_qi,
            arp: self.arp.clone(),
            policy: self.policy.as_ref().map(|(pcf, id)| (pcf.peer().root().clone(), id.clone())),
            decided: self.decided.clone(),
            flows: self.flows.clone(),
            charging: self.charging.as_ref().map(|charging| charging.kept()),
            sdm_subscription: self.sdm_subscription.clone(),
            registered: self.registered,
            upf: (upf.upf, upf.seid, upf.teid, upf.address),
            second: upf.second,
            anchor: self.anchor.map(|at| (at.upf, at.seid, at.teid, at.address)),
            intermediate: self.intermediate,
            tac: self.tac,
            gnb: self.gnb,
            active: self.active,
            stale: self.stale,
            protection: self.protection,
        };
        journal.put_later(self.reference.to_string(), move || {
            let (value, session) = (serde_json::to_vec(&kept), kept.id);
            value.inspect_err(|error| tracing::error!(supi = %kept.supi, session, %error, "a session is not kept")).ok()
        });
    }

    fn erase(&self) {
        if let Some(journal) = &self.smf.journal {
            journal.remove(self.reference.to_string());
        }
    }

    /// The session has ended.
    pub fn forget(&self) {
        self.erase();
        self.smf.sessions.remove(self.reference);
    }
}
