//! The NAS layer of a UE: the state that its procedures share, and how they send messages.
use super::action::{Abort, Action, EstablishmentCause, Event, Initial};
use super::back_off::BackOff;
use super::config::{UeConfig, UeConfigError};
use super::mm_state::{
    AnsweredChallenge, AnsweredEapRequest, CmState, Deregistration, MmState, NetworkSettings,
    Registration, ServiceRequest,
};
use super::security::Security;
use super::sm_state::Session;
use super::suci;
use super::timers::{Timer, Timers};
use super::usim::Usim;
use martlet_nas::{Guti, Nas5gsMessage, NasError, NasFGsMobileIdentity, NasUeSecurityCapability};
use martlet_security::Plmn;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Why the UE cannot start a procedure.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum NasRefused {
    /// The UE is not registered.
    #[error("the UE is not registered")]
    NotRegistered,
    /// A procedure that excludes this one is in progress.
    #[error("{0} is in progress")]
    Busy(&'static str),
    /// The PDU session identity is in use, or all 15 are (0).
    #[error("PDU session identity {0} is not free")]
    SessionIdentity(u8),
    /// The session does not exist.
    #[error("there is no PDU session {0}")]
    NoSession(u8),
    /// A back-off timer runs (T3396, T3584, T3585): the time that is left.
    #[error("back-off timer: the network accepts no such session for another {0:?}")]
    BackOff(Duration),
    /// The message does not encode.
    #[error("the message does not encode: {0}")]
    Message(String),
}

impl From<NasError> for NasRefused {
    fn from(error: NasError) -> Self {
        NasRefused::Message(error.to_string())
    }
}

impl From<martlet_nas::ValueError> for NasRefused {
    fn from(error: martlet_nas::ValueError) -> Self {
        NasRefused::Message(error.to_string())
    }
}

/// The NAS layer of one UE.
pub struct UeNas {
    pub(super) config: UeConfig,
    pub(super) usim: Usim,
    /// `5G:mnc…mcc….3gppnetwork.org` of the serving network (TS 24.501, 9.12.1).
    pub(super) serving_network_name: String,
    pub(super) supi: String,
    pub(super) security_capability: NasUeSecurityCapability,
    /// A SUCI that was computed in advance, and whether it was sent.
    pub(super) suci: (NasFGsMobileIdentity, bool),
    pub(super) security: Security,
    pub(super) guti: Option<Guti>,
    pub(super) mm_state: MmState,
    pub(super) cm_state: CmState,
    pub(super) t3512: Option<Duration>,
    pub(super) settings: NetworkSettings,
    /// The network requested a registration, which starts when the connection is released.
    pub(super) registration_requested: bool,
    /// Back-off timers of 5GSM congestion control.
    pub(super) back_off: BackOff,
    pub(super) registration: Option<Registration>,
    pub(super) service_request: Option<ServiceRequest>,
    pub(super) deregistration: Option<Deregistration>,
    pub(super) challenge: Option<AnsweredChallenge>,
    /// The last EAP request and its response.
    pub(super) eap: Option<AnsweredEapRequest>,
    /// An EAP challenge was answered and EAP-Success is pending.
    pub(super) awaits_eap_success: bool,
    /// Timers that are stopped until the network sends a valid challenge.
    pub(super) suspended: Vec<Timer>,
    pub(super) sessions: [Option<Box<Session>>; 16],
    pub(super) next_pti: u8,
    /// Messages that wait for SERVICE ACCEPT.
    pub(super) waiting: VecDeque<Nas5gsMessage>,
    pub(super) timers: Timers,
    actions: VecDeque<Action>,
    last_protected: Option<Vec<u8>>,
}

impl UeNas {
    /// A UE that is switched on in the coverage of the PLMN `serving`.
    ///
    /// # Errors
    /// The configuration does not yield a SUCI.
    pub fn new(config: UeConfig, serving: Plmn) -> Result<Self, UeConfigError> {
        let suci = (suci::conceal(&config)?, false);
        Ok(UeNas {
            usim: Usim::new(&config),
            serving_network_name: serving_network_name(&serving),
            supi: config.supi(),
            security_capability: NasUeSecurityCapability::from_capabilities(config.nea, config.nia),
            suci,
            security: Security::default(),
            guti: None,
            mm_state: MmState::Deregistered,
            cm_state: CmState::Idle,
            t3512: None,
            settings: NetworkSettings::default(),
            registration_requested: false,
            back_off: BackOff::default(),
            registration: None,
            service_request: None,
            deregistration: None,
            challenge: None,
            eap: None,
            awaits_eap_success: false,
            suspended: Vec::new(),
            sessions: std::array::from_fn(|_| None),
            next_pti: 1,
            waiting: VecDeque::new(),
            timers: Timers::default(),
            actions: VecDeque::new(),
            last_protected: None,
            config,
        })
    }

    /// `imsi-…` or `nai-…`.
    pub fn supi(&self) -> &str {
        &self.supi
    }

    /// The configuration.
    pub fn config(&self) -> &UeConfig {
        &self.config
    }

    /// 5GMM state.
    pub fn state(&self) -> MmState {
        self.mm_state
    }

    /// Enters a 5GMM state.
    pub(super) fn enter(&mut self, state: MmState) {
        if self.mm_state != state {
            tracing::trace!(supi = self.supi, from = ?self.mm_state, to = ?state, "5GMM state");
            self.mm_state = state;
        }
    }

    /// Ends a service request in progress: 5GMM-SERVICE-REQUEST-INITIATED to 5GMM-REGISTERED.
    pub(super) fn end_service_request(&mut self) -> bool {
        if self.service_request.take().is_none() {
            return false;
        }
        self.timers.stop(Timer::T3517);
        if self.mm_state == MmState::ServiceRequestInitiated {
            self.enter(MmState::Registered);
        }
        true
    }

    /// Whether there is an N1 NAS signalling connection (5GMM-CONNECTED).
    pub fn is_connected(&self) -> bool {
        self.cm_state == CmState::Connected
    }

    /// Settings from the network.
    pub fn settings(&self) -> &NetworkSettings {
        &self.settings
    }

    /// The 5G-GUTI.
    pub fn guti(&self) -> Option<Guti> {
        self.guti
    }

    /// The security contexts.
    pub fn security(&self) -> &Security {
        &self.security
    }

    /// The security contexts, for access stratum keys.
    pub fn security_mut(&mut self) -> &mut Security {
        &mut self.security
    }

    /// The UE security capability IE.
    pub fn security_capability(&self) -> &NasUeSecurityCapability {
        &self.security_capability
    }

    /// Selects the PLMN of another cell.
    pub fn select_plmn(&mut self, serving: &Plmn) {
        self.serving_network_name = serving_network_name(serving);
    }

    /// Computes a new SUCI if the last one was sent. Concealment is slow, so this happens before
    /// a procedure is timed.
    pub fn prepare(&mut self) {
        if self.suci.1
            && let Ok(fresh) = suci::conceal(&self.config)
        {
            self.suci = (fresh, false);
        }
    }

    /// The next action; `None` if there is none.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When to call [`UeNas::handle_timeout`].
    pub fn next_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Sends on the existing connection.
    pub(super) fn send(&mut self, message: &Nas5gsMessage) {
        match self.security.protect(message) {
            Ok(nas) => self.push_send(nas, None),
            Err(error) => self.discard(format!("{message} not sent: {error}")),
        }
    }

    /// Sends a 5GMM message as it is on the existing connection, without a procedure.
    pub fn send_message(&mut self, message: &Nas5gsMessage) {
        self.send(message);
    }

    /// Sends as an initial NAS message, also on an existing connection.
    pub(super) fn send_initial(
        &mut self,
        message: &Nas5gsMessage,
        cause: EstablishmentCause,
    ) -> Result<(), NasRefused> {
        let nas = self.security.protect_initial(message)?;
        let initial = (!self.is_connected())
            .then(|| Initial { cause, s_tmsi: self.guti.map(|guti| guti.s_tmsi()) });
        self.cm_state = CmState::Connected;
        self.timers.stop(Timer::T3512);
        self.timers.stop(Timer::T3540);
        self.push_send(nas, initial);
        Ok(())
    }

    pub(super) fn push_send(&mut self, nas: Vec<u8>, initial: Option<Initial>) {
        if nas.get(1).is_some_and(|sht| sht & 0x0f != 0) {
            self.last_protected = Some(nas.clone());
        }
        self.actions.push_back(Action::Send { nas, initial });
    }

    pub(super) fn event(&mut self, event: Event) {
        self.actions.push_back(Action::Event(event));
    }

    pub(super) fn release_connection(&mut self) {
        self.actions.push_back(Action::ReleaseConnection);
    }

    pub(super) fn discard(&mut self, reason: impl Into<String>) {
        self.actions.push_back(Action::Event(Event::Discarded(reason.into())));
    }

    /// Releases what ends with the registration: sessions, waiting messages, timers of idle mode.
    pub(super) fn leave_registered(&mut self) {
        self.waiting.clear();
        self.timers.stop(Timer::T3512);
        self.timers.stop(Timer::T3517);
        if self.end_service_request() {
            self.event(Event::ServiceAborted(Abort::Superseded));
        }
        self.release_sessions_locally();
    }

    /// The last protected message that was sent, for replay tests.
    pub fn last_protected(&self) -> Option<&[u8]> {
        self.last_protected.as_deref()
    }

    /// A protected uplink message with a wrong MAC, for tests of the network's integrity check. It
    /// uses a NAS COUNT.
    ///
    /// # Errors
    /// The UE has no security context in use.
    pub fn with_wrong_mac(&mut self, message: &Nas5gsMessage) -> Result<Vec<u8>, NasRefused> {
        if !self.security.secured {
            return Err(NasRefused::NotRegistered);
        }
        let mut nas = self.security.protect(message)?;
        if let Some(mac) = nas.get_mut(2) {
            *mac ^= 0x55;
        }
        Ok(nas)
    }
}

/// The serving network name of a PLMN, the MNC in three digits (TS 24.501, 9.12.1).
pub fn serving_network_name(plmn: &Plmn) -> String {
    format!("5G:mnc{:0>3}.mcc{}.3gppnetwork.org", plmn.mnc(), plmn.mcc())
}
