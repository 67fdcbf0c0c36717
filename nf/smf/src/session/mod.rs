//! The context of a PDU session. One task owns it.
mod charging;
mod gsm_state;
mod mobility;
mod signalling;
mod user_plane;

pub use charging::{PersistedCharging, SessionCharging};
pub use gsm_state::{GsmState, PendingModification};
pub use mobility::{AnchorRelocation, Mobility, Preparation, PreparedHandover, PreparedUpf, Route};
pub use user_plane::{N4Sessions, UpConnection, UserPlane};

use crate::addresses::Addresses;
use crate::limits::LimitPermits;
use crate::n4::{SessionTraffic, UpfCriteria};
use crate::qos_flows::{Flow, PolicyRules};
use crate::session_event::SessionEvent;
use crate::shared::Smf;
use crate::user_plane_path::{Tunnel, UpfSession, UserPlanePath};
use martlet_event_queue::Receiver;
use martlet_ngap::transfer::GtpTunnel;
use martlet_sbi_api::common::{Ambr, Arp, Dnn, PduSessionType, PlmnId, Snssai, SscMode, Supi};
use martlet_sbi_api::namf_communication::AmfCommunicationClient;
use martlet_sbi_api::npcf_sm_policy_control::PcfSmPolicyControlClient;
use std::collections::VecDeque;
use std::net::{SocketAddr, SocketAddrV6};
use std::sync::Arc;
use std::time::Duration;

/// A PDU session. Owned by its task.
pub struct Session {
    pub smf: Arc<Smf>,
    /// Identity of the SM context, and our session endpoint identifier (CP F-SEID) at UPFs.
    pub reference: u64,
    pub inbox: Receiver<SessionEvent>,
    pub supi: Supi,
    /// PDU session identity.
    pub id: u8,
    pub slice: Snssai,
    pub dnn: Dnn,
    /// The serving network.
    pub plmn: PlmnId,
    pub amf: ServingAmf,
    /// What UE, subscription and data network agreed on.
    pub parameters: SessionParameters,
    pub qos: SessionQos,
    /// The QoS that the UE has, if it has not answered the commands of the last modification.
    pub qos_at_ue: Option<Box<SessionQos>>,
    /// The QoS that the UPF has in this N4 session at the anchor, if it did not answer the change
    /// to that of the session.
    pub qos_at_upf: Option<Box<(UpfSession, SessionQos)>>,
    /// SM policy association with the PCF.
    pub policy: Option<PolicyAssociation>,
    /// Registration and subscription at the UDM.
    pub udm: UdmState,
    /// Charging session at the CHF.
    pub charging: Option<Box<SessionCharging>>,
    /// Procedure transaction identity of the current 5GSM procedure.
    pub pti: u8,
    /// 5GSM state.
    pub gsm: GsmState,
    /// The QoS that the gNB has, or in the last setup request for that of an idle UE, if it has
    /// changed since then.
    pub qos_in_setup: Option<Box<SessionQos>>,
    /// The QoS before the last modification that the gNB got, until it has answered.
    pub unconfirmed: Option<Box<SessionQos>>,
    /// The QoS of that modification, if the UE has rejected it before the gNB has answered.
    pub rejected_by_ue: Option<Box<SessionQos>>,
    /// Events that wait for an answer: see [`Session::awaits_answer`].
    pub postponed: VecDeque<SessionEvent>,
    pub user_plane: UserPlane,
    pub mobility: Mobility,
    /// The session's share of the limits of its slice and data network.
    pub permits: LimitPermits,
}

/// The AMF that serves the UE.
pub struct ServingAmf {
    pub client: AmfCommunicationClient,
    /// Where the AMF receives notifications about the SM context.
    pub status_uri: String,
    /// The AMF did not know the session at the last audit, the last event.
    pub denies_session: bool,
}

/// Parameters of a session that stay the same during its lifetime.
pub struct SessionParameters {
    pub kind: PduSessionType,
    pub addresses: Addresses,
    /// The pools of this SMF have the addresses, and get them back when the session ends.
    pub is_in_pool: bool,
    /// Those of the addresses that are the subscriber's static ones.
    pub static_addresses: Addresses,
    /// Session and service continuity mode, 1 to 3 (TS 23.501, 5.6.9).
    pub ssc_mode: u8,
    /// Framed routes: networks behind the UE (TS 23.501, 5.6.14).
    pub framed_routes: Vec<String>,
    /// The UDP endpoint for the data of an unstructured session.
    pub unstructured_server: Option<SocketAddrV6>,
    /// Always-on PDU session (TS 23.501, 5.6.13).
    pub always_on: bool,
}

