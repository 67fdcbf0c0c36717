//! Messages between processes and the fabric's manager, in both directions, one per line.
#![no_main]

use martlet_fabric::ProcessLimits;
use martlet_fabric::channel::Violation;
use martlet_fabric::link::sockets::Listener;
use martlet_fabric::link::{Host, Link};
use martlet_fabric::manager::{ManagerLimits, Registry};
use martlet_fabric::membership::Membership;
use martlet_fabric::messages::{FromManager, ToManager, decode};
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

struct NullHost;
impl Host for NullHost {
    fn request(&self, _: &Arc<Link>, _: u32, _: Vec<u8>) -> Result<(), Violation> {
        Ok(())
    }
    fn listener(&self, _: &SocketAddr) -> Option<Arc<Listener>> {
        None
    }
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let limits = ManagerLimits { members: 4, authorities: 4, channels: 4 };
    let mut registry = Registry::new(limits, 0);
    let domains = ["core", "core", "guest"];
    let members: Vec<u64> = domains.iter().filter_map(|domain| registry.admit(domain)).collect();
    let limits = ProcessLimits { routes: 4, ..ProcessLimits::default() };
    let membership = Membership::new("fuzz", 1, limits);
    membership.connected();
    let host = Weak::<NullHost>::new() as Weak<dyn Host>;
    for line in data.split(|byte| *byte == b'\n') {
        let Some((member, text)) = line.split_first() else { continue };
        if let Ok(message) = decode::<ToManager>(text) {
            registry.handle(members[usize::from(*member) % members.len()], message);
        }
        if decode::<FromManager>(text).is_ok() {
            let _ = membership.handle_message(text, Vec::new(), &host);
        }
    }
});
