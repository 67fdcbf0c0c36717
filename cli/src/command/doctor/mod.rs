//! `martlet doctor`: checks the machine, and reports what will not work and how to fix it.
mod firewall;
mod nftables;

use crate::config_args::ConfigArgs;
use anyhow::{Result, bail};
use clap::Args;
use martlet::config::Config;
use martlet::core::function_names;
use martlet_sandbox::folder_of;
use martlet_store::DatabaseUrl;
use martlet_upf::config::{DatapathChoice, N6Mode, SwitchEngine};
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};
use std::fmt;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Command;

/// Arguments of `martlet doctor`.
#[derive(Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    config: ConfigArgs,
}

/// Result of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grade {
    /// It works.
    Good,
    /// It works, but not as well as it could.
    Note,
    /// A part of the configuration will not work.
    Fault,
}

/// One check: its subject, the finding, and the remedy unless the finding is good.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Check {
    grade: Grade,
    subject: &'static str,
    text: String,
    remedy: String,
}

impl Check {
    fn good(subject: &'static str, text: impl Into<String>) -> Check {
        Check { grade: Grade::Good, subject, text: text.into(), remedy: String::new() }
    }

    fn note(subject: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> Check {
        Check { grade: Grade::Note, subject, text: text.into(), remedy: remedy.into() }
    }

    fn fault(subject: &'static str, text: impl Into<String>, remedy: impl Into<String>) -> Check {
        Check { grade: Grade::Fault, subject, text: text.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grade = match self.grade {
            Grade::Good => "ok",
            Grade::Note => "note",
            Grade::Fault => "FAULT",
        };
        write!(f, "{grade:<6}{:<14}{}", self.subject, self.text)?;
        match self.remedy.is_empty() {
            true => Ok(()),
            false => write!(f, "\n{:20}→ {}", "", self.remedy),
        }
    }
}

/// Runs the command.
pub fn run(args: DoctorArgs) -> Result<()> {
    let config = args.config.load()?;
    match args.config.file() {
        Some(file) => println!("This machine, for the configuration {}:", file.display()),
        None => println!("This machine, for the built-in configuration:"),
    }
    let checks = examine(&config);
    for check in &checks {
        println!("{check}");
    }
    match checks.iter().filter(|check| check.grade == Grade::Fault).count() {
        0 => Ok(()),
        1 => bail!("1 fault: the core will not work as configured"),
        faults => bail!("{faults} faults: the core will not work as configured"),
    }
}

fn examine(config: &Config) -> Vec<Check> {
    let folders = config.check_machine().into_iter().map(|finding| {
        Check::fault("folders", format!("{}: {}", finding.path, finding.message), "see above")
    });
    let mut checks: Vec<Check> = folders.collect();
    checks.extend(database_folder(config));
    checks.push(kernel(config, &read("/proc/sys/kernel/osrelease")));
    checks.push(capabilities(config, &read("/proc/self/status")));
    if starts(config, "amf") {
        checks.push(sctp(Path::new("/proc/net/sctp").exists()));
    }
    checks.extend(addresses(config));
    let notes = config.notes().into_iter();
    checks.extend(notes.map(|note| Check::note("addresses", note, "see above")));
    checks.extend(tun(config, Path::new("/dev/net/tun").exists()));
    if starts(config, "upf") {
        let setting = read_within(config.upf.n6.netns.as_deref(), "/proc/sys/net/ipv4/ip_forward");
        checks.push(forwarding(config, &setting));
        let setting = "/proc/sys/net/ipv6/conf/all/forwarding";
        checks.extend(forwarding6(config, &read_within(config.upf.n6.netns.as_deref(), setting)));
    }
    checks.extend(firewall::checks(config));
    checks.extend(mtu(config));
    let absent = absent_interfaces(config);
    if absent.is_empty() {
        checks.extend(offload(config));
    }
    checks.extend(absent);
    let synchronised = Command::new("timedatectl").args(["show", "-p", "NTPSynchronized"]).output();
    let synchronised = synchronised.map(|output| output.stdout).unwrap_or_default();
    checks.push(clock(&String::from_utf8_lossy(&synchronised)));
    checks.extend(huge_pages(config, &read("/proc/meminfo")));
    checks.push(locked_memory(config, &read("/proc/self/limits")));
    checks.extend(bpf_file_system(config, &read("/proc/mounts")));
    checks
}

/// The folder of the subscriber database, if this core has it in a file.
fn database_folder(config: &Config) -> Option<Check> {
    let DatabaseUrl::File(file) = config.database() else { return None };
    let folder = folder_of(&file);
    if !starts(config, "udr") || !folder.is_dir() {
        return None;
    }
    let space = statvfs(&folder).ok();
    let space = space.map(|space| space.blocks_available().saturating_mul(space.fragment_size()));
    Some(writable(&folder, access(&folder, AccessFlags::W_OK), space))
}

/// Space on a disk, in bytes, below which the core may soon be unable to write.
const LITTLE_SPACE: u64 = 64 << 20;

/// Whether the core can write into a folder with this much space.
fn writable(folder: &Path, access: Result<(), Errno>, space: Option<u64>) -> Check {
    let name = folder.display();
    if let Err(error) = access {
        return Check::fault(
            "database",
            format!("{name} cannot be written: {}", error.desc()),
            "give the folder to the user of the core, or set state_dir to another one",
        );
    }
    match space {
        Some(space) if space < LITTLE_SPACE => Check::note(
            "database",
            format!("{name} has {} MB of space", space >> 20),
            "without space, authentication is refused: free some, or set state_dir",
        ),
        _ => Check::good("database", format!("{name} can be written")),
    }
}

fn read(file: &str) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}

/// The content of a file of `/proc/sys/net`, which depends on the network namespace.
fn read_within(netns: Option<&str>, file: &str) -> String {
    match netns {
        None => read(file),
        Some(_) => output_of(netns, "cat", &[file]).and_then(Result::ok).unwrap_or_default(),
    }
}

/// Whether the core starts this function: those of `sbi.external` run elsewhere.
fn starts(config: &Config, function: &str) -> bool {
    function_names(config).any(|name| name == function)
}

/// Whether the user plane uses eBPF programs.
fn uses_bpf(config: &Config) -> bool {
    let upf = &config.upf;
    let has_programs = upf.datapath == DatapathChoice::Xdp
        || upf.datapath == DatapathChoice::Switch && upf.switch.engine == SwitchEngine::Xdp;
    has_programs && starts(config, "upf")
}

/// Whether the user plane has an interface of N6.
fn uses_n6(config: &Config) -> bool {
    config.upf.n6.mode != N6Mode::None && starts(config, "upf")
}

fn kernel(config: &Config, release: &str) -> Check {
    let release = release.trim();
    let mut numbers = release.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    match uses_bpf(config) && version < (6, 1) {
        true => Check::fault(
            "kernel",
            format!("{release}, and upf.datapath needs Linux 6.1"),
            "install a newer kernel, or write upf.datapath: kernel",
        ),
        false => Check::good("kernel", release),
    }
}

/// Capabilities by their number (capabilities(7)).
const CAPABILITIES: [(u32, &str, &str); 3] = [
    (12, "CAP_NET_ADMIN", "the interface of N6"),
    (13, "CAP_NET_RAW", "SCTP without the kernel's"),
    (39, "CAP_BPF", "upf.datapath: xdp"),
];

fn capabilities(config: &Config, status: &str) -> Check {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    let effective = effective.unwrap_or_default();
    let needed = CAPABILITIES.iter().filter(|(number, ..)| match number {
        12 => uses_n6(config),
        13 => starts(config, "amf") && !Path::new("/proc/net/sctp").exists(),
        _ => uses_bpf(config),
    });
    let missing: Vec<String> = needed
        .filter(|(number, ..)| effective & (1 << number) == 0)
        .map(|(_, name, what)| format!("{name} ({what})"))
        .collect();
    match missing.is_empty() {
        true => Check::good("capabilities", "all that the configuration needs"),
        false => Check::fault(
            "capabilities",
            format!("missing for this user: {}", missing.join(", ")),
            "run the core as root, or with AmbientCapabilities= in the unit, and `martlet doctor` \
             with the same rights",
        ),
    }
}

fn sctp(has_kernel: bool) -> Check {
    match has_kernel {
        true => Check::good("SCTP", "the kernel's"),
        false => Check::note(
            "SCTP",
            "the kernel's is not loaded: N2 uses the one in user space, over raw sockets",
            "modprobe sctp, for less CPU time per message",
        ),
    }
}

/// Addresses that no interface has.
fn addresses(config: &Config) -> Vec<Check> {
    let upf = &config.upf;
    let mut all: Vec<(&str, Option<&str>, IpAddr)> = Vec::new();
    if starts(config, "amf") {
        all.extend(config.amf.n2.bind.iter().map(|ip| ("amf.n2.bind", None, *ip)));
    }
    if starts(config, "upf") {
        all.push(("upf.n3.address", upf.n3.netns.as_deref(), upf.n3.address.ip()));
        all.push(("upf.n4.address", None, upf.n4.address.ip()));
    }
    if all.is_empty() {
        return Vec::new();
    }
    let absent: Vec<Check> =
        all.into_iter().filter_map(|(key, netns, ip)| absent(key, netns, ip)).collect();
    match absent.is_empty() {
        true => vec![Check::good("addresses", "each is on an interface of this machine")],
        false => absent,
    }
}

/// The check of an address that no interface of its network namespace has.
fn absent(key: &str, netns: Option<&str>, ip: IpAddr) -> Option<Check> {
    let subject = "addresses";
    let has_address = match netns {
        None => UdpSocket::bind(SocketAddr::new(ip, 0)).is_ok(),
        Some(name) if !Path::new("/run/netns").join(name).exists() => {
            return Some(Check::fault(
                subject,
                format!("{key}: there is no network namespace {name}"),
                format!("ip netns add {name}, and move the interface into it"),
            ));
        }
        Some(name) => match output_of(netns, "ip", &["-o", "address"]) {
            Some(Ok(text)) => {
                ip.is_loopback() || ip.is_unspecified() || line_of(&text, ip).is_some()
            }
            _ => {
                return Some(Check::note(
                    subject,
                    format!("{key}: unknown: the network namespace {name} cannot be entered"),
                    "run `martlet doctor` as root, with iproute2 installed",
                ));
            }
        },
    };
    let enter = enter(netns);
    (!has_address).then(|| {
        Check::fault(
            subject,
            format!("{key}: no interface has {ip}"),
            format!(
                "{enter}ip address add {ip}/24 dev INTERFACE, or write an address of this machine"
            ),
        )
    })
}

fn tun(config: &Config, has_device: bool) -> Option<Check> {
    if !uses_n6(config) {
        return None;
    }
    Some(match has_device {
        true => Check::good("TUN", "/dev/net/tun exists"),
        false => Check::fault(
            "TUN",
            "there is no /dev/net/tun, which N6 needs",
            "modprobe tun; in a container pass the device: --device /dev/net/tun",
        ),
    })
}

fn forwarding(config: &Config, setting: &str) -> Check {
    let is_needed = matches!(config.upf.n6.mode, N6Mode::Nat | N6Mode::Routing);
    match (is_needed, setting.trim()) {
        (false, _) => Check::good("forwarding", "upf.n6.mode needs none"),
        (true, "1") => Check::good("forwarding", "on"),
        (true, "") => Check::note(
            "forwarding",
            "unknown: the network namespace of N6 cannot be entered",
            "run `martlet doctor` as root",
        ),
        (true, _) => Check::note(
            "forwarding",
            "off: the core turns it on at its start, if it may write /proc/sys",
            format!(
                "{}sysctl -w net.ipv4.ip_forward=1, and a file in /etc/sysctl.d to keep it",
                enter(config.upf.n6.netns.as_deref())
            ),
        ),
    }
}

/// Forwarding of IPv6, where UEs have it and it is off. A kernel without IPv6 has no setting.
fn forwarding6(config: &Config, setting: &str) -> Option<Check> {
    let is_needed = matches!(config.upf.n6.mode, N6Mode::Nat | N6Mode::Routing)
        && !config.upf.pools6().is_empty();
    (is_needed && setting.trim() == "0").then(|| {
        Check::note(
            "forwarding",
            "off for IPv6: the core turns it on at its start, if it may write /proc/sys",
            format!(
                "{}sysctl -w net.ipv6.conf.all.forwarding=1, and a file in /etc/sysctl.d to keep \
                 it",
                enter(config.upf.n6.netns.as_deref())
            ),
        )
    })
}

/// The standard error of a program that failed.
struct ProgramFailed(String);

/// The standard output of a program in a network namespace; `None` if it is not installed.
fn output_of(
    netns: Option<&str>,
    program: &str,
    arguments: &[&str],
) -> Option<Result<String, ProgramFailed>> {
    let mut command = match netns {
        None => Command::new(program),
        Some(name) => {
            let mut command = Command::new("ip");
            command.args(["netns", "exec", name, program]);
            command
        }
    };
    let output = command.args(arguments).output().ok()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(ProgramFailed(text(&output.stderr))),
    })
}

