//! A switch between rings with rules in RPI's language, for tests that inject frames and check the
//! output.
#![allow(dead_code)] // each test program uses a part
use crate::common::*;
use martlet_switch_control::model::{Operation, Update};
use martlet_switch_control::rules;
use martlet_switch_control::tables::Tables;
use martlet_switch_target::serve::base;
use martlet_switch_target::{Engine, Ports, Switch, SwitchTarget, UPF, dpdk};
use std::net::Ipv6Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One switch at a time: each takes about 200 MiB.
static ONE: Mutex<()> = Mutex::new(());

pub struct Testbed {
    // Dropped before the lock.
    pub switch: Arc<Switch>,
    pub tables: Tables,
    _alone: MutexGuard<'static, ()>,
}

/// Both engines on DPDK, if this build has both.
pub fn engines() -> Vec<Engine> {
    if Engine::best() == Engine::Interpreter {
        eprintln!(
            "SKIPPED: the pipeline as machine code; run deploy/install/swx-headers.sh and build \
             again"
        );
    }
    let mut all = vec![Engine::Interpreter, Engine::best()];
    all.dedup();
    all
}

impl Testbed {
    /// With rings as ports, and rules, one per line.
    pub fn new(engine: Engine, text: &str) -> Testbed {
        let testbed = Testbed::of(engine, Ports::Rings);
        testbed.write(Operation::Insert, text).expect("rules");
        testbed
    }

    /// With the default entries only.
    pub fn of(engine: Engine, ports: Ports<'_>) -> Testbed {
        let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        dpdk::start(768).expect("DPDK");
        let program = Arc::new(martlet_p4c_swx::compile(UPF).expect("our program"));
        let switch = Arc::new(Switch::new(program.clone(), ports, engine).expect("a switch"));
        let target =
            Arc::new(SwitchTarget::new(switch.clone()).expect("the numbers of tables and actions"));
        let tables = Tables::new(program.clone(), target);
        tables.write(&base(&program)).expect("the ports");
        Testbed { switch, tables, _alone }
    }

    /// The index of a table.
    pub fn table(&self, name: &str) -> usize {
        self.tables
            .program()
            .info
            .tables
            .iter()
            .position(|table| table.alias == name)
            .expect("a table of the program")
    }

    /// The update that a line describes.
    pub fn update(&self, operation: Operation, line: &str) -> Update {
        update(&self.tables, operation, line)
    }

    pub fn write(&self, operation: Operation, text: &str) -> Result<(), String> {
        write(&self.tables, operation, text)
    }

    /// The output for a frame: port and frame.
    pub fn run_frame(&self, port: u32, frame: &[u8]) -> Vec<(u32, Vec<u8>)> {
        self.switch.inject(port, frame).expect("space in the ring");
        self.switch.settle();
        (0..8)
            .flat_map(|port| {
                std::iter::from_fn(move || self.switch.collect(port))
                    .map(move |frame| (port, frame))
            })
            .collect()
    }

    /// Packets and bytes of a counter.
    pub fn count(&self, counter: &str, index: u32) -> (u64, u64) {
        let read =
            |of: &str| self.switch.register(&format!("{counter}_{of}"), index).expect("a counter");
        (read("packets"), read("bytes"))
    }
}

fn update(tables: &Tables, operation: Operation, line: &str) -> Update {
    let info = &tables.program().info;
    let entry =
        rules::parse(info, &rules::words(line), 999, operation == Operation::Delete, &mut || {
            Some(99)
        });
    Update { operation, entry: entry.unwrap_or_else(|error| panic!("{}", error.shown(line))) }
}

/// Writes rules, one per line.
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

/// Sessions with filters, tunnels over IPv6, and UEs with IPv6 prefixes.
pub const KINDS: &str = "
    decap-filtered teid 0x1002 ue 10.60.0.2 session 4
    encap-filtered ue 10.60.0.2 session 4
    application application 1 session 4 remote 8.8.0.0/16 ports 80-90 protocol tcp priority 10
    application application 2 session 4 protocol udp priority 5
    uplink session 4 application 1 via 1 counter 10
    uplink-closed session 4 application 2 counter 11
    downlink session 4 application 1 teid 0x2002 from 192.168.70.1 to 192.168.70.2 qfi 7 via 2 \
                         counter 12
    downlink-closed session 4 application 2 counter 13
    peer6 number 3 from fd70::1 to fd70::2
    encap6 ue 10.60.0.6 teid 0x2006 peer 3 qfi 5 via 2 counter 15
    encap6 ue 10.60.0.7 teid 0x2007 peer 4 qfi 5 via 2 counter 16
    decap-v6 teid 0x100a prefix 2001:db8:45:a::/64 ue 10.60.0.10 via 1 via-v6 3 counter 20
    encap-v6 prefix 2001:db8:45:a::/64 teid 0x200a from 192.168.70.1 to 192.168.70.2 qfi 9 via 2 \
                         counter 21
    decap-filtered-v6 teid 0x100b prefix 2001:db8:45:b::/64 session 11
    encap-filtered-v6 prefix 2001:db8:45:b::/64 session 11
    application-v6 application 1 session 11 remote 2001:db8:98::/48 ports 80-90 protocol tcp \
                         priority 10
    application-v6 application 2 session 11 protocol udp priority 5
    uplink-v6 session 11 application 1 via 1 via-v6 3 counter 22
    uplink-closed session 11 application 2 counter 23
    downlink session 11 application 1 teid 0x200b from 192.168.70.1 to 192.168.70.2 qfi 7 via 2 \
                         counter 24
    downlink-closed session 11 application 2 counter 25
    hop number 3 source 02:00:00:00:00:05 destination 02:00:00:00:00:06 port 1
";

/// A frame that leaves through next hop 1.
pub fn to_network(packet: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0][..], packet].concat()
}

/// A frame that leaves through next hop 2, in a tunnel over IPv4.
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
