//! Registration: initial (TS 24.501, 5.5.1.2), mobility and periodic (5.5.1.3).
use crate::ue::action::{Abort, EstablishmentCause, Event, RegistrationOutcome};
use crate::ue::config::Slice;
use crate::ue::mm_state::{MmState, NetworkSettings, Registration};
use crate::ue::nas::{NasRefused, UeNas};
use crate::ue::timers::Timer;
use martlet_nas::{
    KeySetIdentifier, Nas5gsMessage, NasFGmmCapability, NasFGsDrxParameters, NasFGsMobileIdentity,
    NasFGsRegistrationType, NasKeySetIdentifier, NasNssai, NasPduSessionStatus,
    NasRegistrationAccept, NasRegistrationComplete, NasRegistrationReject, NasRegistrationRequest,
    NasSNssai, NasUplinkDataStatus, RegistrationType,
};
use martlet_nas::{
    NasPlmnList, NasServiceAreaList, ServiceAreaListAllowedType, ServiceAreaListEntry,
};
use std::time::{Duration, Instant};

impl UeNas {
    /// Starts a registration, by 5G-GUTI if the UE has one, else by SUCI.
    ///
    /// # Errors
    /// A registration or de-registration is in progress, or the UE is not registered and the type
    /// is mobility or periodic updating.
    pub fn register(&mut self, kind: RegistrationType, now: Instant) -> Result<(), NasRefused> {
        match self.mm_state {
            MmState::RegisteredInitiated => return Err(NasRefused::Busy("a registration")),
            MmState::DeregisteredInitiated => {
                return Err(NasRefused::Busy("a de-registration"));
            }
            MmState::Deregistered | MmState::Registered | MmState::ServiceRequestInitiated => {}
        }
        let update = matches!(
            kind,
            RegistrationType::MobilityRegistrationUpdating
                | RegistrationType::PeriodicRegistrationUpdating
        );
        if update && !self.mm_state.is_registered() {
            return Err(NasRefused::NotRegistered);
        }
        if !update {
            self.leave_registered();
        }
        self.prepare();
        self.start_registration(kind, 1, now)
    }

    fn start_registration(
        &mut self,
        kind: RegistrationType,
        attempt: u8,
        now: Instant,
    ) -> Result<(), NasRefused> {
        let complete = self.registration_request(kind)?;
        let only_cleartext_sent = self.security.current.is_none();
        let message = match only_cleartext_sent {
            true => Nas5gsMessage::new_5gmm(self.cleartext_request(kind)?),
            false => complete.clone(),
        };
        self.send_initial(&message, EstablishmentCause::MoSignalling)?;
        self.registration = Some(Registration { kind, complete, only_cleartext_sent, attempt });
        self.enter(MmState::RegisteredInitiated);
        self.timers.stop(Timer::T3511);
        self.timers.start(Timer::T3510, now + self.config.timers.t3510);
        Ok(())
    }

    fn capability(&self) -> NasFGmmCapability {
        let config = self.config();
        match config.lcs_upp {
            true => NasFGmmCapability::new(vec![0; 8]).with_lpp(config.lpp).with_lcs_upp(true),
            false => NasFGmmCapability::new(vec![0]).with_lpp(config.lpp),
        }
    }

    /// REGISTRATION REQUEST with cleartext IEs only: registration type, ngKSI, identity and UE
    /// security capability (TS 24.501, 4.4.6).
    fn cleartext_request(
        &mut self,
        kind: RegistrationType,
    ) -> Result<NasRegistrationRequest, NasRefused> {
        let ngksi = match self.security.ngksi() {
            7 => KeySetIdentifier::NoKey,
            ngksi => KeySetIdentifier::Native(ngksi),
        };
        let mapped = self.config.mapped_guti.filter(|_| self.guti.is_some());
        let identity = match mapped.or(self.guti) {
            Some(guti) => NasFGsMobileIdentity::from_guti(guti),
            None => self.take_suci(),
        };
        let mut request = NasRegistrationRequest::new(
            NasFGsRegistrationType::from_registration_type(kind).with_follow_on_request(true),
            NasKeySetIdentifier::from_key_set_identifier(ngksi)?,
            identity,
        )
        .with_ue_security_capability(self.security_capability.clone());
        if let (Some(_), Some(native)) = (mapped, self.guti) {
            request.set_additional_guti(NasFGsMobileIdentity::from_guti(native));
        }
        Ok(request)
    }

