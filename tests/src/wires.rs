//! A programmable switch in the wires of a test's UPF: the native UPF and the switch are in a network namespace of their own,
//! gNBs and the data network in the test's.
use anyhow::{Context, Result, ensure};
use martlet_upf::UpfConfig;
use martlet_upf::config::{DatapathChoice, N6Mode, OffloadPolicy, SwitchRun};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;

/// gNBs have addresses from this one on.
const FIRST_GNB: u8 = 10;
const GNBS: u8 = 60;

/// The namespace; gone with this.
pub struct Wires(String);

fn ip(words: &str) -> Result<()> {
    let status = Command::new("ip").args(words.split(' ')).status()?;
    ensure!(status.success(), "ip {words}");
    Ok(())
}

/// The switch program of this build, if it was built.
pub fn switch_program() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    own.ancestors().skip(1).take(2).map(|folder| folder.join("martlet-switch")).find(|path| path.is_file())
}

impl Wires {
    /// Makes the wires, and has a UPF use them: all that the switch can carry it carries.
    pub fn lay(config: &mut UpfConfig, number: u8) -> Result<Wires> {
        let program = switch_program().context("martlet-switch is not built: cargo build -p martlet-switch-target")?;
        let name = format!("martlet-test-{}-{number}", std::process::id());
        ip(&format!("netns add {name}"))?;
        let wires = Wires(name.clone());
        let within = format!("-n {name}");
        for (far, near) in [("gnb", "access"), ("dn", "core")] {
            ip(&format!("link add {far} type veth peer name {near} netns {name}"))?;
            ip(&format!("link set {far} up"))?;
            ip(&format!("{within} link set {near} up"))?;
        }
        for (far, near) in [("upf3", "native3"), ("upf6", "native6")] {
            ip(&format!("{within} link add {far} type veth peer name {near}"))?;
            ip(&format!("{within} link set {far} up"))?;
            ip(&format!("{within} link set {near} up"))?;
        }
        ip(&format!("{within} link set lo up"))?;
        // The switch takes frames as they are.
        let plain = |command: &mut Command| -> Result<()> {
            ensure!(command.status()?.success(), "offloads cannot be turned off");
            Ok(())
        };
        plain(Command::new(&program).args(["plain", "gnb", "dn"]))?;
        plain(Command::new("ip").args(["netns", "exec", &name]).arg(&program).args(["plain", "upf3", "upf6"]))?;
        for gnb in 1..=GNBS {
            ip(&format!("addr add 192.168.70.{}/24 dev gnb", FIRST_GNB + gnb))?;
        }
        ip("addr add 10.99.0.2/24 dev dn")?;
        // What answers on the native path as the UPF's own interface is a host of the data network for the switch.
        ip("addr add 10.45.0.1/32 dev dn")?;
        // The data network is a router between phones, which does not tell them of a shorter way.
        for (name, value) in [("ip_forward", "1"), ("conf/all/send_redirects", "0"), ("conf/dn/send_redirects", "0")] {
            std::fs::write(format!("/proc/sys/net/ipv4/{name}"), value)
                .context("no setting of the network namespace")?;
        }
        // Of the second data network that some tests have, too.
        for pool in ["10.45.0.0/16", "10.46.0.0/16"] {
            ip(&format!("route add {pool} via 10.99.0.1"))?;
        }
        ip(&format!("{within} addr add 192.168.70.1/24 dev upf3"))?;
        ip(&format!("{within} addr add 10.99.0.1/24 dev upf6"))?;
        ip(&format!("{within} route add default via 10.99.0.2"))?;
        // A packet that left by the switch is answered by the host that has the UPF's own address there, and the answer may
        // take the native path, where it would be one from outside with an address of one's own.
        for setting in ["all/rp_filter 0", "upf6/rp_filter 0", "upf6/accept_local 1"] {
            let (name, value) = setting.split_once(' ').expect("a name and a value");
            let script = format!("echo {value} > /proc/sys/net/ipv4/conf/{name}");
            let done = Command::new("ip").args(["netns", "exec", &wires.0, "sh", "-c", &script]).status()?;
            ensure!(done.success(), "{setting}");
        }
        if let Some(own) = config.n3.addresses().1 {
            ip(&format!("{within} -6 addr add {own}/64 dev upf3 nodad"))?;
            for gnb in 1..=2 {
                ip(&format!("-6 addr add fd70::{gnb}/64 dev gnb nodad"))?;
            }
        }
        if config.n3.address.ip().is_ipv4() {
            config.n3.address = (Ipv4Addr::new(192, 168, 70, 1), 2152).into();
        }
        config.n6.mode = N6Mode::Routing;
        config.kernel.local_switching = false;
        let (n3, n6) = (&mut config.n3.netns, &mut config.n6.netns);
        (*n3, *n6, config.switch.netns) = (Some(name.clone()), Some(name.clone()), Some(name));
        config.switch.native = DatapathChoice::Kernel;
        config.switch.policy = OffloadPolicy::All;
        config.switch.run = Some(SwitchRun {
            program: Some(program),
            access: "access".into(),
            native_n3: "native3".into(),
            core: "core".into(),
            native_n6: "native6".into(),
            spin_us: None,
            state: None,
        });
        Ok(wires)
    }

    /// Where a gNB has N3.
    pub fn gnb(number: u8) -> Ipv4Addr {
        Ipv4Addr::new(192, 168, 70, FIRST_GNB + number)
    }
}

impl Drop for Wires {
    fn drop(&mut self) {
        let _ = ip(&format!("netns del {}", self.0));
    }
}
