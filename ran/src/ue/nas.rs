//! The NAS layer of a UE without I/O: NAS messages, timer expiries and wishes in; [`Action`]s out.
//!
//! Each procedure is in a file of its own beside this one; here are the state they share and the
//! way of a received message to its procedure.
use super::action::{Abort, Action, EstablishmentCause, Event, Initial};
use super::config::{UeConfig, UeConfigError};
use super::security::Security;
use super::suci;
use super::timers::{Timer, Timers};
use super::usim::Usim;
use crate::ue::procedures::common::eap_aka_prime::AnsweredRequest;
use crate::ue::procedures::connection::service_request::ServiceRequest;
use crate::ue::procedures::registration::deregistration::Deregistration;
use crate::ue::procedures::registration::initial_and_mobility::Registration;
use crate::ue::procedures::session::back_off::BackOff;
use crate::ue::procedures::session::pdu_session::Session;
use martlet_nas::{
    Direction, Guti, MobileIdentityType, Nas5gmmMessage, Nas5gsMessage, Nas5gsSecurityHeaderType,
    NasError, NasFGsMobileIdentity, NasUeSecurityCapability,
};
use martlet_security::Plmn;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Registration state (TS 24.501, 5.1.3.2.1, in short).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MmState {
    /// 5GMM-DEREGISTERED.
    Deregistered,
    /// 5GMM-REGISTERED-INITIATED.
    Registering,
    /// 5GMM-REGISTERED, and with a service request underway 5GMM-SERVICE-REQUEST-INITIATED.
    Registered,
    /// 5GMM-DEREGISTERED-INITIATED.
    Deregistering,
}

/// Why the UE cannot do what it is asked to.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum NasRefused {
    /// It has to be registered first.
    #[error("the UE is not registered")]
    NotRegistered,
    /// A procedure that excludes this one is underway.
    #[error("{0} is underway")]
    Busy(&'static str),
    /// Fifteen sessions exist, or the identity that was asked for is taken.
    #[error("PDU session identity {0} is not free")]
    SessionIdentity(u8),
    /// There is no such session.
    #[error("there is no PDU session {0}")]
    NoSession(u8),
    /// The network has no room for such sessions, and has said for how long (T3396, T3584, T3585).
    #[error("the network has no room for such a session: try again in {0:?}")]
    BackOff(Duration),
    /// The message could not be made.
    #[error("the message cannot be made: {0}")]
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

/// RAND and the RES* it was answered with, kept while T3516 runs.
pub(super) struct AnsweredChallenge {
    pub(super) rand: [u8; 16],
    pub(super) res_star: [u8; 16],
}

/// What the network has given a UE beside its identity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given {
    /// Allowed NSSAI.
    pub allowed_nssai: Vec<super::Slice>,
    /// Configured NSSAI; empty where it has none of the network.
    pub configured_nssai: Vec<super::Slice>,
    /// Tracking area codes of its registration area without service.
    pub without_service: Vec<u32>,
    /// Networks that it takes for this one.
    pub equivalent_plmns: Vec<String>,
    /// T3502.
    pub t3502: Option<Duration>,
    /// The network's name.
    pub network_name: Option<String>,
    /// Its time zone, quarters of an hour east of Greenwich.
    pub time_zone: Option<i8>,
}

