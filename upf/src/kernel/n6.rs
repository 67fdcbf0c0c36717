//! N6 on this machine: the TUN device with its addresses, forwarding, and address translation.
use super::tun::Tun;
use crate::UpfError;
use crate::config::{N6Mode, UpfConfig};
use std::io::{self, Write};
use std::process::{Command, Stdio};

/// What was set up beside the device, and is taken away when this is dropped.
pub(super) struct N6 {
    table: Option<String>,
}

/// Makes the device and whatever its mode asks for. `None` without a device.
pub(super) fn set_up(config: &UpfConfig) -> Result<(Option<Tun>, N6), UpfError> {
    let mut n6 = N6 { table: None };
    if config.n6.mode == N6Mode::None {
        return Ok((None, n6));
    }
    let name = &config.n6.interface;
    let tun = Tun::make(name).map_err(|error| not_made(name, &error))?;
    ip(&["link", "set", "dev", name, "mtu", &config.mtu.to_string()])?;
    // Without it the kernel speaks IPv6 to itself on the device. Older kernels do not know it.
    if let Err(error) = ip(&["link", "set", "dev", name, "addrgenmode", "none"]) {
        tracing::debug!(%error, "the TUN device has an IPv6 address of its own");
    }
    let mut networks = Vec::new();
    for configured in &config.n6.pools {
        let (pool, gateway) = configured.read().map_err(UpfError::Config)?;
        ip(&["address", "replace", &format!("{gateway}/{}", pool.prefix), "dev", name])?;
        networks.push(format!("{}/{}", pool.network, pool.prefix));
    }
    ip(&["link", "set", "dev", name, "up"])?;
    if let Err(error) = std::fs::write("/proc/sys/net/ipv4/ip_forward", "1") {
        tracing::warn!(%error, "UEs reach this machine only: set net.ipv4.ip_forward=1 with sysctl");
    }
    if config.n6.mode == N6Mode::Nat {
        let table = table_name(name);
        nft(&translation(&table, name, &networks))?;
        n6.table = Some(table);
    }
    tracing::info!(interface = name, pools = networks.join(" "), mode = ?config.n6.mode, "N6 is up");
    Ok((Some(tun), n6))
}

impl Drop for N6 {
    fn drop(&mut self) {
        if let Some(table) = &self.table
            && let Err(error) = nft(&format!("delete table ip {table}\n"))
        {
            tracing::warn!(%error, "the table of address translation stays: nft delete table ip {table}");
        }
    }
}

fn not_made(name: &str, error: &io::Error) -> UpfError {
    let advice = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "run it as root or with CAP_NET_ADMIN (setcap cap_net_admin+ep), or set n6.mode to none to go without N6"
        }
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => {
            "/dev/net/tun is missing: load the module tun, or give the container the device /dev/net/tun"
        }
        Some(libc::EBUSY) => "another program has it: stop that one, or set n6.interface to another name",
        _ => "see whether an interface of another kind has the name",
    };
    UpfError::N6(format!("the TUN device {name} cannot be made: {error}; {advice}"))
}

/// nft takes letters, digits and underscores.
fn table_name(interface: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("upf_{}", interface.chars().map(plain).collect::<String>())
}

/// A table of ours alone. One that a UPF left behind that was killed is replaced.
fn translation(table: &str, interface: &str, networks: &[String]) -> String {
    let networks = networks.join(", ");
    format!(
        "add table ip {table}\ndelete table ip {table}\ntable ip {table} {{\n chain postrouting {{\n  \
         type nat hook postrouting priority 100; policy accept;\n  \
         ip saddr {{ {networks} }} oifname != \"{interface}\" masquerade\n }}\n}}\n"
    )
}

fn ip(arguments: &[&str]) -> Result<(), UpfError> {
    run("ip", arguments, "")
}

fn nft(script: &str) -> Result<(), UpfError> {
    run("nft", &["-f", "-"], script)
}

fn run(program: &str, arguments: &[&str], input: &str) -> Result<(), UpfError> {
    let failed = |why: String| UpfError::N6(format!("`{program} {}` failed: {why}", arguments.join(" ")));
    let started = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = started.map_err(|error| match (error.kind(), program) {
        (io::ErrorKind::NotFound, "nft") => failed("install nftables, or set n6.mode to routing".into()),
        (io::ErrorKind::NotFound, _) => failed("install iproute2".into()),
        _ => failed(error.to_string()),
    })?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).map_err(|error| failed(error.to_string()))?;
    }
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_string())),
    }
}
