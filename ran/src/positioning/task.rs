//! The task of a UE's positioning. It connects NAS, the channel to the LMF and the protocol's state
//! machine.
use super::lpp_answer::{AssistanceData, answer};
use super::{PositioningConfig, Request};
use crate::gnb::{Command, Reply, UeError, UeEvent};
use crate::ue::{Event, PduSessionRequest, PositioningKind};
use crate::user_plane::Namespace;
use martlet_lcs_channel::{AsyncChannel, AsyncConnector, ChannelError, Kind, Options, until};
use martlet_lcs_protocol::{Payload, Timers, UeAction, UeEvent as LcsEvent, UeSide, UeState};
use martlet_lcsupp::upp_cm::{Cause, LmfAddress};
use martlet_lcsupp::{PayloadType, lpp_messages, push_lpp_message};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{broadcast, mpsc, watch};

/// Time limit of a channel setup if there is another kind to try.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(2);

/// The channel to the LMF.
enum Link {
    Disconnected,
    /// Another task sets it up.
    Connecting(mpsc::Receiver<Result<(AsyncChannel, Kind), Cause>>),
    Connected(AsyncChannel),
}

pub(super) struct Task {
    ue: mpsc::WeakSender<Command>,
    supi: Arc<str>,
    config: PositioningConfig,
    state: watch::Sender<UeState>,
    channel_kind: watch::Sender<Option<Kind>>,
    side: UeSide,
    link: Link,
    /// Routing information of the last negotiation message, which answers repeat.
    routing: Option<Vec<u8>>,
    /// Assistance data from LPP.
    assistance: AssistanceData,
    /// The connectors in the order of attempts. A connector resumes its earlier sessions; the list
    /// is empty without trusted certificates.
    connectors: Arc<[AsyncConnector]>,
}

/// Input of the task.
enum Input {
    Nas(UeEvent),
    Request(Request),
    Connected(Result<(AsyncChannel, Kind), Cause>),
    Data(Vec<u8>),
    Closed,
    Timeout,
    /// The UE no longer exists.
    End,
}

impl Link {
    async fn next(&mut self) -> Input {
        match self {
            Link::Disconnected => std::future::pending().await,
            Link::Connecting(connecting) => match connecting.recv().await {
                Some(connected) => Input::Connected(connected),
                None => Input::Connected(Err(Cause::TlsFailure)),
            },
            Link::Connected(channel) => {
                let mut data = Vec::new();
                match channel.receive(&mut data).await {
                    Ok(true) => Input::Data(data),
                    Ok(false) | Err(_) => Input::Closed,
                }
            }
        }
    }
}

impl Task {
    pub(super) fn new(
        ue: mpsc::WeakSender<Command>,
        supi: Arc<str>,
        config: PositioningConfig,
        state: watch::Sender<UeState>,
        channel_kind: watch::Sender<Option<Kind>>,
    ) -> Self {
        let side = UeSide::new(Timers::default());
        let options = Options {
            timeout: config.timeout,
            keep_alive: config.keep_alive,
            mtu: config.mtu,
            ..Options::default()
        };
        let connector = |kind: &Kind| {
            let connector = AsyncConnector::new(*kind, &config.trust, &options);
            connector
                .inspect_err(|error| tracing::debug!(%error, "channel to the LMF not available"))
                .ok()
        };
        let connectors = config.channels.iter().filter_map(connector).collect();
        Task {
            ue,
            supi,
            config,
            state,
            channel_kind,
            side,
            link: Link::Disconnected,
            routing: None,
            assistance: AssistanceData::default(),
            connectors,
        }
    }