/// The NAS layer of one UE.
pub struct UeNas {
    pub(super) config: UeConfig,
    pub(super) usim: Usim,
    /// `5G:mnc…mcc….3gppnetwork.org` of the serving network (TS 24.501, 9.12.1).
    pub(super) serving_network_name: String,
    pub(super) supi: String,
    pub(super) security_capability: NasUeSecurityCapability,
    /// A SUCI that has been computed ahead, and whether it has been sent.
    pub(super) suci: (NasFGsMobileIdentity, bool),
    pub(super) security: Security,
    pub(super) guti: Option<Guti>,
    pub(super) state: MmState,
    pub(super) connected: bool,
    pub(super) t3512: Option<Duration>,
    /// What the network has given it of slices and areas.
    pub(super) given: Given,
    /// It registers when the connection has ended.
    pub(super) registration_wanted: bool,
    /// Until when it asks for no session of a kind.
    pub(super) back_off: BackOff,
    pub(super) registration: Option<Registration>,
    pub(super) service_request: Option<ServiceRequest>,
    pub(super) deregistration: Option<Deregistration>,
    pub(super) challenge: Option<AnsweredChallenge>,
    /// The EAP request that was answered last.
    pub(super) eap: Option<AnsweredRequest>,
    /// The last challenge was one of EAP, whose end is still to come.
    pub(super) awaits_eap_success: bool,
    /// Retransmission timers that stand still until the network has mended its challenge.
    pub(super) suspended: Vec<Timer>,
    pub(super) sessions: [Option<Box<Session>>; 16],
    pub(super) next_pti: u8,
    /// Messages that wait for the end of the service request which was started on their behalf.
    pub(super) waiting: VecDeque<Nas5gsMessage>,
    pub(super) timers: Timers,
    actions: VecDeque<Action>,
    last_protected: Option<Vec<u8>>,
}

