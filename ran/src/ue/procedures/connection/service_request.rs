//! Service request (TS 24.501, 5.6.1) and the answer to paging (5.6.2).
use crate::ue::action::{Abort, EstablishmentCause, Event};
use crate::ue::config::IdleBehaviour;
use crate::ue::mm_state::{MmState, ServiceRequest};
use crate::ue::nas::{NasRefused, UeNas};
use crate::ue::timers::Timer;
use martlet_nas::{
    KeySetIdentifier, Nas5gsMessage, NasFGsMobileIdentity, NasKeySetIdentifier,
    NasPduSessionStatus, NasServiceAccept, NasServiceReject, NasServiceRequest, NasServiceType,
    NasUplinkDataStatus, ServiceType,
};
use std::time::Instant;

/// The purpose of a service request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServicePurpose {
    /// Uplink signalling.
    Signalling,
    /// Uplink user data.
    Data,
    /// An answer to paging.
    PagingResponse,
}

impl UeNas {
    /// Starts a service request. `uplink_data` lists the PDU sessions with pending uplink data.
    ///
    /// # Errors
    /// The UE is not registered, has no 5G-GUTI, or a service request is in progress.
    pub fn request_service(
        &mut self,
        purpose: ServicePurpose,
        uplink_data: &[u8],
        now: Instant,
    ) -> Result<(), NasRefused> {
        if !self.mm_state.is_registered() {
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
        // Also without sessions: the network may have one that the UE has released (5.6.1.2).
        request.set_pdu_session_status(NasPduSessionStatus::from_sessions(&sessions)?);
        let complete = Nas5gsMessage::new_5gmm(request);
        match self.is_connected() {
            true => self.send(&complete),
            false => self.send_initial(&complete, cause)?,
        }
        self.service_request = Some(ServiceRequest { complete });
        self.enter(MmState::ServiceRequestInitiated);
        self.timers.start(Timer::T3517, now + self.config.timers.t3517);
        Ok(())
    }

    /// Whether a service request is in progress.
    pub fn is_requesting_service(&self) -> bool {
        self.service_request.is_some()
    }

    /// Handles paging. With [`IdleBehaviour::Automatic`] the UE answers it with a service request.
    pub fn paged(&mut self, now: Instant) {
        if !self.mm_state.is_registered() || self.is_connected() {
            return self.discard("paging of a UE that is not idle");
        }
        self.event(Event::Paged);
        if self.config.idle == IdleBehaviour::Automatic
            && let Err(error) = self.request_service(ServicePurpose::PagingResponse, &[], now)
        {
            self.discard(format!("paging not answered: {error}"));
        }
    }

    pub(crate) fn service_accept(&mut self, accept: &NasServiceAccept) {
        if !self.end_service_request() {
            return self.discard("SERVICE ACCEPT without a request");
        }
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
        if !self.end_service_request() {
            return self.discard("SERVICE REJECT without a request");
        }
        self.waiting.clear();
        let cause = reject.fgmm_cause.cause_raw();
        if let Some(status) = &reject.pdu_session_status {
            self.reconcile_sessions(&status.active_sessions());
        }
        // Causes that end the registration (5.6.1.5). A network that has lost the UE's context
        // sends
        // #9 or #10.
        if matches!(cause, 3 | 6 | 7 | 9 | 10 | 11 | 12 | 13 | 15 | 27 | 72 | 73) {
            self.leave_registered();
            self.enter(MmState::Deregistered);
            self.delete_after_reject(cause);
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
        if self.end_service_request() {
            self.waiting.clear();
            self.event(Event::ServiceAborted(abort));
        }
    }
}
