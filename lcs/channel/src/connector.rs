//! Successive connections of a UE, each of which resumes the session of the previous one.

use crate::ktls::{self, Ktls};
use crate::quic::{self, Quic};
use crate::tcp::TlsChannel;
use crate::{Channel, ChannelError, Engines, Kind, Options, Resumption, Trust, rustls, unbuffered};
use std::net::SocketAddr;

/// The client configuration, with the session tickets received so far.
enum Client {
    Tls { resuming: Engines, early_data: Engines },
    Quic(quinn_proto::ClientConfig),
    Ktls(ktls::Client),
}

/// Opens connections of one kind.
pub struct Connector {
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
        let client = match kind {
            Kind::Quinn => Client::Quic(quic::client_config(trust, options)?),
            Kind::Ktls => Client::Ktls(ktls::Client::new(trust)?),
            Kind::Rustls => Client::Tls {
                resuming: unbuffered::clients(trust)?,
                early_data: rustls::early_data_clients(trust)?,
            },
        };
        Ok(Connector { client, trust: trust.clone(), options: options.clone() })
    }

    /// Opens a connection.
    ///
    /// # Errors
    /// No LMF listens at the address, or its certificate is not trusted.
    pub fn connect(&self, to: SocketAddr) -> Result<Box<dyn Channel>, ChannelError> {
        Ok(match &self.client {
            Client::Tls { resuming, .. } => self.tls(to, resuming, &[])?,
            Client::Quic(config) => self.quic(to, config, &[])?,
            Client::Ktls(client) => Box::new(Ktls::connect(to, client, &self.options)?),
        })
    }

    /// Opens a connection and sends `first` as 0-RTT data if the LMF's ticket permits it, else
    /// after the handshake. Returns whether it was sent as 0-RTT data, as [`Channel::resumption`]
    /// does.
    ///
    /// 0-RTT data can be recorded and replayed by an attacker. The LMF accepts each ticket once and
    /// so rejects a replay; nevertheless send only data that may safely be repeated.
    ///
    /// # Errors
    /// As [`Connector::connect`].
    pub fn connect_early(
        &self,
        to: SocketAddr,
        first: &[u8],
    ) -> Result<(Box<dyn Channel>, bool), ChannelError> {
        let channel = match &self.client {
            Client::Tls { early_data, .. } => self.tls(to, early_data, first)?,
            Client::Quic(config) => self.quic(to, config, first)?,
            Client::Ktls(_) => {
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

    fn quic(
        &self,
        to: SocketAddr,
        config: &quinn_proto::ClientConfig,
        first: &[u8],
    ) -> Result<Box<dyn Channel>, ChannelError> {
        let (name, options) = (&self.trust.name, &self.options);
        Ok(Box::new(Quic::connect_with(to, config.clone(), name, options, first)?))
    }
}
