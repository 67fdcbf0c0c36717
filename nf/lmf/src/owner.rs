//! The task that owns the connections of all UEs: what reaches it goes through the protocol's state
//! machine, and what that asks for is done.
use crate::Shared;
use crate::metrics;
use martlet_lcs_channel::{Kind, until};
use martlet_lcs_protocol::{
    ChannelId, LmfAction, LmfEvent, LmfSide, Loss, NotConnected, Payload, Wrong,
};
use martlet_lcsupp::{BindingIdentity, PayloadType};
use martlet_nf::Shutdown;
use martlet_sbi_api::namf_communication::N1MessageClass;
use rand::Rng;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// A subscriber, `imsi-…`.
pub(crate) type Supi = Arc<str>;

/// What the owner is asked.
pub(crate) enum Command {
    /// Have a UE connect; answered once it has, or cannot.
    Connect { ue: Supi, answer: oneshot::Sender<Result<(), Loss>> },
    /// A UE's connection is to end.
    Release { ue: Supi },
    /// A UE's connection is to go on over another AMF.
    Modify { ue: Supi },
    /// A UPP-CM message of a UE.
    Negotiation { ue: Supi, octets: Vec<u8> },
    /// A message for a UE could not be brought to it.
    Unreachable { ue: Supi },
    /// Open a session of a UE; its payloads go to the sink.
    Open {
        ue: Supi,
        session: Vec<u8>,
        sink: mpsc::Sender<Payload>,
        answer: oneshot::Sender<Result<(), NotConnected>>,
    },
    /// Send a payload of a session.
    Send {
        ue: Supi,
        session: Vec<u8>,
        payload: Vec<u8>,
        answer: oneshot::Sender<Result<(), NotConnected>>,
    },
    /// Close a session.
    Close { ue: Supi, session: Vec<u8> },
    /// Somebody brought up a channel.
    ChannelOpened { channel: ChannelId, kind: Kind, sender: mpsc::Sender<ToChannel> },
    /// Octets came on a channel.
    ChannelReceived { channel: ChannelId, octets: Vec<u8> },
    /// A channel is gone.
    ChannelClosed { channel: ChannelId },
    /// Whether this UE is connected: over which kind of channel.
    Status { ue: Supi, answer: oneshot::Sender<Option<Kind>> },
}

/// What a channel's task is told.
pub(crate) enum ToChannel {
    /// Send this.
    Send(Vec<u8>),
    /// Close the channel, after what was sent before.
    Close,
}

/// Octets of the binding identities that are given: nobody guesses 128 bits.
const IDENTITY: usize = 16;

pub(crate) struct Owner {
    shared: Arc<Shared>,
    lmf: LmfSide<Supi>,
    commands: mpsc::Receiver<Command>,
    channels: HashMap<ChannelId, (Kind, mpsc::Sender<ToChannel>)>,
    /// Who waits for a UE's connection.
    waiting: HashMap<Supi, Vec<oneshot::Sender<Result<(), Loss>>>>,
    sinks: HashMap<(Supi, Vec<u8>), mpsc::Sender<Payload>>,
}

impl Owner {
    pub(crate) fn new(
        shared: Arc<Shared>,
        lmf: LmfSide<Supi>,
        commands: mpsc::Receiver<Command>,
    ) -> Self {
        Owner {
            shared,
            lmf,
            commands,
            channels: HashMap::new(),
            waiting: HashMap::new(),
            sinks: HashMap::new(),
        }
    }

    pub(crate) async fn run(mut self, shutdown: Shutdown) {
        loop {
            let deadline = self.lmf.deadline();
            tokio::select! {
                biased;
                () = shutdown.wait() => return,
                command = self.commands.recv() => match command {
                    Some(command) => self.act(command),
                    None => return,
                },
                () = until(deadline) => self.lmf.timeout(Instant::now()),
            }
            self.carry_out();
        }
    }

    fn act(&mut self, command: Command) {
        let now = Instant::now();
        match command {
            Command::Connect { ue, answer } => self.connect(now, ue, answer),
            Command::Release { ue } => {
                self.lmf.release(now, &ue, None);
            }
            Command::Modify { ue } => {
                self.lmf.modify(now, &ue, None);
            }
            Command::Negotiation { ue, octets } => self.lmf.negotiation(now, &ue, &octets),
            Command::Unreachable { ue } => {
                if !self.lmf.is_established(&ue) {
                    self.lmf.forget(&ue);
                    self.tell(&ue, Err(Loss::NoAnswer));
                }
            }
            Command::Open { ue, session, sink, answer } => {
                let opened = self.lmf.open_session(&ue, &session);
                if opened.is_ok() {
                    self.sinks.insert((ue, session), sink);
                }
                let _ = answer.send(opened.map(|_| ()));
            }
            Command::Send { ue, session, payload, answer } => {
                let _ = answer.send(self.lmf.send(&ue, PayloadType::Lpp, &payload, &session));
            }
            Command::Close { ue, session } => {
                self.lmf.close_session(&ue, &session);
                self.sinks.remove(&(ue, session));
            }
            Command::ChannelOpened { channel, kind, sender } => {
                self.channels.insert(channel, (kind, sender));
                self.lmf.channel_opened(now, channel);
            }
            Command::ChannelReceived { channel, octets } => self.lmf.received(channel, &octets),
            Command::ChannelClosed { channel } => {
                self.channels.remove(&channel);
                self.lmf.channel_closed(channel);
            }
            Command::Status { ue, answer } => {
                let channel = self.lmf.channel_of(&ue).filter(|_| self.lmf.is_established(&ue));
                let _ = answer.send(
                    channel.and_then(|channel| self.channels.get(&channel)).map(|(kind, _)| *kind),
                );
            }
        }
    }

