//! Connections of a UE, one after the other: each goes on with what those before were given, where
//! the library can.

use crate::kind::{client_engines, early_client_engines};
use crate::ktls::{self, Ktls};
use crate::quic::{self, Quic};
use crate::tcp::{Engines, TlsChannel, Wire};
use crate::{Channel, ChannelError, Kind, Options, Resumption, Trust, connect};
use std::net::SocketAddr;

/// What is kept from one connection to the next.
enum Kept {
    /// TLS over TCP: a session that resumes, and one that sends octets with its first flight.
    Tls {
        resuming: Engines,
        early: Option<Engines>,
    },
    Quic(quinn_proto::ClientConfig),
    Ktls(ktls::Known),
    #[cfg(feature = "msquic")]
    MsQuic(crate::msquic::Ticket),
    Nothing,
}

/// Brings up connections of a kind.
pub struct Connector {
    kind: Kind,
    trust: Trust,
    options: Options,
    kept: Kept,
}

impl Connector {
    /// For a kind of channel, with what the UE accepts.
    ///
    /// # Errors
    /// The trust cannot be used.
    pub fn new(kind: Kind, trust: &Trust, options: &Options) -> Result<Self, ChannelError> {
        let kept = match kind {
            Kind::Quinn => Kept::Quic(quic::client_config(trust, options)?),
            Kind::Ktls => Kept::Ktls(ktls::Known::new(trust)?),
            #[cfg(feature = "msquic")]
            Kind::MsQuic => Kept::MsQuic(crate::msquic::Ticket::default()),
            _ => match client_engines(kind, trust)? {
                Some(resuming) => Kept::Tls { resuming, early: early_client_engines(kind, trust)? },
                None => Kept::Nothing,
            },
        };
        Ok(Connector { kind, trust: trust.clone(), options: options.clone(), kept })
    }

    /// Bring up a connection.
    ///
    /// # Errors
    /// Nobody is there, or it is not who it has to be.
    pub fn connect(&self, to: SocketAddr) -> Result<Box<dyn Channel>, ChannelError> {
        Ok(match &self.kept {
            Kept::Tls { resuming, .. } => Box::new(TlsChannel::handshake(
                Wire::connect(to, &self.options)?,
                resuming()?,
                &[],
            )?),
            Kept::Quic(config) => Box::new(Quic::connect_with(
                to,
                config.clone(),
                &self.trust.name,
                &self.options,
                &[],
            )?),
            Kept::Ktls(known) => Box::new(Ktls::connect(to, known, &self.options)?),
            #[cfg(feature = "msquic")]
            Kept::MsQuic(ticket) => Box::new(crate::msquic::MsQuic::connect(
                to,
                &self.trust,
                &self.options,
                Some(ticket.clone()),
            )?),
            Kept::Nothing => connect(self.kind, to, &self.trust, &self.options)?,
        })
    }

    /// Bring up a connection whose first octets go with the first flight (0-RTT) where the LMF
    /// takes them and gave a ticket for it; else they are sent when the handshake is done.
    /// Whether they went early, [`Channel::resumption`] says.
    ///
    /// Whoever sees that flight can send it again. The LMF gives each ticket for one connection
    /// alone, so that a flight that is sent again to the same LMF is not taken; all the same
    /// nothing belongs in it that must not be done twice.
    ///
    /// # Errors
    /// As [`Connector::connect`].
    pub fn connect_early(
        &self,
        to: SocketAddr,
        first: &[u8],
    ) -> Result<(Box<dyn Channel>, bool), ChannelError> {
        let channel: Box<dyn Channel> = match &self.kept {
            Kept::Tls { early: Some(early), .. } => {
                Box::new(TlsChannel::handshake(Wire::connect(to, &self.options)?, early()?, first)?)
            }
            Kept::Quic(config) => Box::new(Quic::connect_with(
                to,
                config.clone(),
                &self.trust.name,
                &self.options,
                first,
            )?),
            _ => {
                let mut channel = self.connect(to)?;
                channel.send(first)?;
                channel
            }
        };
        let early = channel.resumption() == Resumption::Early;
        Ok((channel, early))
    }
}
