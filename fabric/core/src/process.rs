//! A process's part in the fabric: its links, the ways that it knows, and its conversation with the
//! manager. Messages in, messages out: sockets and waiting are the business of whoever drives it.
use crate::channel::{Channel, Parts};
use crate::link::{Host, Link};
use crate::messages::{self, FromMember, Service, ToMember, VERSION};
use crate::metrics;
use crate::sockets::{Listener, SocketLimits};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// What a process takes on.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", default, deny_unknown_fields)]
pub struct ProcessLimits {
    /// Requests of one peer that are served at a time.
    pub serving: usize,
    /// Requests to one peer that wait for their answer at a time; further ones wait for their
    /// turn.
    pub calls: usize,
    /// Octets that may wait for room in a channel before further requests and answers wait
    /// themselves.
    pub backlog: usize,
    /// Authorities that ways are known to, or are known not to exist.
    pub ways: usize,
    /// Milliseconds for which it is remembered that nobody serves an authority.
    pub absent_ms: u64,
    /// Connections.
    pub sockets: SocketLimits,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        ProcessLimits {
            serving: 1024,
            calls: 1024,
            backlog: 4 << 20,
            ways: 1024,
            absent_ms: 250,
            sockets: SocketLimits::default(),
        }
    }
}

/// How long a manager that is there may take to agree that something is served.
pub(crate) const LISTEN_PATIENCE: Duration = Duration::from_secs(5);

/// How things stand with the manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The first attempt to join is under way.
    Joining,
    /// The process takes part, in a security domain.
    Joined(String),
    /// There is no manager, or it does not answer. Links live on; there are no new ones.
    Away(String),
    /// The manager does not want the process.
    Refused(String),
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;

enum Way {
    Known(Arc<Link>),
    Asked(Vec<Waker>),
    Absent(Instant),
}

struct State {
    standing: Standing,
    /// Whether there is a connection to the manager, joined or not yet.
    connected: bool,
    ways: [HashMap<String, Way>; 2],
    served: [BTreeSet<String>; 2],
    links: HashMap<u64, Arc<Link>>,
    outgoing: VecDeque<FromMember>,
    driver: Option<Waker>,
    watchers: Vec<Waker>,
    listeners: HashMap<SocketAddr, Arc<Listener>>,
    /// Authorities whose announcement was not answered yet, or was answered with a refusal.
    announced: HashMap<(Service, String), Announced>,
}

enum Announced {
    Waiting(Vec<Waker>),
    Taken(String),
}

/// A process's part in the fabric.
pub struct Process {
    name: String,
    model: u64,
    limits: ProcessLimits,
    state: Mutex<State>,
}

/// What came of a message of the manager.
#[derive(Default)]
pub struct News {
    /// New links, to be driven from now on.
    pub links: Vec<Arc<Link>>,
}

impl Process {
    /// A process that has not joined yet. `name` is for people; `model` tells which compact bodies
    /// it understands.
    pub fn new(name: &str, model: u64, limits: ProcessLimits) -> Self {
        let state = State {
            standing: Standing::Joining,
            connected: false,
            ways: Default::default(),
            served: Default::default(),
            links: HashMap::new(),
            outgoing: VecDeque::new(),
            driver: None,
            watchers: Vec::new(),
            listeners: HashMap::new(),
            announced: HashMap::new(),
        };
        Process { name: name.chars().take(16).collect(), model, limits, state: Mutex::new(state) }
    }

    /// What it takes on.
    pub fn limits(&self) -> &ProcessLimits {
        &self.limits
    }