impl UeNas {
    /// A UE that is switched on, in the coverage of the PLMN `serving`.
    ///
    /// # Errors
    /// A configuration of which no SUCI can be made.
    pub fn new(config: UeConfig, serving: Plmn) -> Result<Self, UeConfigError> {
        let suci = (suci::conceal(&config)?, false);
        Ok(UeNas {
            usim: Usim::new(&config),
            serving_network_name: serving_network_name(&serving),
            supi: format!("imsi-{}", config.imsi.as_str()),
            security_capability: NasUeSecurityCapability::from_capabilities(config.nea, config.nia),
            suci,
            security: Security::default(),
            guti: None,
            state: MmState::Deregistered,
            connected: false,
            t3512: None,
            given: Given::default(),
            registration_wanted: false,
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

    /// `imsi-…`.
    pub fn supi(&self) -> &str {
        &self.supi
    }

    /// Configuration.
    pub fn config(&self) -> &UeConfig {
        &self.config
    }

    /// Registration state.
    pub fn state(&self) -> MmState {
        self.state
    }

    /// Whether there is an N1 signalling connection (5GMM-CONNECTED).
    pub fn is_connected(&self) -> bool {
        self.connected
    }

    /// What the network has given it beside its identity.
    pub fn given(&self) -> &Given {
        &self.given
    }

    /// The 5G-GUTI.
    pub fn guti(&self) -> Option<Guti> {
        self.guti
    }

    /// The security contexts.
    pub fn security(&self) -> &Security {
        &self.security
    }

    /// The security contexts, for who carries the UE's messages.
    pub fn security_mut(&mut self) -> &mut Security {
        &mut self.security
    }

    /// The UE security capability, as NAS has it.
    pub fn security_capability(&self) -> &NasUeSecurityCapability {
        &self.security_capability
    }

    /// Move to another serving network, as when another cell is selected.
    pub fn select_plmn(&mut self, serving: &Plmn) {
        self.serving_network_name = serving_network_name(serving);
    }

    /// Forget the 5G-GUTI and the security contexts, as after a new USIM was inserted: the next
    /// registration is by SUCI.
    pub fn forget_registration(&mut self) {
        self.leave_registered();
        self.guti = None;
        self.security.delete();
        self.challenge = None;
        self.state = MmState::Deregistered;
    }

    /// Compute what takes long before a procedure is timed: a SUCI that has not been sent yet.
    pub fn prepare(&mut self) {
        if self.suci.1
            && let Ok(fresh) = suci::conceal(&self.config)
        {
            self.suci = (fresh, false);
        }
    }

    /// The next thing to do, until `None`.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When [`UeNas::handle_timeout`] is due.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Handle every timer that has expired at `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.timers.expired(now) {
            match timer {
                Timer::T3510 => self.t3510_expired(now),
                Timer::T3511 => self.t3511_expired(now),
                Timer::T3512 => self.t3512_expired(now),
                Timer::T3516 => self.challenge = None,
                Timer::T3517 => self.t3517_expired(),
                Timer::T3520 => self.t3520_expired(),
                Timer::T3521 => self.t3521_expired(now),
                Timer::T3540 => self.actions.push_back(Action::ReleaseConnection),
                Timer::T3580(psi) => self.t3580_expired(psi, now),
                Timer::T3581(psi) => self.t3581_expired(psi, now),
                Timer::T3582(psi) => self.t3582_expired(psi, now),
            }
        }
    }

    /// The lower layers have released the connection: the UE is idle (5GMM-IDLE).
    pub fn connection_released(&mut self, now: Instant) {
        if !self.connected {
            return;
        }
        self.connected = false;
        self.security.connection_released();
        self.timers.stop(Timer::T3540);
        self.timers.stop(Timer::T3520);
        self.registration_lost_connection(now);
        self.service_request_lost_connection();
        self.deregistration_lost_connection();
        self.sessions_lost_connection();
        if std::mem::take(&mut self.registration_wanted)
            && self.state == MmState::Registered
            && let Err(error) =
                self.register(super::RegistrationType::MobilityRegistrationUpdating, now)
        {
            self.discard(format!(
                "the registration that the network asked for was not sent: {error}"
            ));
        }
        if self.state == MmState::Registered
            && let Some(period) = self.t3512
        {
            self.timers.start(Timer::T3512, now + period);
        }
    }

    /// A NAS message from the AMF.
    pub fn receive(&mut self, octets: &[u8], now: Instant) {
        let Some(header) = octets.get(1) else { return self.discard("a message of one octet") };
        match Nas5gsSecurityHeaderType::try_from(header & 0x0f) {
            Ok(Nas5gsSecurityHeaderType::PlainFiveGsNasMessageNotSecurityProtected) => {
                self.receive_plain(octets, now)
            }
            Ok(Nas5gsSecurityHeaderType::IntegrityProtectedWithNewFiveGNasSecurityContext) => {
                self.security_mode_command(octets, now);
            }
            Ok(
                Nas5gsSecurityHeaderType::IntegrityProtected
                | Nas5gsSecurityHeaderType::IntegrityProtectedAndCiphered,
            ) => match self.security.unprotect(octets) {
                Ok(verified) => self.handle(verified.message, now),
                Err(error @ NasError::AuthenticMessageRefused { .. }) => {
                    self.answer_refused(octets, &error)
                }
                Err(error) => self.discard(format!("protected message: {error}")),
            },
            _ => self.discard(format!("security header type {}", header & 0x0f)),
        }
    }

    /// A message without protection: few are processed, and none once messages are protected (TS
    /// 24.501, 4.4.4.2).
    fn receive_plain(&mut self, octets: &[u8], now: Instant) {
        let message = match Nas5gsMessage::decode(octets) {
            Ok(message) => message,
            Err(error) => return self.answer_refused(octets, &error),
        };
        let allowed = match &message {
            Nas5gsMessage::Gmm(_, inner) => match inner {
                Nas5gmmMessage::IdentityRequest(request) => {
                    request.identity_type.identity_type() == Some(MobileIdentityType::Suci)
                }
                Nas5gmmMessage::AuthenticationRequest(_)
                | Nas5gmmMessage::AuthenticationResult(_)
                | Nas5gmmMessage::AuthenticationReject(_)
                | Nas5gmmMessage::RegistrationReject(_)
                | Nas5gmmMessage::DeregistrationAcceptUeOriginating(_)
                | Nas5gmmMessage::ServiceReject(_) => true,
                _ => false,
            },
            _ => false,
        };
        match allowed && !self.security.secured {
            true => self.handle(message, now),
            false => self.discard(format!("not protected: {message}")),
        }
    }

    /// A message that may be processed, to its procedure.
    fn handle(&mut self, message: Nas5gsMessage, now: Instant) {
        let Nas5gsMessage::Gmm(_, message) = message else {
            return self.discard("not a 5GMM message");
        };
        match message {
            Nas5gmmMessage::IdentityRequest(m) => self.identity_request(&m),
            Nas5gmmMessage::AuthenticationRequest(m) => self.authentication_request(&m, now),
            Nas5gmmMessage::AuthenticationReject(_) => self.authentication_reject(),
            Nas5gmmMessage::AuthenticationResult(result) => self.authentication_result(&result),
            Nas5gmmMessage::RegistrationAccept(m) => self.registration_accept(&m, now),
            Nas5gmmMessage::RegistrationReject(m) => self.registration_reject(&m, now),
            Nas5gmmMessage::DeregistrationAcceptUeOriginating(_) => self.deregistration_accept(now),
            Nas5gmmMessage::DeregistrationRequestUeTerminated(m) => {
                self.network_deregistration(&m, now)
            }
            Nas5gmmMessage::ServiceAccept(m) => self.service_accept(&m),
            Nas5gmmMessage::ServiceReject(m) => self.service_reject(&m, now),
            Nas5gmmMessage::ConfigurationUpdateCommand(m) => self.configuration_update_command(&m),
            Nas5gmmMessage::DlNasTransport(m) => self.dl_nas_transport(&m, now),
            Nas5gmmMessage::FiveGmmStatus(m) => self.mm_status(&m),
            other => {
                self.discard(format!("{:?} is not handled by this UE", other.message_type()));
                self.send_mm_status(martlet_nas::GmmCause::MessageTypeNonExistentOrNotImplemented);
            }
        }
    }

    /// Answer a message that cannot be read as TS 24.501, clause 7 asks.
    fn answer_refused(&mut self, octets: &[u8], error: &NasError) {
        self.discard(format!("undecodable message: {error}"));
        if let Some(answer) = Nas5gsMessage::answer_to_refused(octets, error, Direction::Downlink) {
            self.send(&answer);
        }
    }

    /// Send on the existing connection.
    pub(super) fn send(&mut self, message: &Nas5gsMessage) {
        match self.security.protect(message) {
            Ok(nas) => self.push_send(nas, None),
            Err(error) => self.discard(format!("{message} was not sent: {error}")),
        }
    }

    /// Send as the first message of a connection; on an existing connection it goes out in the same
    /// form.
    pub(super) fn send_initial(
        &mut self,
        message: &Nas5gsMessage,
        cause: EstablishmentCause,
    ) -> Result<(), NasRefused> {
        let nas = self.security.protect_initial(message)?;
        let initial = (!self.connected)
            .then(|| Initial { cause, s_tmsi: self.guti.map(|guti| guti.s_tmsi()) });
        self.connected = true;
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

    /// What ends with the registration: sessions, waiting messages, timers of idle mode.
    pub(super) fn leave_registered(&mut self) {
        self.waiting.clear();
        self.timers.stop(Timer::T3512);
        self.timers.stop(Timer::T3517);
        if self.service_request.take().is_some() {
            self.event(Event::ServiceAborted(Abort::Superseded));
        }
        self.release_sessions_locally();
    }

    /// The last protected message that was sent, for tests that replay it.
    pub fn last_protected(&self) -> Option<&[u8]> {
        self.last_protected.as_deref()
    }

    /// A correctly protected uplink message with one octet of its MAC changed, for tests of the
    /// network's integrity check. It uses up a NAS COUNT, as a message that was damaged on its
    /// way would.
    ///
    /// # Errors
    /// The UE has no security context in use.
    pub fn with_wrong_mac(&mut self, message: &Nas5gsMessage) -> Result<Vec<u8>, NasRefused> {
        if !self.security.secured {
            return Err(NasRefused::NotRegistered);
        }
        let mut octets = self.security.protect(message)?;
        if let Some(mac) = octets.get_mut(2) {
            *mac ^= 0x55;
        }
        Ok(octets)
    }
}

/// The serving network name of a PLMN, the MNC in three digits (TS 24.501, 9.12.1).
pub fn serving_network_name(plmn: &Plmn) -> String {
    format!("5G:mnc{:0>3}.mcc{}.3gppnetwork.org", plmn.mnc(), plmn.mcc())
}