    fn registration_request(
        &mut self,
        kind: RegistrationType,
    ) -> Result<Nas5gsMessage, NasRefused> {
        let mut request = self.cleartext_request(kind)?.with_fgmm_capability(self.capability());
        // Only slices of the configured NSSAI are requested (5.5.1.2.2).
        let configured = &self.settings.configured_nssai;
        let requested = self.config.requested_nssai.iter();
        let requested: Vec<_> =
            requested.filter(|slice| configured.is_empty() || configured.contains(slice)).collect();
        // A periodic registration requests none (5.5.1.3.2).
        if !requested.is_empty() && kind != RegistrationType::PeriodicRegistrationUpdating {
            let slices: Vec<_> =
                requested.iter().map(|s| NasSNssai::from_sst_sd(s.sst, s.sd)).collect();
            request.set_requested_nssai(NasNssai::from_snssais(&slices)?);
        }
        if let Some(cycle) = self.config.requested_drx
            && kind != RegistrationType::PeriodicRegistrationUpdating
        {
            request.set_requested_drx_parameters(NasFGsDrxParameters::from_drx_value(cycle));
        }
        let sessions = self.active_sessions();
        if kind != RegistrationType::InitialRegistration && !sessions.is_empty() {
            request.set_pdu_session_status(NasPduSessionStatus::from_sessions(&sessions)?);
            if kind == RegistrationType::MobilityRegistrationUpdating {
                request.set_uplink_data_status(NasUplinkDataStatus::from_sessions(&sessions)?);
            }
        }
        Ok(Nas5gsMessage::new_5gmm(request))
    }

    /// The SUCI, which is marked as sent.
    pub(crate) fn take_suci(&mut self) -> NasFGsMobileIdentity {
        self.suci.1 = true;
        self.suci.0.clone()
    }

    pub(crate) fn registration_accept(&mut self, accept: &NasRegistrationAccept) {
        if self.registration.take().is_none() {
            return self.discard("REGISTRATION ACCEPT without a request");
        }
        self.timers.stop(Timer::T3510);
        self.enter(match self.service_request {
            Some(_) => MmState::ServiceRequestInitiated,
            None => MmState::Registered,
        });
        if let Some(guti) = accept.fg_guti.as_ref().and_then(|id| id.as_guti()) {
            self.guti = Some(guti);
        }
        self.t3512 =
            accept.t3512_value.as_ref().and_then(|t| t.to_seconds()).map(Duration::from_secs);
        let configured = match &accept.configured_nssai {
            Some(configured) => slices_of(configured),
            None => std::mem::take(&mut self.settings.configured_nssai),
        };
        self.settings = NetworkSettings {
            allowed_nssai: accept.allowed_nssai.as_ref().map(slices_of).unwrap_or_default(),
            configured_nssai: configured,
            without_service: accept
                .service_area_list
                .as_ref()
                .map(without_service)
                .unwrap_or_default(),
            equivalent_plmns: accept.equivalent_plmns.iter().flat_map(plmns).collect(),
            t3502: accept
                .t3502_value
                .as_ref()
                .and_then(|t| t.to_seconds())
                .map(Duration::from_secs),
            negotiated_drx: accept
                .negotiated_drx_parameters
                .as_ref()
                .and_then(|parameters| parameters.drx_value()),
            network_name: self.settings.network_name.take(),
            time_zone: self.settings.time_zone,
        };
        let active = accept.pdu_session_status.as_ref().map(|s| s.active_sessions());
        if let Some(active) = &active {
            self.reconcile_sessions(active);
        }
        // IEs that require REGISTRATION COMPLETE (5.5.1.2.4).
        let acknowledge = accept.fg_guti.is_some()
            || accept.configured_nssai.is_some()
            || accept.network_slicing_indication.is_some()
            || accept.sor_transparent_container.as_ref().is_some_and(|sor| sor.ack_requested());
        if acknowledge {
            self.send(&Nas5gsMessage::new_5gmm(NasRegistrationComplete::new()));
        }
        let allowed_nssai = accept.allowed_nssai.as_ref().map(slices_of).unwrap_or_default();
        let outcome = RegistrationOutcome {
            guti: self.guti,
            allowed_nssai,
            rejected_nssai: accept.rejected_nssai.is_some(),
            registration_area: accept
                .tai_list
                .as_ref()
                .map(|list| list.to_string())
                .unwrap_or_default(),
            t3512: self.t3512,
            algorithms: self.security.algorithms().map(|(nea, nia)| (nea as u8, nia as u8)),
            active_sessions: active,
        };
        self.event(Event::Registered(outcome));
    }

