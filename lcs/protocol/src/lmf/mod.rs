//! The LMF's side of the LCS-UP connections of all UEs.

mod connection;

use crate::actions::{ChannelId, DisconnectReason, LmfAction, LmfEvent, Rejection};
use crate::timers::{Procedure, Timers};
use crate::ue::checked;
use connection::{Connection, State};
use martlet_lcsupp::upp_cm::{BackOff, LmfAddress, UppCm};
use martlet_lcsupp::{BindingIdentity, EncodeError, Framer, Message, PayloadType, Transport};
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

/// Limits of the LMF's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LmfLimits {
    /// Connections, established or in progress.
    pub ues: usize,
    /// Channels without a binding request so far. A new one replaces the oldest.
    pub unbound: usize,
    /// Bytes of uplink payloads that are buffered per UE until its connection is established.
    pub early_bytes: usize,
    /// Sessions per UE.
    pub sessions: usize,
}

impl Default for LmfLimits {
    fn default() -> Self {
        LmfLimits { ues: 10_000, unbound: 256, early_bytes: 262_144, sessions: 64 }
    }
}

/// Why the LMF's side cannot do what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LmfError {
    /// The UE has no connection.
    #[error("the UE has no user plane connection")]
    NoConnection,
    /// The limit of connections, or of sessions of this UE, is reached.
    #[error("the limit of connections or sessions is reached")]
    LimitReached,
    /// Payload or session identity are too long.
    #[error("{0}")]
    Encode(EncodeError),
}

/// The LMF's end of the connections of all UEs. `Ue` is the caller's identity of a UE.
#[derive(Debug)]
pub struct LmfSide<Ue> {
    timers: Timers,
    limits: LmfLimits,
    address: LmfAddress,
    connections: HashMap<Ue, Connection>,
    /// UEs whose connections have a procedure in progress.
    timed: HashSet<Ue>,
    /// The valid binding identities.
    bindings: HashMap<BindingIdentity, Ue>,
    /// The UE of each bound channel.
    channels: HashMap<ChannelId, Ue>,
    /// Channels without a binding, with their deadlines.
    unbound: HashMap<ChannelId, (Framer, Instant)>,
    actions: VecDeque<LmfAction<Ue>>,
}

impl<Ue: Clone + Eq + Hash> LmfSide<Ue> {
    /// Without connections. `address` is sent to UEs.
    pub fn new(timers: Timers, limits: LmfLimits, address: LmfAddress) -> Self {
        LmfSide {
            timers,
            limits,
            address,
            connections: HashMap::new(),
            timed: HashSet::new(),
            bindings: HashMap::new(),
            channels: HashMap::new(),
            unbound: HashMap::new(),
            actions: VecDeque::new(),
        }
    }

    /// The next action; None if there is none.
    pub fn next_action(&mut self) -> Option<LmfAction<Ue>> {
        self.actions.pop_front()
    }

    /// When to call [`LmfSide::handle_timeout`].
    pub fn deadline(&self) -> Option<Instant> {
        let procedures = self.timed.iter().filter_map(|ue| self.connections.get(ue)?.deadline());
        procedures.chain(self.unbound.values().map(|(_, until)| *until)).min()
    }

    /// The number of established connections.
    pub fn established(&self) -> usize {
        self.connections.values().filter(|connection| connection.is_established()).count()
    }

    /// Whether this UE has a connection.
    pub fn is_established(&self, ue: &Ue) -> bool {
        self.connections.get(ue).is_some_and(Connection::is_established)
    }

    /// The channel of this UE's connection.
    pub fn channel_of(&self, ue: &Ue) -> Option<ChannelId> {
        self.connections.get(ue)?.channel
    }

    /// The binding identity of this UE's connection.
    pub fn binding_of(&self, ue: &Ue) -> Option<&BindingIdentity> {
        Some(&self.connections.get(ue)?.binding)
    }