    pub(super) async fn run(
        mut self,
        mut events: broadcast::Receiver<UeEvent>,
        mut requests: mpsc::Receiver<Request>,
    ) {
        loop {
            let deadline = self.side.deadline();
            let input = tokio::select! {
                biased;
                event = events.recv() => match event {
                    Ok(event) => Input::Nas(event),
                    // The network repeats lost messages.
                    Err(broadcast::error::RecvError::Lagged(_)) => continue,
                    Err(broadcast::error::RecvError::Closed) => Input::End,
                },
                Some(request) = requests.recv() => Input::Request(request),
                input = self.link.next() => input,
                () = until(deadline) => Input::Timeout,
            };
            let now = Instant::now();
            match input {
                Input::End => return,
                Input::Nas(UeEvent::Nas(event)) => self.nas(now, event).await,
                Input::Nas(_) => {}
                Input::Request(Request::Connect) => {
                    self.side.request(now);
                }
                Input::Request(Request::Release) => {
                    self.side.release(now, None);
                }
                Input::Request(Request::SendRaw(message)) => self.send(&message).await,
                Input::Connected(Ok((channel, kind))) => {
                    self.channel_kind.send_replace(Some(kind));
                    self.link = Link::Connected(channel);
                    self.side.connected(now);
                }
                Input::Connected(Err(cause)) => {
                    self.link = Link::Disconnected;
                    self.side.connect_failed(cause);
                }
                Input::Data(data) => self.side.received(&data),
                Input::Closed => {
                    self.link = Link::Disconnected;
                    self.side.closed();
                }
                Input::Timeout => self.side.handle_timeout(now),
            }
            self.execute_actions().await;
            let state = self.side.state();
            self.state.send_if_modified(|before| std::mem::replace(before, state) != state);
        }
    }

    async fn nas(&mut self, now: Instant, event: Event) {
        match event {
            Event::Positioning { kind: PositioningKind::UppCmi, message, routing } => {
                let lmf = routing.clone().unwrap_or_default();
                self.routing = routing;
                self.side.upp_cm(now, &lmf, &message);
            }
            Event::Positioning { kind: PositioningKind::Lpp, message, routing } => {
                self.config.write_truth(&self.supi, now);
                if let Some(answer) =
                    answer(&message, &self.config.environment, &mut self.assistance, now)
                {
                    self.send_nas(PositioningKind::Lpp, answer, routing).await;
                }
            }
            _ => {}
        }
    }

    async fn execute_actions(&mut self) {
        while let Some(action) = self.side.next_action() {
            match action {
                UeAction::Nas(message) => {
                    let routing = self.routing.clone();
                    self.send_nas(PositioningKind::UppCmi, message, routing).await;
                }
                UeAction::Connect(address) => self.connect(address),
                UeAction::Send(message) => self.send(&message).await,
                UeAction::Close => {
                    if let Link::Connected(channel) =
                        std::mem::replace(&mut self.link, Link::Disconnected)
                    {
                        channel.close().await;
                    }
                }
                UeAction::Event(LcsEvent::Downlink(payload)) => self.downlink(&payload),
                UeAction::Event(event) => {
                    tracing::debug!(supi = %self.supi, ?event, "positioning over the user plane")
                }
            }
        }
    }

    async fn send(&mut self, message: &[u8]) {
        if let Link::Connected(channel) = &mut self.link
            && channel.send(message).await.is_err()
        {
            self.link = Link::Disconnected;
            self.side.closed();
        }
    }

    /// Answers the LPP messages of a payload with one payload.
    fn downlink(&mut self, payload: &Payload) {
        if payload.payload_type != PayloadType::Lpp {
            return;
        }
        let Ok(messages) = lpp_messages(&payload.bytes) else { return };
        let (mut answers, now) = (Vec::new(), Instant::now());
        self.config.write_truth(&self.supi, now);
        for message in messages {
            if let Some(answer) =
                answer(message, &self.config.environment, &mut self.assistance, now)
            {
                let _ = push_lpp_message(&mut answers, &answer);
            }
        }
        if !answers.is_empty() {
            let _ = self.side.send(PayloadType::Lpp, &answers, &payload.session);
        }
    }

