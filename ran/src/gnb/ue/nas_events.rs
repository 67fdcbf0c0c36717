//! Events of the UE's NAS layer: they record samples and complete waiting commands.
use super::command::UeEvent;
use super::context::UeContext;
use crate::gnb::error::UeError;
use crate::sample::Procedure;
use crate::ue::{Event, MmState, PduSession, SessionCause};

impl UeContext {
    pub(super) async fn on_event(&mut self, event: Event) {
        if let Some(events) = &self.events {
            let _ = events.send(UeEvent::Nas(event.clone()));
        }
        match event {
            Event::Registered(outcome) => {
                let start = self.starts.registration.take();
                self.record(Procedure::Registration, start, None);
                self.waiters.registration.finish(Ok(outcome));
            }
            Event::RegistrationRejected { cause } => {
                self.registration_failed(UeError::Rejected(cause))
            }
            Event::RegistrationAborted(abort) => self.registration_failed(UeError::Aborted(abort)),
            Event::Deregistered => {
                // A UE that is switched off gets no answer: its release is the end of the
                // procedure.
                if self.nas.state() == MmState::Deregistered && self.starts.deregistration.is_some()
                {
                    let start = self.starts.deregistration.take();
                    self.record(Procedure::Deregistration, start, None);
                }
                if self.connection.ran_id.is_none() {
                    self.waiters.deregistration.finish(Ok(()));
                }
            }
            Event::DeregisteredByNetwork { cause, re_registration_required } => {
                tracing::info!(
                    supi = %self.supi,
                    gnb = self.gnb.name(),
                    ?cause,
                    re_registration_required,
                    "deregistered by the network"
                );
            }
            Event::SessionEstablished(session) => self.session_established(session).await,
            Event::SessionRejected { psi, cause } => {
                let start =
                    self.starts.establishment.get_mut(usize::from(psi)).and_then(Option::take);
                self.record(Procedure::PduSessionEstablishment, start, Some(cause.to_string()));
                self.close_session(psi);
                if let Some(waiting) = self.waiters.establishment.get_mut(usize::from(psi)) {
                    waiting.finish(Err(UeError::Session(cause)));
                }
            }
            Event::SessionReleased { psi, cause } => {
                if let Some(start) =
                    self.starts.session_release.get_mut(usize::from(psi)).and_then(Option::take)
                {
                    let failure = unanswered(cause).then(|| cause.to_string());
                    self.record(Procedure::PduSessionRelease, Some(start), failure);
                }
                self.close_session(psi);
                if let Some(waiting) = self.waiters.modification.get_mut(usize::from(psi)) {
                    waiting.finish(Err(UeError::Session(cause)));
                }
                if let Some(waiting) = self.waiters.session_release.get_mut(usize::from(psi)) {
                    waiting.finish(if unanswered(cause) {
                        Err(UeError::Session(cause))
                    } else {
                        Ok(())
                    });
                }
            }
            Event::SessionReleaseRejected { psi, cause } => {
                let start =
                    self.starts.session_release.get_mut(usize::from(psi)).and_then(Option::take);
                self.record(Procedure::PduSessionRelease, start, Some(cause.to_string()));
                if let Some(waiting) = self.waiters.session_release.get_mut(usize::from(psi)) {
                    waiting.finish(Err(UeError::Session(cause)));
                }
            }
            Event::ServiceAccepted { .. } => {
                let (start, paged) = (self.starts.service.take(), self.starts.paged.take());
                self.record(Procedure::ServiceRequest, start, None);
                self.record(Procedure::PagingResponse, paged, None);
                self.waiters.service.finish(Ok(()));
            }
            Event::ServiceRejected { cause } => self.service_failed(UeError::Rejected(cause)),
            Event::ServiceAborted(abort) => self.service_failed(UeError::Aborted(abort)),
            Event::Paged => {
                self.paged = !self.waiters.paging.finish(Ok(()));
            }
            Event::Discarded(reason) => {
                tracing::debug!(
                    supi = %self.supi,
                    gnb = self.gnb.name(),
                    %reason,
                    "downlink NAS not processed"
                );
            }
            Event::AuthenticationFailureSent { cause } => {
                tracing::debug!(
                    supi = %self.supi,
                    gnb = self.gnb.name(),
                    cause,
                    "authentication failure"
                );
            }
            Event::PositioningReturned { kind, cause } => {
                tracing::debug!(
                    supi = %self.supi,
                    gnb = self.gnb.name(),
                    ?kind,
                    cause,
                    "positioning message returned: no LMF accepts it"
                );
            }
            Event::SessionModified { psi, asked } => {
                let session = self.nas.session(psi).cloned();
                if let (true, Some(waiting)) =
                    (asked, self.waiters.modification.get_mut(usize::from(psi)))
                {
                    waiting.finish(session.ok_or(UeError::State("the session was released")));
                }
            }
            Event::SessionModificationRejected { psi, cause } => {
                if let Some(waiting) = self.waiters.modification.get_mut(usize::from(psi)) {
                    waiting.finish(Err(UeError::Session(cause)));
                }
            }
            Event::ConfigurationUpdated { .. }
            | Event::Status { .. }
            | Event::Positioning { .. } => {}
        }
    }

    fn registration_failed(&mut self, error: UeError) {
        let start = self.starts.registration.take();
        self.record(Procedure::Registration, start, Some(error.to_string()));
        self.waiters.registration.finish(Err(error));
    }

    fn service_failed(&mut self, error: UeError) {
        let (start, paged) = (self.starts.service.take(), self.starts.paged.take());
        self.record(Procedure::ServiceRequest, start, Some(error.to_string()));
        self.record(Procedure::PagingResponse, paged, Some(error.to_string()));
        self.waiters.service.finish(Err(error));
    }

    async fn session_established(&mut self, session: PduSession) {
        let psi = session.psi;
        let start = self.starts.establishment.get_mut(usize::from(psi)).and_then(Option::take);
        self.record(Procedure::PduSessionEstablishment, start, None);
        let opened = match self.ports.get(&psi) {
            Some(port) => self.interface.open(port, &session).await,
            None => Ok(()),
        };
        let outcome =
            opened.map(|()| session).map_err(|error| UeError::Interface(error.to_string()));
        if let Some(waiting) = self.waiters.establishment.get_mut(usize::from(psi)) {
            waiting.finish(outcome);
        }
    }
}

/// Whether a session was released locally, without a message of the network.
fn unanswered(cause: SessionCause) -> bool {
    matches!(cause, SessionCause::Timeout | SessionCause::ConnectionReleased)
}
