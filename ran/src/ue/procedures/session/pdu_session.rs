//! The PDU sessions of a UE, and what their procedures share (TS 24.501, 6.1.3).
use crate::ue::action::{Event, PduSession, SessionCause};
use crate::ue::nas::UeNas;
use crate::ue::sm_state::{Session, SessionState};
use crate::ue::timers::Timer;

impl UeNas {
    /// The established PDU sessions.
    pub fn sessions(&self) -> impl Iterator<Item = &PduSession> {
        self.sessions
            .iter()
            .flatten()
            .filter(|s| !matches!(s.state, SessionState::ActivePending(_)))
            .map(|s| &s.info)
    }

    /// An established PDU session.
    pub fn session(&self, psi: u8) -> Option<&PduSession> {
        self.sessions().find(|s| s.psi == psi)
    }

    /// Identities of the sessions that are not PDU SESSION INACTIVE, for the PDU session status IE
    /// (TS 24.501, 9.11.3.44).
    pub(crate) fn active_sessions(&self) -> Vec<u8> {
        self.sessions.iter().flatten().map(|s| s.info.psi).collect()
    }

    pub(in crate::ue) fn session_mut(&mut self, psi: u8) -> Option<&mut Session> {
        self.sessions.get_mut(usize::from(psi))?.as_deref_mut()
    }

    pub(in crate::ue) fn remove_session(&mut self, psi: u8) -> Option<Box<Session>> {
        self.timers.stop(Timer::T3580(psi));
        self.timers.stop(Timer::T3581(psi));
        self.timers.stop(Timer::T3582(psi));
        self.sessions.get_mut(usize::from(psi))?.take()
    }

    /// The next procedure transaction identity, 1 to 254 (TS 24.007, 11.2.3.1a).
    pub(crate) fn next_pti(&mut self) -> u8 {
        let pti = self.next_pti;
        self.next_pti = if pti >= 254 { 1 } else { pti + 1 };
        pti
    }

    /// Releases locally the sessions that the network's PDU session status does not list (TS
    /// 24.501, 5.5.1.2.4 and 5.6.1.4). A session whose establishment is pending stays: it is not
    /// listed yet.
    pub(crate) fn reconcile_sessions(&mut self, active: &[u8]) {
        let established: Vec<u8> = self.sessions().map(|s| s.psi).collect();
        for psi in established {
            if !active.contains(&psi) && self.remove_session(psi).is_some() {
                self.event(Event::SessionReleased { psi, cause: SessionCause::StatusInactive });
            }
        }
    }

    /// Releases every session without signalling.
    pub(crate) fn release_sessions_locally(&mut self) {
        for psi in 1..=15 {
            match self.remove_session(psi).map(|s| s.state) {
                None => {}
                Some(SessionState::ActivePending(_)) => {
                    self.event(Event::SessionRejected { psi, cause: SessionCause::Deregistered });
                }
                Some(_) => {
                    self.event(Event::SessionReleased { psi, cause: SessionCause::Deregistered })
                }
            }
        }
    }

    /// The connection was released during session procedures.
    pub(crate) fn sessions_lost_connection(&mut self) {
        for psi in 1..=15 {
            let state =
                self.sessions.get(usize::from(psi)).and_then(|s| s.as_ref()).map(|s| &s.state);
            match state {
                Some(SessionState::ActivePending(_)) => {
                    self.remove_session(psi);
                    self.event(Event::SessionRejected {
                        psi,
                        cause: SessionCause::ConnectionReleased,
                    });
                }
                Some(SessionState::InactivePending(_)) => {
                    self.remove_session(psi);
                    self.event(Event::SessionReleased {
                        psi,
                        cause: SessionCause::ConnectionReleased,
                    });
                }
                Some(SessionState::ModificationPending(_)) => {
                    self.modification_ended(psi, SessionCause::ConnectionReleased)
                }
                Some(SessionState::Active) | None => {}
            }
        }
    }

    /// The UE's modification request failed: the session stays as it is.
    pub(super) fn modification_ended(&mut self, psi: u8, cause: SessionCause) {
        if let Some(session) = self.session_mut(psi)
            && matches!(session.state, SessionState::ModificationPending(_))
        {
            session.state = SessionState::Active;
            self.timers.stop(Timer::T3581(psi));
            self.event(Event::SessionModificationRejected { psi, cause });
        }
    }

    /// The AMF returned a 5GSM message (TS 24.501, 5.4.5.3.3).
    pub(crate) fn sm_message_returned(&mut self, psi: u8, cause: SessionCause) {
        match self.session_mut(psi).map(|s| &s.state) {
            Some(SessionState::ActivePending(_)) => {
                self.remove_session(psi);
                self.event(Event::SessionRejected { psi, cause });
            }
            Some(SessionState::InactivePending(_)) => {
                // The network does not have the session: it is released (6.4.3.6).
                self.remove_session(psi);
                self.event(Event::SessionReleased { psi, cause });
            }
            Some(SessionState::ModificationPending(_)) => self.modification_ended(psi, cause),
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
