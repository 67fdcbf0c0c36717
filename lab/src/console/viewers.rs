//! Viewers of the overview in a process of their own: they read what the page of the console reads,
//! and then its events, as browsers do.
use super::client::Client;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Viewers at an API.
#[derive(Debug, Clone, Args)]
pub struct ViewersArgs {
    /// Socket of the API
    #[arg(long)]
    socket: PathBuf,
}

/// Kinds of events that the overview reads.
const KINDS: &str = "overview,alarm,ue,gnb,function";

/// Opens and closes viewers by lines of standard input: `open N` and `close`.
///
/// # Errors
/// The API does not answer.
pub fn view(args: &ViewersArgs) -> Result<()> {
    let mut viewers: Vec<(UnixStream, std::thread::JoinHandle<()>)> = Vec::new();
    for line in std::io::stdin().lines() {
        let line = line?;
        for (stream, thread) in viewers.drain(..) {
            stream.shutdown(std::net::Shutdown::Both)?;
            let _ = thread.join();
        }
        if let Some(count) = line.strip_prefix("open ") {
            for _ in 0..count.parse::<u32>()? {
                viewers.push(open(&args.socket)?);
            }
        }
        println!("done");
    }
    Ok(())
}

/// Opens a viewer, and waits for its first update.
fn open(socket: &Path) -> Result<(UnixStream, std::thread::JoinHandle<()>)> {
    let mut client = Client::connect(socket)?;
    for path in ["/overview", "/alarms", "/events/recent?kinds=ue,gnb,function,alarm"] {
        client.get(path)?;
    }
    let mut stream = UnixStream::connect(socket)?;
    write!(
        stream,
        "GET /api/v1/events?kinds={KINDS} HTTP/1.1\r\nhost: localhost\r\naccept: \
         text/event-stream\r\n\r\n"
    )?;
    let mut events = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    while !line.starts_with("event: overview") {
        line.clear();
        ensure!(events.read_line(&mut line)? > 0, "the stream of events ended");
    }
    let thread = std::thread::spawn(move || {
        while events.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            line.clear();
        }
    });
    Ok((stream, thread))
}

/// The process of viewers.
pub(super) struct Viewers {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Viewers {
    pub(super) fn start(socket: &Path) -> Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["console-viewers", "--socket"])
            .arg(socket)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let to = process.stdin.take().context("standard input")?;
        let from = BufReader::new(process.stdout.take().context("standard output")?);
        Ok(Viewers { process, to, from })
    }

    fn send(&mut self, line: &str) -> Result<()> {
        writeln!(self.to, "{line}")?;
        let mut answer = String::new();
        self.from.read_line(&mut answer)?;
        ensure!(answer == "done\n", "the viewers ended");
        Ok(())
    }

    /// Opens or closes viewers until this number is open, each with its first update.
    pub(super) fn open(&mut self, count: u32) -> Result<()> {
        self.send(&if count == 0 { "close".into() } else { format!("open {count}") })
    }
}

impl Drop for Viewers {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
