//! The switch process: ports, tables, what it remembers, and its server.
use crate::as_target::SwitchTarget;
use crate::assemble::{Engine, Ports};
use crate::lanes::Alive;
use crate::pcap::Carrier;
use crate::ports::{self, Binding, By};
use crate::rpc;
use crate::sockets;
use crate::switch::{PORTS, Switch};
use crate::{UPF, dpdk};
use martlet_p4c_swx::Program;
use martlet_switch_control::Target;
use martlet_switch_control::counters::Counters;
use martlet_switch_control::journal::Journal;
use martlet_switch_control::model::{Call, FieldMatch, Key, Operation, TableEntry, Update};
use martlet_switch_control::p4runtime::Server;
use martlet_switch_control::rules;
use martlet_switch_control::tables::Tables;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

/// What a switch process is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where P4Runtime is served.
    pub listen: SocketAddr,
    /// The wire of N3: the port towards gNBs, and the one towards the native UPF.
    pub n3: Option<(Binding, Binding)>,
    /// The wire of N6: the port towards the data network, and the one towards the native UPF.
    pub n6: Option<(Binding, Binding)>,
    /// Rules that it begins with, one a line, in the language of RPI.
    pub rules: Option<PathBuf>,
    /// For how long it looks for packets before it sleeps; without it, it learns how long is worth
    /// it.
    pub spin: Option<Duration>,
    /// Where rules and counters are kept.
    pub state: Option<PathBuf>,
    /// MiB for tables and packets.
    pub memory: u32,
    /// How the pipeline runs.
    pub engine: Engine,
    /// Number of the device in P4Runtime.
    pub device: u64,
}

/// Between two looks at what rules have counted, which is what may be lost when the process is
/// killed.
const LOOK: Duration = Duration::from_millis(100);

/// Ports of the program: towards gNBs, towards the data network, and the native UPF's side of both
/// wires.
pub const ACCESS: u32 = 0;
/// See [`ACCESS`].
pub const CORE: u32 = 1;
/// See [`ACCESS`].
pub const NATIVE_N3: u32 = 2;
/// See [`ACCESS`].
pub const NATIVE_N6: u32 = 3;

/// The ways of packets that have no rules.
pub fn base(program: &Program) -> Vec<Update> {
    let entry = |table: &str, port: u32, action: &str, arguments: &[u64]| {
        let info = &program.info;
        let table =
            info.tables.iter().position(|of| of.alias == table).expect("a table of the program");
        let action = info
            .actions
            .iter()
            .position(|of| of.alias == action)
            .expect("an action of the program");
        let call = Call { action, arguments: arguments.to_vec() };
        let key = Key { fields: vec![FieldMatch::Exact(port.into())], priority: 0 };
        Update {
            operation: Operation::Insert,
            entry: TableEntry { table, key, call, metadata: Vec::new() },
        }
    };
    vec![
        // What is for everybody is no rule's; frames are as long as their port takes.
        entry(
            "interfaces",
            ACCESS,
            "access",
            &[u32::MAX.into(), u32::MAX.into(), u64::MAX, u64::MAX, 0, 0, 0],
        ),
        entry("interfaces", CORE, "core", &[0xffff]),
        entry("interfaces", NATIVE_N3, "native", &[ACCESS.into()]),
        entry("interfaces", NATIVE_N6, "native", &[CORE.into()]),
        entry("gtp_default_forward", ACCESS, "to_native", &[NATIVE_N3.into()]),
        entry("ip_default_forward", ACCESS, "to_native", &[NATIVE_N3.into()]),
        entry("ip_default_forward", CORE, "to_native", &[NATIVE_N6.into()]),
    ]
}

