//! The state of a process's membership in the fabric: its links, its routes and its announcements.
//!
//! This is a state machine without I/O: messages of the manager go in, messages to the manager come
//! out. A driver owns the socket.
use crate::channel::{Channel, ChannelFds};
use crate::limits::ProcessLimits;
use crate::link::sockets::Listener;
use crate::link::{Host, Link};
use crate::messages::{self, FromManager, Service, ToManager, VERSION};
use crate::{metrics, wakers};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// How long a listener waits for the manager to confirm its announcement.
pub(crate) const SERVE_TIMEOUT: Duration = Duration::from_secs(5);

/// The state of a process towards the manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MembershipState {
    /// The first attempt to join is in progress.
    Joining,
    /// The process has joined; the value is its security domain.
    Joined(String),
    /// The manager is unreachable, for the given reason. Existing links keep working; there are no
    /// new ones.
    Disconnected(String),
    /// The manager refused the process, for the given reason.
    Refused(String),
}

/// Why the connection to the manager has to be closed.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
    /// A message does not decode.
    #[error("invalid message from the manager: {0}")]
    InvalidMessage(#[from] serde_json::Error),
    /// A channel was received without its four descriptors.
    #[error("the manager sent a channel without its descriptors")]
    MissingDescriptors,
    /// The manager refused the process.
    #[error("{0}")]
    Refused(String),
    /// The manager closed the socket.
    #[error("the manager closed the connection")]
    Closed,
    /// The socket failed.
    #[error("the connection to the manager failed: {0}")]
    Io(#[from] std::io::Error),
}

/// The manager refused an announcement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct AnnouncementRefused {
    /// The manager's reason.
    pub reason: String,
}

enum Route {
    Known(Arc<Link>),
    Requested(Vec<Waker>),
    Absent(Instant),
}

struct State {
    membership: MembershipState,
    /// Whether there is a connection to the manager, joined or not.
    connected: bool,
    routes: [HashMap<String, Route>; 2],
    served: [BTreeSet<String>; 2],
    links: HashMap<u64, Arc<Link>>,
    outgoing: VecDeque<ToManager>,
    driver: Option<Waker>,
    watchers: Vec<Waker>,
    listeners: HashMap<SocketAddr, Arc<Listener>>,
    /// Announcements that are unanswered or were refused.
    announced: HashMap<(Service, String), Announced>,
}

enum Announced {
    Waiting(Vec<Waker>),
    Refused(String),
}

/// A process's membership in the fabric.
pub struct Membership {
    name: String,
    schema: u64,
    limits: ProcessLimits,
    state: Mutex<State>,
}

impl Membership {
    /// A process that has not joined yet. `name` is a display name, truncated to 16 characters;
    /// `schema` is the application-defined number of the encoding that it understands.
    pub fn new(name: &str, schema: u64, limits: ProcessLimits) -> Self {
        let state = State {
            membership: MembershipState::Joining,
            connected: false,
            routes: Default::default(),
            served: Default::default(),
            links: HashMap::new(),
            outgoing: VecDeque::new(),
            driver: None,
            watchers: Vec::new(),
            listeners: HashMap::new(),
            announced: HashMap::new(),
        };
        Membership {
            name: name.chars().take(16).collect(),
            schema,
            limits,
            state: Mutex::new(state),
        }
    }

    /// The limits of the process.
    pub fn limits(&self) -> &ProcessLimits {
        &self.limits
    }

