//! The UE's side of an LCS-UP connection.

use crate::actions::{Payload, Rejection, UeAction, UeEvent};
use crate::timers::{Procedure, Timers};
use martlet_lcsupp::upp_cm::{Cause, UppCm};
use martlet_lcsupp::{
    BindingIdentity, EncodeError, Framer, Message, PayloadType, Transport, lpp_messages,
};
use std::collections::VecDeque;
use std::time::Instant;

/// The state of a UE's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UeState {
    /// No connection.
    Idle,
    /// ESTABLISHMENT REQUEST was sent.
    Requested,
    /// The channel is being established.
    Connecting,
    /// The channel is established, and CONNECTION BINDING REQUEST was sent.
    Binding,
    /// The connection is established.
    Established,
    /// RELEASE REQUEST was sent.
    Releasing,
}

/// A UE's end of its connection to an LMF.
#[derive(Debug)]
pub struct UeSide {
    timers: Timers,
    state: UeState,
    /// The binding identity of the current connection.
    binding: Option<BindingIdentity>,
    /// The routing identity of the LMF, from NAS.
    lmf: Vec<u8>,
    framer: Framer,
    /// A request without an answer so far.
    procedure: Option<Procedure>,
    binding_expires: Option<Instant>,
    /// End of the back-off time; `Some(None)` is unlimited.
    back_off: Option<Option<Instant>>,
    actions: VecDeque<UeAction>,
}

impl UeSide {
    /// Without a connection.
    pub fn new(timers: Timers) -> Self {
        UeSide {
            timers,
            state: UeState::Idle,
            binding: None,
            lmf: Vec::new(),
            framer: Framer::new(),
            procedure: None,
            binding_expires: None,
            back_off: None,
            actions: VecDeque::new(),
        }
    }

    /// The state of the connection.
    pub fn state(&self) -> UeState {
        self.state
    }

    /// The next action; None if there is none.
    pub fn next_action(&mut self) -> Option<UeAction> {
        self.actions.pop_front()
    }

    /// When to call [`UeSide::handle_timeout`].
    pub fn deadline(&self) -> Option<Instant> {
        [self.procedure.as_ref().map(Procedure::expires), self.binding_expires]
            .into_iter()
            .flatten()
            .min()
    }

    /// A UPP-CM message arrived over NAS from the LMF with this routing identity.
    pub fn upp_cm(&mut self, now: Instant, lmf: &[u8], bytes: &[u8]) {
        match UppCm::decode(bytes) {
            Ok(message) => self.handle_upp_cm(now, lmf, message),
            Err(error) => {
                self.event(UeEvent::MessageRejected(Rejection::MalformedUppCm(error)));
                // Answer a malformed command, which would be retransmitted else.
                if bytes.first() == Some(&martlet_lcsupp::codes::upp_cm::ESTABLISHMENT_COMMAND) {
                    self.nas(&UppCm::EstablishmentFailure(Cause::ProtocolError));
                }
            }
        }
    }