/// Runs a switch until it is told to end.
pub async fn serve(settings: Settings, end: impl Future<Output = ()>) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    // The way without a switch comes first: the switch takes its time to start.
    for (peer, native_binding) in [&settings.n3, &settings.n6].into_iter().flatten() {
        if let (Some(peer), Some(native)) = (peer.interface(), native_binding.interface()) {
            sockets::join(peer, native).map_err(|error| text(&error))?;
            if !matches!(native_binding, Binding::Interface(By::Packet, _)) {
                sockets::take_from_programs(native, true);
            }
        }
    }
    let program =
        Arc::new(martlet_p4c_swx::compile(UPF).map_err(|error| format!("upf.p4:{error}"))?);
    dpdk::start(settings.memory).map_err(|error| text(&error))?;
    let switch = Switch::new(program.clone(), Ports::Rings, settings.engine)
        .map_err(|error| text(&error))?;
    let switch = Arc::new(switch);
    let target = Arc::new(SwitchTarget::new(switch.clone()).map_err(|error| text(&error))?);
    let (server, remembered) = begin(&settings, program, target)?;
    let (mut open, mut captures) = (Vec::new(), Vec::new());
    let alive =
        Alive::new().inspect_err(|error| tracing::info!(%error, "ports have packet sockets")).ok();
    if let Some(alive) = &alive {
        switch.tell(alive);
    }
    if let Some(spin) = settings.spin {
        switch.spin(spin);
    }
    for (wire, outside, inside) in
        [(&settings.n3, ACCESS, NATIVE_N3), (&settings.n6, CORE, NATIVE_N6)]
    {
        let Some((peer, native)) = wire else { continue };
        for (binding, port, other) in [(peer, outside, inside), (native, inside, outside)] {
            match binding {
                Binding::Files(files) => {
                    switch.bypass(port, other);
                    captures.push((port, files.clone()));
                }
                Binding::Interface(by, name) => {
                    let bound = ports::bind(&switch, alive.as_ref(), port, (*by, name), other);
                    let bound = bound.map_err(|error| text(&error))?;
                    tracing::info!(interface = name, port, by = bound.by, "a port");
                    open.push(bound);
                }
            }
        }
    }
    let captures = Carrier::start(&switch, &captures)?;
    switch.start().map_err(|error| text(&error))?;
    let listener = listen(&settings, settings.engine.name(), remembered.restored).await?;
    let counted = switch.clone();
    let look = tokio::spawn(
        remembered.look(move || (0..PORTS).map(|port| counted.port(port).packets_in).sum()),
    );
    let served = rpc::serve(server, listener, bell(&switch)?);
    let outcome = tokio::select! {
        outcome = served => outcome,
        () = end => Ok(()),
    };
    look.abort();
    // The switch leaves first: what it still has goes out, into files too.
    switch.stop();
    drop(captures);
    drop(open);
    // The process ends, and the kernel is quicker to take its memory back than DPDK is to give it.
    std::mem::forget(switch);
    outcome
}

/// What outlives a switch, and what has to be looked at for that.
pub(crate) struct Remembered {
    tables: Arc<Tables>,
    counters: Arc<Counters>,
    /// Entries that were there before.
    pub restored: usize,
}

/// Its rules are in a switch before the first packet comes.
pub(crate) fn begin(
    settings: &Settings,
    program: Arc<Program>,
    target: Arc<dyn Target>,
) -> Result<(Server, Remembered), String> {
    let tables = Arc::new(Tables::new(program.clone(), target.clone()));
    let (mut journal, mut before, mut kept) = (None, Vec::new(), None);
    if let Some(state) = &settings.state {
        let failed = |error: std::io::Error| {
            format!("{}: rules cannot be kept there: {error}", state.display())
        };
        std::fs::create_dir_all(state).map_err(failed)?;
        let (opened, updates) = Journal::open(&state.join("rules")).map_err(failed)?;
        (journal, before) = (Some(Arc::new(opened)), updates);
        kept = Some(state.join("counters"));
    }
    let counters = Counters::open(program.info.clone(), target, kept.as_deref());
    let counters = Arc::new(counters.map_err(|error| format!("counters cannot be kept: {error}"))?);
    let server =
        Server::new(tables.clone(), counters.clone(), journal, base(&program), settings.device);
    let restored = before.len();
    server
        .begin(before)
        .map_err(|error| format!("the rules of before cannot be restored: {error}"))?;
    if let Some(file) = &settings.rules {
        write_rules(&tables, file)?;
    }
    Ok((server, Remembered { tables, counters, restored }))
}

