//! De-registration, initiated by the UE (TS 24.501, 5.5.2.2) or the network (5.5.2.3).
use crate::ue::action::{Abort, EstablishmentCause, Event};
use crate::ue::mm_state::{Deregistration, MmState};
use crate::ue::nas::{NasRefused, UeNas};
use crate::ue::timers::Timer;
use martlet_nas::{
    AccessTypeValue, KeySetIdentifier, Nas5gsMessage, NasDeRegistrationType,
    NasDeregistrationAcceptUeTerminated, NasDeregistrationRequestUeOriginating,
    NasDeregistrationRequestUeTerminated, NasFGsMobileIdentity, NasKeySetIdentifier,
};
use std::time::Instant;

impl UeNas {
    /// Starts a de-registration. With `switch_off` the network does not answer, and the UE is
    /// deregistered at once.
    ///
    /// # Errors
    /// The UE is not registered, or a registration or de-registration is in progress.
    pub fn deregister(&mut self, switch_off: bool, now: Instant) -> Result<(), NasRefused> {
        match self.mm_state {
            MmState::Deregistered => return Err(NasRefused::NotRegistered),
            MmState::RegisteredInitiated => return Err(NasRefused::Busy("a registration")),
            MmState::DeregisteredInitiated => {
                return Err(NasRefused::Busy("a de-registration"));
            }
            MmState::Registered | MmState::ServiceRequestInitiated => {}
        }
        let ngksi = match self.security.ngksi() {
            7 => KeySetIdentifier::NoKey,
            ngksi => KeySetIdentifier::Native(ngksi),
        };
        let identity = match self.guti {
            Some(guti) => NasFGsMobileIdentity::from_guti(guti),
            None => self.take_suci(),
        };
        let kind = NasDeRegistrationType::default()
            .with_access_type(AccessTypeValue::ThreeGppAccess)
            .with_switch_off(switch_off);
        let request = Nas5gsMessage::new_5gmm(NasDeregistrationRequestUeOriginating::new(
            kind,
            NasKeySetIdentifier::from_key_set_identifier(ngksi)?,
            identity,
        ));
        self.leave_registered();
        self.send_deregistration(&request)?;
        if switch_off {
            self.enter(MmState::Deregistered);
            self.timers.start(Timer::T3540, now + self.config.timers.t3540);
            self.event(Event::Deregistered);
        } else {
            self.enter(MmState::DeregisteredInitiated);
            self.deregistration = Some(Deregistration { request, sent: 1 });
            self.timers.start(Timer::T3521, now + self.config.timers.t3521);
        }
        Ok(())
    }

    fn send_deregistration(&mut self, request: &Nas5gsMessage) -> Result<(), NasRefused> {
        // Before the network has answered an initial message, it is protected like one (4.4.6).
        match (self.is_connected(), self.security.secured) {
            (true, true) => self.send(request),
            (true, false) => {
                let nas = self.security.protect_following(request)?;
                self.push_send(nas, None);
            }
            (false, _) => self.send_initial(request, EstablishmentCause::MoSignalling)?,
        }
        Ok(())
    }

    pub(crate) fn deregistration_accept(&mut self, now: Instant) {
        if self.deregistration.take().is_none() {
            return self.discard("DEREGISTRATION ACCEPT without a request");
        }
        self.timers.stop(Timer::T3521);
        self.timers.start(Timer::T3540, now + self.config.timers.t3540);
        self.enter(MmState::Deregistered);
        self.event(Event::Deregistered);
    }

    pub(crate) fn t3521_expired(&mut self, now: Instant) {
        let Some(mut deregistration) = self.deregistration.take() else { return };
        if deregistration.sent > self.config.timers.retransmissions {
            // The UE enters 5GMM-DEREGISTERED locally (5.5.2.2.6 c).
            self.enter(MmState::Deregistered);
            self.event(Event::Deregistered);
            return self.release_connection();
        }
        deregistration.sent += 1;
        if let Err(error) = self.send_deregistration(&deregistration.request) {
            self.discard(format!("DEREGISTRATION REQUEST not retransmitted: {error}"));
        }
        self.timers.start(Timer::T3521, now + self.config.timers.t3521);
        self.deregistration = Some(deregistration);
    }

    pub(crate) fn deregistration_lost_connection(&mut self) {
        if self.deregistration.take().is_some() {
            self.timers.stop(Timer::T3521);
            self.enter(MmState::Deregistered);
            self.event(Event::Deregistered);
        }
    }

    /// DEREGISTRATION REQUEST from the network (5.5.2.3).
    pub(crate) fn network_deregistration(
        &mut self,
        request: &NasDeregistrationRequestUeTerminated,
        now: Instant,
    ) {
        self.send(&Nas5gsMessage::new_5gmm(NasDeregistrationAcceptUeTerminated::new()));
        let cause = request.fgmm_cause.as_ref().map(|c| c.cause_raw());
        let re_registration_required = request.de_registration_type.re_registration_required();
        self.abort_registration(Abort::Superseded);
        self.leave_registered();
        if self.deregistration.take().is_some() {
            self.timers.stop(Timer::T3521);
        }
        self.enter(MmState::Deregistered);
        if let Some(cause) = cause {
            self.delete_after_reject(cause);
        }
        self.timers.start(Timer::T3540, now + self.config.timers.t3540);
        self.event(Event::DeregisteredByNetwork { cause, re_registration_required });
    }
}