    fn handle_upp_cm(&mut self, now: Instant, lmf: &[u8], message: UppCm) {
        match message {
            UppCm::EstablishmentCommand { binding, address, .. } => {
                if self.binding.as_ref() == Some(&binding) {
                    // A retransmission: the establishment is in progress, or its answer was lost.
                    if self.state == UeState::Established {
                        self.nas(&UppCm::EstablishmentComplete);
                    }
                    return;
                }
                if self.has_channel() {
                    self.close();
                }
                self.procedure = None;
                self.binding_expires = None;
                self.back_off = None;
                self.binding = Some(binding);
                self.lmf = lmf.to_vec();
                self.state = UeState::Connecting;
                self.actions.push_back(UeAction::Connect(address));
            }
            UppCm::EstablishmentReject(back_off) if self.state == UeState::Requested => {
                let wait = back_off.map(|timer| timer.duration());
                self.back_off = wait.map(|wait| wait.map(|wait| now + wait));
                self.end();
                self.event(UeEvent::EstablishmentRejected(wait.flatten()));
            }
            UppCm::ReleaseCommand(back_off) => {
                self.back_off = back_off.map(|timer| timer.duration().map(|wait| now + wait));
                let had = self.has_channel();
                if had {
                    self.close();
                }
                self.end();
                // Also without a connection, since the previous answer may have been lost.
                self.nas(&UppCm::ReleaseComplete);
                if had {
                    self.event(UeEvent::Released);
                }
            }
            UppCm::ModificationCommand(source) => {
                let known = self.state == UeState::Established
                    && source.as_ref().is_none_or(|it| *it == self.lmf);
                // A retransmission, after the connection was modified.
                let moved = self.state == UeState::Established && self.lmf == lmf;
                if known || moved {
                    self.lmf = lmf.to_vec();
                    self.nas(&UppCm::ModificationComplete);
                } else {
                    self.nas(&UppCm::ModificationReject(Cause::SourceConnectionNotFound));
                }
            }
            other => self.event(UeEvent::MessageRejected(Rejection::UnexpectedUppCm(other.name()))),
        }
    }

    /// Requests a connection from the LMF. False if there is one or one in progress, or during the
    /// back-off time.
    pub fn request(&mut self, now: Instant) -> bool {
        let barred = match self.back_off {
            Some(Some(until)) => now < until,
            Some(None) => true,
            None => false,
        };
        if self.state != UeState::Idle || barred {
            return false;
        }
        self.send_request(now, &UppCm::EstablishmentRequest);
        self.state = UeState::Requested;
        true
    }

    /// Requests the release of the connection. False if there is none.
    pub fn release(&mut self, now: Instant, cause: Option<Cause>) -> bool {
        if self.state != UeState::Established {
            return false;
        }
        self.send_request(now, &UppCm::ReleaseRequest(cause));
        self.state = UeState::Releasing;
        true
    }

    /// The channel is established.
    pub fn connected(&mut self, now: Instant) {
        let Some(binding) = self.binding.clone().filter(|_| self.state == UeState::Connecting)
        else {
            return;
        };
        self.framer = Framer::new();
        self.send_message(&Message::BindingRequest(binding));
        self.state = UeState::Binding;
        self.binding_expires = Some(now + self.timers.binding);
    }

    /// The channel could not be established.
    pub fn connect_failed(&mut self, cause: Cause) {
        if self.state == UeState::Connecting {
            self.fail(cause);
        }
    }

    /// The channel was closed by the LMF, or broke.
    pub fn closed(&mut self) {
        match self.state {
            UeState::Binding => self.fail(Cause::BindingFailure),
            UeState::Connecting => self.fail(Cause::TlsFailure),
            UeState::Established | UeState::Releasing => {
                self.end();
                self.event(UeEvent::Released);
            }
            UeState::Idle | UeState::Requested => {}
        }
    }

    /// Bytes arrived on the channel.
    pub fn received(&mut self, bytes: &[u8]) {
        self.framer.push(bytes);
        self.read();
    }

    /// The framer, to receive into without a copy. Call [`UeSide::read`] afterwards.
    pub fn framer(&mut self) -> &mut Framer {
        &mut self.framer
    }

    /// Processes the messages in the framer.
    pub fn read(&mut self) {
        loop {
            let message = match self.framer.next() {
                Ok(Some(message)) => message,
                Ok(None) => return,
                Err(error) => return self.abort(Rejection::MalformedLcsUpp(error)),
            };
            match (message, self.state) {
                (Message::BindingAccept, UeState::Binding) => {
                    self.binding_expires = None;
                    self.state = UeState::Established;
                    self.nas(&UppCm::EstablishmentComplete);
                    self.event(UeEvent::Established);
                }
                (Message::BindingReject, UeState::Binding) => {
                    self.close();
                    return self.fail(Cause::BindingFailure);
                }
                (Message::Downlink(transport), UeState::Established | UeState::Releasing) => {
                    let action = match checked(&transport) {
                        Ok(payload) => UeEvent::Downlink(payload),
                        Err(rejection) => UeEvent::MessageRejected(rejection),
                    };
                    self.event(action);
                }
                (message, _) => {
                    let name = message.name();
                    return self.abort(Rejection::UnexpectedLcsUpp(name));
                }
            }
        }
    }

