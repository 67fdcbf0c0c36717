//! The UE's end: a process of its own for each way, which does what its standard input says.
use super::exchange::{Message, SESSION, Talk};
use super::path::Route;
use super::server::Server;
use super::way::Way;
use super::{EndArgs, realtime};
use anyhow::{Context, Result, bail, ensure};
use martlet_lcs_channel::{Channel, Options, Trust, connect};
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The asking process, hidden behind `martlet lab lcs-upp-client`; it ends when its standard input does.
#[derive(Debug, Clone, clap::Args)]
pub struct LcsUppClientArgs {
    /// Where the server is
    #[arg(long)]
    to: SocketAddr,
    #[command(flatten)]
    end: EndArgs,
}

/// How long a channel without work is looked after.
const REST: Duration = Duration::from_millis(60);

/// What rounds are done with.
enum Asker {
    Channel(Talk),
    Kernel(Box<dyn Channel>, martlet_lcs_kernel::Device),
}

impl Asker {
    fn connect(way: Way, to: SocketAddr, trust: &Trust, options: &Options) -> Result<Self> {
        let channel = connect(way.kind(), to, trust, options)?;
        Ok(match way {
            Way::KernelModule => Asker::Kernel(channel, martlet_lcs_kernel::Device::open()?),
            _ => Asker::Channel(Talk::new(channel)),
        })
    }

    fn rounds(&mut self, n: usize, count: usize) -> Result<Vec<Duration>> {
        match self {
            Asker::Channel(talk) => {
                let message = Message::new(n);
                (0..count).map(|_| talk.round(&message)).collect()
            }
            Asker::Kernel(channel, device) => {
                let socket = channel.kernel_socket().context("a channel whose records the kernel makes")?;
                Ok(device.ask(socket, n as u32, count, &[0x5e; SESSION])?)
            }
        }
    }

    fn channel(&mut self) -> &mut dyn Channel {
        match self {
            Asker::Channel(talk) => talk.channel(),
            Asker::Kernel(channel, _) => &mut **channel,
        }
    }
}

/// Does what its standard input says: first the server's certificate, then lines. `rounds N COUNT` is answered with the
/// nanoseconds of each round, `setup COUNT` with those of each new connection.
///
/// # Errors
/// The channel does not come up or breaks, or an answer is wrong.
pub fn ask(args: LcsUppClientArgs) -> Result<()> {
    let mut lines = std::io::stdin().lock().lines();
    let mut roots = String::new();
    for line in lines.by_ref() {
        let line = line?;
        if line.is_empty() {
            break;
        }
        roots += &line;
        roots.push('\n');
    }
    if args.end.realtime {
        realtime::enter()?;
    }
    let (way, options) = (args.end.way()?, args.end.options()?);
    let trust = Trust { roots, name: super::server::NAME.into() };
    let mut asker = Asker::connect(way, args.to, &trust, &options)?;
    let it = asker.channel().describe();
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}, {}, {}", it.library, it.protocol, it.cipher_suite)?;
    output.flush()?;
    for line in lines {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<usize>().ok()).context("a number");
        let times = match words[0] {
            "rounds" => asker.rounds(number(1)?, number(2)?)?,
            "setup" => (0..number(1)?)
                .map(|_| {
                    let start = Instant::now();
                    let mut new = Asker::connect(way, args.to, &trust, &options)?;
                    let took = start.elapsed();
                    // It works.
                    new.rounds(1, 1)?;
                    new.channel().close()?;
                    Ok(took)
                })
                .collect::<Result<_>>()?,
            _ => bail!("no such wish: {line}"),
        };
        let times: Vec<String> = times.iter().map(|time| time.as_nanos().to_string()).collect();
        writeln!(output, "{}", times.join(" "))?;
        output.flush()?;
        // What the peer sent last is acknowledged before others have their turn.
        asker.channel().rest(REST)?;
    }
    asker.channel().close()?;
    Ok(())
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
    pub(super) fn start(way: Way, server: &Server, end: &EndArgs, route: &Route) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--log", "warn", "lab", "lcs-upp-client", "--to", &server.address.to_string()]);
        command.args(end.for_process(way)).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = route.spawn(&mut command)?;
        let mut wishes = child.stdin.take().context("the client's input")?;
        let answers = BufReader::new(child.stdout.take().context("the client's output")?);
        writeln!(wishes, "{}\n", server.roots.trim())?;
        let mut client = Client { child, wishes, answers, description: String::new() };
        client.description = client.line().with_context(|| format!("{} does not come up", way.name()))?;
        Ok(client)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        ensure!(!line.is_empty(), "the client ended; what was wrong stands above");
        Ok(line.trim().into())
    }

    fn wish(&mut self, wish: &str) -> Result<Vec<Duration>> {
        writeln!(self.wishes, "{wish}")?;
        let line = self.line()?;
        let times = line.split(' ').filter(|word| !word.is_empty());
        times.map(|word| Ok(Duration::from_nanos(word.parse().with_context(|| line.clone())?))).collect()
    }

    /// The transport times of so many rounds.
    pub(super) fn rounds(&mut self, n: usize, count: usize) -> Result<Vec<Duration>> {
        self.wish(&format!("rounds {n} {count}"))
    }

    /// How long new connections took to come up.
    pub(super) fn setups(&mut self, count: usize) -> Result<Vec<Duration>> {
        self.wish(&format!("setup {count}"))
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