/// What runs a command in a network namespace.
fn enter(netns: Option<&str>) -> String {
    netns.map_or_else(String::new, |name| format!("ip netns exec {name} "))
}

/// The line of `ip -o address` with an address.
fn line_of(text: &str, ip: IpAddr) -> Option<&str> {
    text.lines().find(|line| line.contains(&format!(" {ip}/")))
}

/// The interface with an address.
fn interface_of(netns: Option<&str>, ip: IpAddr) -> Option<String> {
    let text = output_of(netns, "ip", &["-o", "address"])?.ok()?;
    line_of(&text, ip)?.split_whitespace().nth(1).map(str::to_string)
}

/// Outer headers of a packet on N3: IPv4 20 or IPv6 40, UDP 8, GTP-U with the PDU session container
/// 16.
const TUNNEL_BYTES: u32 = 64;

fn mtu(config: &Config) -> Option<Check> {
    if !starts(config, "upf") {
        return None;
    }
    let n3 = &config.upf.n3;
    let netns = n3.netns.as_deref();
    let interface = interface_of(netns, n3.address.ip())?;
    let link = output_of(netns, "ip", &["-o", "link", "show", "dev", &interface])?.ok()?;
    let mtu = link.split_once(" mtu ")?.1.split_whitespace().next()?.parse().ok()?;
    Some(fitting_mtu(netns, &interface, mtu, u32::from(config.upf.n6.mtu)))
}