    pub(crate) fn registration_reject(&mut self, reject: &NasRegistrationReject, now: Instant) {
        if self.registration.take().is_none() {
            return self.discard("REGISTRATION REJECT without a request");
        }
        self.timers.stop(Timer::T3510);
        let cause = reject.fgmm_cause.cause_raw();
        self.leave_registered();
        self.enter(MmState::Deregistered);
        self.delete_after_reject(cause);
        // The UE releases the connection if the network does not (5.3.1.3).
        self.timers.start(Timer::T3540, now + self.config.timers.t3540);
        self.event(Event::RegistrationRejected { cause });
    }

    /// Deletes what a 5GMM cause invalidates (TS 24.501, 5.5.1.2.5 and 5.6.1.5).
    pub(crate) fn delete_after_reject(&mut self, cause: u8) {
        const DELETING: [u8; 10] = [3, 6, 7, 9, 11, 12, 13, 15, 72, 73];
        if DELETING.contains(&cause) {
            self.guti = None;
            self.security.current = None;
            self.security.partial = None;
        }
    }

    pub(crate) fn t3510_expired(&mut self, now: Instant) {
        let Some(registration) = &self.registration else { return };
        if registration.attempt < self.config.timers.registration_attempts {
            // The attempt failed: the next one follows after T3511 (5.5.1.2.7 c).
            self.timers.start(Timer::T3511, now + self.config.timers.t3511);
            self.release_connection();
        } else {
            self.abort_registration(Abort::Timeout);
            self.release_connection();
        }
    }

    pub(crate) fn t3511_expired(&mut self, now: Instant) {
        let Some(registration) = self.registration.take() else { return };
        if let Err(error) =
            self.start_registration(registration.kind, registration.attempt.saturating_add(1), now)
        {
            self.enter(MmState::Deregistered);
            self.discard(format!("registration attempt not sent: {error}"));
            self.event(Event::RegistrationAborted(Abort::Timeout));
        }
    }

    /// Starts a periodic registration (TS 24.501, 5.3.7).
    pub(crate) fn t3512_expired(&mut self, now: Instant) {
        if self.mm_state.is_registered()
            && let Err(error) = self.register(RegistrationType::PeriodicRegistrationUpdating, now)
        {
            self.discard(format!("periodic registration not sent: {error}"));
        }
    }

    pub(crate) fn registration_lost_connection(&mut self) {
        // Between two attempts there is no connection.
        if self.registration.is_some() && !self.timers.is_running(Timer::T3511) {
            self.abort_registration(Abort::ConnectionReleased);
        }
    }

    /// Aborts a registration in progress.
    pub(crate) fn abort_registration(&mut self, abort: Abort) {
        if self.registration.take().is_none() {
            return;
        }
        self.timers.stop(Timer::T3510);
        self.timers.stop(Timer::T3511);
        self.enter(MmState::Deregistered);
        self.event(Event::RegistrationAborted(abort));
    }
}

/// The PLMNs of a list, MCC and MNC as digits.
fn plmns(list: &NasPlmnList) -> Vec<String> {
    list.plmns().iter().map(|plmn| format!("{}{}", plmn.mcc(), plmn.mnc())).collect()
}

/// Tracking area codes of the non-allowed area.
pub(crate) fn without_service(list: &NasServiceAreaList) -> Vec<u32> {
    let of = |entry| match entry {
        ServiceAreaListEntry::OnePlmnNonConsecutive {
            allowed: ServiceAreaListAllowedType::NonAllowed,
            tacs,
            ..
        } => tacs,
        _ => Vec::new(),
    };
    list.entries().into_iter().flat_map(of).collect()
}

/// The slices of an NSSAI.
pub(crate) fn slices_of(nssai: &NasNssai) -> Vec<Slice> {
    nssai.parse_all().into_iter().map(|s| Slice { sst: s.sst, sd: s.sd }).collect()
}
