//! The task of a UE's positioning: NAS from the UE, octets from the channel, and the protocol's
//! state machine between.
use super::answer::{Memory, answer};
use super::{Order, PositioningConfig};
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

/// How long a channel is waited for where there is another kind to try.
const PATIENCE: Duration = Duration::from_secs(2);

/// The channel, in whatever state.
enum Link {
    None,
    /// It is being brought up elsewhere.
    Coming(mpsc::Receiver<Result<(AsyncChannel, Kind), Cause>>),
    Up(AsyncChannel),
}

pub(super) struct Task {
    ue: mpsc::WeakSender<Command>,
    supi: Arc<str>,
    config: PositioningConfig,
    told: watch::Sender<UeState>,
    over: watch::Sender<Option<Kind>>,
    side: UeSide,
    link: Link,
    /// What NAS said of where answers go.
    routing: Option<Vec<u8>>,
    /// What LPP told.
    memory: Memory,
    /// What brings up channels, each of which goes on with what the one before was given, in the
    /// order in which they are tried; none where there is nobody to trust.
    connectors: Arc<[AsyncConnector]>,
}

/// What comes next.
enum Came {
    Nas(UeEvent),
    Order(Order),
    Connected(Result<(AsyncChannel, Kind), Cause>),
    Octets(Vec<u8>),
    Closed,
    Timeout,
    /// The UE is gone.
    End,
}

