//! The LMF's end: one process for each channel.
use super::program::endpoint_command;
use anyhow::{Context, Result};
use martlet_lab_endpoint::End;
use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::process::{Child, Stdio};

/// Arguments of the hidden command `martlet-lab lcs-upp-server`. The server ends with its standard
/// input.
#[derive(Debug, Clone, clap::Args)]
pub struct LcsUppServerArgs {
    /// Arguments of the endpoint
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Serves connections.
///
/// # Errors
/// The listener cannot be opened.
pub fn serve(args: LcsUppServerArgs) -> Result<()> {
    let (at, end) = End::of_words(&args.words, "--at")?;
    martlet_lab_endpoint::serve(at.parse()?, &end)
}

/// A server process. It echoes messages.
pub(super) struct Server {
    child: Child,
    /// Its address, and that of its listener for early data.
    pub(super) address: String,
    /// Its certificate in PEM.
    pub(super) roots: String,
}

impl Server {
    /// Starts the server and waits until it listens.
    pub(super) fn start(at: IpAddr, end: &End) -> Result<Self> {
        let mut command = endpoint_command("server")?;
        command.args(["--at", &at.to_string()]).args(end.words());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("the server's output")?;
        let mut lines = BufReader::new(output).lines();
        let ended = || format!("{}: the server ended at its start", end.variant.name());
        let address = lines.next().with_context(ended)??;
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
