//! `martlet demo`: a core, a gNB and a phone in network namespaces of their own, and what the
//! phone's traffic does there.
//!
//! The scripts of `deploy/demo` are in the program; it becomes the shell that runs them.
use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// What the demo shows.
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// What carries packets; left out, XDP programs where the kernel takes them, else a socket
    #[arg(long, value_enum)]
    datapath: Option<DemoDatapath>,
}

/// What carries the phone's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DemoDatapath {
    /// A socket
    Kernel,
    /// XDP programs
    Xdp,
    /// A programmable switch in the wires of the native UPF: the phone's download moves onto it
    /// while it runs
    Switch,
}

const FILES: &[(&str, &str)] = &[
    ("run.sh", include_str!("../../deploy/demo/run.sh")),
    ("scenario.yaml", include_str!("../../deploy/demo/scenario.yaml")),
    ("switch.sh", include_str!("../../deploy/demo/switch.sh")),
    ("switch.yaml", include_str!("../../deploy/demo/switch.yaml")),
];

/// Becomes the demo.
///
/// # Errors
/// It is not run as root, a program that it needs is missing, or, with a switch, the switch
/// program.
pub fn run(args: DemoArgs) -> Result<()> {
    ensure!(
        nix::unistd::geteuid().is_root(),
        "the demo makes network namespaces and interfaces: run it as root"
    );
    let own = std::env::current_exe().context("this program cannot be found")?;
    for program in ["bash", "ip", "iperf3", "unshare"] {
        ensure!(
            is_there(program),
            "{program} is missing: apt-get install bash iproute2 iperf3 util-linux"
        );
    }
    let switch = args.datapath == Some(DemoDatapath::Switch);
    if switch && !own.with_file_name("martlet-switch").is_file() {
        bail!("martlet-switch is not beside {}: make release builds both", own.display());
    }
    let folder = std::env::temp_dir().join(format!("martlet-demo-{}", std::process::id()));
    std::fs::create_dir(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    for (name, text) in FILES {
        let path = folder.join(name);
        std::fs::write(&path, text)
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    let script = folder.join(if switch { "switch.sh" } else { "run.sh" });
    let mut shell = Command::new("bash");
    // The folder goes with the demo, however that ends.
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

fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]).any(|folder| {
        let file: &Path = &folder.join(program);
        file.is_file()
    })
}
