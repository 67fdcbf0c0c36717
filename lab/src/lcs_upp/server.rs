//! The LMF's end: one process for each channel, here or on the LMF's host.
use super::control::{Control, conditions_of};
use super::program::endpoint_command;
use crate::process_usage::Usage;
use anyhow::{Context, Result};
use martlet_lab_endpoint::End;
use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::process::{Child, Stdio};
use std::rc::Rc;

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

/// Where a server runs.
enum Process {
    Here(Child),
    /// On the LMF's host, by its number there.
    There(Rc<Control>, usize),
}

/// A server process. It echoes messages.
pub(super) struct Server {
    process: Process,
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
        Ok(Server { process: Process::Here(child), address, roots })
    }

    /// Starts the server on the LMF's host. It ends with the control connection.
    pub(super) fn start_there(control: &Rc<Control>, end: &End) -> Result<Self> {
        let (number, address, roots) = control.start(end)?;
        Ok(Server { process: Process::There(control.clone(), number), address, roots })
    }

    /// CPU time and context switches since its start.
    pub(super) fn used(&self) -> Result<Usage> {
        match &self.process {
            Process::Here(child) => Ok(Usage::of(child.id())),
            Process::There(control, number) => control.used(*number),
        }
    }

    /// Its scheduling properties, and the real-time property that is not in force.
    pub(super) fn conditions(&self) -> Result<(String, Option<String>)> {
        match &self.process {
            Process::Here(child) => Ok(conditions_of(child.id())),
            Process::There(control, number) => control.conditions(*number),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Process::Here(child) = &mut self.process {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
