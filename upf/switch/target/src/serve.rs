//! The switch process: ports, tables, persistent state, and the P4Runtime server.
use crate::access::Access;
use crate::as_target::SwitchTarget;
use crate::assemble::{Engine, Ports};
use crate::error::ProcessError;
use crate::liveness::Liveness;
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

/// Settings of a switch process.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Address of the P4Runtime server.
    pub listen: SocketAddr,
    /// Who may control the switch.
    pub access: Access,
    /// The N3 wire: the port towards gNBs, and the one towards the native UPF.
    pub n3: Option<(Binding, Binding)>,
    /// The N6 wire: the port towards the data network, and the one towards the native UPF.
    pub n6: Option<(Binding, Binding)>,
    /// File of initial rules in RPI's language, one per line.
    pub rules: Option<PathBuf>,
    /// Fixed polling time before a sleep; without it, the loop adapts it.
    pub spin: Option<Duration>,
    /// Folder for rules and counters.
    pub state: Option<PathBuf>,
    /// MiB of memory for tables and packets.
    pub memory: u32,
    /// Engine of the pipeline.
    pub engine: Engine,
    /// Device ID in P4Runtime.
    pub device: u64,
}

/// Interval of polls of the rules' counters, which bounds the loss when the process is killed.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Ports of the program: towards gNBs, towards the data network, and the native UPF's side of both
/// wires.
pub const ACCESS: u32 = 0;
/// See [`ACCESS`].
pub const CORE: u32 = 1;
/// See [`ACCESS`].
pub const NATIVE_N3: u32 = 2;
/// See [`ACCESS`].
pub const NATIVE_N6: u32 = 3;

/// The initial entries: forwarding of packets without rules.
pub fn base(program: &Program) -> Vec<Update> {
    let entry = |table: &str, port: u32, action: &str, arguments: &[u64]| {
        let info = &program.info;
        let table = info.table(table).expect("a table of the program");
        let action = info.action(action).expect("an action of the program");
        let call = Call { action, arguments: arguments.to_vec() };
        let key = Key { fields: vec![FieldMatch::Exact(port.into())], priority: 0 };
        Update {
            operation: Operation::Insert,
            entry: TableEntry { table, key, call, metadata: Vec::new() },
        }
    };
    vec![
        // Multicast is never for a rule; frames have any length that their port supports.
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

/// Runs a switch until it is stopped.
pub async fn serve(settings: Settings, end: impl Future<Output = ()>) -> Result<(), ProcessError> {
    // The path without a switch is set up first: the switch needs time to start.
    for (peer, native_binding) in [&settings.n3, &settings.n6].into_iter().flatten() {
        if let (Some(peer), Some(native)) = (peer.interface(), native_binding.interface()) {
            sockets::join(peer, native)?;
            if !matches!(native_binding, Binding::Interface(By::Packet, _)) {
                sockets::set_gro(native, true);
            }
        }
    }
    let program = Arc::new(martlet_p4c_swx::compile(UPF)?);
    dpdk::start(settings.memory)?;
    let switch = Switch::new(program.clone(), Ports::Rings, settings.engine)?;
    let switch = Arc::new(switch);
    let target = Arc::new(SwitchTarget::new(switch.clone())?);
    let (server, remembered) = begin(&settings, program, target)?;
    let (mut open, mut captures) = (Vec::new(), Vec::new());
    let liveness = Liveness::new()
        .inspect_err(|error| tracing::info!(%error, "AF_XDP is unavailable: using packet sockets"))
        .ok();
    if let Some(liveness) = &liveness {
        switch.set_liveness(liveness);
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
                    let bound = ports::bind(&switch, liveness.as_ref(), port, (*by, name), other);
                    let bound = bound?;
                    tracing::info!(interface = name, port, by = bound.by, "port bound");
                    open.push(bound);
                }
            }
        }
    }
    let captures = Carrier::start(&switch, &captures)?;
    switch.start()?;
    let listener = listen(&settings, settings.engine.name(), remembered.restored).await?;
    let counted = switch.clone();
    let poll = tokio::spawn(
        remembered.poll(move || (0..PORTS).map(|port| counted.port(port).packets_in).sum()),
    );
    let served = rpc::serve(server, listener, wakeup(&switch)?, settings.access.clone());
    let outcome = tokio::select! {
        outcome = served => outcome,
        () = end => Ok(()),
    };
    poll.abort();
    // The switch ends first: its last frames leave, also into files.
    switch.stop();
    drop(captures);
    drop(open);
    // The process ends here: the kernel frees its memory faster than DPDK does.
    std::mem::forget(switch);
    outcome
}

/// State that outlives a switch, and its polling.
pub(crate) struct PersistentState {
    tables: Arc<Tables>,
    counters: Arc<Counters>,
    /// Restored entries.
    pub restored: usize,
}

