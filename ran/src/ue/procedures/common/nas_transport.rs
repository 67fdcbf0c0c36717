//! NAS transport of 5GSM and positioning messages (TS 24.501, 5.4.5).
use crate::ue::action::{Event, PositioningKind, SessionCause};
use crate::ue::nas::{NasRefused, UeNas};
use martlet_nas::{
    Direction, GsmCause, Nas5gsMessage, Nas5gsmMessage, NasAdditionalInformation,
    NasDlNasTransport, NasFGsmCause, NasFGsmStatus, NasPayloadContainer, NasPayloadContainerType,
    NasPduSessionIdentity2, NasRequestType, NasUlNasTransport, PayloadContainerKind,
    RequestTypeValue,
};
use std::time::Instant;

/// UL NAS TRANSPORT with a 5GSM message.
pub(crate) fn ul_nas_transport(
    message: &Nas5gsMessage,
    psi: u8,
) -> Result<NasUlNasTransport, martlet_nas::NasError> {
    Ok(NasUlNasTransport::new(
        NasPayloadContainerType::from_kind(PayloadContainerKind::N1SmInformation),
        NasPayloadContainer::from_n1_sm_message(message)?,
    )
    .with_pdu_session_id(NasPduSessionIdentity2::from_pdu_session_id(psi)))
}

fn positioning_kind(kind: PayloadContainerKind) -> Option<PositioningKind> {
    match kind {
        PayloadContainerKind::LtePp => Some(PositioningKind::Lpp),
        PayloadContainerKind::LocationServices => Some(PositioningKind::Lcs),
        PayloadContainerKind::UppCmiContainer => Some(PositioningKind::UppCmi),
        _ => None,
    }
}

impl UeNas {
    /// Sends a positioning message.
    ///
    /// # Errors
    /// The UE has no connection, or is not registered.
    pub fn send_positioning(
        &mut self,
        kind: PositioningKind,
        message: &[u8],
        routing: Option<&[u8]>,
    ) -> Result<(), NasRefused> {
        if !self.mm_state.is_registered() {
            return Err(NasRefused::NotRegistered);
        }
        if !self.is_connected() {
            return Err(NasRefused::Message(
                "the UE is idle: a service request has to come first".into(),
            ));
        }
        let kind = match kind {
            PositioningKind::Lpp => PayloadContainerKind::LtePp,
            PositioningKind::Lcs => PayloadContainerKind::LocationServices,
            PositioningKind::UppCmi => PayloadContainerKind::UppCmiContainer,
        };
        let kind = NasPayloadContainerType::from_kind(kind);
        let mut transport =
            NasUlNasTransport::new(kind, NasPayloadContainer::new(message.to_vec()));
        if let Some(routing) = routing {
            transport.set_additional_information(NasAdditionalInformation::new(routing.to_vec()));
        }
        self.send(&Nas5gsMessage::new_5gmm(transport));
        Ok(())
    }

    /// Sends a 5GSM message as it is, without a procedure.
    pub fn send_session_message(&mut self, psi: u8, message: &Nas5gsMessage) {
        let is_establishment = matches!(
            message,
            Nas5gsMessage::Gsm(_, Nas5gsmMessage::PduSessionEstablishmentRequest(_))
        );
        match ul_nas_transport(message, psi) {
            Ok(transport) if is_establishment => {
                let initial = NasRequestType::from_request_type(RequestTypeValue::InitialRequest);
                self.send(&Nas5gsMessage::new_5gmm(transport.with_request_type(initial)));
            }
            _ => self.send_sm(message, psi),
        }
    }

    pub(crate) fn send_sm(&mut self, message: &Nas5gsMessage, psi: u8) {
        match ul_nas_transport(message, psi) {
            Ok(transport) => self.send(&Nas5gsMessage::new_5gmm(transport)),
            Err(error) => self.discard(format!("{message} not sent: {error}")),
        }
    }

    pub(crate) fn dl_nas_transport(&mut self, transport: &NasDlNasTransport, now: Instant) {
        if let Some(kind) = transport.payload_container_type.kind().and_then(positioning_kind) {
            if let Some(cause) = &transport.fgmm_cause {
                return self.event(Event::PositioningReturned { kind, cause: cause.cause_raw() });
            }
            let message = transport.payload_container.value.to_vec();
            let routing = transport.additional_information.as_ref().map(|it| it.value.to_vec());
            return self.event(Event::Positioning { kind, message, routing });
        }
        if !transport.payload_container_type.is_n1_sm() {
            return self.discard(format!(
                "DL NAS TRANSPORT of type {}",
                transport.payload_container_type.value
            ));
        }
        // The AMF returns a message that it could not forward, with the cause (5.4.5.3.1 e to i).
        if let Some(cause) = &transport.fgmm_cause {
            let psi =
                transport.pdu_session_id.as_ref().map(|id| id.pdu_session_id()).unwrap_or_default();
            return self.sm_message_returned(psi, SessionCause::Mm(cause.cause_raw()));
        }
        let payload = &transport.payload_container.value;
        let decoded = transport.payload_container.decode_as_n1_sm_message();
        match decoded {
            Ok(Nas5gsMessage::Gsm(header, message)) => {
                let (psi, pti) =
                    (header.pdu_session_identity, header.procedure_transaction_identity);
                self.receive_sm(psi, pti, message, now);
            }
            Ok(other) => self.discard(format!("payload container without a 5GSM message: {other}")),
            Err(error) => {
                self.discard(format!("undecodable 5GSM message: {error}"));
                if let Some(answer) =
                    Nas5gsMessage::answer_to_refused(payload, &error, Direction::Downlink)
                {
                    let psi = payload.get(1).copied().unwrap_or_default();
                    self.send_sm(&answer, psi);
                }
            }
        }
    }

    fn receive_sm(&mut self, psi: u8, pti: u8, message: Nas5gsmMessage, now: Instant) {
        match message {
            Nas5gsmMessage::PduSessionEstablishmentAccept(m) => {
                self.establishment_accept(psi, pti, &m)
            }
            Nas5gsmMessage::PduSessionEstablishmentReject(m) => {
                self.establishment_reject(psi, pti, &m, now)
            }
            Nas5gsmMessage::PduSessionReleaseCommand(m) => self.release_command(psi, pti, &m, now),
            Nas5gsmMessage::PduSessionReleaseReject(m) => self.release_reject(psi, pti, &m),
            Nas5gsmMessage::PduSessionModificationCommand(m) => {
                self.modification_command(psi, pti, &m)
            }
            Nas5gsmMessage::PduSessionModificationReject(m) => {
                self.modification_reject(psi, pti, &m)
            }
            Nas5gsmMessage::FiveGsmStatus(m) => {
                self.event(Event::Status { psi: Some(psi), cause: m.fgsm_cause.cause_raw() });
            }
            other => {
                self.discard(format!("{:?} is not handled by this UE", other.message_type()));
                self.send_sm_status(psi, pti, GsmCause::MessageTypeNonExistentOrNotImplemented);
            }
        }
    }

    pub(crate) fn send_sm_status(&mut self, psi: u8, pti: u8, cause: GsmCause) {
        let status = NasFGsmStatus::new(NasFGsmCause::from_cause(cause));
        self.send_sm(&Nas5gsMessage::new_5gsm(status, psi, pti), psi);
    }
}
