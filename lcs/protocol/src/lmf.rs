//! The LMF's side.

mod connection;

use crate::actions::{ChannelId, LmfAction, LmfEvent, Loss, Wrong};
use crate::timers::{Procedure, Timers};
use crate::ue::checked;
use connection::{Connection, State};
use martlet_lcsupp::upp_cm::{BackOff, LmfAddress, UppCm};
use martlet_lcsupp::{BindingIdentity, EncodeError, Framer, Message, PayloadType, Transport};
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

/// What the LMF's side takes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LmfLimits {
    /// UEs with a connection, or one under way.
    pub ues: usize,
    /// Channels that have not said yet whose they are.
    pub unbound: usize,
    /// Octets of a UE's uplink payloads that are kept while its establishment is not complete.
    pub early: usize,
    /// Sessions of a UE.
    pub sessions: usize,
}

impl Default for LmfLimits {
    fn default() -> Self {
        LmfLimits { ues: 10_000, unbound: 256, early: 262_144, sessions: 64 }
    }
}

/// A UE has no connection, or no room for what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotConnected {
    /// It has none.
    NoConnection,
    /// There are as many UEs, or sessions of this one, as there may be.
    Full,
    /// The payload or the session identity does not fit.
    Encode(EncodeError),
}

/// The LMF's end of the connections of all its UEs. `Ue` is how its owner names a UE.
#[derive(Debug)]
pub struct LmfSide<Ue> {
    timers: Timers,
    limits: LmfLimits,
    address: LmfAddress,
    connections: HashMap<Ue, Connection>,
    /// Those of them with a procedure under way.
    timed: HashSet<Ue>,
    /// The identities that were given and are good.
    bindings: HashMap<BindingIdentity, Ue>,
    /// Whose a channel is.
    channels: HashMap<ChannelId, Ue>,
    /// Channels of nobody yet.
    unbound: HashMap<ChannelId, (Framer, Instant)>,
    actions: VecDeque<LmfAction<Ue>>,
}

impl<Ue: Clone + Eq + Hash> LmfSide<Ue> {
    /// Without connections; UEs are told to connect to this address.
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

    /// What is to be done next.
    pub fn action(&mut self) -> Option<LmfAction<Ue>> {
        self.actions.pop_front()
    }

    /// When [`LmfSide::timeout`] is to be called, if nothing else happens before.
    pub fn deadline(&self) -> Option<Instant> {
        let procedures = self.timed.iter().filter_map(|ue| self.connections.get(ue)?.deadline());
        procedures.chain(self.unbound.values().map(|(_, until)| *until)).min()
    }

    /// UEs with a connection.
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

    /// Whose a channel is.
    pub fn ue_of(&self, channel: ChannelId) -> Option<&Ue> {
        self.channels.get(&channel)
    }

    /// Tell a UE to connect. `binding` is an identity that nobody can guess and that was never
    /// given before. True where a command was sent; false where the UE has a connection or one
    /// is under way.
    ///
    /// # Errors
    /// There are as many UEs as there may be.
    pub fn establish(
        &mut self,
        now: Instant,
        ue: Ue,
        binding: BindingIdentity,
    ) -> Result<bool, NotConnected> {
        if self.connections.contains_key(&ue) {
            return Ok(false);
        }
        if self.connections.len() >= self.limits.ues || self.bindings.contains_key(&binding) {
            return Err(NotConnected::Full);
        }
        let command = UppCm::EstablishmentCommand {
            binding: binding.clone(),
            address: self.address.clone(),
            source_lmf: None,
        };
        let octets = command.encode().map_err(NotConnected::Encode)?;
        self.actions.push_back(LmfAction::Nas(ue.clone(), octets.clone()));
        let procedure = Procedure::start(now, self.timers.establishment, octets);
        self.timed.insert(ue.clone());
        self.bindings.insert(binding.clone(), ue.clone());
        self.connections.insert(ue, Connection::new(binding, procedure));
        Ok(true)
    }

    /// Refuse a UE's request for a connection.
    pub fn reject(&mut self, ue: Ue, back_off: Option<Duration>) {
        self.nas(&ue, &UppCm::EstablishmentReject(back_off.map(BackOff::at_least)));
    }

    /// Tell a UE that its connection goes on with this LMF in place of another. False where it has
    /// none, or is busy.
    pub fn modify(&mut self, now: Instant, ue: &Ue, source_lmf: Option<Vec<u8>>) -> bool {
        let Some(connection) = self
            .connections
            .get_mut(ue)
            .filter(|connection| connection.state == State::Established)
        else {
            return false;
        };
        let Ok(octets) = UppCm::ModificationCommand(source_lmf).encode() else { return false };
        connection.state =
            State::Modifying(Procedure::start(now, self.timers.modification, octets.clone()));
        self.timed.insert(ue.clone());
        self.actions.push_back(LmfAction::Nas(ue.clone(), octets));
        true
    }