    /// Sends a payload. Without a connection nothing is sent: check [`UeSide::state`] first.
    ///
    /// # Errors
    /// Payload or session identity are too long.
    pub fn send(
        &mut self,
        payload_type: PayloadType,
        payload: &[u8],
        session: &[u8],
    ) -> Result<(), EncodeError> {
        let bytes = Message::Uplink(Transport { payload_type, payload, session }).encode()?;
        if self.state == UeState::Established {
            self.actions.push_back(UeAction::Send(bytes));
        }
        Ok(())
    }

    /// Handles expired timers.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.binding_expires.is_some_and(|at| at <= now) {
            self.close();
            self.fail(Cause::BindingFailure);
        }
        let Some(procedure) =
            self.procedure.as_mut().filter(|procedure| procedure.expires() <= now)
        else {
            return;
        };
        if let Some(bytes) = procedure.expired(now) {
            self.actions.push_back(UeAction::Nas(bytes.to_vec()));
            return;
        }
        self.procedure = None;
        match self.state {
            UeState::Releasing => {
                // The LMF does not answer: release locally.
                self.close();
                self.end();
                self.event(UeEvent::Released);
            }
            _ => {
                self.end();
                self.event(UeEvent::NoAnswer);
            }
        }
    }

    fn has_channel(&self) -> bool {
        !matches!(self.state, UeState::Idle | UeState::Requested)
    }

    fn event(&mut self, event: UeEvent) {
        self.actions.push_back(UeAction::Event(event));
    }

    fn close(&mut self) {
        self.actions.push_back(UeAction::Close);
    }

    fn nas(&mut self, message: &UppCm) {
        if let Ok(bytes) = message.encode() {
            self.actions.push_back(UeAction::Nas(bytes));
        }
    }

    fn send_request(&mut self, now: Instant, message: &UppCm) {
        if let Ok(bytes) = message.encode() {
            self.procedure = Some(Procedure::start(now, self.timers.request, bytes.clone()));
            self.actions.push_back(UeAction::Nas(bytes));
        }
    }

    fn send_message(&mut self, message: &Message) {
        if let Ok(bytes) = message.encode() {
            self.actions.push_back(UeAction::Send(bytes));
        }
    }

    /// Returns to [`UeState::Idle`].
    fn end(&mut self) {
        self.state = UeState::Idle;
        self.binding = None;
        self.binding_expires = None;
        self.procedure = None;
        self.framer = Framer::new();
    }

    fn fail(&mut self, cause: Cause) {
        self.end();
        self.nas(&UppCm::EstablishmentFailure(cause));
        self.event(UeEvent::Failed(cause));
    }

    /// Closes the channel after a malformed or unexpected message.
    fn abort(&mut self, rejection: Rejection) {
        if !self.has_channel() {
            return;
        }
        self.event(UeEvent::MessageRejected(rejection));
        self.close();
        self.closed();
    }
}

/// Checks a TRANSPORT message as far as no state is needed.
pub(crate) fn checked(transport: &Transport) -> Result<Payload, Rejection> {
    if transport.payload_type == PayloadType::Lpp {
        let _ = lpp_messages(transport.payload).map_err(Rejection::MalformedLpp)?;
    }
    Ok(Payload {
        payload_type: transport.payload_type,
        bytes: transport.payload.to_vec(),
        session: transport.session.to_vec(),
    })
}