/// Says that a switch is ready, and where.
pub(crate) async fn listen(
    settings: &Settings,
    engine: &str,
    restored: usize,
) -> Result<tokio::net::TcpListener, String> {
    let listener = tokio::net::TcpListener::bind(settings.listen).await;
    let listener = listener
        .map_err(|error| format!("P4Runtime cannot be served at {}: {error}", settings.listen))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    tracing::info!(%address, engine, restored, "the switch is ready");
    println!("ready {address}");
    Ok(listener)
}

impl Remembered {
    /// Looks at what rules have counted, from time to time. `packets` says how many have come.
    pub(crate) async fn look(self, packets: impl Fn() -> u64) {
        let (mut seen, mut used) = (0, Arc::new(BTreeSet::new()));
        // Packets that had come at the last looks: where none has come since, none has been
        // counted.
        let (mut come, mut since) = (0u64, 2);
        loop {
            let (counters, mut before) = (self.counters.clone(), used.clone());
            let now = packets();
            // One that has come may be counted a moment later.
            since = if std::mem::replace(&mut come, now) == now { since + 1 } else { 0 };
            if since > 1 && !self.tables.changed_since(seen) {
                tokio::time::sleep(LOOK).await;
                continue;
            }
            if let Some(now) = self.tables.counters_in_use(&mut seen) {
                // Those of rules that have gone are looked at once more.
                before = Arc::new(before.union(&now).copied().collect());
                used = Arc::new(now);
            }
            let began = Instant::now();
            let _ = tokio::task::spawn_blocking(move || counters.look_at(&before)).await;
            // A twentieth of its time at most.
            tokio::time::sleep(LOOK.max(began.elapsed() * 20)).await;
        }
    }
}

/// Is notified when packets have come for the controller.
fn bell(switch: &Arc<Switch>) -> Result<Arc<Notify>, String> {
    let notify = Arc::<Notify>::default();
    let told = notify.clone();
    let failed = |error: &dyn std::fmt::Display| {
        format!("packets for the controller cannot be waited for: {error}")
    };
    let fd = switch.bell().try_clone_to_owned().map_err(|error| failed(&error))?;
    // SAFETY: a descriptor of its own, which is closed with what is registered.
    let fd = unsafe { AsyncFd::register(fd) }.map_err(|error| failed(&error))?;
    tokio::spawn(async move {
        while let Ok(mut ready) = fd.readable().await {
            let _ = nix::unistd::read(fd.get_ref(), &mut [0; 8]);
            ready.clear_ready();
            told.notify_one();
        }
    });
    Ok(notify)
}

/// Writes the rules of a file, all or none; one that is there is changed.
fn write_rules(tables: &Tables, file: &Path) -> Result<(), String> {
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let info = &tables.program().info;
    let (mut next, mut updates) = (0, Vec::new());
    for (n, line) in text.lines().enumerate() {
        let words = rules::words(line);
        if words.is_empty() {
            continue;
        }
        // Counters of rules that name none, from the highest down: files name the low ones.
        let mut free = || {
            next += 1;
            Some(u64::from(info.counters[0].size) - next)
        };
        let entry = rules::parse(info, &words, line.chars().count() + 1, false, &mut free);
        let entry = entry.map_err(|error| {
            format!("{}:{}:{}: {}", file.display(), n + 1, error.column, error.message)
        })?;
        let there = tables.entry(entry.table, &entry.key).is_some();
        updates.push(Update {
            operation: if there { Operation::Modify } else { Operation::Insert },
            entry,
        });
    }
    tables.write(&updates).map_err(|error| format!("{}: {error}", file.display()))
}
