//! `martlet demo`: a core, a gNB and a UE with traffic, in network namespaces of their own.
//!
//! The program contains the scripts of `deploy/demo`, and executes the shell that runs them.
use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Arguments of the demo.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Datapath of the UPF [default: xdp if the kernel supports it, else kernel]
    #[arg(long, value_enum)]
    datapath: Option<DemoDatapath>,
}

/// A datapath of the UPF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DemoDatapath {
    /// Sockets
    Kernel,
    /// XDP programs
    Xdp,
    /// A programmable switch: a download is offloaded to it while it runs
    Switch,
}

const FILES: &[(&str, &str)] = &[
    ("run.sh", include_str!("../../../deploy/demo/run.sh")),
    ("scenario.yaml", include_str!("../../../deploy/demo/scenario.yaml")),
    ("switch.sh", include_str!("../../../deploy/demo/switch.sh")),
    ("switch.yaml", include_str!("../../../deploy/demo/switch.yaml")),
];

/// Replaces this process with the demo.
///
/// # Errors
/// The demo does not run as root, or a program that it needs is missing.
pub fn run(args: DemoArgs) -> Result<()> {
    ensure!(
        nix::unistd::geteuid().is_root(),
        "the demo makes network namespaces and interfaces: run it as root"
    );
    let own = std::env::current_exe().context("the path of this program is unknown")?;
    for program in ["bash", "ip", "iperf3", "ping", "unshare"] {
        ensure!(
            is_installed(program),
            "{program} is missing: apt-get install bash iproute2 iperf3 iputils-ping util-linux"
        );
    }
    let switch = args.datapath == Some(DemoDatapath::Switch);
    if switch && !own.with_file_name("martlet-switch").is_file() {
        bail!("martlet-switch is not beside {}: `make release-switch` builds it", own.display());
    }
    let folder = std::env::temp_dir().join(format!("martlet-demo-{}", std::process::id()));
    std::fs::create_dir(&folder)
        .with_context(|| format!("{} cannot be created", folder.display()))?;
    for (name, text) in FILES {
        let path = folder.join(name);
        std::fs::write(&path, text)
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    let script = folder.join(if switch { "switch.sh" } else { "run.sh" });
    let mut shell = Command::new("bash");
    // The shell removes the folder at its end.
    shell
        .args(["-c", r#"trap 'rm -rf "$1"' EXIT; bash "$2" "$3""#, "demo"])
        .args([&folder, &script, &own]);
    match args.datapath {
        Some(DemoDatapath::Kernel) => shell.env("MARTLET_DEMO_DATAPATHS", "kernel"),
        Some(DemoDatapath::Xdp) => shell.env("MARTLET_DEMO_DATAPATHS", "xdp"),
        _ => &mut shell,
    };
    let error = shell.exec();
    let _ = std::fs::remove_dir_all(&folder);
    bail!("bash cannot be run: {error}")
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]).any(|folder| {
        let file: &Path = &folder.join(program);
        file.is_file()
    })
}
