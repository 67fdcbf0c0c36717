//! PDU session establishment, requested by the UE (TS 24.501, 6.4.1).
use crate::ue::action::{Event, PduSession, SessionCause};
use crate::ue::config::Slice;
use crate::ue::nas::{NasRefused, UeNas};
use crate::ue::procedures::common::nas_transport::ul_nas_transport;
use crate::ue::procedures::connection::service_request::ServicePurpose;
use crate::ue::sm_state::{PduSessionRequest, PendingRequest, Session, SessionState};
use crate::ue::timers::Timer;
use martlet_nas::{
    GsmCause, Nas5gsMessage, NasDnn, NasExtendedProtocolConfigurationOptions,
    NasIntegrityProtectionMaximumDataRate, NasPduSessionEstablishmentAccept,
    NasPduSessionEstablishmentReject, NasPduSessionEstablishmentRequest, NasPduSessionIdentity2,
    NasPduSessionType, NasQosFlowDescriptions, NasQosRules, NasRequestType, NasSNssai, NasSscMode,
    QosFlowOpCode, QosFlowParameter, QosRuleOpCode, RequestTypeValue,
};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

/// Protocol configuration options that ask for an IPv4 DNS server (container 000D) and the IPv4
/// link MTU (0010), with the configuration protocol "PPP for IP PDU session type" (TS 24.008,
/// 10.5.6.3).
const ASK_FOR_DNS_AND_MTU: [u8; 7] = [0x80, 0x00, 0x0d, 0x00, 0x00, 0x10, 0x00];

impl UeNas {
    /// Requests a PDU session and returns its identity. An idle UE requests service first.
    ///
    /// # Errors
    /// The UE is not registered, the identity is in use or none is free, or the DNN is invalid.
    pub fn establish_session(
        &mut self,
        request: &PduSessionRequest,
        now: Instant,
    ) -> Result<u8, NasRefused> {
        if !self.mm_state.is_registered() {
            return Err(NasRefused::NotRegistered);
        }
        if let Some(wait) = self.back_off.remaining(request.slice, request.dnn.as_deref(), now) {
            return Err(NasRefused::BackOff(wait));
        }
        let free = |psi: &u8| self.sessions.get(usize::from(*psi)).is_some_and(|s| s.is_none());
        let psi = match request.psi {
            Some(psi) if (1..=15).contains(&psi) && (request.existing || free(&psi)) => psi,
            Some(psi) => return Err(NasRefused::SessionIdentity(psi)),
            None => (1..=15).find(free).ok_or(NasRefused::SessionIdentity(0))?,
        };
        let pti = self.next_pti();
        let message = establishment_request(request, psi, pti)?;
        let info = PduSession {
            psi,
            dnn: request.dnn.clone(),
            slice: request.slice,
            kind: request.session_type,
            ssc_mode: 1,
            ipv4: None,
            ipv6_interface_id: None,
            dns: Vec::new(),
            mtu: None,
            ambr_kbps: None,
            default_qfi: None,
            flows: Vec::new(),
            rules: Vec::new(),
            always_on: false,
            cause: None,
        };
        self.send_when_connected(&message, now)?;
        let session =
            Session { pti, state: SessionState::ActivePending(PendingRequest::new(message)), info };
        if let Some(slot) = self.sessions.get_mut(usize::from(psi)) {
            *slot = Some(Box::new(session));
        }
        self.timers.start(Timer::T3580(psi), now + self.config.timers.t3580);
        Ok(psi)
    }

    /// Sends a message, for an idle UE after a service request.
    pub(crate) fn send_when_connected(
        &mut self,
        message: &Nas5gsMessage,
        now: Instant,
    ) -> Result<(), NasRefused> {
        if self.is_connected() && self.service_request.is_none() {
            self.send(message);
            return Ok(());
        }
        if self.service_request.is_none() {
            self.request_service(ServicePurpose::Signalling, &[], now)?;
        }
        self.waiting.push_back(message.clone());
        Ok(())
    }

