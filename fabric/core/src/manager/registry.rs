//! The manager's state: members, announcements and channels. No I/O: messages in, actions out.
use crate::messages::{self, FromManager, Peer, Service, ToManager, VERSION};
use std::collections::{BTreeSet, HashMap, VecDeque};

/// Maximum length of the authorities of a process in the message that describes it to its peers: a
/// longer message would end their connections to the manager.
const AUTHORITY_BYTES: usize = messages::MAX_MESSAGE_BYTES - (8 << 10);

/// Maximum number of authorities that are reserved for one user. Its own oldest one is forgotten.
const MAX_RESERVED: usize = 256;

/// The share of a limit that one user gets, as a divisor: the rest is for the functions of others.
const USERS: usize = 4;

/// The user that may serve any authority.
const ROOT: u32 = 0;

/// Service, domain and authority.
type Key = (Service, String, String);

/// Limits of the manager.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", default, deny_unknown_fields)]
pub struct ManagerLimits {
    /// Maximum number of processes in each security domain. A user gets a quarter, unless it is
    /// root or the manager's.
    pub members: usize,
    /// Maximum number of authorities that one process serves.
    pub authorities: usize,
    /// Maximum number of channels of one process. The processes of another user get a quarter.
    pub channels: usize,
}

impl Default for ManagerLimits {
    fn default() -> Self {
        ManagerLimits { members: 256, authorities: 64, channels: 256 }
    }
}

/// What the manager has to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a message to a member.
    Send(u64, FromManager),
    /// Create a channel and send end 0 to the first member and end 1 to the second.
    CreateChannel {
        /// The channel's number at end 0 and at end 1. They differ only if one member has both
        /// ends.
        channels: [u64; 2],
        /// The member with end 0, and the description of its peer.
        first: (u64, Peer),
        /// The member with end 1, and the description of its peer.
        second: (u64, Peer),
    },
    /// Close the connection to a member.
    Disconnect(u64),
}

struct Member {
    domain: String,
    /// Its user, as the kernel reports it.
    user: Option<u32>,
    /// Name and schema, once it has joined.
    joined: Option<(String, u64)>,
    authorities: [BTreeSet<String>; 2],
    /// The channels of which the process has an end.
    channels: HashMap<u64, ChannelEnd>,
}

/// A process's end of a channel.
struct ChannelEnd {
    /// The member at the other end; `None` if that is closed.
    peer: Option<u64>,
    /// The user of that member.
    user: Option<u32>,
}

/// The authorities of processes that have ended or withdrawn them, by user, the oldest first. No
/// process of another user takes the place of a function while that starts again.
#[derive(Default)]
struct Reserved(HashMap<u32, VecDeque<Key>>);

impl Reserved {
    /// Reserves an authority for the user of the process that served it. A function that could not
    /// give up root serves it as another user after its next start, so root reserves none.
    fn add(&mut self, user: Option<u32>, key: Key) {
        let Some(user) = user.filter(|user| *user != ROOT) else { return };
        let keys = self.0.entry(user).or_default();
        keys.retain(|other| *other != key);
        if keys.len() >= MAX_RESERVED {
            keys.pop_front();
        }
        keys.push_back(key);
    }

    /// The other user for whom an authority is reserved, unless this user may serve it, too.
    fn owner(&self, user: Option<u32>, key: &Key) -> Option<u32> {
        let mut others = self.0.iter().filter(|(owner, _)| Some(**owner) != user);
        let owner = others.find(|(_, keys)| keys.contains(key)).map(|(owner, _)| *owner);
        owner.filter(|_| user != Some(ROOT))
    }
}

/// The members, announcements and channels of a manager.
pub struct Registry {
    limits: ManagerLimits,
    members: HashMap<u64, Member>,
    /// Members that serve. Each domain has its own authorities.
    servers: HashMap<Key, u64>,
    reserved: Reserved,
    next: u64,
}

