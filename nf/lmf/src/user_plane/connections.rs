//! The task that owns the user plane connections of all UEs: it passes inputs to the protocol's
//! state machine and executes the actions that this returns.
use super::command::{ChannelCommand, Command, Supi};
use crate::procedures::user_plane_connection;
use crate::{Shared, metrics};
use martlet_lcs_channel::{Kind, until};
use martlet_lcs_protocol::{
    ChannelId, DisconnectReason, LmfAction, LmfEvent, LmfSide, Payload, Rejection,
};
use martlet_lcsupp::{BindingIdentity, PayloadType};
use martlet_nf::Shutdown;
use martlet_sbi_api::namf_communication::N1MessageClass;
use rand::Rng;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// Bytes of a binding identity: 128 random bits cannot be guessed.
const BINDING_IDENTITY: usize = 16;
/// Back-off time of a UE whose request is rejected since the limit of connections is reached.
const BACK_OFF: Duration = Duration::from_secs(60);

pub(crate) struct Connections {
    shared: Arc<Shared>,
    lmf: LmfSide<Supi>,
    commands: mpsc::Receiver<Command>,
    channels: HashMap<ChannelId, (Kind, mpsc::Sender<ChannelCommand>)>,
    /// Waiters for a UE's connection.
    waiting: HashMap<Supi, Vec<oneshot::Sender<Result<(), DisconnectReason>>>>,
    sinks: HashMap<(Supi, Vec<u8>), mpsc::Sender<Payload>>,
}

