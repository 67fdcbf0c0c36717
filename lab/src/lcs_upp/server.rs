//! The LMF's end: a process of its own for each channel.
use super::exchange::{SESSION, echo};
use super::way::Way;
use super::{EndArgs, realtime};
use anyhow::{Context, Result};
use martlet_lcs_channel::{Channel, Identity, listen};
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr};
use std::process::{Child, Command, Stdio};

/// In the server's certificate.
pub(super) const NAME: &str = "lmf.example";

/// The echoing process, hidden behind `martlet lab lcs-upp-server`; it ends when its standard input does.
#[derive(Debug, Clone, clap::Args)]
pub struct LcsUppServerArgs {
    /// Where to listen
    #[arg(long)]
    at: IpAddr,
    #[command(flatten)]
    end: EndArgs,
}

/// Serves connections. Its first line of output is its address, what follows its certificate.
///
/// # Errors
/// The channel cannot be made.
pub fn serve(args: LcsUppServerArgs) -> Result<()> {
    std::thread::spawn(|| {
        let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
        std::process::exit(0);
    });
    if args.end.realtime {
        realtime::enter()?;
    }
    let (way, options) = (args.end.way()?, args.end.options()?);
    let identity = Identity::self_signed(&[NAME])?;
    let mut listener = listen(way.kind(), SocketAddr::from((args.at, 0)), &identity, &options)?;
    println!("{}\n{}\n", listener.local_addr(), identity.certificates.trim());
    std::io::stdout().flush()?;
    loop {
        match listener.accept() {
            Ok(mut channel) => {
                std::thread::spawn(move || {
                    if let Err(error) = answer(way, &mut *channel) {
                        tracing::debug!(%error, "a connection ended");
                    }
                });
            }
            Err(error) => tracing::warn!(%error, "a connection was not brought up"),
        }
    }
}

fn answer(way: Way, channel: &mut dyn Channel) -> Result<()> {
    if way != Way::KernelModule {
        echo(channel)?;
    } else {
        let socket = channel.kernel_socket().context("a channel whose records the kernel makes")?;
        martlet_lcs_kernel::Device::open()?.answer(socket, &[0x5e; SESSION])?;
    }
    Ok(channel.close()?)
}

/// A process that echoes.
pub(super) struct Server {
    child: Child,
    pub(super) address: SocketAddr,
    /// Its certificate, PEM.
    pub(super) roots: String,
}

impl Server {
    /// Starts it, and waits until it listens.
    pub(super) fn start(way: Way, at: IpAddr, end: &EndArgs) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--log", "warn", "lab", "lcs-upp-server", "--at", &at.to_string()]);
        command.args(end.for_process(way));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("the server's output")?;
        let mut lines = BufReader::new(output).lines();
        let ended = || format!("the server of {} ended at once", way.name());
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
        Ok(Server { child, address, roots })
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
