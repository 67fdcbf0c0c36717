//! Who is there, who serves what, and which channels exist. No sockets: messages in, actions out.
use crate::messages::{self, FromMember, Peer, Service, ToMember, VERSION};
use std::collections::{BTreeSet, HashMap};

/// What the manager takes on.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", default, deny_unknown_fields)]
pub struct ManagerLimits {
    /// Processes of each security domain at a time.
    pub members: usize,
    /// Authorities that one process serves under.
    pub authorities: usize,
    /// Channels that one process has.
    pub channels: usize,
}

impl Default for ManagerLimits {
    fn default() -> Self {
        ManagerLimits { members: 256, authorities: 64, channels: 256 }
    }
}

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a message.
    Send(u64, ToMember),
    /// Make a channel between two processes and hand out its ends: 0 to the first, 1 to the second.
    Introduce {
        /// Its number at end 0 and at end 1: the same one, unless both ends are one process's.
        channels: [u64; 2],
        /// Who has end 0, and what it is told of end 1.
        first: (u64, Peer),
        /// Who has end 1, and what it is told of end 0.
        second: (u64, Peer),
    },
    /// End the connection to a process.
    Dismiss(u64),
}

struct Member {
    domain: String,
    /// Set when it has joined.
    joined: Option<(String, u64)>,
    authorities: [BTreeSet<String>; 2],
    channels: HashMap<u64, u64>,
}

/// The manager's knowledge.
pub struct Registry {
    limits: ManagerLimits,
    members: HashMap<u64, Member>,
    /// By service, domain and authority. A domain's authorities are its own: another one can
    /// neither see nor take them.
    servers: HashMap<(Service, String, String), u64>,
    next: u64,
}