impl Connections {
    pub(crate) fn new(
        shared: Arc<Shared>,
        lmf: LmfSide<Supi>,
        commands: mpsc::Receiver<Command>,
    ) -> Self {
        Connections {
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
                    Some(command) => self.handle(command),
                    None => return,
                },
                () = until(deadline) => self.lmf.handle_timeout(Instant::now()),
            }
            self.execute_actions();
        }
    }

    fn handle(&mut self, command: Command) {
        let now = Instant::now();
        match command {
            Command::Connect { ue, by_ue, answer } => self.connect(now, ue, by_ue, answer),
            Command::Release { ue } => {
                self.lmf.release(now, &ue, None);
                self.complete(&ue, Err(DisconnectReason::Released));
            }
            Command::Modify { ue } => {
                self.lmf.modify(now, &ue, None);
            }
            Command::UppCm { ue, bytes } => self.lmf.upp_cm(now, &ue, &bytes),
            Command::Unreachable { ue, binding } => self.lmf.undelivered(&ue, &binding),
            Command::OpenSession { ue, session, sink, answer } => {
                let opened = self.lmf.open_session(&ue, &session);
                if opened.is_ok() {
                    self.sinks.insert((ue, session), sink);
                }
                let _ = answer.send(opened.map(|_| ()));
            }
            Command::Send { ue, session, payload, answer } => {
                let _ = answer.send(self.lmf.send(&ue, PayloadType::Lpp, &payload, &session));
            }
            Command::CloseSession { ue, session } => {
                self.lmf.close_session(&ue, &session);
                self.sinks.remove(&(ue, session));
            }
            Command::ChannelOpened { channel, kind, sender } => {
                self.channels.insert(channel, (kind, sender));
                self.lmf.channel_opened(now, channel);
            }
            Command::ChannelReceived { channel, bytes } => self.lmf.received(channel, &bytes),
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

    fn connect(
        &mut self,
        now: Instant,
        ue: Supi,
        by_ue: bool,
        answer: oneshot::Sender<Result<(), DisconnectReason>>,
    ) {
        if self.lmf.is_established(&ue) {
            let _ = answer.send(Ok(()));
            return;
        }
        let mut identity = vec![0; BINDING_IDENTITY];
        rand::rng().fill(&mut identity[..]);
        let Ok(identity) = BindingIdentity::new(identity) else { return };
        match self.lmf.establish(now, ue.clone(), identity) {
            Ok(_) => self.waiting.entry(ue).or_default().push(answer),
            Err(_) => {
                metrics::rejected("too_many_connections");
                if by_ue {
                    self.lmf.reject(ue, Some(BACK_OFF));
                }
                let _ = answer.send(Err(DisconnectReason::LimitReached));
            }
        }
    }

    /// Executes the actions of the state machine.
    fn execute_actions(&mut self) {
        while let Some(action) = self.lmf.next_action() {
            match action {
                LmfAction::Nas(ue, bytes) => {
                    let shared = self.shared.clone();
                    let binding = self.lmf.binding_of(&ue).cloned();
                    martlet_nf::spawn(async move {
                        let sent = shared.send_nas(&ue, N1MessageClass::UppCmi, None, bytes).await;
                        if let Err(problem) = sent {
                            tracing::info!(
                                supi = %ue,
                                %problem,
                                "UPP-CM message was not delivered"
                            );
                            if let Some(binding) = binding {
                                let command = Command::Unreachable { ue, binding };
                                let _ = shared.connections.send(command).await;
                            }
                        }
                    });
                }
                LmfAction::Send(channel, bytes) => {
                    // A channel whose send queue is full is closed: the UE does not read.
                    let channels = &self.channels;
                    let full = channels
                        .get(&channel)
                        .is_some_and(|(_, it)| it.try_send(ChannelCommand::Send(bytes)).is_err());
                    if full {
                        metrics::rejected("send_queue_full");
                        self.channels.remove(&channel);
                        self.lmf.channel_closed(channel);
                    }
                }
                LmfAction::Close(channel) => {
                    if let Some((_, sender)) = self.channels.remove(&channel) {
                        let _ = sender.try_send(ChannelCommand::Close);
                    }
                }
                LmfAction::ChannelRejected(channel, rejection) => {
                    let reason = label(&rejection);
                    metrics::rejected(reason);
                    if let Some(suppressed) = martlet_log_limit::line(reason, "channel") {
                        tracing::info!(
                            channel = channel.0,
                            ?rejection,
                            suppressed,
                            "channel rejected"
                        );
                    }
                }
                LmfAction::Event(ue, event) => self.handle_event(ue, event),
            }
        }
        metrics::connections(self.lmf.established());
    }

    fn handle_event(&mut self, ue: Supi, event: LmfEvent) {
        match event {
            LmfEvent::Established => {
                tracing::info!(supi = %ue, "user plane connection established");
                self.complete(&ue, Ok(()));
            }
            LmfEvent::Disconnected(reason) => {
                tracing::info!(supi = %ue, ?reason, "user plane connection lost");
                self.sinks.retain(|(of, _), _| *of != ue);
                match reason {
                    // Those who wait asked for a connection while this one was being released.
                    DisconnectReason::Released | DisconnectReason::ChannelClosed => {
                        let waiting = self.waiting.remove(&ue).unwrap_or_default();
                        for answer in waiting.into_iter().filter(|it| !it.is_closed()) {
                            self.connect(Instant::now(), ue.clone(), false, answer);
                        }
                    }
                    _ => self.complete(&ue, Err(reason)),
                }
            }
            LmfEvent::Requested => {
                let shared = self.shared.clone();
                // The procedure answers with ESTABLISHMENT COMMAND.
                martlet_nf::spawn(async move {
                    user_plane_connection::establish(&shared, &ue, true).await
                });
            }
            LmfEvent::Uplink(payload) => {
                let key = (ue, payload.session.clone());
                if let Some(sink) = self.sinks.get(&key)
                    && sink.try_send(payload).is_err()
                {
                    metrics::rejected("session_queue_full");
                }
            }
            LmfEvent::Modified | LmfEvent::NotModified(_) => {
                tracing::info!(supi = %ue, ?event, "user plane connection modified")
            }
            LmfEvent::MessageRejected(rejection) => {
                metrics::rejected(label(&rejection));
                if let Some(suppressed) = martlet_log_limit::line("message_rejected", &ue) {
                    tracing::info!(
                        supi = %ue, ?rejection, suppressed,
                        "message rejected"
                    );
                }
            }
        }
    }

    fn complete(&mut self, ue: &Supi, outcome: Result<(), DisconnectReason>) {
        for answer in self.waiting.remove(ue).unwrap_or_default() {
            let _ = answer.send(outcome);
        }
    }
}

/// The metric label of a rejection.
fn label(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::MalformedUppCm(_) => "upp_cm_malformed",
        Rejection::UnexpectedUppCm(_) => "upp_cm_unexpected",
        Rejection::MalformedLcsUpp(_) => "lcs_upp_malformed",
        Rejection::UnexpectedLcsUpp(_) => "lcs_upp_unexpected",
        Rejection::MalformedLpp(_) => "lpp_payload",
        Rejection::UnknownSession => "unknown_session",
        Rejection::UnknownBinding => "unknown_binding",
        Rejection::AlreadyBound => "already_bound",
        Rejection::BindingTimeout => "binding_timeout",
        Rejection::LimitReached => "limit",
    }
}
