//! The UE's end: a process of its own for each way, which does what its standard input says.
use super::path::Route;
use super::program::program;
use super::server::Server;
use anyhow::{Context, Result, ensure};
use martlet_lcs_endpoint::End;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

/// The asking process, hidden behind `martlet lab lcs-upp-client`; it ends when its standard input
/// does.
#[derive(Debug, Clone, clap::Args)]
pub struct LcsUppClientArgs {
    /// What it is told
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Asks.
///
/// # Errors
/// The channel does not come up or breaks, or an answer is wrong.
pub fn ask(args: LcsUppClientArgs) -> Result<()> {
    let (to, end) = End::of_words(&args.words, "--to")?;
    martlet_lcs_endpoint::ask(&to, &end, || ())
}

/// A process that asks.
pub(super) struct Client {
    child: Child,
    wishes: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// What protects its channel.
    pub(super) description: String,
}

impl Client {
    /// Starts it at the UE's end of a route, and waits until it is connected.
    pub(super) fn start(server: &Server, end: &End, route: &Route, ue: usize) -> Result<Self> {
        let mut command = program("client")?;
        command.args(["--to", &server.address]);
        command.args(end.words()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = route.spawn(ue, &mut command)?;
        let mut wishes = child.stdin.take().context("the client's input")?;
        let answers = BufReader::new(child.stdout.take().context("the client's output")?);
        writeln!(wishes, "{}\n", server.roots.trim())?;
        let mut client = Client { child, wishes, answers, description: String::new() };
        client.description =
            client.line().with_context(|| format!("{} does not come up", end.way.name()))?;
        Ok(client)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the client ended; what was wrong stands above");
        Ok(line.trim().into())
    }

    /// Has it begin with something, such as `rounds N COUNT`; its times are there when it is done.
    pub(super) fn begin(&mut self, wish: &str) -> Result<()> {
        Ok(writeln!(self.wishes, "{wish}")?)
    }

    /// The times of what it began with.
    pub(super) fn times(&mut self) -> Result<Vec<Duration>> {
        let line = self.line()?;
        let times = line.split(' ').filter(|word| !word.is_empty());
        times
            .map(|word| Ok(Duration::from_nanos(word.parse().with_context(|| line.clone())?)))
            .collect()
    }

    /// Lets go of memory that it does not use.
    pub(super) fn be_lean(&mut self) -> Result<()> {
        self.begin("lean")?;
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
