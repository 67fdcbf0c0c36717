//! The switch process: ports, tables, what it remembers, and its server.
use crate::as_target::SwitchTarget;
use crate::assemble::{Engine, Ports};
use crate::sockets::{self, Port};
use crate::switch::Switch;
use crate::{UPF, dpdk};
use martlet_p4c_swx::Program;
use martlet_switch_control::counters::Counters;
use martlet_switch_control::journal::Journal;
use martlet_switch_control::model::{Call, FieldMatch, Key, Operation, TableEntry, Update};
use martlet_switch_control::p4runtime::Server;
use martlet_switch_control::tables::Tables;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_stream::wrappers::TcpListenerStream;

/// What a switch process is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where P4Runtime is served.
    pub listen: SocketAddr,
    /// The wire of N3: the interface towards gNBs, and the one towards the native UPF.
    pub n3: Option<(String, String)>,
    /// The wire of N6: the interface towards the data network, and the one towards the native UPF.
    pub n6: Option<(String, String)>,
    /// Where rules and counters are kept.
    pub state: Option<PathBuf>,
    /// MiB for tables and packets.
    pub memory: u32,
    /// How the pipeline runs.
    pub engine: Engine,
    /// Number of the device in P4Runtime.
    pub device: u64,
}

/// Ports of the program: towards gNBs, towards the data network, and the native UPF's side of both wires.
pub const ACCESS: u32 = 0;
/// See [`ACCESS`].
pub const CORE: u32 = 1;
/// See [`ACCESS`].
pub const NATIVE_N3: u32 = 2;
/// See [`ACCESS`].
pub const NATIVE_N6: u32 = 3;

/// The ways of packets that have no rules.
pub fn base(program: &Program) -> Vec<Update> {
    let entry = |table: &str, port: u32, action: &str, arguments: &[u32]| {
        let info = &program.info;
        let table = info.tables.iter().position(|of| of.alias == table).expect("a table of the program");
        let action = info.actions.iter().position(|of| of.alias == action).expect("an action of the program");
        let call = Call { action, arguments: arguments.iter().map(|argument| (*argument).into()).collect() };
        let key = Key { fields: vec![FieldMatch::Exact(port.into())], priority: 0 };
        Update { operation: Operation::Insert, entry: TableEntry { table, key, call, metadata: Vec::new() } }
    };
    vec![
        // What is for everybody is no rule's; frames are as long as their port takes.
        entry("interfaces", ACCESS, "access", &[u32::MAX, u32::MAX]),
        entry("interfaces", CORE, "core", &[0xffff]),
        entry("interfaces", NATIVE_N3, "native", &[ACCESS]),
        entry("interfaces", NATIVE_N6, "native", &[CORE]),
        entry("gtp_default_forward", ACCESS, "to_native", &[NATIVE_N3]),
        entry("ip_default_forward", ACCESS, "to_native", &[NATIVE_N3]),
        entry("ip_default_forward", CORE, "to_native", &[NATIVE_N6]),
    ]
}

/// Runs a switch until it is told to end.
pub async fn serve(settings: Settings, end: impl Future<Output = ()>) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let program = Arc::new(martlet_p4c_swx::compile(UPF).map_err(|error| format!("upf.p4:{error}"))?);
    dpdk::start(settings.memory).map_err(|error| text(&error))?;
    let switch = Switch::new(program.clone(), Ports::Rings, settings.engine).map_err(|error| text(&error))?;
    let switch = Arc::new(switch);
    let target = Arc::new(SwitchTarget::new(switch.clone()).map_err(|error| text(&error))?);
    let tables = Arc::new(Tables::new(program.clone(), target.clone()));
    let (mut journal, mut before, mut kept) = (None, Vec::new(), None);
    if let Some(state) = &settings.state {
        let failed = |error: std::io::Error| format!("{}: rules cannot be kept there: {error}", state.display());
        std::fs::create_dir_all(state).map_err(failed)?;
        let (opened, updates) = Journal::open(&state.join("rules")).map_err(failed)?;
        (journal, before) = (Some(Arc::new(opened)), updates);
        kept = Some(state.join("counters"));
    }
    let counters = Counters::open(program.info.clone(), target, kept.as_deref());
    let counters = Arc::new(counters.map_err(|error| format!("counters cannot be kept: {error}"))?);
    let server = Server::new(tables, counters.clone(), journal, base(&program), settings.device);
    let restored = before.len();
    // The rules are there before the first packet.
    server.begin(before).map_err(|error| format!("the rules of before cannot be restored: {error}"))?;
    let mut diverts = Vec::new();
    for (wire, outside, inside) in [(&settings.n3, ACCESS, NATIVE_N3), (&settings.n6, CORE, NATIVE_N6)] {
        let Some((peer, native)) = wire else { continue };
        sockets::join(peer, native).map_err(|error| text(&error))?;
        for (interface, port, other) in [(peer, outside, inside), (native, inside, outside)] {
            let Port { socket, divert } = sockets::open(interface).map_err(|error| text(&error))?;
            switch.attach(port, socket, Some(other));
            diverts.extend(divert);
        }
    }
    switch.start().map_err(|error| text(&error))?;
    let listener = tokio::net::TcpListener::bind(settings.listen).await;
    let listener = listener.map_err(|error| format!("P4Runtime cannot be served at {}: {error}", settings.listen))?;
    let address = listener.local_addr().map_err(|error| text(&error))?;
    tracing::info!(%address, engine = settings.engine.name(), restored, "the switch is ready");
    println!("ready {address}");
    let look = tokio::spawn(async move {
        let mut tick = tokio::time::interval(Duration::from_millis(100));
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            let counters = counters.clone();
            let _ = tokio::task::spawn_blocking(move || counters.look_at_all()).await;
        }
    });
    let (service, packets) = server.service();
    let packets = tokio::spawn(packets);
    let served =
        tonic::transport::Server::builder().add_service(service).serve_with_incoming(TcpListenerStream::new(listener));
    let outcome = tokio::select! {
        outcome = served => outcome.map_err(|error| format!("P4Runtime: {error}")),
        () = end => Ok(()),
    };
    look.abort();
    packets.abort();
    drop(diverts);
    outcome
}