    /// The UE of a channel.
    pub fn ue_of(&self, channel: ChannelId) -> Option<&Ue> {
        self.channels.get(&channel)
    }

    /// Sends ESTABLISHMENT COMMAND to a UE. `binding` has to be unguessable and unused. Returns
    /// false if the UE has a connection, established or in progress.
    ///
    /// # Errors
    /// The limit of connections is reached.
    pub fn establish(
        &mut self,
        now: Instant,
        ue: Ue,
        binding: BindingIdentity,
    ) -> Result<bool, LmfError> {
        if self.connections.contains_key(&ue) {
            return Ok(false);
        }
        if self.connections.len() >= self.limits.ues || self.bindings.contains_key(&binding) {
            return Err(LmfError::LimitReached);
        }
        let command = UppCm::EstablishmentCommand {
            binding: binding.clone(),
            address: self.address.clone(),
            source_lmf: None,
        };
        let bytes = command.encode().map_err(LmfError::Encode)?;
        self.actions.push_back(LmfAction::Nas(ue.clone(), bytes.clone()));
        let procedure = Procedure::start(now, self.timers.establishment, bytes);
        self.timed.insert(ue.clone());
        self.bindings.insert(binding.clone(), ue.clone());
        self.connections.insert(ue, Connection::new(binding, procedure));
        Ok(true)
    }

    /// Rejects a UE's request for a connection.
    pub fn reject(&mut self, ue: Ue, back_off: Option<Duration>) {
        self.nas(&ue, &UppCm::EstablishmentReject(back_off.map(BackOff::at_least)));
    }

    /// Sends MODIFICATION COMMAND: this LMF serves the connection in place of another. False if the
    /// UE has no connection, or another procedure is in progress.
    pub fn modify(&mut self, now: Instant, ue: &Ue, source_lmf: Option<Vec<u8>>) -> bool {
        let Some(connection) = self
            .connections
            .get_mut(ue)
            .filter(|connection| connection.state == State::Established)
        else {
            return false;
        };
        let Ok(bytes) = UppCm::ModificationCommand(source_lmf).encode() else { return false };
        connection.state =
            State::Modifying(Procedure::start(now, self.timers.modification, bytes.clone()));
        self.timed.insert(ue.clone());
        self.actions.push_back(LmfAction::Nas(ue.clone(), bytes));
        true
    }

    /// Releases a UE's connection. False if it has none, or it is being released.
    pub fn release(&mut self, now: Instant, ue: &Ue, back_off: Option<Duration>) -> bool {
        let Some(connection) = self.connections.get_mut(ue) else { return false };
        if matches!(connection.state, State::Releasing(_)) {
            return false;
        }
        let Ok(bytes) = UppCm::ReleaseCommand(back_off.map(BackOff::at_least)).encode() else {
            return false;
        };
        connection.state =
            State::Releasing(Procedure::start(now, self.timers.release, bytes.clone()));
        self.timed.insert(ue.clone());
        // Payloads are not awaited any more, and they would be buffered as before the end of an
        // establishment.
        connection.sessions.clear();
        // The identity is no longer valid for a binding.
        self.bindings.remove(&connection.binding);
        self.actions.push_back(LmfAction::Nas(ue.clone(), bytes));
        true
    }

    /// Removes a UE that has left the network: closes its channel without a message.
    pub fn remove(&mut self, ue: &Ue) {
        self.drop_connection(ue);
    }

    /// A UPP-CM message to a UE was not delivered. Disconnects the UE unless the connection is
    /// established, or is not the one with this binding identity, to which the message belonged.
    pub fn undelivered(&mut self, ue: &Ue, binding: &BindingIdentity) {
        let connection = self.connections.get(ue).filter(|it| it.binding == *binding);
        if connection.is_some_and(|it| !it.is_established()) {
            self.disconnect(ue, DisconnectReason::NoAnswer);
        }
    }