    async fn send_nas(
        &mut self,
        kind: PositioningKind,
        message: Vec<u8>,
        routing: Option<Vec<u8>>,
    ) {
        let Some(ue) = self.ue.upgrade() else { return };
        let (reply, answered) = Reply::new();
        if ue.send(Command::Positioning { kind, message, routing, reply }).await.is_err() {
            return;
        }
        drop(ue);
        match answered.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::debug!(supi = %self.supi, %error, "positioning message not sent")
            }
            Err(_) => {}
        }
    }

    /// Sets the channel up in another task.
    fn connect(&mut self, address: LmfAddress) {
        let (done, connecting) = mpsc::channel(1);
        self.link = Link::Connecting(connecting);
        let (ue, port, connectors) = (self.ue.clone(), self.config.port, self.connectors.clone());
        tokio::spawn(async move {
            let _ = done.send(connect(ue, address, port, connectors).await).await;
        });
    }
}

/// Sets up a channel, and before it a PDU session if the UE has none.
async fn connect(
    ue: mpsc::WeakSender<Command>,
    address: LmfAddress,
    port: u16,
    connectors: Arc<[AsyncConnector]>,
) -> Result<(AsyncChannel, Kind), Cause> {
    let commands = ue.upgrade().ok_or(Cause::UserPlaneNotAvailable)?;
    let status = |commands: mpsc::Sender<Command>| async move {
        let (reply, answered) = Reply::new();
        commands.send(Command::Status { reply }).await.ok()?;
        answered.await.ok()?.ok()
    };
    let mut now = status(commands.clone()).await.ok_or(Cause::UserPlaneNotAvailable)?;
    if now.sessions.is_empty() {
        let (reply, answered) = Reply::new();
        let request = PduSessionRequest::default();
        commands
            .send(Command::Establish { request, reply })
            .await
            .map_err(|_| Cause::UserPlaneNotAvailable)?;
        let established: Result<Result<_, UeError>, _> = answered.await;
        established.ok().and_then(Result::ok).ok_or(Cause::PduSessionFailure)?;
        now = status(commands.clone()).await.ok_or(Cause::UserPlaneNotAvailable)?;
    }
    drop(commands);
    let ip: IpAddr = match address {
        LmfAddress::Ipv4(four) | LmfAddress::Both(four, _) => four.into(),
        LmfAddress::Ipv6(six) => six.into(),
        // The simulated UE resolves no names.
        LmfAddress::Fqdn(_) => return Err(Cause::UserPlaneNotAvailable),
    };
    // Without an interface, no socket uses the UE's session.
    let netns = now.netns.ok_or(Cause::UserPlaneNotAvailable)?;
    let to = SocketAddr::new(ip, port);
    for (n, connector) in connectors.iter().enumerate() {
        let (kind, last) = (connector.kind(), n + 1 == connectors.len());
        let connecting = channel(connector.clone(), netns.clone(), to);
        let input = match last {
            true => connecting.await,
            // A network that blocks one kind must not delay the others for long.
            false => tokio::time::timeout(ATTEMPT_TIMEOUT, connecting)
                .await
                .unwrap_or(Err(ChannelError::Timeout)),
        };
        match input {
            Ok(channel) => {
                tracing::debug!(kind = kind.name(), %to, "channel to the LMF connected");
                return Ok((channel, kind));
            }
            Err(error) => {
                tracing::debug!(
                    kind = kind.name(),
                    %error,
                    %to,
                    "channel to the LMF failed"
                )
            }
        }
    }
    Err(Cause::TlsFailure)
}

/// A channel of one kind from a namespace.
async fn channel(
    connector: AsyncConnector,
    netns: String,
    to: SocketAddr,
) -> Result<AsyncChannel, ChannelError> {
    let socket_connector = connector.clone();
    // A socket belongs to the namespace in which it is created.
    let reached = tokio::task::spawn_blocking(move || {
        Namespace::open(&netns, false)?.run(move || socket_connector.open_socket(to))
    });
    let reached = reached.await.map_err(std::io::Error::other)??;
    connector.connect(reached).await
}
