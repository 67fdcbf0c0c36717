//! The UE's side.

use crate::actions::{Payload, UeAction, UeEvent, Wrong};
use crate::timers::{Procedure, Timers};
use martlet_lcsupp::upp_cm::{Cause, UppCm};
use martlet_lcsupp::{
    BindingIdentity, EncodeError, Framer, Message, PayloadType, Transport, lpp_messages,
};
use std::collections::VecDeque;
use std::time::Instant;

/// Where a UE's connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UeState {
    /// There is none.
    Idle,
    /// The LMF was asked for one.
    Requested,
    /// The channel is being brought up.
    Connecting,
    /// The channel is there, and the LMF has not yet said whether it accepts it.
    Binding,
    /// The connection is there.
    Established,
    /// The LMF was asked to release it.
    Releasing,
}

/// A UE's end of its connection to an LMF.
#[derive(Debug)]
pub struct UeSide {
    timers: Timers,
    state: UeState,
    /// What the LMF gave for the connection that is there or under way.
    binding: Option<BindingIdentity>,
    /// The routing identity of the LMF that the connection is with, as NAS gave it.
    lmf: Vec<u8>,
    framer: Framer,
    /// A request that waits for its answer.
    procedure: Option<Procedure>,
    binding_expires: Option<Instant>,
    /// Not to ask again before; none of inside: for ever.
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

    /// Where the connection is.
    pub fn state(&self) -> UeState {
        self.state
    }

    /// What is to be done next.
    pub fn action(&mut self) -> Option<UeAction> {
        self.actions.pop_front()
    }

    /// When [`UeSide::timeout`] is to be called, if nothing else happens before.
    pub fn deadline(&self) -> Option<Instant> {
        [self.procedure.as_ref().map(Procedure::expires), self.binding_expires]
            .into_iter()
            .flatten()
            .min()
    }

    /// A UPP-CM message came over NAS from the LMF of this routing identity.
    pub fn negotiation(&mut self, now: Instant, lmf: &[u8], octets: &[u8]) {
        match UppCm::decode(octets) {
            Ok(message) => self.negotiated(now, lmf, message),
            Err(error) => {
                self.event(UeEvent::Refused(Wrong::Negotiation(error)));
                // A command that does not decode would be repeated until it is given up.
                if octets.first() == Some(&martlet_lcsupp::codes::upp_cm::ESTABLISHMENT_COMMAND) {
                    self.nas(&UppCm::EstablishmentFailure(Cause::ProtocolError));
                }
            }
        }
    }

    fn negotiated(&mut self, now: Instant, lmf: &[u8], message: UppCm) {
        match message {
            UppCm::EstablishmentCommand { binding, address, .. } => {
                if self.binding.as_ref() == Some(&binding) {
                    // Repeated while it is at work, or its answer was lost.
                    if self.state == UeState::Established {
                        self.nas(&UppCm::EstablishmentComplete);
                    }
                    return;
                }
                if self.has_channel() {
                    self.close();
                }
                self.procedure = None;
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
                self.event(UeEvent::Rejected(wait.flatten()));
            }
            UppCm::ReleaseCommand(back_off) => {
                self.back_off = back_off.map(|timer| timer.duration().map(|wait| now + wait));
                let had = self.has_channel();
                if had {
                    self.close();
                }
                self.end();
                // Also without a connection: the answer to the command before was lost.
                self.nas(&UppCm::ReleaseComplete);
                if had {
                    self.event(UeEvent::Released);
                }
            }
            UppCm::ModificationCommand(source) => {
                let known = self.state == UeState::Established
                    && source.as_ref().is_none_or(|it| *it == self.lmf);
                // The command repeated, after the connection moved already.
                let moved = self.state == UeState::Established && self.lmf == lmf;
                if known || moved {
                    self.lmf = lmf.to_vec();
                    self.nas(&UppCm::ModificationComplete);
                } else {
                    self.nas(&UppCm::ModificationReject(Cause::SourceConnectionNotFound));
                }
            }
            other => self.event(UeEvent::Refused(Wrong::Unexpected(other.name()))),
        }
    }