    /// A UPP-CM message from a UE arrived over NAS.
    pub fn upp_cm(&mut self, now: Instant, ue: &Ue, bytes: &[u8]) {
        let message = match UppCm::decode(bytes) {
            Ok(message) => message,
            Err(error) => {
                return self.event(ue, LmfEvent::MessageRejected(Rejection::MalformedUppCm(error)));
            }
        };
        let connection = self.connections.get_mut(ue);
        match (message, connection) {
            (UppCm::EstablishmentComplete, Some(connection)) if connection.channel.is_some() => {
                if let Some(early) = connection.complete() {
                    self.timed.remove(ue);
                    self.event(ue, LmfEvent::Established);
                    early.into_iter().for_each(|payload| self.event(ue, LmfEvent::Uplink(payload)));
                }
            }
            (
                UppCm::EstablishmentFailure(cause),
                Some(Connection { state: State::Establishing(_), .. }),
            ) => {
                self.disconnect(ue, DisconnectReason::Cause(cause));
            }
            (UppCm::EstablishmentRequest, None) => self.event(ue, LmfEvent::Requested),
            // The UE lost its connection and requests a new one.
            (UppCm::EstablishmentRequest, Some(connection)) => {
                if !matches!(connection.state, State::Establishing(_)) {
                    self.disconnect(ue, DisconnectReason::ChannelClosed);
                    self.event(ue, LmfEvent::Requested);
                }
            }
            (UppCm::ReleaseRequest(_), Some(_)) => {
                self.release(now, ue, None);
            }
            // The UE has a connection that the LMF does not know.
            (UppCm::ReleaseRequest(_), None) => self.nas(ue, &UppCm::ReleaseCommand(None)),
            (UppCm::ReleaseComplete, Some(Connection { state: State::Releasing(_), .. })) => {
                self.disconnect(ue, DisconnectReason::Released);
            }
            (UppCm::ModificationComplete, Some(connection))
                if matches!(connection.state, State::Modifying(_)) =>
            {
                connection.state = State::Established;
                self.timed.remove(ue);
                self.event(ue, LmfEvent::Modified);
            }
            (UppCm::ModificationReject(cause), Some(connection))
                if matches!(connection.state, State::Modifying(_)) =>
            {
                connection.state = State::Established;
                self.timed.remove(ue);
                self.event(ue, LmfEvent::NotModified(Some(cause)));
            }
            (other, _) => {
                let name = other.name();
                self.event(ue, LmfEvent::MessageRejected(Rejection::UnexpectedUppCm(name)));
            }
        }
    }

    /// A channel was opened.
    pub fn channel_opened(&mut self, now: Instant, channel: ChannelId) {
        if self.unbound.len() >= self.limits.unbound {
            // A UE binds its channel at once, so the oldest one is the least likely to be a UE's.
            let channels = self.unbound.iter();
            let oldest = channels.min_by_key(|(channel, (_, until))| (*until, **channel));
            if let Some(oldest) = oldest.map(|(channel, _)| *channel) {
                self.reject_channel(oldest, Rejection::LimitReached, false);
            }
        }
        self.unbound.insert(channel, (Framer::new(), now + self.timers.binding));
    }

    /// A channel was closed by its UE, or broke.
    pub fn channel_closed(&mut self, channel: ChannelId) {
        self.unbound.remove(&channel);
        let Some(ue) = self.channels.remove(&channel) else { return };
        if let Some(connection) =
            self.connections.get_mut(&ue).filter(|it| it.channel == Some(channel))
        {
            connection.channel = None;
            match connection.state {
                // The UE reports the result over NAS.
                State::Establishing(_) | State::Releasing(_) => {}
                State::Established | State::Modifying(_) => {
                    self.disconnect(&ue, DisconnectReason::ChannelClosed)
                }
            }
        }
    }

