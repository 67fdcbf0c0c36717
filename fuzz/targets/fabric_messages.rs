//! What processes say to the fabric's manager, and the manager to them: a line each.
#![no_main]

use martlet_sbi_fabric::manager::{ManagerLimits, Registry};
use martlet_sbi_fabric::messages::{FromMember, ToMember, decode};
use martlet_sbi_fabric::process::{Process, ProcessLimits};
use martlet_sbi_fabric::link::{Host, Link};
use std::sync::{Arc, Weak};

struct Nobody;
impl Host for Nobody {
    fn request(&self, _: &Arc<Link>, _: u32, _: Vec<u8>) -> Result<(), martlet_sbi_fabric::channel::Violation> {
        Ok(())
    }
    fn listener(&self, _: &std::net::SocketAddr) -> Option<Arc<martlet_sbi_fabric::sockets::Listener>> {
        None
    }
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let limits = ManagerLimits { members: 4, authorities: 4, channels: 4 };
    let mut registry = Registry::new(limits, 0);
    let members: Vec<u64> = (0..3).filter_map(|n| registry.admit(if n < 2 { "core" } else { "guest" })).collect();
    let process = Process::new("fuzz", 1, ProcessLimits { ways: 4, ..ProcessLimits::default() });
    process.connected();
    let host = Weak::<Nobody>::new() as Weak<dyn Host>;
    for line in data.split(|octet| *octet == b'\n') {
        let Some((who, text)) = line.split_first() else { continue };
        if let Ok(message) = decode::<FromMember>(text) {
            registry.told(members[usize::from(*who) % members.len()], message);
        }
        if decode::<ToMember>(text).is_ok() {
            let _ = process.incoming(text, Vec::new(), &host);
        }
    }
});