    /// The number of the encoding that the process understands.
    pub fn schema(&self) -> u64 {
        self.schema
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The driver has connected to the manager. Queues the first messages.
    pub fn connected(&self) {
        let mut state = self.lock();
        state.connected = true;
        state.outgoing.clear();
        state.outgoing.push_back(ToManager::Join {
            version: VERSION,
            name: self.name.clone(),
            schema: self.schema,
        });
        for service in Service::ALL {
            let served: Vec<_> = state.served[service as usize].iter().cloned().collect();
            state.outgoing.extend(
                served.into_iter().map(|authority| ToManager::Serve { service, authority }),
            );
            // Repeat the requests that an earlier manager did not answer.
            let requested = state.routes[service as usize]
                .iter()
                .filter(|(_, route)| matches!(route, Route::Requested(_)));
            let requested: Vec<_> = requested.map(|(authority, _)| authority.clone()).collect();
            state.outgoing.extend(
                requested.into_iter().map(|authority| ToManager::Connect { service, authority }),
            );
        }
    }

    /// The driver has lost the connection to the manager, or could not connect.
    pub fn disconnected(&self, reason: &str) {
        let mut state = self.lock();
        if !matches!(state.membership, MembershipState::Refused(_)) {
            state.set_state(MembershipState::Disconnected(reason.to_string()));
        }
        state.connected = false;
        for announced in state.announced.values_mut() {
            if let Announced::Waiting(waiting) = announced {
                wakers::wake_all(waiting);
            }
        }
        // No response will arrive: fail the pending requests for routes.
        state.outgoing.clear();
        for routes in &mut state.routes {
            routes.retain(|_, route| match route {
                Route::Requested(waiting) => {
                    wakers::wake_all(waiting);
                    false
                }
                _ => true,
            });
        }
    }

    /// The next encoded message to the manager.
    pub fn poll_outgoing(&self, context: &mut Context<'_>) -> Poll<Vec<u8>> {
        let mut state = self.lock();
        match state.outgoing.pop_front() {
            Some(message) => Poll::Ready(messages::encode(&message)),
            None => {
                state.driver = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Handles a message of the manager and its descriptors. Returns a new link, which the caller
    /// must drive. After an error the caller must close the connection.
    pub fn handle_message(
        &self,
        bytes: &[u8],
        fds: Vec<OwnedFd>,
        host: &Weak<dyn Host>,
    ) -> Result<Option<Arc<Link>>, ManagerError> {
        let message = messages::decode::<FromManager>(bytes)?;
        let mut state = self.lock();
        match message {
            FromManager::Welcome { domain } => {
                // Possible after a refusal too: the manager's configuration may have changed.
                state.set_state(MembershipState::Joined(domain));
            }
            FromManager::Refused { reason } => {
                state.set_state(MembershipState::Refused(reason.clone()));
                return Err(ManagerError::Refused(reason));
            }
            FromManager::Served { service, authority, reason } => {
                let key = (service, authority);
                if let Some(Announced::Waiting(waiting)) = state.announced.remove(&key) {
                    waiting.into_iter().for_each(Waker::wake);
                }
                if let Some(reason) = reason {
                    tracing::error!(
                        ?service,
                        authority = key.1,
                        reason,
                        "announcement refused by the fabric manager"
                    );
                    state.announced.insert(key, Announced::Refused(reason));
                }
            }
            FromManager::Channel { channel: number, end, sizes, peer } => {
                let fds = ChannelFds::from_fds(fds).ok_or(ManagerError::MissingDescriptors)?;
                match Channel::new(fds, &sizes, end) {
                    Ok(channel) => {
                        tracing::debug!(number, peer = peer.name, "fabric channel opened");
                        let link = Link::new(number, peer, channel, &self.limits, host.clone());
                        state.links.insert(number, link.clone());
                        return Ok(Some(link));
                    }
                    Err(error) => {
                        tracing::error!(%error, "fabric channel unusable");
                        state.send(ToManager::ChannelClosed { channel: number });
                    }
                }
            }
            FromManager::Route { service, authority, channel } => {
                let link = channel.and_then(|number| state.links.get(&number)).cloned();
                let route = match link {
                    Some(link) if link.channel().closed().is_none() => Route::Known(link),
                    _ => Route::Absent(
                        Instant::now() + Duration::from_millis(self.limits.negative_route_ms),
                    ),
                };
                if let Some(Route::Requested(waiting)) =
                    state.routes[service as usize].insert(authority, route)
                {
                    waiting.into_iter().for_each(Waker::wake);
                }
            }
        }
        Ok(None)
    }

    /// The current state towards the manager.
    pub fn state(&self) -> MembershipState {
        self.lock().membership.clone()
    }

    /// Ready when the process has joined or was refused.
    pub fn poll_joined(&self, context: &mut Context<'_>) -> Poll<MembershipState> {
        let mut state = self.lock();
        match &state.membership {
            MembershipState::Joined(_) | MembershipState::Refused(_) => {
                Poll::Ready(state.membership.clone())
            }
            _ => {
                wakers::register(&mut state.watchers, context);
                Poll::Pending
            }
        }
    }

    /// Announces that the process serves an authority.
    pub fn serve(&self, service: Service, authority: &str) {
        let mut state = self.lock();
        state.served[service as usize].insert(authority.to_string());
        state.announced.insert((service, authority.to_string()), Announced::Waiting(Vec::new()));
        state.send(ToManager::Serve { service, authority: authority.to_string() });
    }

    /// Ready when the manager has confirmed or refused an announcement, or is unreachable.
    pub fn poll_served(
        &self,
        service: Service,
        authority: &str,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), AnnouncementRefused>> {
        let mut state = self.lock();
        let disconnected = !state.connected && state.membership != MembershipState::Joining;
        match state.announced.get_mut(&(service, authority.to_string())) {
            None => Poll::Ready(Ok(())),
            Some(Announced::Refused(reason)) => {
                Poll::Ready(Err(AnnouncementRefused { reason: reason.clone() }))
            }
            Some(Announced::Waiting(_)) if disconnected => Poll::Ready(Ok(())),
            Some(Announced::Waiting(waiting)) => {
                wakers::register(waiting, context);
                Poll::Pending
            }
        }
    }

    /// Opens a listener at an address and announces it.
    ///
    /// # Errors
    /// `AddrInUse` if this process listens at the address already.
    pub fn listen(&self, address: SocketAddr) -> std::io::Result<Arc<Listener>> {
        let listener = {
            let mut state = self.lock();
            if state.listeners.contains_key(&address) {
                let what = format!("this process listens at {address} already");
                return Err(std::io::Error::new(std::io::ErrorKind::AddrInUse, what));
            }
            let listener = Arc::new(Listener::new(address, self.limits.sockets.backlog));
            state.listeners.insert(address, listener.clone());
            listener
        };
        self.serve(Service::Connections, &address.to_string());
        Ok(listener)
    }

    /// Closes a listener. A repeated call does nothing, since the address may belong to a newer
    /// listener.
    pub fn unlisten(&self, listener: &Arc<Listener>) {
        let address = listener.address();
        let mut state = self.lock();
        if state.listeners.get(&address).is_some_and(|known| Arc::ptr_eq(known, listener)) {
            state.listeners.remove(&address);
            state.withdraw(Service::Connections, &address.to_string());
        }
        drop(state);
        listener.close();
    }

    /// The listener at an address, or at its port on any address.
    pub fn listener(&self, address: &SocketAddr) -> Option<Arc<Listener>> {
        let state = self.lock();
        crate::messages::listening(*address)
            .find_map(|address| state.listeners.get(&address).cloned())
    }

    /// Withdraws an announcement.
    pub fn withdraw(&self, service: Service, authority: &str) {
        self.lock().withdraw(service, authority);
    }

    /// The link to the process that serves an authority. `None` if no process does, or if the
    /// manager is unreachable and no existing peer does.
    pub fn poll_route(
        &self,
        service: Service,
        authority: &str,
        now: Instant,
        context: &mut Context<'_>,
    ) -> Poll<Option<Arc<Link>>> {
        let mut state = self.lock();
        match state.routes[service as usize].get_mut(authority) {
            Some(Route::Known(link)) if link.channel().closed().is_none() => {
                return Poll::Ready(Some(link.clone()));
            }
            Some(Route::Absent(until)) if now < *until => return Poll::Ready(None),
            Some(Route::Requested(waiting)) => {
                wakers::register(waiting, context);
                return Poll::Pending;
            }
            _ => {}
        }
        if matches!(
            state.membership,
            MembershipState::Disconnected(_) | MembershipState::Refused(_)
        ) {
            // A peer with an existing channel may serve it.
            let wanted: Vec<String> = match authority.parse() {
                Ok(address) if service == Service::Connections => {
                    messages::listening(address).map(|address| address.to_string()).collect()
                }
                _ => vec![authority.to_string()],
            };
            let link = state.links.values().find(|link| {
                let of_peer = if service == Service::Calls {
                    &link.peer.calls
                } else {
                    &link.peer.connections
                };
                link.channel().closed().is_none()
                    && of_peer.iter().any(|served| wanted.contains(served))
            });
            return Poll::Ready(link.cloned());
        }
        let routes = &mut state.routes[service as usize];
        if routes.len() >= self.limits.routes {
            // Evict negative and closed routes first, then the others. Never evict a request that
            // callers wait for.
            routes.retain(|_, route| match route {
                Route::Known(link) => link.channel().closed().is_none(),
                Route::Requested(_) => true,
                Route::Absent(_) => false,
            });
            if routes.len() >= self.limits.routes {
                routes.retain(|_, route| matches!(route, Route::Requested(_)));
            }
            if routes.len() >= self.limits.routes {
                metrics::REFUSED.with_label_values(&["route"]).inc();
                return Poll::Ready(None);
            }
        }
        routes.insert(authority.to_string(), Route::Requested(vec![context.waker().clone()]));
        state.send(ToManager::Connect { service, authority: authority.to_string() });
        Poll::Pending
    }

    /// Drops a cached route because the peer no longer serves the authority.
    pub fn invalidate_route(&self, service: Service, authority: &str, link: &Arc<Link>) {
        let routes = &mut self.lock().routes[service as usize];
        if matches!(routes.get(authority), Some(Route::Known(known)) if Arc::ptr_eq(known, link)) {
            routes.remove(authority);
        }
    }

    /// Removes a closed link.
    pub fn remove_link(&self, link: &Arc<Link>) {
        let mut state = self.lock();
        state.links.remove(&link.number);
        for routes in &mut state.routes {
            routes.retain(
                |_, route| !matches!(route, Route::Known(known) if Arc::ptr_eq(known, link)),
            );
        }
        state.send(ToManager::ChannelClosed { channel: link.number });
    }

    /// The open links.
    pub fn links(&self) -> Vec<Arc<Link>> {
        self.lock().links.values().cloned().collect()
    }

    /// Closes all links.
    pub fn close(&self) {
        for link in self.links() {
            link.end();
        }
    }
}

impl State {
    fn withdraw(&mut self, service: Service, authority: &str) {
        self.served[service as usize].remove(authority);
        if let Some(Announced::Waiting(waiting)) =
            self.announced.remove(&(service, authority.to_string()))
        {
            waiting.into_iter().for_each(Waker::wake);
        }
        self.send(ToManager::Withdraw { service, authority: authority.to_string() });
    }

    fn send(&mut self, message: ToManager) {
        // Drop the message while disconnected: `connected` queues all that matters again.
        if !self.connected {
            return;
        }
        self.outgoing.push_back(message);
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }

    fn set_state(&mut self, state: MembershipState) {
        match &state {
            MembershipState::Joined(domain) => tracing::info!(domain, "fabric joined"),
            MembershipState::Disconnected(reason) if self.membership != state => {
                tracing::warn!(reason, "fabric manager unreachable")
            }
            MembershipState::Refused(reason) if self.membership != state => {
                metrics::REFUSED.with_label_values(&["this process"]).inc();
                tracing::error!(reason, "fabric refused this process");
            }
            _ => {}
        }
        self.membership = state;
        wakers::wake_all(&mut self.watchers);
    }
}