impl SessionParameters {
    /// The session and service continuity mode as the service-based interface has it.
    pub fn ssc_mode(&self) -> SscMode {
        match self.ssc_mode {
            2 => SscMode::SscMode2,
            3 => SscMode::SscMode3,
            _ => SscMode::SscMode1,
        }
    }
}

/// QoS of a session, as authorized by the PCF.
#[derive(Clone)]
pub struct SessionQos {
    pub ambr: Ambr,
    /// 5QI of the default QoS flow.
    pub five_qi: u8,
    /// ARP of the default QoS flow.
    pub arp: Arp,
    /// QoS flows in addition to the default one.
    pub flows: Vec<Flow>,
    /// The PCC rules from which the flows are made.
    pub rules: Arc<PolicyRules>,
}

/// An SM policy association.
#[derive(Clone)]
pub struct PolicyAssociation {
    pub pcf: PcfSmPolicyControlClient,
    pub id: String,
}

/// What the UDM holds about a session.
#[derive(Default)]
pub struct UdmState {
    /// Whether the UDM has this SMF registered for the session.
    pub is_registered: bool,
    /// Subscription to changes of the subscriber's data.
    pub sdm_subscription: Option<String>,
}

impl Session {
    /// The criteria by which its UPFs are selected.
    pub fn upf_criteria(&self) -> UpfCriteria<'_> {
        UpfCriteria { dnn: &self.dnn, slice: self.slice, tac: self.mobility.tac }
    }

    /// What distinguishes its packets at a UPF.
    pub fn traffic(&self) -> SessionTraffic<'_> {
        SessionTraffic {
            kind: &self.parameters.kind,
            ue: self.parameters.addresses,
            dnn: &self.dnn,
            framed_routes: &self.parameters.framed_routes,
        }
    }

    /// Sets the UPFs of the session, and publishes them in the session table.
    pub fn set_path(&mut self, path: UserPlanePath) {
        self.user_plane.n4 = N4Sessions::Established(path);
        self.smf.sessions.set_path(self.reference, path, self.parameters.addresses);
    }

    /// Sets the UPF that the session left when it failed, and publishes it in the session table.
    pub fn set_left_upf(&mut self, left: Option<SocketAddr>) {
        self.user_plane.left_upf = left;
        self.smf.sessions.set_left_upf(self.reference, left);
    }

    /// A gNB's tunnel endpoint, with an address that the session's UPF can send to.
    pub fn gnb_tunnel(&self, tunnel: &GtpTunnel) -> Tunnel {
        let access = self.user_plane.access();
        access.map_or((tunnel.teid, tunnel.address), |upf| upf.gnb(tunnel))
    }

    /// Whether this SMF still owns the session: no other member of the set has taken it over. Waits
    /// for the database if the lease has expired.
    pub async fn is_owned(&self) -> bool {
        self.smf.contexts.is_owner(self.reference).await
    }

    /// Whether the next modification waits: until the UE has answered a command or T3591 has
    /// expired for the last time, and until the gNB has answered a setup. That has the earlier QoS.
    pub fn awaits_answer(&self) -> bool {
        self.gsm.is_modifying() || self.user_plane.connection.is_activating()
    }

    /// Keeps an event while the session [awaits an answer](Session::awaits_answer).
    pub fn postpone(&mut self, event: SessionEvent) {
        if self.postponed.len() < self.smf.config.session_queue {
            return self.postponed.push_back(event);
        }
        if let Some(suppressed) = martlet_log_limit::line("modifications_waiting", &self.supi) {
            tracing::warn!(
                supi = %self.supi, session = self.id, suppressed,
                "modification dropped: too many wait for an answer of UE or gNB"
            );
        }
    }

    /// Keeps an event that precedes those that wait.
    pub fn postpone_before_others(&mut self, event: SessionEvent) {
        self.postponed.push_front(event);
    }

    /// The next event that has waited for an answer.
    pub fn next_postponed(&mut self) -> Option<SessionEvent> {
        if self.awaits_answer() {
            return None;
        }
        self.postponed.pop_front()
    }

    /// Sends the session's own task an event.
    pub fn send_to_self(&self, event: SessionEvent) {
        if let Some(handle) = self.smf.sessions.get(&self.reference.to_string()) {
            handle.send(event);
        }
    }

    /// Sends the session's own task an event after a time.
    pub fn send_to_self_after(
        &self,
        delay: Duration,
        event: impl FnOnce() -> SessionEvent + Send + 'static,
    ) {
        let (smf, reference) = (self.smf.clone(), self.reference);
        martlet_nf::spawn(async move {
            tokio::time::sleep(delay).await;
            if let Some(handle) = smf.sessions.get(&reference.to_string()) {
                handle.send(event());
            }
        });
    }
}