impl Link {
    async fn next(&mut self) -> Came {
        match self {
            Link::None => std::future::pending().await,
            Link::Coming(coming) => match coming.recv().await {
                Some(connected) => Came::Connected(connected),
                None => Came::Connected(Err(Cause::TlsFailure)),
            },
            Link::Up(channel) => {
                let mut octets = Vec::new();
                match channel.receive(&mut octets).await {
                    Ok(true) => Came::Octets(octets),
                    Ok(false) | Err(_) => Came::Closed,
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
        told: watch::Sender<UeState>,
        over: watch::Sender<Option<Kind>>,
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
                .inspect_err(|error| tracing::debug!(%error, "no channel to an LMF can be made"))
                .ok()
        };
        let connectors = config.channels.iter().filter_map(connector).collect();
        Task {
            ue,
            supi,
            config,
            told,
            over,
            side,
            link: Link::None,
            routing: None,
            memory: Memory::default(),
            connectors,
        }
    }

    pub(super) async fn run(
        mut self,
        mut events: broadcast::Receiver<UeEvent>,
        mut orders: mpsc::Receiver<Order>,
    ) {
        loop {
            let deadline = self.side.deadline();
            let came = tokio::select! {
                biased;
                event = events.recv() => match event {
                    Ok(event) => Came::Nas(event),
                    // What was lost is repeated by the network.
                    Err(broadcast::error::RecvError::Lagged(_)) => continue,
                    Err(broadcast::error::RecvError::Closed) => Came::End,
                },
                Some(order) = orders.recv() => Came::Order(order),
                came = self.link.next() => came,
                () = until(deadline) => Came::Timeout,
            };
            let now = Instant::now();
            match came {
                Came::End => return,
                Came::Nas(UeEvent::Nas(event)) => self.nas(now, event).await,
                Came::Nas(_) => {}
                Came::Order(Order::Request) => {
                    self.side.request(now);
                }
                Came::Order(Order::Release) => {
                    self.side.release(now, None);
                }
                Came::Order(Order::Say(octets)) => self.send(&octets).await,
                Came::Connected(Ok((channel, kind))) => {
                    self.over.send_replace(Some(kind));
                    self.link = Link::Up(channel);
                    self.side.connected(now);
                }
                Came::Connected(Err(cause)) => {
                    self.link = Link::None;
                    self.side.connect_failed(cause);
                }
                Came::Octets(octets) => self.side.received(&octets),
                Came::Closed => {
                    self.link = Link::None;
                    self.side.closed();
                }
                Came::Timeout => self.side.handle_timeout(now),
            }
            self.carry_out().await;
            let state = self.side.state();
            self.told.send_if_modified(|told| std::mem::replace(told, state) != state);
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
                self.config.tell_truth(&self.supi, now);
                if let Some(answer) =
                    answer(&message, &self.config.surroundings, &mut self.memory, now)
                {
                    self.say(PositioningKind::Lpp, answer, routing).await;
                }
            }
            _ => {}
        }
    }

    async fn carry_out(&mut self) {
        while let Some(action) = self.side.next_action() {
            match action {
                UeAction::Nas(octets) => {
                    let routing = self.routing.clone();
                    self.say(PositioningKind::UppCmi, octets, routing).await;
                }
                UeAction::Connect(address) => self.connect(address),
                UeAction::Send(octets) => self.send(&octets).await,
                UeAction::Close => {
                    if let Link::Up(channel) = std::mem::replace(&mut self.link, Link::None) {
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

    async fn send(&mut self, octets: &[u8]) {
        if let Link::Up(channel) = &mut self.link
            && channel.send(octets).await.is_err()
        {
            self.link = Link::None;
            self.side.closed();
        }
    }

    /// LPP messages of a payload, answered in one payload.
    fn downlink(&mut self, payload: &Payload) {
        if payload.payload_type != PayloadType::Lpp {
            return;
        }
        let Ok(messages) = lpp_messages(&payload.bytes) else { return };
        let (mut answers, now) = (Vec::new(), Instant::now());
        self.config.tell_truth(&self.supi, now);
        for message in messages {
            if let Some(answer) = answer(message, &self.config.surroundings, &mut self.memory, now)
            {
                let _ = push_lpp_message(&mut answers, &answer);
            }
        }
        if !answers.is_empty() {
            let _ = self.side.send(PayloadType::Lpp, &answers, &payload.session);
        }
    }

    async fn say(&mut self, kind: PositioningKind, message: Vec<u8>, routing: Option<Vec<u8>>) {
        let Some(ue) = self.ue.upgrade() else { return };
        let (reply, answered) = Reply::new();
        if ue.send(Command::Positioning { kind, message, routing, reply }).await.is_err() {
            return;
        }
        drop(ue);
        match answered.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::debug!(supi = %self.supi, %error, "a positioning message was not sent")
            }
            Err(_) => {}
        }
    }

    /// Bring the channel up, elsewhere.
    fn connect(&mut self, address: LmfAddress) {
        let (done, coming) = mpsc::channel(1);
        self.link = Link::Coming(coming);
        let (ue, port, connectors) = (self.ue.clone(), self.config.port, self.connectors.clone());
        tokio::spawn(async move {
            let _ = done.send(bring_up(ue, address, port, connectors).await).await;
        });
    }
}

/// A PDU session, where the UE has none, and a channel through it.
async fn bring_up(
    ue: mpsc::WeakSender<Command>,
    address: LmfAddress,
    port: u16,
    connectors: Arc<[AsyncConnector]>,
) -> Result<(AsyncChannel, Kind), Cause> {
    let ask = ue.upgrade().ok_or(Cause::UserPlaneNotAvailable)?;
    let status = |ask: mpsc::Sender<Command>| async move {
        let (reply, answered) = Reply::new();
        ask.send(Command::Status { reply }).await.ok()?;
        answered.await.ok()?.ok()
    };
    let mut now = status(ask.clone()).await.ok_or(Cause::UserPlaneNotAvailable)?;
    if now.sessions.is_empty() {
        let (reply, answered) = Reply::new();
        let request = PduSessionRequest::default();
        ask.send(Command::Establish { request, reply })
            .await
            .map_err(|_| Cause::UserPlaneNotAvailable)?;
        let established: Result<Result<_, UeError>, _> = answered.await;
        established.ok().and_then(Result::ok).ok_or(Cause::PduSessionFailure)?;
        now = status(ask.clone()).await.ok_or(Cause::UserPlaneNotAvailable)?;
    }
    drop(ask);
    let ip: IpAddr = match address {
        LmfAddress::Ipv4(four) | LmfAddress::Both(four, _) => four.into(),
        LmfAddress::Ipv6(six) => six.into(),
        // The simulated UE resolves no names.
        LmfAddress::Fqdn(_) => return Err(Cause::UserPlaneNotAvailable),
    };
    // Without an interface nothing of the UE's leads through its session.
    let netns = now.netns.ok_or(Cause::UserPlaneNotAvailable)?;
    let to = SocketAddr::new(ip, port);
    for (n, connector) in connectors.iter().enumerate() {
        let (kind, last) = (connector.kind(), n + 1 == connectors.len());
        let coming = channel(connector.clone(), netns.clone(), to);
        let came = match last {
            true => coming.await,
            // A path that lets none of it through keeps the others waiting no longer.
            false => {
                tokio::time::timeout(PATIENCE, coming).await.unwrap_or(Err(ChannelError::Timeout))
            }
        };
        match came {
            Ok(channel) => {
                tracing::debug!(kind = kind.name(), %to, "the channel to the LMF is up");
                return Ok((channel, kind));
            }
            Err(error) => {
                tracing::debug!(
                    kind = kind.name(),
                    %error,
                    %to,
                    "the channel to the LMF does not come up"
                )
            }
        }
    }
    Err(Cause::TlsFailure)
}

/// A channel from a namespace, of one kind.
async fn channel(
    connector: AsyncConnector,
    netns: String,
    to: SocketAddr,
) -> Result<AsyncChannel, ChannelError> {
    let its = connector.clone();
    // A socket belongs to the namespace in which it was made.
    let reached = tokio::task::spawn_blocking(move || {
        Namespace::open(&netns, false)?.run(move || its.open_socket(to))
    });
    let reached = reached.await.map_err(std::io::Error::other)??;
    connector.connect(reached).await
}
