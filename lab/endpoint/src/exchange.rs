//! One round, at both ends: an uplink message is made, sent, verified, echoed downlink, and
//! verified.
use crate::procedure::{self, Next};
use anyhow::{Context, Result, bail, ensure};
use martlet_lab_channels::{Channel, ChannelError};
use martlet_lcsupp::{Framer, Message as Upp, PayloadType, Transport};
use std::time::{Duration, Instant};

/// Octets of the largest session identity: with its length they are the 256 octets of session
/// parameters of the paper.
pub const SESSION: usize = 255;

/// What a round carries.
pub struct Message {
    payload: Vec<u8>,
    session: Vec<u8>,
}

impl Message {
    /// With a payload of `n` octets.
    pub fn new(n: usize) -> Self {
        Message {
            payload: (0..n).map(|at| (at * 31 + 7) as u8).collect(),
            session: vec![0x5e; SESSION],
        }
    }

    /// The uplink message.
    pub fn uplink(&self) -> Result<Vec<u8>> {
        let mut octets = Vec::new();
        Upp::Uplink(self.transport()).encode_into(&mut octets)?;
        Ok(octets)
    }

    fn transport(&self) -> Transport<'_> {
        Transport { payload_type: PayloadType::Lpp, payload: &self.payload, session: &self.session }
    }
}

/// The UE's end of a channel.
pub struct Talk {
    channel: Box<dyn Channel>,
    framer: Framer,
    output: Vec<u8>,
}

impl Talk {
    pub fn new(channel: Box<dyn Channel>) -> Self {
        Talk { channel, framer: Framer::new(), output: Vec::new() }
    }

    pub fn channel(&mut self) -> &mut dyn Channel {
        &mut *self.channel
    }

    /// The transport time of one round: from before the uplink message is made until the downlink
    /// message is verified.
    pub fn round(&mut self, message: &Message) -> Result<Duration> {
        let start = Instant::now();
        self.output.clear();
        Upp::Uplink(message.transport()).encode_into(&mut self.output)?;
        self.channel.send(&self.output)?;
        self.answer_since(message, start)
    }

    /// Waits for the answer to a message that was sent.
    pub fn answer(&mut self, message: &Message) -> Result<Duration> {
        self.answer_since(message, Instant::now())
    }

    fn answer_since(&mut self, message: &Message, start: Instant) -> Result<Duration> {
        loop {
            if let Some(answer) = self.framer.next()? {
                // Message type, payload type, lengths, and the session; the payload is the one that
                // was sent.
                let Upp::Downlink(answer) = answer else {
                    bail!("the answer is no DL LCS-UP TRANSPORT")
                };
                let good = answer.payload_type == PayloadType::Lpp
                    && answer.payload.len() == message.payload.len()
                    && answer.session == message.session;
                let took = start.elapsed();
                ensure!(good, "the answer is not to this message");
                ensure!(answer.payload == message.payload, "the answer has another payload");
                return Ok(took);
            }
            ensure!(self.channel.receive(self.framer.input())?, "the other end closed the channel");
        }
    }
}

impl Talk {
    /// An LPP procedure: how long it took the LMF.
    pub fn procedure(&mut self) -> Result<Duration> {
        self.channel.send(&procedure::beginning()?)?;
        loop {
            let next = match self.framer.next()? {
                Some(Upp::Downlink(message)) => {
                    ensure!(message.session == procedure::SESSION, "a message of another session");
                    procedure::next(&message)?
                }
                Some(_) => bail!("no DL LCS-UP TRANSPORT came"),
                None => {
                    ensure!(
                        self.channel.receive(self.framer.input())?,
                        "the other end closed the channel"
                    );
                    continue;
                }
            };
            match next {
                Next::Answer(octets) => self.channel.send(&octets)?,
                Next::Done(took) => return Ok(took),
            }
        }
    }
}

/// The LMF's end, until the other one closes the channel.
pub fn echo(channel: &mut dyn Channel) -> Result<()> {
    let session = vec![0x5e; SESSION];
    let mut lmf = procedure::Lmf::new();
    let (mut framer, mut output) = (Framer::new(), Vec::new());
    loop {
        match channel.receive(framer.input()) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            // Another channel is being measured.
            Err(ChannelError::Timeout) => continue,
            Err(error) => return Err(error).context("the channel broke"),
        }
        while let Some(message) = framer.next()? {
            let Upp::Uplink(transport) = message else { bail!("no UL LCS-UP TRANSPORT came") };
            if transport.session == procedure::SESSION {
                channel.send(&lmf.answer(&transport)?)?;
                continue;
            }
            ensure!(
                transport.payload_type == PayloadType::Lpp && transport.session == session,
                "a session of nobody"
            );
            output.clear();
            Upp::Downlink(transport).encode_into(&mut output)?;
            channel.send(&output)?;
        }
    }
}
