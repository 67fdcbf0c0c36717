//! A UPF in a network namespace of its own between a gNB and a data network, or one that runs
//! already.
use super::{Addresses, ExternalUpfArgs};
use crate::command::{self, ip};
use crate::core::{StartedProgram, Usage};
use crate::namespace;
use crate::upf::smf::Smf;
use anyhow::{Context, Result};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// The addresses where the lab starts the UPF.
const GNB: Ipv4Addr = Ipv4Addr::new(10, 3, 0, 1);
const UPF: Ipv4Addr = Ipv4Addr::new(10, 3, 0, 2);
const HOST: Ipv4Addr = Ipv4Addr::new(10, 6, 0, 1);
/// The addresses of the UEs, see [`martlet_upf_xdp::bench_ue`].
const POOL: &str = "10.0.0.0/16";

/// A UPF, associated with the lab's SMF.
pub(super) struct Testbed {
    pub(super) smf: Smf,
    pub(super) addresses: Addresses,
    program: Option<StartedProgram>,
}

impl Testbed {
    /// Starts the UPF, if a program does that, and associates with it.
    pub(super) fn start(
        args: &ExternalUpfArgs,
        program: Option<&Path>,
        folder: &Path,
    ) -> Result<Testbed> {
        let address = |address: Option<Ipv4Addr>, option| {
            address.with_context(|| format!("{option} ADDR is missing"))
        };
        let (addresses, program) = match program {
            Some(program) => {
                let (n4, n3) = ((UPF, martlet_pfcp::PORT).into(), (UPF, martlet_gtpu::PORT).into());
                let addresses = Addresses { gnb: GNB, host: HOST, n4, n3 };
                (addresses, Some(in_namespace(args, program, folder)?))
            }
            None => {
                let interface = args.n6.as_deref().context("--n6 INTERFACE is missing")?;
                ip(&format!("route replace {POOL} dev {interface}"))?;
                let addresses = Addresses {
                    gnb: address(args.gnb, "--gnb")?,
                    host: address(args.host, "--host")?,
                    n4: (address(args.n4, "--n4")?, martlet_pfcp::PORT).into(),
                    n3: (address(args.n3, "--n3")?, martlet_gtpu::PORT).into(),
                };
                (addresses, None)
            }
        };
        let mut smf = Smf::connect(addresses.gnb, addresses.n4)?;
        smf.associate()?;
        Ok(Testbed { smf, addresses, program })
    }

    /// What the UPF's processes use now; `None` if it ran already.
    pub(super) fn usage(&self) -> Option<Usage> {
        self.program.as_ref().map(StartedProgram::usage)
    }

    /// Runs a closure while another thread answers the UPF's heartbeats.
    pub(super) fn with_heartbeats(&self, act: impl FnOnce() -> Result<()>) -> Result<()> {
        let stopped = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let answering = scope.spawn(|| self.smf.keep_alive(&stopped));
            let outcome = act();
            stopped.store(true, Ordering::Relaxed);
            let answered = answering.join();
            let panicked = |_| Err(anyhow::anyhow!("the thread of the SMF panicked"));
            outcome.and(answered.unwrap_or_else(panicked))
        })
    }

    pub(super) fn stop(self) -> Result<()> {
        self.program.map_or(Ok(()), StartedProgram::stop)
    }
}

/// Starts the program in a network namespace of its own, with links to a new one of this thread:
/// `n3m` and `n6m` here, `n3u` and `n6u` there. It waits for the file `links` in its folder.
fn in_namespace(args: &ExternalUpfArgs, program: &Path, folder: &Path) -> Result<StartedProgram> {
    namespace::enter_new()?;
    std::fs::create_dir_all(folder)?;
    let folder = folder.canonicalize()?;
    // Of a run before, into the same folder.
    let links = folder.join("links");
    if links.exists() {
        std::fs::remove_file(&links)?;
    }
    let mut command = Command::new("unshare");
    command.arg("--net").arg(program.canonicalize().context("--start")?);
    command
        .env("MARTLET_LAB_FOLDER", &folder)
        .env("MARTLET_LAB_N3_INTERFACE", "n3u")
        .env("MARTLET_LAB_N6_INTERFACE", "n6u")
        .env("MARTLET_LAB_UPF", UPF.to_string())
        .env("MARTLET_LAB_GNB", GNB.to_string())
        .env("MARTLET_LAB_HOST", HOST.to_string())
        .env("MARTLET_LAB_UE_POOL", POOL)
        .env("MARTLET_LAB_DNN", "internet");
    if let Some(programs) = &args.programs {
        command.env("MARTLET_LAB_PROGRAMS", programs.canonicalize().context("--programs")?);
    }
    let mut started = StartedProgram::start(command, &folder.join("external.log"))?;
    let pid = started.id();
    // Until then the process is still in this namespace.
    namespace::wait_for_another(pid)?;
    for (link, net) in [("n3", 3), ("n6", 6)] {
        let mac = |end: u8| format!("02:00:00:00:0{net}:{end:02x}");
        let (ours, theirs) = (mac(1), mac(2));
        ip(&format!(
            "link add {link}m address {ours} type veth peer name {link}u address {theirs}"
        ))?;
        ip(&format!("link set {link}u netns {pid}"))?;
        ip(&format!("addr add 10.{net}.0.1/24 dev {link}m"))?;
        ip(&format!("link set {link}m mtu 1600 up"))?;
        let there = |words: &str| {
            let pid = pid.to_string();
            let mut all = vec!["-t", &pid, "-n", "ip"];
            all.extend(words.split(' '));
            command::run("nsenter", &all)
        };
        there(&format!("link set {link}u mtu 1600 up"))?;
        there(&format!("addr add 10.{net}.0.2/24 dev {link}u"))?;
        // A UPF in XDP may look up neighbours that the kernel knows, and resolve none.
        there(&format!("neigh replace 10.{net}.0.1 lladdr {ours} dev {link}u nud permanent"))?;
        ip(&format!("neigh replace 10.{net}.0.2 lladdr {theirs} dev {link}m nud permanent"))?;
        // XDP programs need complete checksums.
        command::run("ethtool", &["-K", &format!("{link}m"), "tx", "off"])?;
        if net == 6 {
            there(&format!("route add default via {HOST}"))?;
        }
    }
    command::run("nsenter", &["-t", &pid.to_string(), "-n", "ip", "link", "set", "lo", "up"])?;
    ip(&format!("route add {POOL} via 10.6.0.2"))?;
    std::fs::write(links, "")?;
    started.wait_until_ready()?;
    Ok(started)
}