    /// Bytes arrived on a channel.
    pub fn received(&mut self, channel: ChannelId, bytes: &[u8]) {
        if let Some(ue) = self.channels.get(&channel).cloned() {
            if let Some(connection) = self.connections.get_mut(&ue) {
                connection.framer.push(bytes);
                self.read(&ue, channel);
            }
            return;
        }
        let Some((framer, _)) = self.unbound.get_mut(&channel) else { return };
        framer.push(bytes);
        let identity = match framer.next() {
            Ok(None) => return,
            Ok(Some(Message::BindingRequest(identity))) => identity,
            Ok(Some(other)) => {
                let rejection = Rejection::UnexpectedLcsUpp(other.name());
                return self.reject_channel(channel, rejection, false);
            }
            Err(error) => {
                return self.reject_channel(channel, Rejection::MalformedLcsUpp(error), false);
            }
        };
        let Some(ue) = self.bindings.get(&identity).cloned() else {
            return self.reject_channel(channel, Rejection::UnknownBinding, true);
        };
        // Each identity in `bindings` belongs to a connection.
        let Some(connection) = self.connections.get_mut(&ue) else { return };
        if connection.channel.is_some() {
            return self.reject_channel(channel, Rejection::AlreadyBound, true);
        }
        connection.channel = Some(channel);
        if let Some((framer, _)) = self.unbound.remove(&channel) {
            connection.framer = framer;
        }
        self.channels.insert(channel, ue.clone());
        self.actions.push_back(LmfAction::Send(
            channel,
            vec![martlet_lcsupp::codes::lcs_upp::CONNECTION_BINDING_ACCEPT],
        ));
        self.read(&ue, channel);
    }

    /// Processes the messages in a UE's framer.
    fn read(&mut self, ue: &Ue, channel: ChannelId) {
        loop {
            let Some(connection) = self.connections.get_mut(ue) else { return };
            let transport = match connection.framer.next() {
                Ok(None) => return,
                Ok(Some(Message::Uplink(transport))) => checked(&transport),
                Ok(Some(other)) => {
                    let rejection = Rejection::UnexpectedLcsUpp(other.name());
                    return self.abort(ue, channel, rejection);
                }
                Err(error) => return self.abort(ue, channel, Rejection::MalformedLcsUpp(error)),
            };
            let event = match transport {
                Err(rejection) => LmfEvent::MessageRejected(rejection),
                Ok(payload) if !connection.has_session(&payload.session) => {
                    LmfEvent::MessageRejected(Rejection::UnknownSession)
                }
                Ok(payload) if connection.is_established() => LmfEvent::Uplink(payload),
                Ok(payload) => match connection.buffer(payload, self.limits.early_bytes) {
                    true => continue,
                    false => LmfEvent::MessageRejected(Rejection::LimitReached),
                },
            };
            self.event(ue, event);
        }
    }

    /// Opens a session of a UE. Returns whether it is new.
    ///
    /// # Errors
    /// The UE has no connection, established or in progress, or it is being released, or the limit
    /// of sessions is reached.
    pub fn open_session(&mut self, ue: &Ue, session: &[u8]) -> Result<bool, LmfError> {
        let connection = self
            .connections
            .get_mut(ue)
            .filter(|it| !matches!(it.state, State::Releasing(_)))
            .ok_or(LmfError::NoConnection)?;
        if connection.has_session(session) {
            return Ok(false);
        }
        if connection.sessions.len() >= self.limits.sessions {
            return Err(LmfError::LimitReached);
        }
        Ok(connection.sessions.insert(session.to_vec()))
    }

    /// Closes a session of a UE. Later payloads for it are rejected.
    pub fn close_session(&mut self, ue: &Ue, session: &[u8]) {
        if let Some(connection) = self.connections.get_mut(ue) {
            connection.sessions.remove(session);
        }
    }