impl Registry {
    /// Knows nobody. Numbers of members and channels begin at `first`: numbers of an earlier
    /// manager, which processes still have, must not come again.
    pub fn new(limits: ManagerLimits, first: u64) -> Self {
        Registry { limits, members: HashMap::new(), servers: HashMap::new(), next: first }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Processes that are there.
    pub fn members(&self) -> usize {
        self.members.len()
    }

    /// A process of a security domain has connected; `None` if there are too many of it.
    pub fn admit(&mut self, domain: &str) -> Option<u64> {
        // Each domain for itself: one cannot take the places of another.
        if self.members.values().filter(|member| member.domain == domain).count()
            >= self.limits.members
        {
            return None;
        }
        let member = Member {
            domain: domain.into(),
            joined: None,
            authorities: Default::default(),
            channels: HashMap::new(),
        };
        let number = self.number();
        self.members.insert(number, member);
        Some(number)
    }

    /// A process is gone.
    pub fn remove(&mut self, number: u64) {
        let Some(member) = self.members.remove(&number) else { return };
        self.servers.retain(|_, server| *server != number);
        for (channel, peer) in member.channels {
            if let Some(peer) = self.members.get_mut(&peer) {
                peer.channels.remove(&channel);
            }
        }
    }

    /// A process has said something.
    pub fn told(&mut self, from: u64, message: FromMember) -> Vec<Action> {
        let Some(member) = self.members.get_mut(&from) else { return Vec::new() };
        let refuse = |reason: String| {
            vec![Action::Send(from, ToMember::Refused { reason }), Action::Dismiss(from)]
        };
        match message {
            FromMember::Join { version, name, model } => {
                if version != VERSION {
                    return refuse(format!(
                        "the manager speaks version {VERSION} and this process {version}: start \
                         both from one build"
                    ));
                }
                if member.joined.is_some() || name.len() > 64 {
                    return refuse("a process joins once, with a name of up to 64 octets".into());
                }
                member.joined = Some((name, model));
                vec![Action::Send(from, ToMember::Welcome { domain: member.domain.clone() })]
            }
            _ if member.joined.is_none() => refuse("the first message has to be `join`".into()),
            FromMember::Serve { service, authority } => self.serve(from, service, authority),
            FromMember::Withdraw { service, authority } => {
                if member.authorities[service as usize].remove(&authority) {
                    self.servers.remove(&(service, member.domain.clone(), authority));
                }
                Vec::new()
            }
            FromMember::Connect { service, authority } => self.connect(from, service, authority),
            FromMember::Gone { channel } => {
                let peer = member.channels.remove(&channel);
                if let Some(peer) = peer.and_then(|peer| self.members.get_mut(&peer)) {
                    peer.channels.remove(&channel);
                }
                Vec::new()
            }
        }
    }

    fn serve(&mut self, from: u64, service: Service, authority: String) -> Vec<Action> {
        let Some(member) = self.members.get_mut(&from) else { return Vec::new() };
        let key = (service, member.domain.clone(), authority.clone());
        let taken = self.servers.get(&key).is_some_and(|server| *server != from);
        let count = member.authorities.iter().map(BTreeSet::len).sum::<usize>();
        let reason = if taken {
            Some("another process of this security domain serves it".to_string())
        } else if count >= self.limits.authorities || authority.is_empty() || authority.len() > 255
        {
            Some(format!(
                "a process serves under up to {} authorities of 1 to 255 octets",
                self.limits.authorities
            ))
        } else {
            self.servers.insert(key, from);
            member.authorities[service as usize].insert(authority.clone());
            None
        };
        vec![Action::Send(from, ToMember::Served { service, authority, reason })]
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
        let mut actions = Vec::new();
        let known = member
            .channels
            .iter()
            .find(|(_, peer)| Some(**peer) == server)
            .map(|(channel, _)| *channel);
        let channel = known.or_else(|| {
            let (channel, action) = self.introduce(from, server?)?;
            actions.push(action);
            Some(channel)
        });
        actions.push(Action::Send(from, ToMember::Way { service, authority, channel }));
        actions
    }

    fn introduce(&mut self, first: u64, second: u64) -> Option<(u64, Action)> {
        let room = |number| {
            self.members.get(&number).is_some_and(|m| m.channels.len() < self.limits.channels)
        };
        if !room(first) || !room(second) {
            return None;
        }
        let (of_first, of_second) = (self.describe(first)?, self.describe(second)?);
        let here = self.number();
        // Who calls itself has both ends, and has to tell them apart.
        let there = if first == second { self.number() } else { here };
        self.members.get_mut(&first)?.channels.insert(here, second);
        self.members.get_mut(&second)?.channels.insert(there, first);
        let (first, second) = ((first, of_second), (second, of_first));
        Some((here, Action::Introduce { channels: [here, there], first, second }))
    }

    fn describe(&self, number: u64) -> Option<Peer> {
        let member = self.members.get(&number)?;
        let (name, model) = member.joined.clone()?;
        let [calls, connections] = member.authorities.clone().map(|all| all.into_iter().collect());
        Some(Peer { name, model, calls, connections })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn join(registry: &mut Registry, domain: &str, name: &str) -> u64 {
        let number = registry.admit(domain).unwrap();
        let actions = registry
            .told(number, FromMember::Join { version: VERSION, name: name.into(), model: 7 });
        assert_eq!(actions, [Action::Send(number, ToMember::Welcome { domain: domain.into() })]);
        number
    }

    fn serve(registry: &mut Registry, number: u64, authority: &str) -> bool {
        let message = FromMember::Serve { service: Service::Calls, authority: authority.into() };
        match &registry.told(number, message)[..] {
            [Action::Send(to, ToMember::Served { reason, .. })] if *to == number => {
                reason.is_none()
            }
            [Action::Send(_, ToMember::Refused { .. }), Action::Dismiss(_)] => false,
            other => panic!("{other:?}"),
        }
    }

    fn connect(
        registry: &mut Registry,
        number: u64,
        authority: &str,
    ) -> (Option<u64>, Vec<Action>) {
        let message = FromMember::Connect { service: Service::Calls, authority: authority.into() };
        let mut actions = registry.told(number, message);
        match actions.pop() {
            Some(Action::Send(to, ToMember::Way { channel, .. })) if to == number => {
                (channel, actions)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn two_processes_get_one_channel() {
        let mut registry = Registry::new(ManagerLimits::default(), 100);
        let (amf, udm) = (join(&mut registry, "core", "amf"), join(&mut registry, "core", "udm"));
        assert!(serve(&mut registry, udm, "udm:80"));
        assert!(serve(&mut registry, amf, "amf:80"));
        let (channel, actions) = connect(&mut registry, amf, "udm:80");
        let [Action::Introduce { channels: [made, same], first, second }] = &actions[..] else {
            panic!("{actions:?}")
        };
        assert_eq!((Some(*made), made, first.0, second.0), (channel, same, amf, udm));
        assert_eq!(
            (&first.1.name[..], &first.1.calls[..], &second.1.calls[..]),
            ("udm", &["udm:80".into()][..], &["amf:80".into()][..])
        );
        // The same one the other way, and again.
        assert_eq!(connect(&mut registry, udm, "amf:80"), (channel, vec![]));
        assert_eq!(connect(&mut registry, amf, "udm:80"), (channel, vec![]));
        // A new one after the old one is gone.
        registry.told(udm, FromMember::Gone { channel: channel.unwrap() });
        let (again, actions) = connect(&mut registry, amf, "udm:80");
        assert!(again.is_some() && again != channel && actions.len() == 1);
    }

    #[test]
    fn who_calls_itself_gets_both_ends() {
        let mut registry = Registry::new(ManagerLimits::default(), 0);
        let nrf = join(&mut registry, "core", "nrf");
        serve(&mut registry, nrf, "nrf:80");
        let (channel, actions) = connect(&mut registry, nrf, "nrf:80");
        let [Action::Introduce { channels, first, second }] = &actions[..] else {
            panic!("{actions:?}")
        };
        assert_eq!((channel, first.0, second.0), (Some(channels[0]), nrf, nrf));
        assert!(channels[0] != channels[1]);
        assert!(connect(&mut registry, nrf, "nrf:80").1.is_empty());
        for channel in *channels {
            registry.told(nrf, FromMember::Gone { channel });
        }
        assert_eq!(connect(&mut registry, nrf, "nrf:80").1.len(), 1);
    }

    #[test]
    fn who_is_gone_serves_nothing() {
        let mut registry = Registry::new(ManagerLimits::default(), 0);
        let (amf, udm) = (join(&mut registry, "core", "amf"), join(&mut registry, "core", "udm"));
        serve(&mut registry, udm, "udm:80");
        assert!(connect(&mut registry, amf, "udm:80").0.is_some());
        registry.remove(udm);
        assert_eq!(connect(&mut registry, amf, "udm:80"), (None, vec![]));
        let udm = join(&mut registry, "core", "udm");
        assert!(serve(&mut registry, udm, "udm:80"));
        assert!(connect(&mut registry, amf, "udm:80").0.is_some());
        registry.told(
            udm,
            FromMember::Withdraw { service: Service::Calls, authority: "udm:80".into() },
        );
        assert_eq!(connect(&mut registry, amf, "udm:80"), (None, vec![]));
    }

    #[test]
    fn domains_do_not_see_each_other() {
        let mut registry = Registry::new(ManagerLimits::default(), 0);
        let (ours, theirs) =
            (join(&mut registry, "core", "udm"), join(&mut registry, "guest", "udm"));
        assert!(serve(&mut registry, ours, "udm:80"));
        assert_eq!(connect(&mut registry, theirs, "udm:80"), (None, vec![]));
        // Nor can one keep the other from its name.
        assert!(serve(&mut registry, theirs, "udm:80"));
        let (_, actions) = connect(&mut registry, ours, "udm:80");
        let [Action::Introduce { first, second, .. }] = &actions[..] else { panic!("{actions:?}") };
        assert_eq!((first.0, second.0), (ours, ours));
    }

    #[test]
    fn what_is_too_much_or_out_of_order_is_refused() {
        let limits = ManagerLimits { members: 3, authorities: 1, channels: 1 };
        let mut registry = Registry::new(limits, 0);
        let early = registry.admit("core").unwrap();
        assert!(!serve(&mut registry, early, "x:1"));
        registry.remove(early);
        let all: Vec<u64> =
            ["a", "b", "c"].iter().map(|name| join(&mut registry, "core", name)).collect();
        assert_eq!(registry.admit("core"), None);
        let guest = registry.admit("guest").expect("each domain has its own places");
        registry.remove(guest);
        assert!(serve(&mut registry, all[0], "a:1"));
        assert!(!serve(&mut registry, all[0], "a:2"));
        assert!(!serve(&mut registry, all[1], "a:1"));
        assert!(connect(&mut registry, all[1], "a:1").0.is_some());
        assert_eq!(connect(&mut registry, all[2], "a:1"), (None, vec![]));
        let again = FromMember::Join { version: VERSION, name: "a".into(), model: 0 };
        assert!(matches!(
            &registry.told(all[0], again)[..],
            [Action::Send(..), Action::Dismiss(_)]
        ));
    }
}