    fn connect(&mut self, now: Instant, ue: Supi, answer: oneshot::Sender<Result<(), Loss>>) {
        if self.lmf.is_established(&ue) {
            let _ = answer.send(Ok(()));
            return;
        }
        let mut identity = vec![0; IDENTITY];
        rand::rng().fill(&mut identity[..]);
        let Ok(identity) = BindingIdentity::new(identity) else { return };
        match self.lmf.establish(now, ue.clone(), identity) {
            Ok(_) => self.waiting.entry(ue).or_default().push(answer),
            Err(_) => {
                metrics::refused("no room for another connection");
                let _ = answer.send(Err(Loss::NoAnswer));
            }
        }
    }

    /// Do what the state machine asks for.
    fn carry_out(&mut self) {
        while let Some(action) = self.lmf.action() {
            match action {
                LmfAction::Nas(ue, octets) => {
                    let shared = self.shared.clone();
                    tokio::spawn(async move {
                        let sent = shared.to_ue(&ue, N1MessageClass::UppCmi, None, octets).await;
                        if let Err(problem) = sent {
                            tracing::info!(supi = %ue, %problem, "the UE cannot be asked to connect");
                            let _ = shared.owner.send(Command::Unreachable { ue }).await;
                        }
                    });
                }
                LmfAction::Send(channel, octets) => {
                    // A UE that does not read what it asked for loses its channel.
                    let channels = &self.channels;
                    let full = channels
                        .get(&channel)
                        .is_some_and(|(_, it)| it.try_send(ToChannel::Send(octets)).is_err());
                    if full {
                        metrics::refused("a UE does not read");
                        self.channels.remove(&channel);
                        self.lmf.channel_closed(channel);
                    }
                }
                LmfAction::Close(channel) => {
                    if let Some((_, sender)) = self.channels.remove(&channel) {
                        let _ = sender.try_send(ToChannel::Close);
                    }
                }
                LmfAction::Refused(channel, wrong) => {
                    metrics::refused(label(&wrong));
                    tracing::info!(channel = channel.0, ?wrong, "a channel of nobody was refused");
                }
                LmfAction::Event(ue, event) => self.happened(ue, event),
            }
        }
        metrics::connections(self.lmf.established());
    }

    fn happened(&mut self, ue: Supi, event: LmfEvent) {
        match event {
            LmfEvent::Established => {
                tracing::info!(supi = %ue, "a UE is connected over the user plane");
                self.tell(&ue, Ok(()));
            }
            LmfEvent::Lost(loss) => {
                tracing::info!(supi = %ue, ?loss, "a UE is not connected over the user plane");
                self.sinks.retain(|(of, _), _| *of != ue);
                self.tell(&ue, Err(loss));
            }
            LmfEvent::Requested => {
                let shared = self.shared.clone();
                // The answer to the UE is the command to connect, which the procedure sends.
                tokio::spawn(async move { shared.connect(&ue).await });
            }
            LmfEvent::Uplink(payload) => {
                let key = (ue, payload.session.clone());
                if let Some(sink) = self.sinks.get(&key)
                    && sink.try_send(payload).is_err()
                {
                    metrics::refused("a session does not read");
                }
            }
            LmfEvent::Modified | LmfEvent::NotModified(_) => {
                tracing::info!(supi = %ue, ?event, "a connection moved")
            }
            LmfEvent::Refused(wrong) => {
                metrics::refused(label(&wrong));
                tracing::info!(supi = %ue, ?wrong, "a message of a UE was not acted on");
            }
        }
    }

    fn tell(&mut self, ue: &Supi, outcome: Result<(), Loss>) {
        for answer in self.waiting.remove(ue).unwrap_or_default() {
            let _ = answer.send(outcome);
        }
    }
}

/// A word for what was wrong, of a fixed set: for metrics.
fn label(wrong: &Wrong) -> &'static str {
    match wrong {
        Wrong::Negotiation(_) => "negotiation",
        Wrong::Unexpected(_) => "unexpected",
        Wrong::Stream(_) => "stream",
        Wrong::OutOfPlace(_) => "out of place",
        Wrong::Lpp(_) => "lpp payload",
        Wrong::Session => "session",
        Wrong::UnknownBinding => "unknown binding",
        Wrong::BoundTwice => "bound twice",
        Wrong::Silent => "silent",
        Wrong::Full => "full",
    }
}
