//! A switch of rings with rules as people write them, for tests that put frames in and look at what comes out.
#![allow(dead_code)] // each test program uses its part
use crate::common::*;
use martlet_switch_control::model::{Operation, Update};
use martlet_switch_control::rules;
use martlet_switch_control::tables::Tables;
use martlet_switch_target::serve::base;
use martlet_switch_target::{Engine, Ports, Switch, SwitchTarget, UPF, dpdk};
use std::net::Ipv6Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One switch at a time: each takes some 200 MiB.
static ONE: Mutex<()> = Mutex::new(());

pub struct Bed {
    // Ends before the lock.
    pub switch: Arc<Switch>,
    pub tables: Tables,
    _alone: MutexGuard<'static, ()>,
}

/// Both ways of running the pipeline, where this build has both.
pub fn engines() -> Vec<Engine> {
    if Engine::best() == Engine::Interpreter {
        eprintln!("SKIPPED: the pipeline as machine code; run deploy/install/swx-headers.sh and build again");
    }
    let mut all = vec![Engine::Interpreter, Engine::best()];
    all.dedup();
    all
}

impl Bed {
    /// With ports that are rings, and rules, one a line.
    pub fn new(engine: Engine, text: &str) -> Bed {
        let bed = Bed::of(engine, Ports::Rings);
        bed.write(Operation::Insert, text).expect("rules");
        bed
    }

    /// With the ways of packets that have no rules.
    pub fn of(engine: Engine, ports: Ports<'_>) -> Bed {
        let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        dpdk::start(768).expect("DPDK");
        let program = Arc::new(martlet_p4c_swx::compile(UPF).expect("our program"));
        let switch = Arc::new(Switch::new(program.clone(), ports, engine).expect("a switch"));
        let target = Arc::new(SwitchTarget::new(switch.clone()).expect("its numbers"));
        let tables = Tables::new(program.clone(), target);
        tables.write(&base(&program)).expect("the ports");
        Bed { switch, tables, _alone }
    }

    /// The place of a table.
    pub fn table(&self, name: &str) -> usize {
        self.tables.program().info.tables.iter().position(|table| table.alias == name).expect("a table of the program")
    }

    /// What a line is.
    pub fn update(&self, operation: Operation, line: &str) -> Update {
        update(&self.tables, operation, line)
    }

    pub fn write(&self, operation: Operation, text: &str) -> Result<(), String> {
        write(&self.tables, operation, text)
    }

    /// What comes out when a frame goes in: port and frame.
    pub fn through(&self, port: u32, frame: &[u8]) -> Vec<(u32, Vec<u8>)> {
        self.switch.inject(port, frame).expect("room");
        self.switch.settle();
        (0..8)
            .flat_map(|port| std::iter::from_fn(move || self.switch.collect(port)).map(move |frame| (port, frame)))
            .collect()
    }

    /// Packets and octets of a counter.
    pub fn count(&self, counter: &str, index: u32) -> (u64, u64) {
        let read = |of: &str| self.switch.register(&format!("{counter}_{of}"), index).expect("a counter");
        (read("packets"), read("octets"))
    }
}

fn update(tables: &Tables, operation: Operation, line: &str) -> Update {
    let info = &tables.program().info;
    let entry = rules::parse(info, &rules::words(line), 999, operation == Operation::Delete, &mut || Some(99));
    Update { operation, entry: entry.unwrap_or_else(|error| panic!("{}", error.shown(line))) }
}

/// Writes rules, one a line.
pub fn write(tables: &Tables, operation: Operation, text: &str) -> Result<(), String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let updates: Vec<Update> = lines.map(|line| update(tables, operation, line)).collect();
    tables.write(&updates).map_err(|error| error.to_string())
}

/// The next hops of tests: number 1 to the data network, number 2 to the gNB.
pub const HOPS: &str = "
    hop number 1 source 02:00:00:00:00:01 destination 02:00:00:00:00:02 port 1
    hop number 2 source 02:00:00:00:00:03 destination 02:00:00:00:00:04 port 0
";

/// A frame as it leaves by next hop 1.
pub fn to_network(packet: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0][..], packet].concat()
}

/// As it leaves by next hop 2, in a tunnel over IPv4.
pub fn to_gnb(teid: u32, qfi: u8, inner: &[u8]) -> Vec<u8> {
    let outer = ipv4(17, 64, N3, GNB, &udp(2152, 2152, &gtp(teid, 0, qfi, inner)));
    [&[2, 0, 0, 0, 0, 4, 2, 0, 0, 0, 0, 3, 8, 0][..], &outer].concat()
}

/// The same over IPv6.
pub fn to_gnb6(teid: u32, qfi: u8, inner: &[u8]) -> Vec<u8> {
    let (own, peer): (Ipv6Addr, Ipv6Addr) = (N36, GNB6);
    let outer = ipv6(64, own, peer, &udp(2152, 2152, &gtp(teid, 0, qfi, inner)));
    [&[2, 0, 0, 0, 0, 4, 2, 0, 0, 0, 0, 3, 0x86, 0xdd][..], &outer].concat()
}
