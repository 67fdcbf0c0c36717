//! `martlet version`: what this program is, for reports of faults.
use clap::Args;

/// Arguments of `martlet version`.
#[derive(Args)]
pub struct VersionArgs {
    /// Show the build, the formats that it reads and writes, and the machine
    #[arg(short, long)]
    verbose: bool,
}

/// Prints the version.
pub fn run(args: &VersionArgs) {
    println!("martlet {}", env!("CARGO_PKG_VERSION"));
    if !args.verbose {
        return;
    }
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let sctp = match std::path::Path::new("/proc/net/sctp").exists() {
        true => "kernel",
        false => "user space (usrsctp)",
    };
    for (name, value) in [
        // The builder of a package names its source.
        ("commit", option_env!("MARTLET_COMMIT").unwrap_or("unknown").to_string()),
        ("build", format!("{build}, {}-{}", std::env::consts::ARCH, std::env::consts::OS)),
        ("database schema", martlet_store::SCHEMA_VERSION.to_string()),
        ("SBI bodies", format!("{:016x}", martlet_sbi_api::MODEL)),
        ("datapaths", "kernel, xdp, switch".into()),
        ("kernel", kernel.trim().to_string()),
        ("SCTP", sctp.into()),
        ("CPUs", std::thread::available_parallelism().map_or(1, usize::from).to_string()),
    ] {
        println!("{name:<16} {value}");
    }
}