fn fitting_mtu(netns: Option<&str>, interface: &str, mtu: u32, inner: u32) -> Check {
    match mtu >= inner + TUNNEL_BYTES {
        true => Check::good("MTU", format!("{interface} has {mtu}, and UEs use {inner}")),
        false => Check::fault(
            "MTU",
            format!(
                "{interface} has {mtu}: packets of UEs with {inner} bytes and a tunnel's header do \
                 not fit"
            ),
            format!(
                "{}ip link set {interface} mtu {}, or write {} as upf.n6.mtu and smf.dnns[].mtu",
                enter(netns),
                inner + TUNNEL_BYTES,
                mtu.saturating_sub(TUNNEL_BYTES)
            ),
        ),
    }
}

/// The interfaces of `upf.xdp.interfaces` that do not exist.
fn absent_interfaces(config: &Config) -> Vec<Check> {
    let netns = config.upf.n3.netns.as_deref();
    let is_absent = |name: &str| match netns {
        None => if_nametoindex(name).is_err(),
        // A network namespace that does not exist is a fault of its own.
        Some(_) => match output_of(netns, "ip", &["-o", "link", "show", "dev", name]) {
            Some(Err(ProgramFailed(error))) => error.contains("does not exist"),
            _ => false,
        },
    };
    let is_used = config.upf.datapath == DatapathChoice::Xdp && starts(config, "upf");
    let names = config.upf.xdp.interfaces.iter().filter(|name| is_used && is_absent(name));
    let fault = |name: &String| {
        Check::fault(
            "interfaces",
            format!("upf.xdp.interfaces: there is no interface {name}"),
            format!("{}ip link shows all: write one of them", enter(netns)),
        )
    };
    names.map(fault).collect()
}