    pub(crate) fn establishment_accept(
        &mut self,
        psi: u8,
        pti: u8,
        accept: &NasPduSessionEstablishmentAccept,
    ) {
        let Some(session) = self.session_mut(psi) else {
            self.discard(format!(
                "PDU SESSION ESTABLISHMENT ACCEPT for session {psi}, which has no pending request"
            ));
            return self.send_sm_status(psi, pti, GsmCause::InvalidPduSessionIdentity);
        };
        if !matches!(session.state, SessionState::ActivePending(_)) || session.pti != pti {
            self.discard(format!(
                "PDU SESSION ESTABLISHMENT ACCEPT with PTI {pti}, which is not in use"
            ));
            return self.send_sm_status(psi, pti, GsmCause::PtiMismatch);
        }
        session.state = SessionState::Active;
        apply_accept(&mut session.info, accept);
        let info = session.info.clone();
        self.timers.stop(Timer::T3580(psi));
        self.event(Event::SessionEstablished(info));
    }

    pub(crate) fn establishment_reject(
        &mut self,
        psi: u8,
        pti: u8,
        reject: &NasPduSessionEstablishmentReject,
        now: Instant,
    ) {
        let expected = self
            .session_mut(psi)
            .is_some_and(|s| s.pti == pti && matches!(s.state, SessionState::ActivePending(_)));
        if !expected {
            self.discard(format!(
                "PDU SESSION ESTABLISHMENT REJECT for session {psi} with PTI {pti}, not in use"
            ));
            return self.send_sm_status(psi, pti, GsmCause::PtiMismatch);
        }
        let back_off = reject.back_off_timer_value.as_ref().and_then(|timer| timer.to_seconds());
        if let Some(seconds) = back_off.filter(|seconds| *seconds > 0) {
            let asked =
                self.session_mut(psi).map(|session| (session.info.slice, session.info.dnn.clone()));
            let (slice, dnn) = asked.unwrap_or_default();
            self.back_off.start(
                reject.fgsm_cause.cause_raw(),
                slice,
                dnn,
                now + Duration::from_secs(seconds),
            );
        }
        self.remove_session(psi);
        self.event(Event::SessionRejected {
            psi,
            cause: SessionCause::Sm(reject.fgsm_cause.cause_raw()),
        });
    }

    pub(crate) fn t3580_expired(&mut self, psi: u8, now: Instant) {
        let (retransmissions, t3580) =
            (self.config.timers.retransmissions, self.config.timers.t3580);
        let Some(session) = self.session_mut(psi) else { return };
        let SessionState::ActivePending(pending) = &mut session.state else { return };
        if pending.sent > retransmissions {
            self.remove_session(psi);
            return self.event(Event::SessionRejected { psi, cause: SessionCause::Timeout });
        }
        pending.sent += 1;
        let request = pending.message.clone();
        self.timers.start(Timer::T3580(psi), now + t3580);
        if let Err(error) = self.send_when_connected(&request, now) {
            self.discard(format!("PDU SESSION ESTABLISHMENT REQUEST not retransmitted: {error}"));
        }
    }
}

/// UL NAS TRANSPORT with PDU SESSION ESTABLISHMENT REQUEST.
fn establishment_request(
    request: &PduSessionRequest,
    psi: u8,
    pti: u8,
) -> Result<Nas5gsMessage, NasRefused> {
    let options = NasExtendedProtocolConfigurationOptions::new(ASK_FOR_DNS_AND_MTU.to_vec());
    let mut establishment =
        NasPduSessionEstablishmentRequest::new(NasIntegrityProtectionMaximumDataRate::new(0xffff))
            .with_pdu_session_type(NasPduSessionType::from_session_type(request.session_type))
            .with_extended_protocol_configuration_options(options);
    if let Some(mode) = request.ssc_mode {
        establishment.set_ssc_mode(NasSscMode::from_mode(mode));
    }
    let kind = match request.existing {
        true => RequestTypeValue::ExistingPduSession,
        false => RequestTypeValue::InitialRequest,
    };
    let mut transport = ul_nas_transport(&Nas5gsMessage::new_5gsm(establishment, psi, pti), psi)?
        .with_request_type(NasRequestType::from_request_type(kind));
    if let Some(slice) = request.slice {
        transport.set_s_nssai(NasSNssai::from_sst_sd(slice.sst, slice.sd));
    }
    if let Some(old) = request.replaces {
        transport.set_old_pdu_session_id(NasPduSessionIdentity2::from_pdu_session_id(old));
    }
    if let Some(dnn) = &request.dnn {
        transport.set_dnn(NasDnn::from_string(dnn)?);
    }
    Ok(Nas5gsMessage::new_5gmm(transport))
}