    /// The number that tells which compact bodies it understands.
    pub fn model(&self) -> u64 {
        self.model
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    // With the manager.

    /// A connection to the manager stands: the first messages over it.
    pub fn connected(&self) {
        let mut state = self.lock();
        state.connected = true;
        state.outgoing.clear();
        state.outgoing.push_back(FromMember::Join {
            version: VERSION,
            name: self.name.clone(),
            model: self.model,
        });
        for service in Service::ALL {
            let served: Vec<_> = state.served[service as usize].iter().cloned().collect();
            state.outgoing.extend(
                served.into_iter().map(|authority| FromMember::Serve { service, authority }),
            );
            // What was asked of an earlier manager is asked again.
            let asked =
                state.ways[service as usize].iter().filter(|(_, way)| matches!(way, Way::Asked(_)));
            let asked: Vec<_> = asked.map(|(authority, _)| authority.clone()).collect();
            state.outgoing.extend(
                asked.into_iter().map(|authority| FromMember::Connect { service, authority }),
            );
        }
    }

    /// The connection to the manager is gone, or could not be made.
    pub fn disconnected(&self, reason: &str) {
        let mut state = self.lock();
        if !matches!(state.standing, Standing::Refused(_)) {
            state.stand(Standing::Away(reason.to_string()));
        }
        state.connected = false;
        for announced in state.announced.values_mut() {
            if let Announced::Waiting(waiting) = announced {
                waiting.drain(..).for_each(Waker::wake);
            }
        }
        // Nobody answers now: whoever waits goes another way.
        state.outgoing.clear();
        for ways in &mut state.ways {
            ways.retain(|_, way| match way {
                Way::Asked(waiting) => {
                    waiting.drain(..).for_each(Waker::wake);
                    false
                }
                _ => true,
            });
        }
    }

    /// The next message for the manager.
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

    /// A message of the manager, with its descriptors. An error ends the connection.
    pub fn incoming(
        &self,
        octets: &[u8],
        fds: Vec<OwnedFd>,
        host: &Weak<dyn Host>,
    ) -> Result<News, String> {
        let message = messages::decode::<ToMember>(octets)
            .map_err(|e| format!("the manager sent no message: {e}"))?;
        let mut news = News::default();
        let mut state = self.lock();
        match message {
            ToMember::Welcome { domain } => {
                // Also after a refusal: the manager's configuration may have changed.
                state.stand(Standing::Joined(domain));
            }
            ToMember::Refused { reason } => {
                state.stand(Standing::Refused(reason.clone()));
                return Err(reason);
            }
            ToMember::Served { service, authority, reason } => {
                let key = (service, authority);
                if let Some(Announced::Waiting(waiting)) = state.announced.remove(&key) {
                    waiting.into_iter().for_each(Waker::wake);
                }
                if let Some(reason) = reason {
                    tracing::error!(
                        ?service,
                        authority = key.1,
                        reason,
                        "the fabric brings nothing here"
                    );
                    state.announced.insert(key, Announced::Taken(reason));
                }
            }
            ToMember::Channel { channel: number, end, sizes, peer } => {
                let parts = Parts::from_fds(fds)
                    .ok_or("the manager sent a channel without its descriptors")?;
                match Channel::new(parts, &sizes, end) {
                    Ok(channel) => {
                        tracing::debug!(number, peer = peer.name, "a channel of the fabric");
                        let link = Link::new(number, peer, channel, &self.limits, host.clone());
                        state.links.insert(number, link.clone());
                        news.links.push(link);
                    }
                    Err(error) => {
                        tracing::error!(%error, "a channel of the fabric cannot be used");
                        state.tell(FromMember::Gone { channel: number });
                    }
                }
            }
            ToMember::Way { service, authority, channel } => {
                let link = channel.and_then(|number| state.links.get(&number)).cloned();
                let way = match link {
                    Some(link) if link.channel().closed().is_none() => Way::Known(link),
                    _ => Way::Absent(Instant::now() + Duration::from_millis(self.limits.absent_ms)),
                };
                if let Some(Way::Asked(waiting)) =
                    state.ways[service as usize].insert(authority, way)
                {
                    waiting.into_iter().for_each(Waker::wake);
                }
            }
        }
        Ok(news)
    }

    /// How things stand with the manager.
    pub fn standing(&self) -> Standing {
        self.lock().standing.clone()
    }

    /// Ready when the process has joined, or was refused.
    pub fn poll_joined(&self, context: &mut Context<'_>) -> Poll<Standing> {
        let mut state = self.lock();
        match &state.standing {
            Standing::Joined(_) | Standing::Refused(_) => Poll::Ready(state.standing.clone()),
            _ => {
                leave(&mut state.watchers, context);
                Poll::Pending
            }
        }
    }

    // What it serves.

    /// Serves under an authority from now on.
    pub fn serve(&self, service: Service, authority: &str) {
        let mut state = self.lock();
        state.served[service as usize].insert(authority.to_string());
        state.announced.insert((service, authority.to_string()), Announced::Waiting(Vec::new()));
        state.tell(FromMember::Serve { service, authority: authority.to_string() });
    }

    /// Ready when the manager has agreed that an authority is served here, or when there is none to
    /// ask; the error says why it has not.
    pub fn poll_served(
        &self,
        service: Service,
        authority: &str,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), String>> {
        let mut state = self.lock();
        let away = !state.connected && state.standing != Standing::Joining;
        match state.announced.get_mut(&(service, authority.to_string())) {
            None => Poll::Ready(Ok(())),
            Some(Announced::Taken(reason)) => Poll::Ready(Err(reason.clone())),
            Some(Announced::Waiting(_)) if away => Poll::Ready(Ok(())),
            Some(Announced::Waiting(waiting)) => {
                leave(waiting, context);
                Poll::Pending
            }
        }
    }

    /// Listens at an address from now on.
    pub fn listen(&self, address: SocketAddr) -> std::io::Result<Arc<Listener>> {
        let listener = {
            let mut state = self.lock();
            if state.listeners.contains_key(&address) {
                let what = format!("this process listens at {address} of the fabric already");
                return Err(std::io::Error::new(std::io::ErrorKind::AddrInUse, what));
            }
            let listener = Arc::new(Listener::new(address, self.limits.sockets.backlog));
            state.listeners.insert(address, listener.clone());
            listener
        };
        self.serve(Service::Connections, &address.to_string());
        Ok(listener)
    }

    /// No longer listens. Once is enough: the address may be another listener's after that.
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

    /// Who listens at an address, or at its port of any address.
    pub fn listener(&self, address: &SocketAddr) -> Option<Arc<Listener>> {
        let state = self.lock();
        crate::messages::listening(*address)
            .find_map(|address| state.listeners.get(&address).cloned())
    }

    /// No longer serves under an authority.
    pub fn withdraw(&self, service: Service, authority: &str) {
        self.lock().withdraw(service, authority);
    }

    // Where others are.

    /// The link to who serves under an authority; `None` if nobody does, or there is no manager to
    /// ask.
    pub fn poll_way(
        &self,
        service: Service,
        authority: &str,
        now: Instant,
        context: &mut Context<'_>,
    ) -> Poll<Option<Arc<Link>>> {
        let mut state = self.lock();
        match state.ways[service as usize].get_mut(authority) {
            Some(Way::Known(link)) if link.channel().closed().is_none() => {
                return Poll::Ready(Some(link.clone()));
            }
            Some(Way::Absent(until)) if now < *until => return Poll::Ready(None),
            Some(Way::Asked(waiting)) => {
                leave(waiting, context);
                return Poll::Pending;
            }
            _ => {}
        }
        if matches!(state.standing, Standing::Away(_) | Standing::Refused(_)) {
            // A peer that has a channel to us already may serve it.
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
        let ways = &mut state.ways[service as usize];
        if ways.len() >= self.limits.ways {
            // What is wrong or closed makes room first; a way that is known can be asked for again.
            // Who waits for an answer is never forgotten.
            ways.retain(|_, way| match way {
                Way::Known(link) => link.channel().closed().is_none(),
                Way::Asked(_) => true,
                Way::Absent(_) => false,
            });
            if ways.len() >= self.limits.ways {
                ways.retain(|_, way| matches!(way, Way::Asked(_)));
            }
            if ways.len() >= self.limits.ways {
                metrics::REFUSED.with_label_values(&["way"]).inc();
                return Poll::Ready(None);
            }
        }
        ways.insert(authority.to_string(), Way::Asked(vec![context.waker().clone()]));
        state.tell(FromMember::Connect { service, authority: authority.to_string() });
        Poll::Pending
    }

    /// A way turned out to be wrong: the peer no longer serves the authority. It is asked for anew.
    pub fn mistaken(&self, service: Service, authority: &str, link: &Arc<Link>) {
        let ways = &mut self.lock().ways[service as usize];
        if matches!(ways.get(authority), Some(Way::Known(known)) if Arc::ptr_eq(known, link)) {
            ways.remove(authority);
        }
    }

    /// A link is closed.
    pub fn forget(&self, link: &Arc<Link>) {
        let mut state = self.lock();
        state.links.remove(&link.number);
        for ways in &mut state.ways {
            ways.retain(|_, way| !matches!(way, Way::Known(known) if Arc::ptr_eq(known, link)));
        }
        state.tell(FromMember::Gone { channel: link.number });
    }

    /// The links that stand.
    pub fn links(&self) -> Vec<Arc<Link>> {
        self.lock().links.values().cloned().collect()
    }

    /// Closes every link, at the end of the process's part.
    pub fn close(&self) {
        for link in self.links() {
            link.end();
        }
    }
}

/// Leaves a waker, once for each who waits.
fn leave(wakers: &mut Vec<Waker>, context: &Context<'_>) {
    if !wakers.iter().any(|waker| waker.will_wake(context.waker())) {
        wakers.push(context.waker().clone());
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
        self.tell(FromMember::Withdraw { service, authority: authority.to_string() });
    }

    fn tell(&mut self, message: FromMember) {
        // Without a connection there is nobody to tell: the next one begins with all that matters.
        if !self.connected {
            return;
        }
        self.outgoing.push_back(message);
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }

    fn stand(&mut self, standing: Standing) {
        match &standing {
            Standing::Joined(domain) => tracing::info!(domain, "joined the fabric"),
            Standing::Away(reason) if self.standing != standing => {
                tracing::warn!(reason, "no manager of the fabric")
            }
            Standing::Refused(reason) if self.standing != standing => {
                metrics::REFUSED.with_label_values(&["this process"]).inc();
                tracing::error!(reason, "the fabric refuses this process");
            }
            _ => {}
        }
        self.standing = standing;
        self.watchers.drain(..).for_each(Waker::wake);
    }
}