impl Registry {
    /// An empty registry. Numbers of members and channels start at `first`, which must be above
    /// those of earlier managers: processes keep channels of an earlier manager.
    pub fn new(limits: ManagerLimits, first: u64) -> Self {
        let (members, servers) = (HashMap::new(), HashMap::new());
        Registry { limits, members, servers, reserved: Reserved::default(), next: first }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Number of members.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// Admits a process to a security domain. `None` if the domain is full.
    pub fn admit(&mut self, domain: &str) -> Option<u64> {
        // The limit applies to each domain, so one domain cannot exhaust another.
        if self.members.values().filter(|member| member.domain == domain).count()
            >= self.limits.members
        {
            return None;
        }
        let member = Member {
            domain: domain.into(),
            user: None,
            joined: None,
            authorities: Default::default(),
            channels: HashMap::new(),
        };
        let number = self.number();
        self.members.insert(number, member);
        Some(number)
    }

    /// Whether a user has its share of the processes of a domain: a function with many connections
    /// would keep others from joining, such as one that starts again.
    pub fn has_share(&self, domain: &str, user: u32) -> bool {
        let own = |member: &&Member| member.domain == domain && member.user == Some(user);
        self.members.values().filter(own).count() >= (self.limits.members / USERS).max(1)
    }

    /// Sets the user of a member, which its peers learn.
    pub fn set_user(&mut self, number: u64, user: u32) {
        if let Some(member) = self.members.get_mut(&number) {
            member.user = Some(user);
        }
    }

    /// Removes a member that has disconnected.
    pub fn remove(&mut self, number: u64) {
        let Some(member) = self.members.remove(&number) else { return };
        let served = self.servers.extract_if(|_, server| *server == number);
        served.for_each(|(key, _)| self.reserved.add(member.user, key));
        for (channel, end) in member.channels {
            self.end_closed(channel, end.peer);
        }
    }

    /// One end of a channel is closed. The other one counts until its process has closed it, too:
    /// else a process that keeps its end could have any number of channels with the same peer.
    fn end_closed(&mut self, channel: u64, peer: Option<u64>) {
        let peer = peer.and_then(|peer| self.members.get_mut(&peer));
        if let Some(other) = peer.and_then(|peer| peer.channels.get_mut(&channel)) {
            other.peer = None;
        }
    }

    /// Handles a message of a member.
    pub fn handle(&mut self, from: u64, message: ToManager) -> Vec<Action> {
        let Some(member) = self.members.get_mut(&from) else { return Vec::new() };
        let refuse = |reason: String| {
            vec![Action::Send(from, FromManager::Refused { reason }), Action::Disconnect(from)]
        };
        match message {
            ToManager::Join { version, name, schema } => {
                if version != VERSION {
                    return refuse(format!(
                        "the manager has protocol version {VERSION}, this process {version}: run \
                         both from one build"
                    ));
                }
                if member.joined.is_some() || name.len() > 64 {
                    return refuse(
                        "invalid join: send it once, with a name of at most 64 bytes".into(),
                    );
                }
                member.joined = Some((name, schema));
                vec![Action::Send(from, FromManager::Welcome { domain: member.domain.clone() })]
            }
            _ if member.joined.is_none() => refuse("the first message must be `join`".into()),
            ToManager::Serve { service, authority } => self.serve(from, service, authority),
            ToManager::Withdraw { service, authority } => {
                if member.authorities[service as usize].remove(&authority) {
                    let key = (service, member.domain.clone(), authority);
                    self.servers.remove(&key);
                    self.reserved.add(member.user, key);
                }
                Vec::new()
            }
            ToManager::Connect { service, authority } => self.connect(from, service, authority),
            ToManager::ChannelClosed { channel } => {
                let peer = member.channels.remove(&channel).and_then(|end| end.peer);
                self.end_closed(channel, peer);
                Vec::new()
            }
        }
    }

    fn serve(&mut self, from: u64, service: Service, authority: String) -> Vec<Action> {
        let Some(member) = self.members.get_mut(&from) else { return Vec::new() };
        let key = (service, member.domain.clone(), authority.clone());
        let taken = self.servers.get(&key).is_some_and(|server| *server != from);
        let count = member.authorities.iter().map(BTreeSet::len).sum::<usize>();
        // With a comma. An escaped control character has six bytes.
        let length = |authority: &String| messages::encode(authority).len() + 1;
        let others = member.authorities.iter().flatten().map(length).sum::<usize>();
        let reason = if taken {
            Some("another process of this security domain serves the authority".to_string())
        } else if let Some(owner) = self.reserved.owner(member.user, &key) {
            Some(format!(
                "a process of user {owner} served the authority before: run this one as that user, \
                 or restart the manager of the fabric"
            ))
        } else if count >= self.limits.authorities || authority.is_empty() || authority.len() > 255
        {
            Some(format!(
                "authority refused: a process serves up to {} authorities of 1 to 255 bytes",
                self.limits.authorities
            ))
        } else if others + length(&authority) > AUTHORITY_BYTES {
            Some(format!(
                "authority refused: all authorities of a process have up to {AUTHORITY_BYTES} bytes"
            ))
        } else {
            self.servers.insert(key, from);
            member.authorities[service as usize].insert(authority.clone());
            None
        };
        vec![Action::Send(from, FromManager::Served { service, authority, reason })]
    }

    fn connect(&mut self, from: u64, service: Service, authority: String) -> Vec<Action> {
        let Some(member) = self.members.get(&from) else { return Vec::new() };
        let find = |authority: String| {
            self.servers.get(&(service, member.domain.clone(), authority)).copied()
        };
        let server = match authority.parse() {
            Ok(address) if service == Service::Connections => {
                messages::listening(address).find_map(|address| find(address.to_string()))
            }
            _ => find(authority.clone()),
        };
        // Nor does a listener at any address take the place of another user's.
        let key = (service, member.domain.clone(), authority.clone());
        let server = server.filter(|server| {
            let user = self.members.get(server).and_then(|server| server.user);
            self.reserved.owner(user, &key).is_none()
        });
        let mut actions = Vec::new();
        let known = member
            .channels
            .iter()
            .find(|(_, end)| end.peer.is_some() && end.peer == server)
            .map(|(channel, _)| *channel);
        let channel = known.or_else(|| {
            let (channel, action) = self.create_channel(from, server?)?;
            actions.push(action);
            Some(channel)
        });
        actions.push(Action::Send(from, FromManager::Route { service, authority, channel }));
        actions
    }

    fn create_channel(&mut self, first: u64, second: u64) -> Option<(u64, Action)> {
        if !self.has_room(first, second) || !self.has_room(second, first) {
            return None;
        }
        let user = |number| self.members.get(&number).and_then(|member| member.user);
        let (user_of_first, user_of_second) = (user(first), user(second));
        let (of_first, of_second) = (self.describe(first)?, self.describe(second)?);
        let here = self.number();
        // A process that connects to itself has both ends under different numbers.
        let there = if first == second { self.number() } else { here };
        let (end_here, end_there) = (
            ChannelEnd { peer: Some(second), user: user_of_second },
            ChannelEnd { peer: Some(first), user: user_of_first },
        );
        self.members.get_mut(&first)?.channels.insert(here, end_here);
        self.members.get_mut(&second)?.channels.insert(there, end_there);
        let (first, second) = ((first, of_second), (second, of_first));
        Some((here, Action::CreateChannel { channels: [here, there], first, second }))
    }

    /// Whether a member may have another channel, with this peer. Another user gets a share: it may
    /// have many processes, and may keep its ends of channels after they have left.
    fn has_room(&self, number: u64, peer: u64) -> bool {
        let (Some(member), Some(peer)) = (self.members.get(&number), self.members.get(&peer))
        else {
            return false;
        };
        let limit = self.limits.channels;
        let of_user = member.channels.values().filter(|end| end.user == peer.user).count();
        let share = if member.user == peer.user { limit } else { (limit / USERS).max(1) };
        member.channels.len() < limit && of_user < share
    }

    fn describe(&self, number: u64) -> Option<Peer> {
        let member = self.members.get(&number)?;
        let (name, schema) = member.joined.clone()?;
        let [calls, connections] = member.authorities.clone().map(|all| all.into_iter().collect());
        Some(Peer { name, schema, user: member.user, calls, connections })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(registry: &mut Registry, domain: &str, name: &str) -> u64 {
        let number = registry.admit(domain).unwrap();
        let actions = registry
            .handle(number, ToManager::Join { version: VERSION, name: name.into(), schema: 7 });
        assert_eq!(actions, [Action::Send(number, FromManager::Welcome { domain: domain.into() })]);
        number
    }

    fn serve(registry: &mut Registry, number: u64, authority: &str) -> bool {
        let message = ToManager::Serve { service: Service::Calls, authority: authority.into() };
        match &registry.handle(number, message)[..] {
            [Action::Send(to, FromManager::Served { reason, .. })] if *to == number => {
                reason.is_none()
            }
            [Action::Send(_, FromManager::Refused { .. }), Action::Disconnect(_)] => false,
            other => panic!("{other:?}"),
        }
    }

    fn connect(
        registry: &mut Registry,
        number: u64,
        authority: &str,
    ) -> (Option<u64>, Vec<Action>) {
        let message = ToManager::Connect { service: Service::Calls, authority: authority.into() };
        let mut actions = registry.handle(number, message);
        match actions.pop() {
            Some(Action::Send(to, FromManager::Route { channel, .. })) if to == number => {
                (channel, actions)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn two_processes_share_one_channel() {
        let mut registry = Registry::new(ManagerLimits::default(), 100);
        let (client, server) =
            (join(&mut registry, "core", "client"), join(&mut registry, "core", "server"));
        assert!(serve(&mut registry, server, "server:80"));
        assert!(serve(&mut registry, client, "client:80"));
        registry.set_user(client, 990);
        let (channel, actions) = connect(&mut registry, client, "server:80");
        let [Action::CreateChannel { channels: [made, same], first, second }] = &actions[..] else {
            panic!("{actions:?}")
        };
        assert_eq!((Some(*made), made, first.0, second.0), (channel, same, client, server));
        assert_eq!(
            (&first.1.name[..], &first.1.calls[..], &second.1.calls[..]),
            ("server", &["server:80".into()][..], &["client:80".into()][..])
        );
        assert_eq!((first.1.user, second.1.user), (None, Some(990)));
        // The same channel in the other direction, and again.
        assert_eq!(connect(&mut registry, server, "client:80"), (channel, vec![]));
        assert_eq!(connect(&mut registry, client, "server:80"), (channel, vec![]));
        // A new channel after the old one is closed.
        registry.handle(server, ToManager::ChannelClosed { channel: channel.unwrap() });
        let (again, actions) = connect(&mut registry, client, "server:80");
        assert!(again.is_some() && again != channel && actions.len() == 1);
    }

    #[test]
    fn a_process_that_connects_to_itself_gets_both_ends() {
        let mut registry = Registry::new(ManagerLimits::default(), 0);
        let own = join(&mut registry, "core", "own");
        serve(&mut registry, own, "own:80");
        let (channel, actions) = connect(&mut registry, own, "own:80");
        let [Action::CreateChannel { channels, first, second }] = &actions[..] else {
            panic!("{actions:?}")
        };
        assert_eq!((channel, first.0, second.0), (Some(channels[0]), own, own));
        assert!(channels[0] != channels[1]);
        assert!(connect(&mut registry, own, "own:80").1.is_empty());
        for channel in *channels {
            registry.handle(own, ToManager::ChannelClosed { channel });
        }
        assert_eq!(connect(&mut registry, own, "own:80").1.len(), 1);
    }

    #[test]
    fn a_removed_or_withdrawn_server_is_not_found() {
        let mut registry = Registry::new(ManagerLimits::default(), 0);
        let (client, server) =
            (join(&mut registry, "core", "client"), join(&mut registry, "core", "server"));
        serve(&mut registry, server, "server:80");
        assert!(connect(&mut registry, client, "server:80").0.is_some());
        registry.remove(server);
        assert_eq!(connect(&mut registry, client, "server:80"), (None, vec![]));
        let server = join(&mut registry, "core", "server");
        assert!(serve(&mut registry, server, "server:80"));
        assert!(connect(&mut registry, client, "server:80").0.is_some());
        registry.handle(
            server,
            ToManager::Withdraw { service: Service::Calls, authority: "server:80".into() },
        );
        assert_eq!(connect(&mut registry, client, "server:80"), (None, vec![]));
    }

    #[test]
    fn an_authority_stays_with_the_user_of_its_process() {
        let mut registry = Registry::new(ManagerLimits::default(), 0);
        let member = |registry: &mut Registry, user: u32| {
            let number = join(registry, "core", "member");
            registry.set_user(number, user);
            number
        };
        let withdraw = |registry: &mut Registry, number: u64, authority: &str| {
            let (service, authority) = (Service::Calls, authority.to_string());
            registry.handle(number, ToManager::Withdraw { service, authority });
        };
        let (udr, amf) = (member(&mut registry, 901), member(&mut registry, 909));
        assert!(serve(&mut registry, udr, "udr:80"));
        registry.remove(udr);
        assert!(!serve(&mut registry, amf, "udr:80"));
        assert_eq!(connect(&mut registry, amf, "udr:80"), (None, vec![]));
        let udr = member(&mut registry, 901);
        assert!(serve(&mut registry, udr, "udr:80"));
        withdraw(&mut registry, udr, "udr:80");
        // Others forget their own authorities alone.
        for n in 0..=MAX_RESERVED {
            assert!(serve(&mut registry, amf, &format!("amf:{n}")));
            withdraw(&mut registry, amf, &format!("amf:{n}"));
        }
        assert!(!serve(&mut registry, amf, "udr:80"));
        // A function that could not give up root, and can after its next start.
        let root = member(&mut registry, ROOT);
        assert!(serve(&mut registry, root, "udr:80"));
        registry.remove(root);
        assert!(!serve(&mut registry, amf, "udr:80") && serve(&mut registry, udr, "udr:80"));
    }

    #[test]
    fn a_listener_at_any_address_takes_no_connections_of_another_user() {
        let mut registry = Registry::new(ManagerLimits::default(), 0);
        let (service, authority) = (Service::Connections, "127.0.0.11:80".to_string());
        let (udr, amf) = (join(&mut registry, "core", "udr"), join(&mut registry, "core", "amf"));
        registry.set_user(udr, 901);
        registry.set_user(amf, 909);
        let any = ToManager::Serve { service, authority: "0.0.0.0:80".into() };
        registry.handle(amf, any);
        let is_found = |registry: &mut Registry| {
            let connect = ToManager::Connect { service, authority: authority.clone() };
            let answer = registry.handle(amf, connect).pop();
            matches!(answer, Some(Action::Send(_, FromManager::Route { channel: Some(_), .. })))
        };
        assert!(is_found(&mut registry));
        registry.handle(udr, ToManager::Serve { service, authority: authority.clone() });
        registry.remove(udr);
        assert!(!is_found(&mut registry));
    }

    #[test]
    fn a_channel_counts_until_both_ends_are_closed() {
        let limits = ManagerLimits { channels: 1, ..ManagerLimits::default() };
        let mut registry = Registry::new(limits, 0);
        let (client, server) =
            (join(&mut registry, "core", "client"), join(&mut registry, "core", "server"));
        serve(&mut registry, server, "server:80");
        let channel = connect(&mut registry, client, "server:80").0.expect("a channel");
        registry.handle(client, ToManager::ChannelClosed { channel });
        // The server still has its end.
        assert_eq!(connect(&mut registry, client, "server:80"), (None, vec![]));
        registry.remove(client);
        let client = join(&mut registry, "core", "client");
        assert_eq!(connect(&mut registry, client, "server:80"), (None, vec![]));
        registry.handle(server, ToManager::ChannelClosed { channel });
        let channel = connect(&mut registry, client, "server:80").0.expect("a channel");
        // After a restart of the server, the client counts its end.
        registry.remove(server);
        let server = join(&mut registry, "core", "server");
        serve(&mut registry, server, "server:80");
        assert_eq!(connect(&mut registry, client, "server:80"), (None, vec![]));
        registry.handle(client, ToManager::ChannelClosed { channel });
        assert!(connect(&mut registry, client, "server:80").0.is_some());
    }

    #[test]
    fn channels_that_another_user_keeps_leave_room_for_others() {
        let limits = ManagerLimits { channels: 8, ..ManagerLimits::default() };
        let mut registry = Registry::new(limits, 0);
        let member = |registry: &mut Registry, user: u32| {
            let number = join(registry, "core", "member");
            registry.set_user(number, user);
            number
        };
        let server = member(&mut registry, 901);
        serve(&mut registry, server, "server:80");
        // It leaves each time, and keeps its ends of the channels, which the server then has, too.
        let channels = (0..8).filter(|_| {
            let greedy = member(&mut registry, 909);
            let channel = connect(&mut registry, greedy, "server:80").0;
            registry.remove(greedy);
            channel.is_some()
        });
        assert_eq!(channels.count(), 2);
        for (user, expected) in [(910, true), (909, false), (901, true)] {
            let client = member(&mut registry, user);
            assert_eq!(connect(&mut registry, client, "server:80").0.is_some(), expected);
        }
    }

    #[test]
    fn a_user_gets_a_share_of_the_processes_of_a_domain() {
        let limits = ManagerLimits { members: 8, ..ManagerLimits::default() };
        let mut registry = Registry::new(limits, 0);
        for _ in 0..2 {
            assert!(!registry.has_share("core", 909));
            let number = join(&mut registry, "core", "member");
            registry.set_user(number, 909);
        }
        assert!(registry.has_share("core", 909));
        assert!(!registry.has_share("core", 910) && !registry.has_share("guest", 909));
    }

    #[test]
    fn descriptions_of_peers_fit_into_a_message() {
        for (filling, min) in [("a", 64), ("\u{1}", 10), ("\"", 40)] {
            let mut registry = Registry::new(ManagerLimits::default(), 0);
            let client = join(&mut registry, "core", "client");
            let server = join(&mut registry, "core", &"\u{1}".repeat(64));
            let authority = |n: usize| format!("{n:02}{}", filling.repeat(253));
            let served = (0..64).filter(|n| serve(&mut registry, server, &authority(*n))).count();
            assert!(served >= min, "{served}");
            let (channel, actions) = connect(&mut registry, client, &authority(0));
            let [Action::CreateChannel { first: (_, peer), .. }] = &actions[..] else {
                panic!("{actions:?}")
            };
            let (channel, sizes) = (channel.expect("a channel"), Default::default());
            let message = FromManager::Channel { channel, end: 0, sizes, peer: peer.clone() };
            let length = messages::encode(&message).len();
            assert!(length <= messages::MAX_MESSAGE_BYTES, "{length}");
        }
    }

    #[test]
    fn domains_are_isolated() {
        let mut registry = Registry::new(ManagerLimits::default(), 0);
        let (ours, theirs) =
            (join(&mut registry, "core", "server"), join(&mut registry, "guest", "server"));
        assert!(serve(&mut registry, ours, "server:80"));
        assert_eq!(connect(&mut registry, theirs, "server:80"), (None, vec![]));
        // Each domain can serve the same authority.
        assert!(serve(&mut registry, theirs, "server:80"));
        let (_, actions) = connect(&mut registry, ours, "server:80");
        let [Action::CreateChannel { first, second, .. }] = &actions[..] else {
            panic!("{actions:?}")
        };
        assert_eq!((first.0, second.0), (ours, ours));
    }

    #[test]
    fn exceeded_limits_and_wrong_order_are_refused() {
        let limits = ManagerLimits { members: 3, authorities: 1, channels: 1 };
        let mut registry = Registry::new(limits, 0);
        let early = registry.admit("core").unwrap();
        assert!(!serve(&mut registry, early, "x:1"));
        registry.remove(early);
        let all: Vec<u64> =
            ["a", "b", "c"].iter().map(|name| join(&mut registry, "core", name)).collect();
        assert_eq!(registry.admit("core"), None);
        let guest = registry.admit("guest").expect("each domain has its own limit");
        registry.remove(guest);
        assert!(serve(&mut registry, all[0], "a:1"));
        assert!(!serve(&mut registry, all[0], "a:2"));
        assert!(!serve(&mut registry, all[1], "a:1"));
        assert!(connect(&mut registry, all[1], "a:1").0.is_some());
        assert_eq!(connect(&mut registry, all[2], "a:1"), (None, vec![]));
        let again = ToManager::Join { version: VERSION, name: "a".into(), schema: 0 };
        assert!(matches!(
            &registry.handle(all[0], again)[..],
            [Action::Send(..), Action::Disconnect(_)]
        ));
    }
}