/// Applies PDU SESSION ESTABLISHMENT ACCEPT to the session.
fn apply_accept(info: &mut PduSession, accept: &NasPduSessionEstablishmentAccept) {
    info.kind = accept.selected_pdu_session_type.session_type().unwrap_or(info.kind);
    info.ssc_mode = accept.selected_ssc_mode.mode().map_or(1, |mode| mode as u8);
    if let Some(address) = &accept.pdu_address {
        info.ipv4 = address.ipv4().map(Ipv4Addr::from);
        info.ipv6_interface_id = address.ipv6_interface_id();
    }
    if let Some(slice) = accept.s_nssai.as_ref().and_then(|s| s.parse()) {
        info.slice = Some(Slice { sst: slice.sst, sd: slice.sd });
    }
    if let Some(dnn) = accept.dnn.as_ref().and_then(|d| d.as_string()) {
        info.dnn = Some(dnn);
    }
    let ambr = &accept.session_ambr;
    info.ambr_kbps = ambr.downlink_kbps().zip(ambr.uplink_kbps());
    info.default_qfi =
        accept.authorized_qos_rules.rules().iter().find(|rule| rule.dqr).and_then(|rule| rule.qfi);
    apply_rules(info, &accept.authorized_qos_rules);
    if let Some(descriptions) = &accept.authorized_qos_flow_descriptions {
        apply_flows(info, descriptions);
    }
    info.always_on = accept
        .always_on_pdu_session_indication
        .as_ref()
        .is_some_and(|indication| indication.apsi());
    info.cause = accept.fgsm_cause.as_ref().map(|c| c.cause_raw());
    if let Some(options) = &accept.extended_protocol_configuration_options {
        for (identifier, contents) in containers(&options.value) {
            match (identifier, contents) {
                (0x000d, &[a, b, c, d]) => info.dns.push(Ipv4Addr::new(a, b, c, d)),
                (0x0010, &[high, low]) => info.mtu = Some(u16::from_be_bytes([high, low])),
                _ => {}
            }
        }
    }
}

/// Applies operations on QoS rules (TS 24.501, 9.11.4.13).
pub(crate) fn apply_rules(info: &mut PduSession, rules: &NasQosRules) {
    for rule in rules.rules() {
        info.rules.retain(|(id, _)| *id != rule.rule_id);
        if rule.op_code != QosRuleOpCode::Delete {
            info.rules.push((rule.rule_id, rule.qfi.unwrap_or(0)));
        }
    }
    info.rules.sort_unstable();
}

/// Applies operations on QoS flow descriptions (TS 24.501, 9.11.4.12).
pub(crate) fn apply_flows(info: &mut PduSession, descriptions: &NasQosFlowDescriptions) {
    for description in descriptions.descriptions() {
        info.flows.retain(|(qfi, _)| *qfi != description.qfi);
        let five_qi = description.params.iter().find_map(|parameter| match parameter {
            QosFlowParameter::FiveQi(five_qi) => Some(*five_qi),
            _ => None,
        });
        if description.op_code != QosFlowOpCode::Delete {
            info.flows.push((description.qfi, five_qi.unwrap_or(0)));
        }
    }
    info.flows.sort_unstable();
}

/// The complete containers of protocol configuration options: identifier and contents.
fn containers(options: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = options.get(1..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (&[high, low, length], contents) = rest.split_first_chunk::<3>()?;
        let (contents, next) = contents.split_at_checked(usize::from(length))?;
        rest = next;
        Some((u16::from_be_bytes([high, low]), contents))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_container_ends_the_list() {
        let options = [0x80, 0x00, 0x0d, 4, 8, 8, 8, 8, 0x00, 0x10, 2, 5];
        assert_eq!(containers(&options).collect::<Vec<_>>(), [(0x000d, &[8u8, 8, 8, 8][..])]);
        assert_eq!(containers(&[]).count(), 0);
    }
}