    /// Ask the LMF for a connection. False where there is one, one is under way, or the LMF said
    /// not to ask yet.
    pub fn request(&mut self, now: Instant) -> bool {
        let barred = match self.back_off {
            Some(Some(until)) => now < until,
            Some(None) => true,
            None => false,
        };
        if self.state != UeState::Idle || barred {
            return false;
        }
        self.ask(now, &UppCm::EstablishmentRequest);
        self.state = UeState::Requested;
        true
    }

    /// Ask the LMF to release the connection. False where there is none.
    pub fn release(&mut self, now: Instant, cause: Option<Cause>) -> bool {
        if self.state != UeState::Established {
            return false;
        }
        self.ask(now, &UppCm::ReleaseRequest(cause));
        self.state = UeState::Releasing;
        true
    }

    /// The channel is there.
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

    /// The channel cannot be brought up.
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

    /// Octets came on the channel.
    pub fn received(&mut self, octets: &[u8]) {
        self.framer.push(octets);
        self.read();
    }

    /// The framer, to receive into it without a copy; [`UeSide::read`] then.
    pub fn framer(&mut self) -> &mut Framer {
        &mut self.framer
    }

    /// Read what the framer has.
    pub fn read(&mut self) {
        loop {
            let message = match self.framer.next() {
                Ok(Some(message)) => message,
                Ok(None) => return,
                Err(error) => return self.broken(Wrong::Stream(error)),
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
                        Err(wrong) => UeEvent::Refused(wrong),
                    };
                    self.event(action);
                }
                (message, _) => {
                    let name = message.name();
                    return self.broken(Wrong::OutOfPlace(name));
                }
            }
        }
    }

    /// Send a payload.
    ///
    /// # Errors
    /// Where it does not fit. Without a connection nothing is sent: look at [`UeSide::state`]
    /// first.
    pub fn send(
        &mut self,
        payload_type: PayloadType,
        payload: &[u8],
        session: &[u8],
    ) -> Result<(), EncodeError> {
        let octets = Message::Uplink(Transport { payload_type, payload, session }).encode()?;
        if self.state == UeState::Established {
            self.actions.push_back(UeAction::Send(octets));
        }
        Ok(())
    }

    /// A deadline has come.
    pub fn timeout(&mut self, now: Instant) {
        if self.binding_expires.is_some_and(|at| at <= now) {
            self.close();
            self.fail(Cause::BindingFailure);
        }
        let Some(procedure) =
            self.procedure.as_mut().filter(|procedure| procedure.expires() <= now)
        else {
            return;
        };
        if let Some(octets) = procedure.expired(now) {
            self.actions.push_back(UeAction::Nas(octets.to_vec()));
            return;
        }
        self.procedure = None;
        match self.state {
            UeState::Releasing => {
                // The LMF does not answer: what the UE can end, it ends.
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
        if let Ok(octets) = message.encode() {
            self.actions.push_back(UeAction::Nas(octets));
        }
    }

    fn ask(&mut self, now: Instant, message: &UppCm) {
        if let Ok(octets) = message.encode() {
            self.procedure = Some(Procedure::start(now, self.timers.request, octets.clone()));
            self.actions.push_back(UeAction::Nas(octets));
        }
    }

    fn send_message(&mut self, message: &Message) {
        if let Ok(octets) = message.encode() {
            self.actions.push_back(UeAction::Send(octets));
        }
    }

    /// Without a connection from now on.
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

    /// The stream cannot be read on.
    fn broken(&mut self, wrong: Wrong) {
        if !self.has_channel() {
            return;
        }
        self.event(UeEvent::Refused(wrong));
        self.close();
        self.closed();
    }
}

/// The checks of a transport's content that need no state.
pub(crate) fn checked(transport: &Transport) -> Result<Payload, Wrong> {
    if transport.payload_type == PayloadType::Lpp {
        let _ = lpp_messages(transport.payload).map_err(Wrong::Lpp)?;
    }
    Ok(Payload {
        payload_type: transport.payload_type,
        octets: transport.payload.to_vec(),
        session: transport.session.to_vec(),
    })
}
