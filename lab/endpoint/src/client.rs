//! The UE's end, which executes the commands of its standard input.
use crate::exchange::{Message, MessageChannel, SESSION};
use crate::{End, NAME, Variant};
use anyhow::{Context, Result, bail};
use martlet_lab_channels::{Channel, Connector, Kind, Resumption, Trust};
use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Limit of the time between two commands. Meanwhile the channel's timers are serviced: a QUIC
/// connection that is not polled would take the late packets for a round trip of minutes and derive
/// its loss timeout from that.
const IDLE: Duration = Duration::from_secs(3600);

/// What rounds are done with.
enum Requester {
    Channel(MessageChannel),
    Kernel(Box<dyn Channel>, martlet_lcs_kernel::Device),
}

impl Requester {
    fn connect(variant: Variant, to: SocketAddr, connector: &Connector) -> Result<Self> {
        let channel = connector.connect(to)?;
        Ok(match variant {
            Variant::KernelModule => {
                Requester::Kernel(channel, martlet_lcs_kernel::Device::open()?)
            }
            _ => Requester::Channel(MessageChannel::new(channel)),
        })
    }

    fn rounds(&mut self, n: usize, count: usize) -> Result<Vec<Duration>> {
        match self {
            Requester::Channel(talk) => {
                let message = Message::new(n);
                (0..count).map(|_| talk.round(&message)).collect()
            }
            Requester::Kernel(channel, device) => {
                let socket = channel.kernel_socket().context("a kernel TLS channel")?;
                Ok(device.ask(socket, n as u32, count, &[0x5e; SESSION])?)
            }
        }
    }

    fn procedures(&mut self, count: usize) -> Result<Vec<Duration>> {
        match self {
            Requester::Channel(talk) => (0..count).map(|_| talk.procedure()).collect(),
            // The module measures rounds only and does not decode LPP.
            Requester::Kernel(..) => Ok(Vec::new()),
        }
    }

    fn channel(&mut self) -> &mut dyn Channel {
        match self {
            Requester::Channel(talk) => talk.channel(),
            Requester::Kernel(channel, _) => &mut **channel,
        }
    }
}

/// How a new connection is established, up to its first response: with a full handshake, resumed,
/// or with the first message as 0-RTT data.
fn bring_up(
    variant: Variant,
    to: SocketAddr,
    known: &Connector,
    new: &Connector,
    how: &str,
) -> Result<Option<Duration>> {
    let message = Message::new(1);
    let start = Instant::now();
    let mut asker = match how {
        "setup" => Requester::connect(variant, to, new)?,
        "resume" => {
            let asker = Requester::connect(variant, to, known)?;
            let Requester::Channel(talk) = asker else { return Ok(None) };
            Requester::Channel(talk)
        }
        _ => {
            let (channel, sent_early) = known.connect_early(to, &message.uplink()?)?;
            let mut talk = MessageChannel::new(channel);
            talk.answer(&message)?;
            let elapsed = start.elapsed();
            let fits = sent_early && talk.channel().resumption() == Resumption::Early;
            talk.channel().close()?;
            return Ok(fits.then_some(elapsed));
        }
    };
    asker.rounds(1, 1)?;
    let elapsed = start.elapsed();
    let resumed = asker.channel().resumption();
    // The session ticket arrives with the response or shortly after it.
    asker.channel().close()?;
    Ok(match how {
        "resume" => (resumed != Resumption::Full).then_some(elapsed),
        _ => Some(elapsed),
    })
}

/// Connects to `to` and executes the commands of standard input. `to` is an address, optionally
/// followed by a comma and the address that accepts 0-RTT data. Standard input starts with the
/// server's certificate and an empty line.
///
/// # Errors
/// The channel cannot be established or breaks, or a response is wrong.
pub fn ask(to: &str, end: &End, trim: fn()) -> Result<()> {
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
    let (variant, options) = (end.variant, end.options());
    let trust = Trust { roots, name: NAME.into() };
    let connector = Connector::new(variant.kind(), &trust, &options)?;
    let to_early = Connector::new(variant.kind(), &trust, &options)?;
    let mut asker = Requester::connect(variant, to, &connector)?;
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
        if line == "trim" {
            trim();
        }
        let times: Vec<Duration> = match words[0] {
            "trim" => Vec::new(),
            "rounds" => asker.rounds(number(1)?, number(2)?)?,
            "procedures" => asker.procedures(number(1)?)?,
            "resume" if !variant.kind().resumes() => Vec::new(),
            "early" if !variant.kind().supports_early_data() => Vec::new(),
            how @ ("setup" | "resume" | "early") => {
                let mut times = Vec::new();
                for _ in 0..number(1)? {
                    let new = Connector::new(variant.kind(), &trust, &options)?;
                    // quinn reports a resumption only through accepted 0-RTT data.
                    let early_too = how == "resume" && variant.kind() == Kind::Quinn;
                    let (to, known) = if how == "early" || early_too {
                        (early, &to_early)
                    } else {
                        (to, &connector)
                    };
                    match bring_up(variant, to, known, &new, how)? {
                        Some(elapsed) => times.push(elapsed),
                        // The first connections may have no ticket yet.
                        None if how != "setup" => continue,
                        None => break,
                    }
                }
                times
            }
            _ => bail!("unknown command: {line}"),
        };
        let times: Vec<String> = times.iter().map(|time| time.as_nanos().to_string()).collect();
        writeln!(output, "{}", times.join(" "))?;
        output.flush()?;
        // The caller waits for the result before the next command, so no unread command is in the
        // buffer.
        asker.channel().idle(IDLE, Some(input.as_fd()))?;
    }
    asker.channel().close()?;
    Ok(())
}