    /// Sends a payload to a UE.
    ///
    /// # Errors
    /// The UE has no connection, or the payload is too long.
    pub fn send(
        &mut self,
        ue: &Ue,
        kind: PayloadType,
        payload: &[u8],
        session: &[u8],
    ) -> Result<(), LmfError> {
        let connection = self
            .connections
            .get(ue)
            .filter(|it| it.is_established())
            .ok_or(LmfError::NoConnection)?;
        let channel = connection.channel.ok_or(LmfError::NoConnection)?;
        let message = Message::Downlink(Transport { payload_type: kind, payload, session });
        let bytes = message.encode().map_err(LmfError::Encode)?;
        self.actions.push_back(LmfAction::Send(channel, bytes));
        Ok(())
    }

    /// Handles expired timers.
    pub fn handle_timeout(&mut self, now: Instant) {
        let expired: Vec<ChannelId> = self
            .unbound
            .iter()
            .filter(|(_, (_, until))| *until <= now)
            .map(|(channel, _)| *channel)
            .collect();
        expired
            .into_iter()
            .for_each(|channel| self.reject_channel(channel, Rejection::BindingTimeout, false));
        let due = |it: &Connection| it.deadline().is_some_and(|at| at <= now);
        let due: Vec<Ue> = self
            .timed
            .iter()
            .filter(|&ue| self.connections.get(ue).is_some_and(due))
            .cloned()
            .collect();
        for ue in due {
            let Some(connection) = self.connections.get_mut(&ue) else { continue };
            let again = connection
                .state
                .procedure()
                .and_then(|procedure| procedure.expired(now))
                .map(<[u8]>::to_vec);
            match (again, &connection.state) {
                (Some(bytes), _) => self.actions.push_back(LmfAction::Nas(ue, bytes)),
                (None, State::Modifying(_)) => {
                    connection.state = State::Established;
                    self.timed.remove(&ue);
                    self.event(&ue, LmfEvent::NotModified(None));
                }
                (None, State::Releasing(_)) => self.disconnect(&ue, DisconnectReason::Released),
                (None, _) => self.disconnect(&ue, DisconnectReason::NoAnswer),
            }
        }
    }

    fn event(&mut self, ue: &Ue, event: LmfEvent) {
        self.actions.push_back(LmfAction::Event(ue.clone(), event));
    }

    fn nas(&mut self, ue: &Ue, message: &UppCm) {
        if let Ok(bytes) = message.encode() {
            self.actions.push_back(LmfAction::Nas(ue.clone(), bytes));
        }
    }

    /// Rejects a channel without a binding; sends CONNECTION BINDING REJECT if `answer`.
    fn reject_channel(&mut self, channel: ChannelId, rejection: Rejection, answer: bool) {
        self.unbound.remove(&channel);
        self.actions.push_back(LmfAction::ChannelRejected(channel, rejection));
        if answer {
            let reject = vec![martlet_lcsupp::codes::lcs_upp::CONNECTION_BINDING_REJECT];
            self.actions.push_back(LmfAction::Send(channel, reject));
        }
        self.actions.push_back(LmfAction::Close(channel));
    }

    /// Disconnects a UE after a malformed or unexpected message.
    fn abort(&mut self, ue: &Ue, channel: ChannelId, rejection: Rejection) {
        self.event(ue, LmfEvent::MessageRejected(rejection));
        self.channels.remove(&channel);
        self.actions.push_back(LmfAction::Close(channel));
        if let Some(connection) = self.connections.get_mut(ue) {
            connection.channel = None;
        }
        self.disconnect(ue, DisconnectReason::MalformedMessage);
    }

    fn disconnect(&mut self, ue: &Ue, reason: DisconnectReason) {
        if self.drop_connection(ue) {
            self.event(ue, LmfEvent::Disconnected(reason));
        }
    }

    fn drop_connection(&mut self, ue: &Ue) -> bool {
        let Some(connection) = self.connections.remove(ue) else { return false };
        self.bindings.remove(&connection.binding);
        self.timed.remove(ue);
        if let Some(channel) = connection.channel {
            self.channels.remove(&channel);
            self.actions.push_back(LmfAction::Close(channel));
        }
        true
    }
}
