//! One round at both ends: the UE encodes and sends an uplink message, the LMF verifies it and
//! echoes the payload downlink, and the UE verifies that.
use crate::procedure::{self, Next};
use anyhow::{Context, Result, bail, ensure};
use martlet_lab_channels::{Channel, ChannelError};
use martlet_lcsupp::{Framer, Message as Upp, PayloadType, Transport};
use std::time::{Duration, Instant};

/// Bytes of the largest session identity. With its length field it has the 256 bytes of session
/// parameters of the paper.
pub const SESSION: usize = 255;

/// The message of a round.
pub struct Message {
    payload: Vec<u8>,
    session: Vec<u8>,
}

impl Message {
    /// A message with a payload of `n` bytes.
    pub fn new(n: usize) -> Self {
        Message {
            payload: (0..n).map(|at| (at * 31 + 7) as u8).collect(),
            session: vec![0x5e; SESSION],
        }
    }

    /// Encodes the uplink message.
    pub fn uplink(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        Upp::Uplink(self.transport()).encode_into(&mut bytes)?;
        Ok(bytes)
    }

    fn transport(&self) -> Transport<'_> {
        Transport { payload_type: PayloadType::Lpp, payload: &self.payload, session: &self.session }
    }
}

/// The UE's end of a channel.
pub struct MessageChannel {
    channel: Box<dyn Channel>,
    framer: Framer,
    output: Vec<u8>,
}

impl MessageChannel {
    pub fn new(channel: Box<dyn Channel>) -> Self {
        MessageChannel { channel, framer: Framer::new(), output: Vec::new() }
    }

    pub fn channel(&mut self) -> &mut dyn Channel {
        &mut *self.channel
    }

    /// The transport time of one round: from before the uplink message is encoded until the
    /// downlink message is verified.
    pub fn round(&mut self, message: &Message) -> Result<Duration> {
        let start = Instant::now();
        self.output.clear();
        Upp::Uplink(message.transport()).encode_into(&mut self.output)?;
        self.channel.send(&self.output)?;
        self.answer_since(message, start)
    }

    /// Waits for the response to a message that was sent.
    pub fn answer(&mut self, message: &Message) -> Result<Duration> {
        self.answer_since(message, Instant::now())
    }

    fn answer_since(&mut self, message: &Message, start: Instant) -> Result<Duration> {
        loop {
            if let Some(answer) = self.framer.next()? {
                // Compares message type, payload type, lengths and session; the payload must be the
                // one that was sent.
                let Upp::Downlink(answer) = answer else {
                    bail!("the response is not a DL LCS-UP TRANSPORT")
                };
                let good = answer.payload_type == PayloadType::Lpp
                    && answer.payload.len() == message.payload.len()
                    && answer.session == message.session;
                let elapsed = start.elapsed();
                ensure!(good, "the response does not match the message");
                ensure!(answer.payload == message.payload, "the response has another payload");
                return Ok(elapsed);
            }
            ensure!(self.channel.receive(self.framer.input())?, "the peer closed the channel");
        }
    }
}

impl MessageChannel {
    /// Runs an LPP procedure and returns the time that the LMF measured.
    pub fn procedure(&mut self) -> Result<Duration> {
        self.channel.send(&procedure::trigger()?)?;
        loop {
            let next = match self.framer.next()? {
                Some(Upp::Downlink(message)) => {
                    ensure!(
                        message.session == procedure::SESSION,
                        "the message has another session identity"
                    );
                    procedure::next(&message)?
                }
                Some(_) => bail!("the message is not a DL LCS-UP TRANSPORT"),
                None => {
                    ensure!(
                        self.channel.receive(self.framer.input())?,
                        "the peer closed the channel"
                    );
                    continue;
                }
            };
            match next {
                Next::Answer(bytes) => self.channel.send(&bytes)?,
                Next::Done(elapsed) => return Ok(elapsed),
            }
        }
    }
}

/// Echoes messages at the LMF's end until the peer closes the channel.
pub fn echo(channel: &mut dyn Channel) -> Result<()> {
    let session = vec![0x5e; SESSION];
    let mut lmf = procedure::Lmf::new();
    let (mut framer, mut output) = (Framer::new(), Vec::new());
    loop {
        match channel.receive(framer.input()) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            // A channel that idles until the next measurement may time out.
            Err(ChannelError::Timeout) => continue,
            Err(error) => return Err(error).context("the connection broke"),
        }
        while let Some(message) = framer.next()? {
            let Upp::Uplink(transport) = message else {
                bail!("the message is not a UL LCS-UP TRANSPORT")
            };
            if transport.session == procedure::SESSION {
                channel.send(&lmf.answer(&transport)?)?;
                continue;
            }
            ensure!(
                transport.payload_type == PayloadType::Lpp && transport.session == session,
                "the message has an unknown session identity"
            );
            output.clear();
            Upp::Downlink(transport).encode_into(&mut output)?;
            channel.send(&output)?;
        }
    }
}
