//! Interfaces for a UPF with a programmable switch: the native UPF and the switch are in a second
//! network namespace; gNBs and the data network are in the test's namespace.
use anyhow::{Context, Result, ensure};
use martlet_interface::Feature;
use martlet_upf::UpfConfig;
use martlet_upf::config::{DatapathChoice, N6Mode, OffloadPolicy, SwitchEngine, SwitchRun};
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Host part of the address before that of gNB 1.
const FIRST_GNB: u8 = 10;
const GNBS: u8 = 60;

/// The second namespace. Dropping this value deletes it.
pub struct SwitchWiring(String);

fn ip(command: &str) -> Result<()> {
    let status = Command::new("ip").args(command.split(' ')).status()?;
    ensure!(status.success(), "ip {command} failed");
    Ok(())
}

/// Runs `ip` commands as one batch, in this network namespace or a named one. A process for each
/// command would take half a second.
fn ip_all(namespace: Option<&str>, lines: &[String]) -> Result<()> {
    let mut command = Command::new("ip");
    if let Some(namespace) = namespace {
        command.args(["-n", namespace]);
    }
    let mut child = command.args(["-batch", "-"]).stdin(Stdio::piped()).spawn()?;
    child.stdin.take().context("stdin is piped")?.write_all(lines.join("\n").as_bytes())?;
    ensure!(child.wait()?.success(), "ip -batch failed: {lines:?}");
    Ok(())
}

/// The path of `martlet-switch` of this build, if it was built.
pub fn switch_program() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    own.ancestors()
        .skip(1)
        .take(2)
        .map(|folder| folder.join("martlet-switch"))
        .find(|path| path.is_file())
}

impl SwitchWiring {
    /// Creates the interfaces and configures a UPF to use them. The switch carries each session
    /// that it supports.
    pub fn set_up(config: &mut UpfConfig, number: u32) -> Result<SwitchWiring> {
        let program = switch_program()
            .context("martlet-switch is not built: cargo build -p martlet-switch-target")?;
        let name = format!("martlet-test-{}-{number}", std::process::id());
        ip(&format!("netns add {name}"))?;
        let wiring = SwitchWiring(name.clone());
        let mut here = Vec::new();
        let mut there = vec!["link set lo up".to_owned()];
        for (far, near) in [("gnb", "access"), ("dn", "core")] {
            here.push(format!("link add {far} type veth peer name {near} netns {name}"));
            here.push(format!("link set {far} up"));
            there.push(format!("link set {near} up"));
        }
        for (far, near) in [("upf3", "native3"), ("upf6", "native6")] {
            there.push(format!("link add {far} type veth peer name {near}"));
            there.push(format!("link set {far} up"));
            there.push(format!("link set {near} up"));
        }
        here.extend(
            (1..=GNBS).map(|gnb| format!("addr add 192.168.70.{}/24 dev gnb", FIRST_GNB + gnb)),
        );
        here.push("addr add 10.99.0.2/24 dev dn".into());
        // The gateway address, which the UPF answers for on the native path, is a host of the data
        // network here.
        here.push("addr add 10.45.0.1/32 dev dn".into());
        // Some tests have a second data network, 10.46.0.0/16.
        here.extend(
            ["10.45.0.0/16", "10.46.0.0/16"].map(|pool| format!("route add {pool} via 10.99.0.1")),
        );
        there.push("addr add 192.168.70.1/24 dev upf3".into());
        there.push("addr add 10.99.0.1/24 dev upf6".into());
        there.push("route add default via 10.99.0.2".into());
        if let Some(own) = config.n3.addresses().1 {
            there.push(format!("addr add {own}/64 dev upf3 nodad"));
            here.extend((1..=2).map(|gnb| format!("addr add fd70::{gnb}/64 dev gnb nodad")));
        }
        ip_all(None, &here)?;
        ip_all(Some(&name), &there)?;
        // The switch needs frames without offloads.
        let plain = |command: &mut Command| -> Result<()> {
            ensure!(command.status()?.success(), "cannot disable the offloads");
            Ok(())
        };
        plain(Command::new(&program).args(["plain", "gnb", "dn"]))?;
        plain(
            Command::new("ip")
                .args(["netns", "exec", &name])
                .arg(&program)
                .args(["plain", "upf3", "upf6"]),
        )?;
        if config.switch.engine == SwitchEngine::Xdp {
            // A veth device receives frames that XDP programs redirect only with GRO enabled.
            for far in ["gnb", "dn"] {
                martlet_interface::set_feature(far, Feature::GenericReceive, true).context(far)?;
            }
        }
        // The data network routes between UEs and must not send ICMP redirects.
        for (name, value) in
            [("ip_forward", "1"), ("conf/all/send_redirects", "0"), ("conf/dn/send_redirects", "0")]
        {
            std::fs::write(format!("/proc/sys/net/ipv4/{name}"), value)
                .context("cannot set a sysctl of the network namespace")?;
        }
        // A reply to a packet that left through the switch may return on the native path. Its
        // source is then the UPF's own address, which the kernel would drop as a martian.
        let settings =
            ["all/rp_filter 0", "upf6/rp_filter 0", "upf6/accept_local 1"].map(|setting| {
                let (name, value) = setting.split_once(' ').expect("name and value");
                format!("echo {value} > /proc/sys/net/ipv4/conf/{name}")
            });
        let done = Command::new("ip")
            .args(["netns", "exec", &wiring.0, "sh", "-ec", &settings.join("\n")])
            .status()?;
        ensure!(done.success(), "{settings:?}");
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
        Ok(wiring)
    }

    /// The name of the second namespace.
    pub fn netns(&self) -> &str {
        &self.0
    }

    /// The N3 address of a gNB.
    pub fn gnb(number: u8) -> Ipv4Addr {
        Ipv4Addr::new(192, 168, 70, FIRST_GNB + number)
    }
}

impl Drop for SwitchWiring {
    fn drop(&mut self) {
        let _ = ip(&format!("netns del {}", self.0));
    }
}
