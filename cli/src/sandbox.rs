//! What each network function needs of the machine: capabilities, system calls, files.
use crate::config::{API_FUNCTION, Config, PROCESSES};
use martlet_context_store::ContextStoreConfig;
use martlet_sandbox::{
    Capability, CapsHashSet, Entered, FileAccess, HandoverError, Policy, Settings, User,
    check_files, folder_of, give_file, hand_over, own_database, own_file, private_folder,
    remove_stale_socket, share_folder, share_with_group,
};
use martlet_store::DatabaseUrl;
use martlet_upf::config::{DatapathChoice, N6Mode, UpfConfig};
use std::path::{Path, PathBuf};

/// Files that every function reads: host names, the time zone, certificates of servers, and what
/// the kernel reports about CPUs and the process itself.
const READ: [&str; 18] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/services",
    "/etc/localtime",
    "/etc/ssl",
    "/etc/ld.so.cache",
    "/run/systemd/resolve",
    "/usr/share/zoneinfo",
    "/lib",
    "/lib64",
    "/usr/lib",
    "/proc",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/dev/urandom",
];
/// What the UPF reads beyond that: interfaces, sensors, and the types of the kernel.
const READ_UPF: [&str; 4] = ["/sys", "/boot", "/run/netns", "/etc/protocols"];
/// What the UPF writes: TUN devices, settings of the network, pinned programs, batching of devices.
const WRITE_UPF: [&str; 4] = ["/dev/net", "/proc/sys/net", "/sys/fs/bpf", "/sys/class/net"];
/// Programs of the address translation, with their libraries.
const EXECUTE: [&str; 6] = ["/bin", "/sbin", "/usr", "/lib", "/lib64", "/etc/alternatives"];

/// Functions with keys of subscribers in their memory.
const HAVE_KEYS: [&str; 4] = ["udr", "udm", "ausf", "amf"];

/// Files of the command line.
#[derive(Debug, Clone, Default)]
pub struct Files {
    /// The configuration.
    pub config: Option<PathBuf>,
    /// The capture.
    pub pcap: Option<PathBuf>,
}

/// What a function needs; `core` for all functions in one process.
pub fn policy(name: &str, config: &Config, files: &Files) -> Policy {
    let is = |function: &str| name == function || name == "core";
    let mut policy = Policy {
        name: name.into(),
        // Keys of the PKI and the configuration may be readable for root only, and a port may be
        // below 1024.
        start: CapsHashSet::from([
            Capability::CAP_DAC_READ_SEARCH,
            Capability::CAP_NET_BIND_SERVICE,
        ]),
        files: file_access(name, config, files),
        filters: PROCESSES.into_iter().filter(|function| is(function)).collect(),
        ..Policy::default()
    };
    policy.locks_memory = HAVE_KEYS.into_iter().any(is);
    if policy.locks_memory {
        policy.start.insert(Capability::CAP_IPC_LOCK);
    }
    if is("lmf") {
        let realtime = &config.lmf.user_plane.realtime;
        let wanted = [
            (realtime.fifo, Capability::CAP_SYS_NICE),
            (realtime.lock_memory, Capability::CAP_IPC_LOCK),
            (realtime.governor, Capability::CAP_DAC_OVERRIDE),
        ];
        policy.start.extend(wanted.into_iter().filter_map(|(is, one)| is.then_some(one)));
    }
    if is("upf") {
        user_plane(&config.upf, &mut policy);
    }
    policy
}

/// The UPF's capabilities: those of its network, and of XDP programs.
fn user_plane(upf: &UpfConfig, policy: &mut Policy) {
    let is_switch = upf.datapath == DatapathChoice::Switch;
    let native = if is_switch { upf.switch.native } else { upf.datapath };
    let mut needed = CapsHashSet::from([Capability::CAP_NET_ADMIN, Capability::CAP_NET_RAW]);
    if native == DatapathChoice::Xdp {
        needed.extend([Capability::CAP_BPF, Capability::CAP_PERFMON]);
        // To remove them from the BPF file system at the end.
        needed.extend(upf.xdp.pin.is_some().then_some(Capability::CAP_DAC_OVERRIDE));
    }
    let namespaces = [&upf.n3.netns, &upf.n6.netns];
    if namespaces.iter().any(|netns| netns.is_some()) {
        needed.insert(Capability::CAP_SYS_ADMIN);
    }
    if upf.governor.enabled {
        // It writes how the kernel batches packets of a device, in files of root.
        needed.insert(Capability::CAP_DAC_OVERRIDE);
    }
    policy.executes = upf.n6.mode == N6Mode::Nat;
    policy.start.extend(needed.iter().copied());
    // Maps of older kernels are locked memory, looking programs up by their number needs
    // CAP_SYS_ADMIN, and folders of BPF are root's.
    policy.start.extend([
        Capability::CAP_SYS_ADMIN,
        Capability::CAP_SYS_RESOURCE,
        Capability::CAP_IPC_LOCK,
        Capability::CAP_DAC_OVERRIDE,
    ]);
    if is_switch && upf.switch.run.is_some() {
        // A program with needs of its own (DPDK, huge pages, devices) inherits what its parent has.
        policy.exempt = Some("upf.switch.run starts the switch, which inherits its rights");
    }
    policy.runtime.extend(needed);
}

