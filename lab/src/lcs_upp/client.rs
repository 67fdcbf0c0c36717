//! The UE's end: one process for each channel, which runs the commands on its standard input.
use super::path::Route;
use super::program::endpoint_command;
use super::server::Server;
use anyhow::{Context, Result, ensure};
use martlet_lab_endpoint::End;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

/// Arguments of the hidden command `martlet-lab lcs-upp-client`. The client ends with its standard
/// input.
#[derive(Debug, Clone, clap::Args)]
pub struct LcsUppClientArgs {
    /// Arguments of the endpoint
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Runs the client.
///
/// # Errors
/// The channel is not established or breaks, or an answer is wrong.
pub fn ask(args: LcsUppClientArgs) -> Result<()> {
    let (to, end) = End::of_words(&args.words, "--to")?;
    martlet_lab_endpoint::ask(&to, &end, || ())
}

/// A client process.
pub(super) struct Client {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// Protocol and cipher of its channel.
    pub(super) description: String,
}

impl Client {
    /// Starts the client at the UE's end of a route and waits until it is connected.
    pub(super) fn start(server: &Server, end: &End, route: &Route, ue: usize) -> Result<Self> {
        let mut command = endpoint_command("client")?;
        command.args(["--to", &server.address]);
        command.args(end.words()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = route.spawn(ue, &mut command)?;
        let mut commands = child.stdin.take().context("the client's input")?;
        let answers = BufReader::new(child.stdout.take().context("the client's output")?);
        writeln!(commands, "{}\n", server.roots.trim())?;
        let mut client = Client { child, commands, answers, description: String::new() };
        client.description = client
            .line()
            .with_context(|| format!("{}: the channel is not established", end.variant.name()))?;
        Ok(client)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the client ended; its error is printed above");
        Ok(line.trim().into())
    }

    /// Sends a command such as `rounds N COUNT`. [`Client::times`] waits for its end.
    pub(super) fn send(&mut self, command: &str) -> Result<()> {
        Ok(writeln!(self.commands, "{command}")?)
    }

    /// Waits for the end of the last command and returns the time of each round.
    pub(super) fn times(&mut self) -> Result<Vec<Duration>> {
        let line = self.line()?;
        let times = line.split(' ').filter(|word| !word.is_empty());
        times
            .map(|word| Ok(Duration::from_nanos(word.parse().with_context(|| line.clone())?)))
            .collect()
    }

    /// Makes the client release unused memory.
    pub(super) fn trim_memory(&mut self) -> Result<()> {
        self.send("trim")?;
        self.times().map(|_| ())
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
