//! Successive connections of a UE, each of which resumes the session of the previous one if the
//! library can.

use crate::kind::{client_engines, early_data_client_engines};
use crate::{Channel, ChannelError, Kind, Options, Resumption, Trust, connect};
use martlet_lcs_channel as product;
use martlet_lcs_channel::Engines;
use martlet_lcs_channel::tcp::TlsChannel;
use std::net::SocketAddr;

/// The client configuration, with the session tickets received so far.
enum Client {
    Product(product::Connector),
    Tls {
        resuming: Engines,
        early_data: Option<Engines>,
    },
    #[cfg(feature = "msquic")]
    MsQuic(crate::msquic::Ticket),
    Stateless,
}

/// Opens connections of one kind.
pub struct Connector {
    kind: Kind,
    client: Client,
    trust: Trust,
    options: Options,
}

impl Connector {
    /// Creates a connector for a kind of channel and the certificates that the UE trusts.
    ///
    /// # Errors
    /// The trusted root certificates are invalid.
    pub fn new(kind: Kind, trust: &Trust, options: &Options) -> Result<Self, ChannelError> {
        let client = match kind.product() {
            Some(kind) => Client::Product(product::Connector::new(kind, trust, options)?),
            None => Self::client(kind, trust)?,
        };
        Ok(Connector { kind, client, trust: trust.clone(), options: options.clone() })
    }

    fn client(kind: Kind, trust: &Trust) -> Result<Client, ChannelError> {
        #[cfg(feature = "msquic")]
        if kind == Kind::MsQuic {
            return Ok(Client::MsQuic(crate::msquic::Ticket::default()));
        }
        Ok(match client_engines(kind, trust)? {
            Some(resuming) => {
                Client::Tls { resuming, early_data: early_data_client_engines(kind, trust)? }
            }
            None => Client::Stateless,
        })
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// No LMF listens at the address, or its certificate is not trusted.
    pub fn connect(&self, to: SocketAddr) -> Result<Box<dyn Channel>, ChannelError> {
        match &self.client {
            Client::Product(connector) => connector.connect(to),
            Client::Tls { resuming, .. } => self.tls(to, resuming, &[]),
            #[cfg(feature = "msquic")]
            Client::MsQuic(ticket) => Ok(Box::new(crate::msquic::MsQuic::connect(
                to,
                &self.trust,
                &self.options,
                Some(ticket.clone()),
            )?)),
            Client::Stateless => connect(self.kind, to, &self.trust, &self.options),
        }
    }

    /// Opens a connection and sends `first` as 0-RTT data if the library and the LMF's ticket
    /// permit it, else after the handshake. Returns whether it was sent as 0-RTT data.
    ///
    /// # Errors
    /// As [`Connector::connect`].
    pub fn connect_early(
        &self,
        to: SocketAddr,
        first: &[u8],
    ) -> Result<(Box<dyn Channel>, bool), ChannelError> {
        let channel = match &self.client {
            Client::Product(connector) => return connector.connect_early(to, first),
            Client::Tls { early_data: Some(engines), .. } => self.tls(to, engines, first)?,
            _ => {
                let mut channel = self.connect(to)?;
                channel.send(first)?;
                channel
            }
        };
        let early = channel.resumption() == Resumption::Early;
        Ok((channel, early))
    }

    fn tls(
        &self,
        to: SocketAddr,
        engines: &Engines,
        first: &[u8],
    ) -> Result<Box<dyn Channel>, ChannelError> {
        Ok(Box::new(TlsChannel::connect(to, engines, &self.options, first)?))
    }
}