/// XDP on a veth needs GRO there, and checksums that the origin has completed.
fn offload(config: &Config) -> Option<Check> {
    if !uses_bpf(config) {
        return None;
    }
    let netns = config.upf.n3.netns.as_deref();
    let interface = match config.upf.xdp.interfaces.first() {
        Some(interface) => interface.clone(),
        None => interface_of(netns, config.upf.n3.address.ip())?,
    };
    let ask = |option| output_of(netns, "ethtool", &[option, &interface]).and_then(Result::ok);
    let Some(features) = ask("-k") else {
        return Some(Check::note(
            "GRO",
            format!("unknown: `ethtool -k {interface}` does not work"),
            "apt-get install ethtool, and run `martlet doctor` as root",
        ));
    };
    let driver = ask("-i").unwrap_or_default();
    Some(generic_receive_offload(&interface, &driver, &features))
}

fn generic_receive_offload(interface: &str, driver: &str, features: &str) -> Check {
    let is_veth = driver.lines().any(|line| line.trim() == "driver: veth");
    let is_on = features.lines().any(|line| line.trim().starts_with("generic-receive-offload: on"));
    match is_veth && !is_on {
        true => Check::fault(
            "GRO",
            format!(
                "{interface} is a veth without GRO: packets that XDP sends to it are lost in \
                 silence"
            ),
            format!(
                "ethtool -K {interface} gro on, the same at its peer, and `tx off` where local \
                 programs send; or write upf.xdp.mode: generic"
            ),
        ),
        false => Check::good("GRO", format!("{interface} can receive from XDP")),
    }
}