fn file_access(name: &str, config: &Config, files: &Files) -> FileAccess {
    let is = |function: &str| name == function || name == "core";
    let mut access = FileAccess::default();
    access.read.extend(READ.map(PathBuf::from));
    access.read.extend(files.config.as_deref().map(folder_of));
    if !config.sbi.pki.is_empty() {
        access.read.push(PathBuf::from(&config.sbi.pki));
    }
    if !config.sbi.token_key.is_empty() {
        access.read.push(PathBuf::from(&config.sbi.token_key));
    }
    if is("nrf") {
        access.read.extend(config.nrf.token_key.as_ref().map(PathBuf::from));
    }
    access.read.extend(key_file(config));
    access.write.push(PathBuf::from("/dev/null"));
    access.write.push(folder_of(&config.fabric.of_manager().socket));
    let oam = config.oam_endpoint(None);
    access.write.push(folder_of(&oam.socket));
    access.write.extend(oam.listen.map(|_| folder_of(&oam.token_file)));
    access.write.extend(files.pcap.clone());
    access.write.extend(written(name, config).iter().map(|file| folder_of(file)));
    if is(API_FUNCTION) && config.oam.api.enabled {
        let api = &config.oam.api;
        access.write.push(folder_of(&config.api_socket()));
        let read = [&api.oidc.client_secret_file, &api.oidc.ca, &api.lab_reports];
        access.read.extend(read.into_iter().flatten().cloned());
        // The API changes the configuration, where the permissions of its folder allow it.
        access.write.extend(files.config.as_deref().map(folder_of));
        // It copies the databases of the functions for a backup.
        access.write.extend(written("core", config).iter().map(|file| folder_of(file)));
    }
    if is("lmf") {
        let user_plane = &config.lmf.user_plane;
        access.write.extend(user_plane.write_certificate.as_deref().map(folder_of));
        access.write.push(PathBuf::from("/dev/martlet_lcs"));
    }
    if is("upf") {
        let upf = &config.upf;
        access.read.extend(READ_UPF.map(PathBuf::from));
        access.write.extend(WRITE_UPF.map(PathBuf::from));
        access.write.extend(upf.telemetry.captures.clone());
        access.write.extend(upf.xdp.pin.clone());
        access.write.extend(upf.board.simulated.as_ref().map(|_| upf.board.root.clone()));
        access.execute.extend(EXECUTE.map(PathBuf::from));
    }
    let certificates = certificates(name, config);
    let folders = certificates.iter().flat_map(|file| folders_of_renewed(file));
    let private = private_folders(name, config);
    let open = folders.filter(|folder| !private.iter().any(|other| other.starts_with(folder)));
    access.read.extend(open.collect::<Vec<_>>());
    access.read.extend(certificates);
    access
}

/// Certificates, keys and authorities that are renewed, other than those of `sbi.pki`.
fn certificates(name: &str, config: &Config) -> Vec<PathBuf> {
    let is = |function: &str| name == function || name == "core";
    let mut files = config.database().certificate_files();
    let stores = context_stores(config);
    let stores = stores.map(|store| DatabaseUrl::parse(&store.database).certificate_files());
    files.extend(stores.into_iter().flatten());
    if is(API_FUNCTION) && config.oam.api.enabled {
        let api = &config.oam.api;
        let of_provider = [&api.oidc.ca, &api.oidc.client_secret_file];
        let own = [&api.certificate, &api.key].into_iter().chain(of_provider);
        files.extend(own.flatten().cloned());
    }
    let token_key = Some(&config.sbi.token_key).filter(|file| !file.is_empty());
    let signing_key = config.nrf.token_key.as_ref().filter(|_| is("nrf"));
    files.extend(token_key.into_iter().chain(signing_key).map(PathBuf::from));
    if is("lmf") {
        let user_plane = &config.lmf.user_plane;
        files.extend([&user_plane.certificate, &user_plane.key].into_iter().flatten().cloned());
    }
    files
}

