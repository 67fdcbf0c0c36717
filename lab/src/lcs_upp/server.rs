//! The LMF's end: a process of its own for each channel.
use super::exchange::echo;
use super::{LcsUppArgs, realtime};
use anyhow::{Context, Result};
use martlet_lcs_channel::{Identity, Kind, Options, Trust, listen};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// In the server's certificate.
const NAME: &str = "lmf.example";

/// The echoing process, hidden behind `martlet lab lcs-upp-server`; it ends when its standard input does.
#[derive(Debug, Clone, clap::Args)]
pub struct LcsUppServerArgs {
    /// Which channel
    #[arg(long)]
    pub channel: String,
    /// Microseconds to look for a message again and again before sleeping
    #[arg(long, default_value_t = 0)]
    pub spin: u64,
    /// Octets of an IP packet of the path
    #[arg(long, default_value_t = 65_535)]
    pub mtu: u16,
    /// Leave small segments to Nagle's algorithm
    #[arg(long)]
    pub nagle: bool,
    /// With real-time properties
    #[arg(long)]
    pub realtime: bool,
}

/// Serves one connection after the other. Its first line of output is its address, what follows its certificate.
///
/// # Errors
/// The channel cannot be made.
pub fn serve(args: LcsUppServerArgs) -> Result<()> {
    std::thread::spawn(|| {
        let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
        std::process::exit(0);
    });
    if args.realtime {
        realtime::enter()?;
    }
    let kind = Kind::from_name(&args.channel).with_context(|| format!("there is no channel {:?}", args.channel))?;
    let identity = Identity::self_signed(&[NAME])?;
    let options = Options {
        timeout: Duration::from_secs(10),
        spin: Duration::from_micros(args.spin),
        no_delay: !args.nagle,
        mtu: args.mtu,
    };
    let mut listener = listen(kind, SocketAddr::from(([127, 0, 0, 1], 0)), &identity, &options)?;
    println!("{}\n{}", listener.local_addr(), identity.certificates.trim());
    println!();
    std::io::stdout().flush()?;
    loop {
        match listener.accept() {
            Ok(mut channel) => {
                if let Err(error) = echo(&mut *channel) {
                    tracing::debug!(%error, "a connection ended");
                }
            }
            Err(error) => tracing::warn!(%error, "a connection was not brought up"),
        }
    }
}

/// A process that echoes.
pub(super) struct Server {
    child: Child,
    pub(super) address: SocketAddr,
    pub(super) trust: Trust,
}

impl Server {
    /// Starts it, and waits until it listens.
    pub(super) fn start(kind: Kind, args: &LcsUppArgs) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--log", "warn", "lab", "lcs-upp-server", "--channel", kind.name()]);
        command.args(["--spin", &args.spin.to_string(), "--mtu", &args.mtu.to_string()]);
        if args.nagle {
            command.arg("--nagle");
        }
        if args.realtime {
            command.arg("--realtime");
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("the server's output")?;
        let mut lines = BufReader::new(output).lines();
        let ended = || format!("the server of {} ended at once", kind.name());
        let address = lines.next().with_context(ended)??.parse()?;
        let mut roots = String::new();
        for line in lines.by_ref() {
            let line = line?;
            if line.is_empty() {
                break;
            }
            roots.push_str(&line);
            roots.push('\n');
        }
        Ok(Server { child, address, trust: Trust { roots, name: NAME.into() } })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