/// Tokens and certificates are valid for a time, which all machines have to agree on. The answer is
/// that of `timedatectl show -p NTPSynchronized`, empty without it.
fn clock(answer: &str) -> Check {
    match answer.trim() {
        "NTPSynchronized=yes" => Check::good("clock", "synchronised"),
        "NTPSynchronized=no" => Check::note(
            "clock",
            "not synchronised: on several machines tokens and certificates may be refused",
            "timedatectl set-ntp true, or install chrony",
        ),
        _ => Check::note(
            "clock",
            "unknown without timedatectl",
            "install chrony or systemd-timesyncd",
        ),
    }
}

fn huge_pages(config: &Config, meminfo: &str) -> Option<Check> {
    let uses_dpdk = config.upf.datapath == DatapathChoice::Switch
        && config.upf.switch.run.is_some()
        && config.upf.switch.engine == SwitchEngine::Swx
        && starts(config, "upf");
    if !config.fabric.huge_pages && !uses_dpdk {
        return None;
    }
    let total = meminfo.lines().find_map(|line| line.strip_prefix("HugePages_Total:"));
    let total = total.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0);
    Some(match (total, uses_dpdk) {
        (0, true) => Check::fault(
            "huge pages",
            "none are reserved, and the switch's engine swx needs them",
            "sysctl -w vm.nr_hugepages=384, or write upf.switch.engine: xdp",
        ),
        (0, false) => Check::note(
            "huge pages",
            "none are reserved: the fabric uses pages of 4 KB",
            "sysctl -w vm.nr_hugepages=64, or write fabric.huge_pages: false",
        ),
        (total, _) => Check::good("huge pages", format!("{total} reserved")),
    })
}

fn locked_memory(config: &Config, limits: &str) -> Check {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"));
    let limit = line.and_then(|line| line.split_whitespace().next()).unwrap_or("unknown");
    let is_needed = config.lmf.user_plane.realtime.lock_memory && starts(config, "lmf");
    match limit.parse::<u64>() {
        Ok(bytes) if is_needed && bytes < 256 << 20 => Check::fault(
            "memlock",
            format!("{} KB, and lmf.user_plane.realtime.lock_memory needs more", bytes >> 10),
            "LimitMEMLOCK=infinity in the unit, or ulimit -l unlimited",
        ),
        Ok(bytes) => Check::good("memlock", format!("{} KB", bytes >> 10)),
        Err(_) => Check::good("memlock", limit),
    }
}