/// Restores the rules before the first packet arrives.
pub(crate) fn begin(
    settings: &Settings,
    program: Arc<Program>,
    target: Arc<dyn Target>,
) -> Result<(Server, PersistentState), ProcessError> {
    let tables = Arc::new(Tables::new(program.clone(), target.clone()));
    let (mut journal, mut before, mut counter_file) = (None, Vec::new(), None);
    if let Some(state) = &settings.state {
        let failed = |error: std::io::Error| ProcessError::file(state, error);
        std::fs::create_dir_all(state).map_err(failed)?;
        let (opened, updates) = Journal::open(&state.join("rules")).map_err(failed)?;
        (journal, before) = (Some(Arc::new(opened)), updates);
        counter_file = Some(state.join("counters"));
    }
    let counters = Counters::open(program.info.clone(), target, counter_file.as_deref());
    let counters = Arc::new(counters.map_err(ProcessError::system("open the counter file"))?);
    let server =
        Server::new(tables.clone(), counters.clone(), journal, base(&program), settings.device);
    let restored = before.len();
    server.begin(before).map_err(ProcessError::Restore)?;
    if let Some(file) = &settings.rules {
        write_rules(&tables, file)?;
    }
    Ok((server, PersistentState { tables, counters, restored }))
}

/// Logs and prints that a switch is ready, with its address.
pub(crate) async fn listen(
    settings: &Settings,
    engine: &str,
    restored: usize,
) -> Result<tokio::net::TcpListener, ProcessError> {
    settings.access.check_listener(settings.listen)?;
    let listener = tokio::net::TcpListener::bind(settings.listen).await;
    let listener = listener
        .map_err(ProcessError::system(format!("listen for P4Runtime at {}", settings.listen)))?;
    let address =
        listener.local_addr().map_err(ProcessError::system("read the address of the listener"))?;
    tracing::info!(%address, engine, restored, "switch ready");
    println!("ready {address}");
    Ok(listener)
}

impl PersistentState {
    /// Polls the rules' counters. `packets` returns the number of packets received.
    pub(crate) async fn poll(self, packets: impl Fn() -> u64) {
        let (mut seen, mut used) = (0, Arc::new(BTreeSet::new()));
        // Packets received at the last polls: without new ones, no counter has changed.
        let (mut received, mut since) = (0u64, 2);
        loop {
            let (counters, mut before) = (self.counters.clone(), used.clone());
            let now = packets();
            // A received packet may be counted after the poll.
            since = if std::mem::replace(&mut received, now) == now { since + 1 } else { 0 };
            if since > 1 && !self.tables.changed_since(seen) {
                tokio::time::sleep(POLL_INTERVAL).await;
                continue;
            }
            if let Some(now) = self.tables.counters_in_use(&mut seen) {
                // Counters of deleted rules are polled once more.
                before = Arc::new(before.union(&now).copied().collect());
                used = Arc::new(now);
            }
            let began = Instant::now();
            let _ = tokio::task::spawn_blocking(move || counters.poll(&before)).await;
            // At most a twentieth of the time.
            tokio::time::sleep(POLL_INTERVAL.max(began.elapsed() * 20)).await;
        }
    }
}

/// Is notified when packets for the controller arrive.
fn wakeup(switch: &Arc<Switch>) -> Result<Arc<Notify>, ProcessError> {
    let notify = Arc::<Notify>::default();
    let notified = notify.clone();
    const WHAT: &str = "poll the eventfd of controller packets";
    let fd = switch.wakeup().try_clone_to_owned().map_err(ProcessError::system(WHAT))?;
    // SAFETY: a descriptor of its own, which is closed with its registration.
    let fd = unsafe { AsyncFd::register(fd) }.map_err(ProcessError::system(WHAT))?;
    tokio::spawn(async move {
        while let Ok(mut ready) = fd.readable().await {
            let _ = nix::unistd::read(fd.get_ref(), &mut [0; 8]);
            ready.clear_ready();
            notified.notify_one();
        }
    });
    Ok(notify)
}

/// Writes the rules of a file atomically; existing ones are modified.
fn write_rules(tables: &Tables, file: &Path) -> Result<(), ProcessError> {
    let text = std::fs::read_to_string(file).map_err(|error| ProcessError::file(file, error))?;
    let info = &tables.program().info;
    let (mut next, mut updates) = (0, Vec::new());
    for (n, line) in text.lines().enumerate() {
        let words = rules::words(line);
        if words.is_empty() {
            continue;
        }
        // Allocates counters from the highest index down: files name the low ones.
        let mut free = || {
            next += 1;
            Some(u64::from(info.counters[0].size) - next)
        };
        let entry = rules::parse(info, &words, line.chars().count() + 1, false, &mut free);
        let entry =
            entry.map_err(|error| ProcessError::Rule { path: file.into(), line: n + 1, error })?;
        let exists = tables.entry(entry.table, &entry.key).is_some();
        updates.push(Update {
            operation: if exists { Operation::Modify } else { Operation::Insert },
            entry,
        });
    }
    tables.write(&updates).map_err(|error| ProcessError::file(file, error))
}