    /// Release a UE's connection; false where it has none, or it is being released.
    pub fn release(&mut self, now: Instant, ue: &Ue, back_off: Option<Duration>) -> bool {
        let Some(connection) = self.connections.get_mut(ue) else { return false };
        if matches!(connection.state, State::Releasing(_)) {
            return false;
        }
        let Ok(octets) = UppCm::ReleaseCommand(back_off.map(BackOff::at_least)).encode() else {
            return false;
        };
        connection.state =
            State::Releasing(Procedure::start(now, self.timers.release, octets.clone()));
        self.timed.insert(ue.clone());
        // From now on nobody can bind with it.
        self.bindings.remove(&connection.binding);
        self.actions.push_back(LmfAction::Nas(ue.clone(), octets));
        true
    }

    /// A UE is gone from the network: nothing is sent, and its channel is closed.
    pub fn forget(&mut self, ue: &Ue) {
        self.drop_connection(ue);
    }

    /// A UPP-CM message of a UE came over NAS.
    pub fn negotiation(&mut self, now: Instant, ue: &Ue, octets: &[u8]) {
        let message = match UppCm::decode(octets) {
            Ok(message) => message,
            Err(error) => return self.event(ue, LmfEvent::Refused(Wrong::Negotiation(error))),
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
                self.lose(ue, Loss::Cause(cause));
            }
            (UppCm::EstablishmentRequest, None) => self.event(ue, LmfEvent::Requested),
            // One is there, or under way: the UE that lost it starts anew.
            (UppCm::EstablishmentRequest, Some(connection)) => {
                if !matches!(connection.state, State::Establishing(_)) {
                    self.lose(ue, Loss::ChannelClosed);
                    self.event(ue, LmfEvent::Requested);
                }
            }
            (UppCm::ReleaseRequest(_), Some(_)) => {
                self.release(now, ue, None);
            }
            // The UE has a connection of which the LMF knows nothing.
            (UppCm::ReleaseRequest(_), None) => self.nas(ue, &UppCm::ReleaseCommand(None)),
            (UppCm::ReleaseComplete, Some(Connection { state: State::Releasing(_), .. })) => {
                self.lose(ue, Loss::Released);
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
                self.event(ue, LmfEvent::Refused(Wrong::Unexpected(name)));
            }
        }
    }

    /// Somebody brought up a channel.
    pub fn channel_opened(&mut self, now: Instant, channel: ChannelId) {
        if self.unbound.len() >= self.limits.unbound {
            self.actions.push_back(LmfAction::Refused(channel, Wrong::Full));
            self.actions.push_back(LmfAction::Close(channel));
            return;
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
                // The UE will say over NAS what became of it.
                State::Establishing(_) | State::Releasing(_) => {}
                State::Established | State::Modifying(_) => self.lose(&ue, Loss::ChannelClosed),
            }
        }
    }

    /// Octets came on a channel.
    pub fn received(&mut self, channel: ChannelId, octets: &[u8]) {
        if let Some(ue) = self.channels.get(&channel).cloned() {
            if let Some(connection) = self.connections.get_mut(&ue) {
                connection.framer.push(octets);
                self.read(&ue, channel);
            }
            return;
        }
        let Some((framer, _)) = self.unbound.get_mut(&channel) else { return };
        framer.push(octets);
        let identity = match framer.next() {
            Ok(None) => return,
            Ok(Some(Message::BindingRequest(identity))) => identity,
            Ok(Some(other)) => {
                let wrong = Wrong::OutOfPlace(other.name());
                return self.refuse(channel, wrong, false);
            }
            Err(error) => return self.refuse(channel, Wrong::Stream(error), false),
        };
        let Some(ue) = self.bindings.get(&identity).cloned() else {
            return self.refuse(channel, Wrong::UnknownBinding, true);
        };
        // Each identity in `bindings` is one of a connection.
        let Some(connection) = self.connections.get_mut(&ue) else { return };
        if connection.channel.is_some() {
            return self.refuse(channel, Wrong::BoundTwice, true);
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

    /// Read what a UE's framer has.
    fn read(&mut self, ue: &Ue, channel: ChannelId) {
        loop {
            let Some(connection) = self.connections.get_mut(ue) else { return };
            let transport = match connection.framer.next() {
                Ok(None) => return,
                Ok(Some(Message::Uplink(transport))) => checked(&transport),
                Ok(Some(other)) => {
                    let wrong = Wrong::OutOfPlace(other.name());
                    return self.broken(ue, channel, wrong);
                }
                Err(error) => return self.broken(ue, channel, Wrong::Stream(error)),
            };
            let event = match transport {
                Err(wrong) => LmfEvent::Refused(wrong),
                Ok(payload) if !connection.has_session(&payload.session) => {
                    LmfEvent::Refused(Wrong::Session)
                }
                Ok(payload) if connection.is_established() => LmfEvent::Uplink(payload),
                Ok(payload) => match connection.keep(payload, self.limits.early) {
                    true => continue,
                    false => LmfEvent::Refused(Wrong::Full),
                },
            };
            self.event(ue, event);
        }
    }

    /// Open a session of a UE under this identity; true where it is new.
    ///
    /// # Errors
    /// The UE has no connection and none is under way, or has as many sessions as it may have.
    pub fn open_session(&mut self, ue: &Ue, session: &[u8]) -> Result<bool, NotConnected> {
        let connection = self.connections.get_mut(ue).ok_or(NotConnected::NoConnection)?;
        if connection.has_session(session) {
            return Ok(false);
        }
        if connection.sessions.len() >= self.limits.sessions {
            return Err(NotConnected::Full);
        }
        Ok(connection.sessions.insert(session.to_vec()))
    }

    /// Close a session of a UE: what comes for it from now on is refused.
    pub fn close_session(&mut self, ue: &Ue, session: &[u8]) {
        if let Some(connection) = self.connections.get_mut(ue) {
            connection.sessions.remove(session);
        }
    }

    /// Send a payload to a UE.
    ///
    /// # Errors
    /// The UE has no connection, or the payload does not fit.
    pub fn send(
        &mut self,
        ue: &Ue,
        kind: PayloadType,
        payload: &[u8],
        session: &[u8],
    ) -> Result<(), NotConnected> {
        let connection = self
            .connections
            .get(ue)
            .filter(|it| it.is_established())
            .ok_or(NotConnected::NoConnection)?;
        let channel = connection.channel.ok_or(NotConnected::NoConnection)?;
        let message = Message::Downlink(Transport { payload_type: kind, payload, session });
        let octets = message.encode().map_err(NotConnected::Encode)?;
        self.actions.push_back(LmfAction::Send(channel, octets));
        Ok(())
    }

    /// A deadline has come.
    pub fn timeout(&mut self, now: Instant) {
        let silent: Vec<ChannelId> = self
            .unbound
            .iter()
            .filter(|(_, (_, until))| *until <= now)
            .map(|(channel, _)| *channel)
            .collect();
        silent.into_iter().for_each(|channel| self.refuse(channel, Wrong::Silent, false));
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
                (Some(octets), _) => self.actions.push_back(LmfAction::Nas(ue, octets)),
                (None, State::Modifying(_)) => {
                    connection.state = State::Established;
                    self.timed.remove(&ue);
                    self.event(&ue, LmfEvent::NotModified(None));
                }
                (None, State::Releasing(_)) => self.lose(&ue, Loss::Released),
                (None, _) => self.lose(&ue, Loss::NoAnswer),
            }
        }
    }

    fn event(&mut self, ue: &Ue, event: LmfEvent) {
        self.actions.push_back(LmfAction::Event(ue.clone(), event));
    }

    fn nas(&mut self, ue: &Ue, message: &UppCm) {
        if let Ok(octets) = message.encode() {
            self.actions.push_back(LmfAction::Nas(ue.clone(), octets));
        }
    }

    /// A channel of nobody is not accepted.
    fn refuse(&mut self, channel: ChannelId, wrong: Wrong, say: bool) {
        self.unbound.remove(&channel);
        self.actions.push_back(LmfAction::Refused(channel, wrong));
        if say {
            let reject = vec![martlet_lcsupp::codes::lcs_upp::CONNECTION_BINDING_REJECT];
            self.actions.push_back(LmfAction::Send(channel, reject));
        }
        self.actions.push_back(LmfAction::Close(channel));
    }

    /// A UE's stream cannot be read on.
    fn broken(&mut self, ue: &Ue, channel: ChannelId, wrong: Wrong) {
        self.event(ue, LmfEvent::Refused(wrong));
        self.channels.remove(&channel);
        self.actions.push_back(LmfAction::Close(channel));
        if let Some(connection) = self.connections.get_mut(ue) {
            connection.channel = None;
        }
        self.lose(ue, Loss::Stream);
    }

    fn lose(&mut self, ue: &Ue, loss: Loss) {
        if self.drop_connection(ue) {
            self.event(ue, LmfEvent::Lost(loss));
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