/// The folders in which a file and what replaces it are: its own, and that to which its symbolic
/// links lead. Landlock allows access to a file by its inode, which a renewal changes.
fn folders_of_renewed(file: &Path) -> Vec<PathBuf> {
    let real = std::fs::canonicalize(file).ok();
    let folders = [Some(folder_of(file)), real.map(|file| folder_of(&file))];
    folders.into_iter().flatten().map(|folder| real_path(&folder)).collect()
}

fn real_path(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Folders with databases, histories, keys and secrets that a function may not read.
fn private_folders(name: &str, config: &Config) -> Vec<PathBuf> {
    if ["core", API_FUNCTION].contains(&name) {
        return Vec::new();
    }
    let others = PROCESSES.into_iter().filter(|other| *other != name);
    let token_key = config.nrf.token_key.as_ref().filter(|_| name != "nrf").map(PathBuf::from);
    let secrets = token_key.into_iter().chain(config.oam.api.oidc.client_secret_file.clone());
    // Each function reads the whole folder of the PKI.
    let pki = &config.sbi.pki;
    let secrets = secrets.filter(|file| pki.is_empty() || !file.starts_with(pki));
    let files = others.flat_map(|other| written(other, config));
    let files = files.chain(key_file(config)).chain(secrets);
    files.map(|file| real_path(&folder_of(&file))).collect()
}

/// Certificates that the function may not open any more once they are replaced.
fn read_once(name: &str, config: &Config, access: &FileAccess) -> Vec<PathBuf> {
    let open = access.read.iter().chain(&access.write);
    let open: Vec<_> = open.map(|path| real_path(path)).collect();
    let is_open = |folder: &PathBuf| open.iter().any(|path| folder.starts_with(path));
    let mut files = certificates(name, config);
    files.retain(|file| !folders_of_renewed(file).iter().all(is_open));
    files
}

/// The databases of contexts.
fn context_stores(config: &Config) -> [&ContextStoreConfig; 4] {
    [
        &config.amf.context_store,
        &config.smf.context_store,
        &config.chf.context_store,
        &config.nrf.context_store,
    ]
}

fn key_file(config: &Config) -> Option<PathBuf> {
    match config.udr.key_file.as_str() {
        "" => DatabaseUrl::parse(&config.udr.path).key_file(),
        file => Some(PathBuf::from(file)),
    }
}

/// The databases of a function; `core` for all functions.
fn databases(name: &str, config: &Config) -> Vec<PathBuf> {
    let [amf, smf, chf, nrf] = context_stores(config);
    let mut urls = Vec::new();
    if matches!(name, "udr" | "core") {
        urls.push(DatabaseUrl::parse(&config.udr.path));
    }
    for (function, store) in [("amf", amf), ("smf", smf), ("chf", chf), ("nrf", nrf)] {
        let mut store = store.clone();
        store.derive_database(&config.udr.path, &config.udr.key_file, function);
        if store.is_enabled() && (name == function || name == "core") {
            urls.push(DatabaseUrl::parse(&store.database));
        }
    }
    let file = |url| if let DatabaseUrl::File(file) = url { Some(file) } else { None };
    urls.into_iter().filter_map(file).collect()
}

/// The UE history that a function writes.
fn history(name: &str, config: &Config) -> Option<PathBuf> {
    let function = (name != "core").then_some(name);
    config.oam.history.file(&config.udr.path, function).filter(|_| name != API_FUNCTION)
}

/// The files that a function writes in folders of their own: databases and the UE history.
fn written(name: &str, config: &Config) -> Vec<PathBuf> {
    databases(name, config).into_iter().chain(history(name, config)).collect()
}

/// Reduces the rights of this process to those of a function (`core` for all of them). Must be
/// called before it starts a thread.
///
/// # Errors
/// A file that the process has to write is another user's.
pub fn enter(name: &str, config: &Config, files: &Files) -> Result<Entered, HandoverError> {
    share_runtime_folder(config);
    create_sbi_folder(name, config);
    let mut settings = config.security.settings(name);
    if martlet_sandbox::is_root()
        && let Some(user) = &settings.user
    {
        match prepare(name, config, files, user).and_then(|()| check(name, config, user)) {
            Ok(()) => {}
            // SQLite would open it, and fail at the first change.
            Err(error @ HandoverError::File { .. }) => return Err(error),
            Err(error) => {
                tracing::warn!(process = name, %error, "process remains root");
                settings.user = None;
            }
        }
    }
    let mut policy = policy(name, config, files);
    if settings.landlock && martlet_sandbox::has_landlock() {
        martlet_nf::certificates::read_once(read_once(name, config, &policy.files));
    }
    if matches!(name, "amf" | "core")
        && let Err(error) = martlet_amf::prepare_raw_socket(&config.amf.n2)
    {
        // The listener tries again, and reports the error.
        tracing::debug!(%error, "raw socket of SCTP not opened in advance");
        policy.start.insert(Capability::CAP_NET_RAW);
    }
    if settings.user.is_none() && written(name, config).iter().any(|file| is_of_others(file)) {
        // Root without this capability writes its own files only.
        policy.start.insert(Capability::CAP_DAC_OVERRIDE);
        policy.runtime.insert(Capability::CAP_DAC_OVERRIDE);
    }
    Ok(martlet_sandbox::enter(policy, &settings))
}

/// Whether a function can write its files after it became this user.
fn check(name: &str, config: &Config, user: &User) -> Result<(), HandoverError> {
    let Some(core) = config.security.user() else { return Ok(()) };
    let former = config.security.uids();
    written(name, config).iter().try_for_each(|file| check_files(file, user, &core, &former))
}

/// Whether a file, or its folder, belongs to another user than root.
fn is_of_others(file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let owner = |path: &Path| std::fs::metadata(path).map_or(0, |status| status.uid());
    owner(file) != 0 || owner(&folder_of(file)) != 0
}

/// The default folder of sockets.
const RUNTIME_FOLDER: &str = "/run/martlet";

/// Creates the folders of sockets, in which Landlock allows to create files: not in those around
/// them. Lets functions that become another user create sockets beside the fabric's. Another folder
/// than the default one, if it exists, is left as it is.
pub fn share_runtime_folder(config: &Config) {
    let user = config.security.user().filter(|_| martlet_sandbox::is_root());
    let folder = folder_of(&config.fabric.of_manager().socket);
    let api = config.oam.api.enabled.then(|| folder_of(&config.api_socket()));
    let others = [folder_of(&config.oam_endpoint(None).socket)].into_iter().chain(api);
    for folder in [folder.clone()].into_iter().chain(others).filter(|folder| !folder.exists()) {
        let created = match &user {
            Some(user) => share_folder(&folder, user).map_err(|error| error.to_string()),
            None => std::fs::create_dir_all(&folder).map_err(|error| error.to_string()),
        };
        if let Err(error) = created {
            let folder = folder.display();
            tracing::warn!(%folder, error, "folder of sockets not created");
        }
    }
    if let Some(user) = user
        && folder == Path::new(RUNTIME_FOLDER)
        && let Err(error) = share_folder(&folder, &user)
    {
        tracing::warn!(%error, "functions cannot create sockets");
    }
}

/// Creates the folder of the SBI's sockets, for the user that the function becomes. Otherwise the
/// function creates it itself.
fn create_sbi_folder(name: &str, config: &Config) {
    if !martlet_sandbox::is_root() || name == "core" {
        return;
    }
    remove_stale_socket(&config.oam_endpoint(Some(name)).socket);
    if let Some(folder) = config.sbi_folder()
        && let Err(error) = private_folder(&folder, config.security.user().as_ref())
    {
        tracing::warn!(%error, "functions cannot create sockets of the SBI");
    }
    if let Some(own) = config.sbi.of(name)
        && let Some(sockets) = config.sbi_sockets()
        && let Ok(socket) = sockets.path(&own.authority())
    {
        remove_stale_socket(&socket);
    }
}

/// Reduces the rights of the supervisor of `up --split`. It remains root to start functions again,
/// with no more capabilities than they and their change of user need.
pub fn enter_supervisor(config: &Config) -> Entered {
    share_runtime_folder(config);
    let mut policy = policy("core", config, &Files::default());
    policy.name = "supervisor".into();
    policy.stays_root = true;
    policy.locks_memory = false;
    // The functions inherit the filter, so it has what they call before and after their own.
    policy.filters.push("supervisor");
    policy.executes = true;
    policy.start.extend([
        // The AMF opens its raw socket before it gives up root.
        Capability::CAP_NET_RAW,
        Capability::CAP_SETUID,
        Capability::CAP_SETGID,
        Capability::CAP_SETPCAP,
        Capability::CAP_KILL,
        Capability::CAP_CHOWN,
        Capability::CAP_FOWNER,
        Capability::CAP_DAC_OVERRIDE,
    ]);
    policy.runtime = policy.start.clone();
    martlet_sandbox::enter(policy, &Settings { user: None, ..config.security.settings("core") })
}

/// Gives the files that a function will write to its user. The capture exists already.
fn prepare(name: &str, config: &Config, files: &Files, user: &User) -> Result<(), HandoverError> {
    let Some(core) = config.security.user() else { return Ok(()) };
    let former = config.security.uids();
    if name == "core" || config.security.function_uids().is_empty() {
        for file in written(name, config) {
            hand_over(&file, user, &former)?;
        }
        return files.pcap.iter().try_for_each(|file| give_file(file, user, &former, None));
    }
    // The group of a function's files is its own, with the API as the only other member, which
    // copies databases and reads histories. The API also opens the subscriber database, and may
    // start before the UDR.
    let owner = if name == API_FUNCTION { "udr" } else { name };
    let Some(of_owner) = config.security.user_of(owner) else { return Ok(()) };
    for file in written(owner, config) {
        share_with_group(&file, &core)?;
    }
    for file in databases(owner, config) {
        own_database(&file, &of_owner, &core, &former)?;
    }
    if let Some(file) = history(owner, config) {
        own_file(&file, &of_owner, &former, 0o640)?;
    }
    if owner == "udr"
        && let Some(key) = key_file(config)
    {
        give_file(&key, &core, &former, None)?;
    }
    for folder in folders_of_the_operator(name, config) {
        // It may be the operator's own.
        if let Err(error) = share_with_group(&folder.join("file"), &core) {
            tracing::debug!(%error, "folder not shared with the functions' group");
        }
    }
    // All functions write the same capture.
    files.pcap.iter().try_for_each(|file| give_file(file, &core, &former, Some(0o660)))
}

/// Folders that the configuration names, in which a function creates files.
fn folders_of_the_operator(name: &str, config: &Config) -> Vec<PathBuf> {
    match name {
        "lmf" => {
            config.lmf.user_plane.write_certificate.iter().map(|file| folder_of(file)).collect()
        }
        "upf" => config.upf.telemetry.captures.iter().cloned().collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A renewal makes a new file, which is in the folder of the former one, or in that of a link.
    #[test]
    fn folders_of_certificates_are_readable_unless_databases_are_there() {
        let folder = std::env::temp_dir().join(format!("martlet-renewed-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        for name in ["data", "live", "archive", "tokens", "secrets"] {
            std::fs::create_dir_all(folder.join(name)).unwrap();
        }
        let folder = std::fs::canonicalize(&folder).unwrap();
        std::fs::write(folder.join("archive/lmf1.pem"), "").unwrap();
        std::os::unix::fs::symlink("../archive/lmf1.pem", folder.join("live/lmf.pem")).unwrap();
        let mut config = Config::default();
        config.oam.history.enabled = false;
        config.fabric.socket = Some(folder.join("run/sbi.sock"));
        config.udr.path = folder.join("data/martlet.db").display().to_string();
        config.udr.key_file = folder.join("data/operator.key").display().to_string();
        config.nrf.token_key = Some(folder.join("tokens/key.pem").display().to_string());
        config.oam.api.oidc.client_secret_file = Some(folder.join("secrets/oidc"));
        let mut of = |certificate: &str| {
            config.lmf.user_plane.certificate = Some(folder.join(certificate));
            let access = file_access("lmf", &config, &Files::default());
            let once = read_once("lmf", &config, &access);
            (access.read, once)
        };
        let (read, once) = of("live/lmf.pem");
        for name in ["live", "archive", "live/lmf.pem"] {
            assert!(read.contains(&folder.join(name)), "{name}");
        }
        assert!(once.is_empty() && !read.contains(&folder.join("data")), "{once:?}");
        for name in ["data", "tokens", "secrets"] {
            let (read, once) = of(&format!("{name}/lmf.pem"));
            let file = folder.join(name).join("lmf.pem");
            assert!(read.contains(&file) && !read.contains(&folder.join(name)), "{name}");
            assert_eq!(once, [file]);
        }
        let (read, _) = of("lmf.pem");
        assert!(!read.contains(&folder), "the folder around the databases");
        let _ = std::fs::remove_dir_all(&folder);
    }
}