fn bpf_file_system(config: &Config, mounts: &str) -> Option<Check> {
    let pin = config.upf.xdp.pin.as_ref().filter(|_| uses_bpf(config))?;
    let is_mounted = mounts.lines().any(|line| {
        let mut fields = line.split(' ').skip(1);
        let (folder, kind) = (fields.next().unwrap_or_default(), fields.next());
        kind == Some("bpf") && pin.starts_with(folder)
    });
    Some(match is_mounted {
        true => Check::good("bpffs", format!("mounted at {}", pin.display())),
        false => Check::fault(
            "bpffs",
            format!("upf.xdp.pin is {}, where no bpffs is mounted", pin.display()),
            "mount -t bpf bpf /sys/fs/bpf",
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(change: impl FnOnce(&mut Config)) -> Config {
        let mut config = Config::default();
        change(&mut config);
        config
    }

    /// A core that starts a switch with DPDK.
    fn with_dpdk() -> Config {
        let ports = ["access", "native_n3", "core", "native_n6"].map(|port| (port, "eth0"));
        let ports = serde_json::json!(std::collections::BTreeMap::from(ports));
        config(|config| {
            config.upf.datapath = DatapathChoice::Switch;
            config.upf.switch.engine = SwitchEngine::Swx;
            config.upf.switch.run = Some(serde_json::from_value(ports).unwrap());
        })
    }

    #[test]
    fn a_folder_that_is_read_only_or_full_is_reported() {
        let folder = Path::new("/var/lib/martlet");
        let read_only = writable(folder, Err(Errno::EROFS), Some(1 << 40));
        assert_eq!(read_only.grade, Grade::Fault, "{read_only}");
        assert!(read_only.to_string().contains("Read-only file system"), "{read_only}");
        let full = writable(folder, Ok(()), Some(5 << 20));
        assert_eq!(full.grade, Grade::Note, "{full}");
        assert!(full.to_string().contains("5 MB") && !full.remedy.is_empty(), "{full}");
        assert_eq!(writable(folder, Ok(()), Some(1 << 40)).grade, Grade::Good);
        assert_eq!(writable(folder, Ok(()), None).grade, Grade::Good);
        let shared = config(|config| config.udr.path = "postgresql://h/d".into());
        assert_eq!(database_folder(&shared), None);
    }

    #[test]
    fn what_will_not_work_is_a_fault_with_a_remedy() {
        let xdp = config(|config| {
            config.upf.datapath = DatapathChoice::Xdp;
            config.upf.xdp.pin = Some("/sys/fs/bpf/martlet".into());
            config.amf.n2.bind = vec!["203.0.113.9".parse().unwrap()];
            config.lmf.user_plane.realtime.lock_memory = true;
        });
        let memory = "Max locked memory         65536                65536                bytes";
        let veth = generic_receive_offload("v0", "driver: veth\n", "generic-receive-offload: off");
        let faults = [
            kernel(&xdp, "5.10.0-9-amd64\n"),
            capabilities(&xdp, "CapEff:\t0000000000000000\n"),
            addresses(&xdp).remove(0),
            fitting_mtu(None, "eth0", 1400, 1400),
            veth,
            locked_memory(&xdp, memory),
            bpf_file_system(&xdp, "proc /proc proc rw 0 0\n").unwrap(),
            tun(&xdp, false).unwrap(),
            huge_pages(&with_dpdk(), "HugePages_Total:       0\n").unwrap(),
        ];
        for check in &faults {
            assert_eq!(check.grade, Grade::Fault, "{check}");
            assert!(!check.remedy.is_empty(), "{check}");
        }
        assert!(faults[2].to_string().contains("no interface has 203.0.113.9"), "{}", faults[2]);
        // The command may have other rights than the core, which root starts.
        let remedy = &faults[1].remedy;
        assert!(remedy.contains("`martlet doctor` with the same rights"), "{remedy}");
    }

    #[test]
    fn what_works_worse_than_it_could_is_a_note_with_a_remedy() {
        let fabric = config(|config| config.fabric.huge_pages = true);
        let routing = config(|config| config.upf.n6.mode = N6Mode::Routing);
        for (check, remedy) in [
            (sctp(false), "modprobe sctp"),
            (forwarding(&routing, "0\n"), "net.ipv4.ip_forward=1"),
            (forwarding6(&routing, "0\n").unwrap(), "net.ipv6.conf.all.forwarding=1"),
            (clock("NTPSynchronized=no\n"), "timedatectl set-ntp true"),
            (clock(""), "chrony"),
            (huge_pages(&fabric, "HugePages_Total:       0\n").unwrap(), "vm.nr_hugepages"),
        ] {
            assert_eq!(check.grade, Grade::Note, "{check}");
            assert!(check.remedy.contains(remedy), "{check}");
        }
    }

    #[test]
    fn what_works_is_good() {
        let xdp = config(|config| config.upf.datapath = DatapathChoice::Xdp);
        let pinned = config(|config| {
            config.upf.datapath = DatapathChoice::Xdp;
            config.upf.xdp.pin = Some("/sys/fs/bpf/martlet".into());
        });
        let gro = "rx-checksumming: on\n\tgeneric-receive-offload: on\n";
        for check in [
            kernel(&xdp, "6.12.3\n"),
            capabilities(&xdp, "CapEff:\t000001ffffffffff\n"),
            fitting_mtu(None, "eth0", 1500, 1400),
            generic_receive_offload("v0", "driver: veth\n", gro),
            generic_receive_offload("eth0", "driver: virtio_net\n", ""),
            forwarding(&xdp, "1\n"),
            bpf_file_system(&pinned, "bpf /sys/fs/bpf bpf rw 0 0\n").unwrap(),
            sctp(true),
            tun(&xdp, true).unwrap(),
            clock("NTPSynchronized=yes\n"),
            huge_pages(&with_dpdk(), "MemFree: 1 kB\nHugePages_Total:     384\n").unwrap(),
        ] {
            assert_eq!(check.grade, Grade::Good, "{check}");
        }
        // What the configuration does not use is not looked at.
        let none = config(|config| config.upf.n6.mode = N6Mode::None);
        assert_eq!(tun(&none, false), None);
        assert_eq!(forwarding(&none, "0\n").grade, Grade::Good);
        assert_eq!((forwarding6(&none, "0\n"), forwarding6(&xdp, "")), (None, None));
        let ipv4 = config(|config| config.upf.n6.pools6.clear());
        assert_eq!(forwarding6(&ipv4, "0\n"), None);
        assert_eq!(huge_pages(&xdp, ""), None);
    }

    #[test]
    fn what_external_functions_need_is_not_checked() {
        let external = config(|config| {
            config.upf.datapath = DatapathChoice::Xdp;
            config.amf.n2.bind = vec!["203.0.113.9".parse().unwrap()];
            config.upf.n3.address = "203.0.113.9:2152".parse().unwrap();
            config.sbi.external = vec!["amf".into(), "upf".into()];
        });
        assert!(addresses(&external).is_empty());
        assert_eq!((mtu(&external), tun(&external, false), offload(&external)), (None, None, None));
        assert_eq!(kernel(&external, "5.10.0\n").grade, Grade::Good);
        assert_eq!(capabilities(&external, "CapEff:\t0000000000000000\n").grade, Grade::Good);
        let amf_alone = config(|config| {
            config.amf.n2.bind = vec!["203.0.113.9".parse().unwrap()];
            config.upf.n3.address = "203.0.113.9:2152".parse().unwrap();
            config.sbi.external = vec!["upf".into()];
        });
        let found = addresses(&amf_alone);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].text.starts_with("amf.n2.bind"), "{found:?}");
    }

    #[test]
    fn an_interface_of_xdp_that_does_not_exist_is_a_fault() {
        let mut xdp = config(|config| {
            config.upf.datapath = DatapathChoice::Xdp;
            config.upf.xdp.interfaces = vec!["lo".into(), "martlet-none".into()];
        });
        let found = absent_interfaces(&xdp);
        assert_eq!((found.len(), found[0].grade), (1, Grade::Fault), "{found:?}");
        assert!(found[0].text.ends_with("no interface martlet-none"), "{found:?}");
        assert_eq!(xdp.absent_interfaces(), ["martlet-none"]);
        // Other datapaths do not use them.
        xdp.upf.datapath = DatapathChoice::Kernel;
        assert!(absent_interfaces(&xdp).is_empty() && xdp.absent_interfaces().is_empty());
    }

    #[test]
    fn a_network_namespace_that_does_not_exist_is_a_fault() {
        let absent = config(|config| config.upf.n3.netns = Some("martlet-nowhere".into()));
        let found = addresses(&absent);
        assert_eq!((found.len(), found[0].grade), (1, Grade::Fault), "{found:?}");
        assert!(found[0].remedy.starts_with("ip netns add martlet-nowhere"), "{found:?}");
    }
}
