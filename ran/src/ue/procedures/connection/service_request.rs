//! Service request (TS 24.501, 5.6.1) and the answer to paging (5.6.2).
use crate::ue::action::{Abort, EstablishmentCause, Event};
use crate::ue::config::IdleBehaviour;
use crate::ue::nas::{MmState, NasRefused, UeNas};
use crate::ue::timers::Timer;
use martlet_nas::{
    KeySetIdentifier, Nas5gsMessage, NasFGsMobileIdentity, NasKeySetIdentifier,
    NasPduSessionStatus, NasServiceAccept, NasServiceReject, NasServiceRequest, NasServiceType,
    NasUplinkDataStatus, ServiceType,
};
use std::time::Instant;

/// What the service is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServicePurpose {
    /// Signalling: a message waits to be sent.
    Signalling,
    /// Uplink user data.
    Data,
    /// An answer to paging.
    PagingResponse,
}

/// A service request underway.
pub struct ServiceRequest {
    /// The complete SERVICE REQUEST, for the NAS message container of SECURITY MODE COMPLETE.
    pub(crate) complete: Nas5gsMessage,
}

impl UeNas {
    /// Ask for service. `uplink_data` names the PDU sessions whose user plane is wanted because
    /// data waits.
    ///
    /// # Errors
    /// The UE is not registered, has no 5G-GUTI, or a service request is underway.
    pub fn request_service(
        &mut self,
        purpose: ServicePurpose,
        uplink_data: &[u8],
        now: Instant,
    ) -> Result<(), NasRefused> {
        if self.state != MmState::Registered {
            return Err(NasRefused::NotRegistered);
        }
        if self.service_request.is_some() {
            return Err(NasRefused::Busy("a service request"));
        }
        let Some(guti) = self.guti else { return Err(NasRefused::NotRegistered) };
        let (service_type, cause) = match purpose {
            ServicePurpose::Signalling => {
                (ServiceType::Signalling, EstablishmentCause::MoSignalling)
            }
            ServicePurpose::Data => (ServiceType::Data, EstablishmentCause::MoData),
            ServicePurpose::PagingResponse => {
                (ServiceType::MobileTerminatedServices, EstablishmentCause::MtAccess)
            }
        };
        let ngksi = match self.security.ngksi() {
            7 => KeySetIdentifier::NoKey,
            ngksi => KeySetIdentifier::Native(ngksi),
        };
        let mut request = NasServiceRequest::new(
            NasKeySetIdentifier::from_key_set_identifier(ngksi)?,
            NasServiceType::from_service_type(service_type),
            NasFGsMobileIdentity::from_s_tmsi(guti.s_tmsi()),
        );
        let sessions = self.active_sessions();
        if !uplink_data.is_empty() {
            request.set_uplink_data_status(NasUplinkDataStatus::from_sessions(uplink_data)?);
        }
        // Also without any session: the network may have one that the UE has let go of (5.6.1.2).
        request.set_pdu_session_status(NasPduSessionStatus::from_sessions(&sessions)?);
        let complete = Nas5gsMessage::new_5gmm(request);
        match self.connected {
            true => self.send(&complete),
            false => self.send_initial(&complete, cause)?,
        }
        self.service_request = Some(ServiceRequest { complete });
        self.timers.start(Timer::T3517, now + self.config.timers.t3517);
        Ok(())
    }

    /// Whether a service request is underway.
    pub fn is_requesting_service(&self) -> bool {
        self.service_request.is_some()
    }

    /// The UE was paged. It answers by itself unless it is configured to wait for
    /// [`UeNas::request_service`].
    pub fn paged(&mut self, now: Instant) {
        if self.state != MmState::Registered || self.connected {
            return self.discard("paging of a UE that is not idle");
        }
        self.event(Event::Paged);
        if self.config.idle == IdleBehaviour::Automatic
            && let Err(error) = self.request_service(ServicePurpose::PagingResponse, &[], now)
        {
            self.discard(format!("paging was not answered: {error}"));
        }
    }

    pub(crate) fn service_accept(&mut self, accept: &NasServiceAccept) {
        if self.service_request.take().is_none() {
            return self.discard("SERVICE ACCEPT without a request");
        }
        self.timers.stop(Timer::T3517);
        let active_sessions = accept.pdu_session_status.as_ref().map(|s| s.active_sessions());
        if let Some(active) = &active_sessions {
            self.reconcile_sessions(active);
        }
        let failed_reactivation = accept
            .pdu_session_reactivation_result
            .as_ref()
            .map(|result| (1..=15).filter(|psi| result.reactivation_failed(*psi)).collect())
            .unwrap_or_default();
        self.event(Event::ServiceAccepted { active_sessions, failed_reactivation });
        while let Some(message) = self.waiting.pop_front() {
            self.send(&message);
        }
    }

    pub(crate) fn service_reject(&mut self, reject: &NasServiceReject, now: Instant) {
        if self.service_request.take().is_none() {
            return self.discard("SERVICE REJECT without a request");
        }
        self.timers.stop(Timer::T3517);
        self.waiting.clear();
        let cause = reject.fgmm_cause.cause_raw();
        if let Some(status) = &reject.pdu_session_status {
            self.reconcile_sessions(&status.active_sessions());
        }
        // Causes after which the UE is no longer registered (5.6.1.5); #9 and #10 are what a
        // network says that has lost the UE's context.
        if matches!(cause, 3 | 6 | 7 | 9 | 10 | 11 | 12 | 13 | 15 | 27 | 72 | 73) {
            self.leave_registered();
            self.state = MmState::Deregistered;
            self.forget_after_reject(cause);
        }
        self.timers.start(Timer::T3540, now + self.config.timers.t3540);
        self.event(Event::ServiceRejected { cause });
    }

    pub(crate) fn t3517_expired(&mut self) {
        self.abort_service_request(Abort::Timeout);
        self.release_connection();
    }

    pub(crate) fn service_request_lost_connection(&mut self) {
        self.abort_service_request(Abort::ConnectionReleased);
    }

    pub(crate) fn abort_service_request(&mut self, abort: Abort) {
        if self.service_request.take().is_some() {
            self.timers.stop(Timer::T3517);
            self.waiting.clear();
            self.event(Event::ServiceAborted(abort));
        }
    }
}
