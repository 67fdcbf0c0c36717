//! The UE's end: it does what its standard input says.
use crate::exchange::{Message, SESSION, Talk};
use crate::{End, NAME, Way};
use anyhow::{Context, Result, bail};
use martlet_lab_channels::{Channel, Connector, Kind, Resumption, Trust};
use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// A channel without work is looked after until there is some: one with timers of its own, that is
/// not, takes what lies in its socket when it is asked again for a round trip of minutes, and waits
/// as long for what is lost next.
const IDLE: Duration = Duration::from_secs(3600);

/// What rounds are done with.
enum Asker {
    Channel(Talk),
    Kernel(Box<dyn Channel>, martlet_lcs_kernel::Device),
}

impl Asker {
    fn connect(way: Way, to: SocketAddr, connector: &Connector) -> Result<Self> {
        let channel = connector.connect(to)?;
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
                let socket =
                    channel.kernel_socket().context("a channel whose records the kernel makes")?;
                Ok(device.ask(socket, n as u32, count, &[0x5e; SESSION])?)
            }
        }
    }

    fn procedures(&mut self, count: usize) -> Result<Vec<Duration>> {
        match self {
            Asker::Channel(talk) => (0..count).map(|_| talk.procedure()).collect(),
            // It knows messages, and nothing of what is in them.
            Asker::Kernel(..) => Ok(Vec::new()),
        }
    }

    fn channel(&mut self) -> &mut dyn Channel {
        match self {
            Asker::Channel(talk) => talk.channel(),
            Asker::Kernel(channel, _) => &mut **channel,
        }
    }
}

/// How a connection is brought up anew, each until its first message is answered: as if nothing was
/// known of the other end, with what is known of it, and with the message in the first flight.
fn bring_up(
    way: Way,
    to: SocketAddr,
    known: &Connector,
    new: &Connector,
    how: &str,
) -> Result<Option<Duration>> {
    let message = Message::new(1);
    let start = Instant::now();
    let mut asker = match how {
        "setup" => Asker::connect(way, to, new)?,
        "resume" => {
            let asker = Asker::connect(way, to, known)?;
            let Asker::Channel(talk) = asker else { return Ok(None) };
            Asker::Channel(talk)
        }
        _ => {
            let (channel, took_it) = known.connect_early(to, &message.uplink()?)?;
            let mut talk = Talk::new(channel);
            talk.answer(&message)?;
            let took = start.elapsed();
            let fits = took_it && talk.channel().resumption() == Resumption::Early;
            talk.channel().close()?;
            return Ok(fits.then_some(took));
        }
    };
    asker.rounds(1, 1)?;
    let took = start.elapsed();
    let resumed = asker.channel().resumption();
    // What the other end gives for the next time comes with its answer, or soon after.
    asker.channel().close()?;
    Ok(match how {
        "resume" => (resumed != Resumption::Full).then_some(took),
        _ => Some(took),
    })
}

/// Connects to an address, or to one and, with octets in the first flight, to another one behind a
/// comma. It does what its standard input says: first the server's certificate, then lines. `rounds
/// N COUNT` is answered with the nanoseconds of each round; `procedures COUNT` with those that LPP
/// procedures took the LMF; `setup COUNT`, `resume COUNT` and `early COUNT` with those of each new
/// connection until its first answer, full, resumed, and with the first message in its first
/// flight; nothing where the channel cannot do that. `lean` calls `let_go`, which lets go of memory
/// that is not used.
///
/// # Errors
/// The channel does not come up or breaks, or an answer is wrong.
pub fn ask(to: &str, end: &End, let_go: fn()) -> Result<()> {
    let (to, early) = to.split_once(',').unwrap_or((to, to));
    let (to, early): (SocketAddr, SocketAddr) = (to.parse()?, early.parse()?);
    let input = std::io::stdin();
    let mut lines = input.lock().lines();
    let mut roots = String::new();
    for line in lines.by_ref() {
        let line = line?;
        if line.is_empty() {
            break;
        }
        roots += &line;
        roots.push('\n');
    }
    end.enter()?;
    let (way, options) = (end.way, end.options());
    let trust = Trust { roots, name: NAME.into() };
    let connector = Connector::new(way.kind(), &trust, &options)?;
    let to_early = Connector::new(way.kind(), &trust, &options)?;
    let mut asker = Asker::connect(way, to, &connector)?;
    let it = asker.channel().describe();
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}, {}, {}", it.library, it.protocol, it.cipher_suite)?;
    output.flush()?;
    for line in lines {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| {
            words.get(at).and_then(|word| word.parse::<usize>().ok()).context("a number")
        };
        if line == "lean" {
            let_go();
        }
        let times: Vec<Duration> = match words[0] {
            "lean" => Vec::new(),
            "rounds" => asker.rounds(number(1)?, number(2)?)?,
            "procedures" => asker.procedures(number(1)?)?,
            "resume" if !way.kind().resumes() => Vec::new(),
            "early" if !way.kind().supports_early_data() => Vec::new(),
            how @ ("setup" | "resume" | "early") => {
                let mut times = Vec::new();
                for _ in 0..number(1)? {
                    let new = Connector::new(way.kind(), &trust, &options)?;
                    // quinn tells of a resumption by what may go early.
                    let early_too = how == "resume" && way.kind() == Kind::Quinn;
                    let (to, known) = if how == "early" || early_too {
                        (early, &to_early)
                    } else {
                        (to, &connector)
                    };
                    match bring_up(way, to, known, &new, how)? {
                        Some(took) => times.push(took),
                        // The first ones may be without what the other end gives for it.
                        None if how != "setup" => continue,
                        None => break,
                    }
                }
                times
            }
            _ => bail!("no such wish: {line}"),
        };
        let times: Vec<String> = times.iter().map(|time| time.as_nanos().to_string()).collect();
        writeln!(output, "{}", times.join(" "))?;
        output.flush()?;
        // What is asked next is all that may lie in its buffer: who asks waits for the answer.
        asker.channel().idle(IDLE, Some(input.as_fd()))?;
    }
    asker.channel().close()?;
    Ok(())
}
