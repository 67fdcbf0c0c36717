//! The PDU sessions of a UE and what their procedures share (TS 24.501, 6.1.3).
use crate::ue::action::{Event, PduSession, SessionCause};
use crate::ue::config::Slice;
use crate::ue::nas::UeNas;
use crate::ue::procedures::session::pdu_session_modification::Modifying;
use crate::ue::timers::Timer;
use martlet_nas::{Nas5gsMessage, PduSessionTypeValue, SscModeValue};

/// State of a PDU session in the UE (TS 24.501, 6.1.3.2.1).
pub enum SessionState {
    /// PDU SESSION ACTIVE PENDING: the request that was sent, and how often.
    Establishing {
        /// UL NAS TRANSPORT with PDU SESSION ESTABLISHMENT REQUEST.
        request: Nas5gsMessage,
        /// Times it has been sent.
        sent: u8,
    },
    /// PDU SESSION ACTIVE.
    Active,
    /// PDU SESSION INACTIVE PENDING: the request that was sent, and how often.
    Releasing {
        /// PDU SESSION RELEASE REQUEST.
        request: Nas5gsMessage,
        /// Times it has been sent.
        sent: u8,
    },
}

/// A PDU session.
pub struct Session {
    /// Procedure transaction identity of the procedure underway.
    pub(crate) pti: u8,
    pub(crate) state: SessionState,
    /// What the UE has asked to be changed, and is not answered yet.
    pub(crate) modifying: Option<Modifying>,
    pub(crate) info: PduSession,
}

/// What to ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PduSessionRequest {
    /// PDU session identity, 1 to 15; `None`: the lowest free one.
    pub psi: Option<u8>,
    /// DNN; `None`: the network's default.
    pub dnn: Option<String>,
    /// S-NSSAI; `None`: the network's default.
    pub slice: Option<Slice>,
    /// PDU session type.
    pub session_type: PduSessionTypeValue,
    /// Session and service continuity mode; `None`: the network's choice.
    pub ssc_mode: Option<SscModeValue>,
    /// The session that this one takes over from (TS 24.501, 5.4.5.2.2).
    pub replaces: Option<u8>,
}

impl Default for PduSessionRequest {
    fn default() -> Self {
        PduSessionRequest {
            psi: None,
            dnn: None,
            slice: None,
            session_type: PduSessionTypeValue::Ipv4,
            ssc_mode: None,
            replaces: None,
        }
    }
}

impl UeNas {
    /// The PDU sessions that are established.
    pub fn sessions(&self) -> impl Iterator<Item = &PduSession> {
        self.sessions
            .iter()
            .flatten()
            .filter(|s| !matches!(s.state, SessionState::Establishing { .. }))
            .map(|s| &s.info)
    }

    /// One of them.
    pub fn session(&self, psi: u8) -> Option<&PduSession> {
        self.sessions().find(|s| s.psi == psi)
    }

    /// Identities of the sessions that PDU session status reports: all that are not PDU SESSION
    /// INACTIVE, those that are being established among them (TS 24.501, 9.11.3.44).
    pub(crate) fn active_sessions(&self) -> Vec<u8> {
        self.sessions.iter().flatten().map(|s| s.info.psi).collect()
    }

    pub(crate) fn session_mut(&mut self, psi: u8) -> Option<&mut Session> {
        self.sessions.get_mut(usize::from(psi))?.as_deref_mut()
    }

    pub(crate) fn remove_session(&mut self, psi: u8) -> Option<Box<Session>> {
        self.timers.stop(Timer::T3580(psi));
        self.timers.stop(Timer::T3581(psi));
        self.timers.stop(Timer::T3582(psi));
        self.sessions.get_mut(usize::from(psi))?.take()
    }

    /// A procedure transaction identity: 1 to 254, one after the other (TS 24.007, 11.2.3.1a).
    pub(crate) fn next_pti(&mut self) -> u8 {
        let pti = self.next_pti;
        self.next_pti = if pti >= 254 { 1 } else { pti + 1 };
        pti
    }

    /// Release locally what the network's PDU session status no longer has (TS 24.501, 5.5.1.2.4
    /// and 5.6.1.4); what is being established it does not have yet.
    pub(crate) fn reconcile_sessions(&mut self, active: &[u8]) {
        let established: Vec<u8> = self.sessions().map(|s| s.psi).collect();
        for psi in established {
            if !active.contains(&psi) && self.remove_session(psi).is_some() {
                self.event(Event::SessionReleased { psi, cause: SessionCause::StatusInactive });
            }
        }
    }

    /// Release every session without signalling.
    pub(crate) fn release_sessions_locally(&mut self) {
        for psi in 1..=15 {
            match self.remove_session(psi).map(|s| s.state) {
                None => {}
                Some(SessionState::Establishing { .. }) => {
                    self.event(Event::SessionRejected { psi, cause: SessionCause::Deregistered });
                }
                Some(_) => {
                    self.event(Event::SessionReleased { psi, cause: SessionCause::Deregistered })
                }
            }
        }
    }

    /// The connection went while sessions were being set up or released.
    pub(crate) fn sessions_lost_connection(&mut self) {
        for psi in 1..=15 {
            let underway =
                self.sessions.get(usize::from(psi)).and_then(|s| s.as_ref()).map(|s| &s.state);
            match underway {
                Some(SessionState::Establishing { .. }) => {
                    self.remove_session(psi);
                    self.event(Event::SessionRejected {
                        psi,
                        cause: SessionCause::ConnectionReleased,
                    });
                }
                Some(SessionState::Releasing { .. }) => {
                    self.remove_session(psi);
                    self.event(Event::SessionReleased {
                        psi,
                        cause: SessionCause::ConnectionReleased,
                    });
                }
                Some(SessionState::Active) => {
                    self.modification_ended(psi, SessionCause::ConnectionReleased)
                }
                None => {}
            }
        }
    }

    /// What the UE asked to be changed is not: it is over.
    fn modification_ended(&mut self, psi: u8, cause: SessionCause) {
        if self.session_mut(psi).is_some_and(|session| session.modifying.take().is_some()) {
            self.timers.stop(Timer::T3581(psi));
            self.event(Event::SessionModificationRejected { psi, cause });
        }
    }

    /// The AMF gave a 5GSM message back.
    pub(crate) fn sm_message_returned(&mut self, psi: u8, cause: SessionCause) {
        match self.session_mut(psi).map(|s| (&s.state, s.modifying.is_some())) {
            Some((SessionState::Establishing { .. }, _)) => {
                self.remove_session(psi);
                self.event(Event::SessionRejected { psi, cause });
            }
            Some((SessionState::Releasing { .. }, _)) => {
                // The network has no such session: it is gone (6.4.3.6).
                self.remove_session(psi);
                self.event(Event::SessionReleased { psi, cause });
            }
            Some((SessionState::Active, true)) => self.modification_ended(psi, cause),
            _ => self.event(Event::Status {
                psi: Some(psi),
                cause: match cause {
                    SessionCause::Mm(cause) | SessionCause::Sm(cause) => cause,
                    _ => 0,
                },
            }),
        }
    }
}
