//! The QUIC transport configuration of both ends.

use super::congestion::OneMessageConfig;
use crate::{ChannelError, Identity, Options, Trust, rustls as tls};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    AckFrequencyConfig, ClientConfig, EndpointConfig, MtuDiscoveryConfig, ServerConfig,
    TransportConfig,
};
use std::sync::Arc;
use std::time::Duration;

/// The application protocol: QUIC has to have one (RFC 9001, 8.1).
const ALPN: &[u8] = b"lcs-upp";
/// Maximum initial MTU. A server may send three times the bytes of an unvalidated client, 1,200 at
/// first (RFC 9000, 8.1), so its first packet has to fit into that.
const MAX_INITIAL_MTU: u16 = 3500;
/// Receive window, bytes: several of the largest messages.
pub(super) const RECEIVE_WINDOW: u32 = 262_144;

/// Ack-eliciting threshold of the LMF: more datagrams than a message has. The acknowledgement is
/// sent with the answer, since a separate one could delay the answer by a radio retransmission.
const ACK_THRESHOLD: u32 = 100;

pub(super) fn transport(options: &Options) -> TransportConfig {
    let mut transport = TransportConfig::default();
    // One stream, which the UE opens.
    transport.max_concurrent_bidi_streams(1u8.into()).max_concurrent_uni_streams(0u8.into());
    transport.stream_receive_window(RECEIVE_WINDOW.into()).receive_window(RECEIVE_WINDOW.into());
    transport.datagram_receive_buffer_size(None);
    // UEs are idle between requests, so there is no idle timeout.
    transport.max_idle_timeout(None);
    // The MTU is configured: use it from the first packet, or soon after.
    let payload = options.mtu.saturating_sub(28).max(1200);
    transport.initial_mtu(payload.min(MAX_INITIAL_MTU));
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(payload);
    transport.mtu_discovery_config((payload > MAX_INITIAL_MTU).then_some(discovery));
    transport.congestion_controller_factory(Arc::new(OneMessageConfig));
    transport.initial_rtt(Duration::from_millis(50));
    transport
}

/// The client configuration of a UE.
pub(crate) fn client_config(
    trust: &Trust,
    options: &Options,
) -> Result<ClientConfig, ChannelError> {
    let mut crypto = tls::client_config(trust)?;
    crypto.alpn_protocols = vec![ALPN.to_vec()];
    crypto.enable_early_data = true;
    let crypto = QuicClientConfig::try_from(crypto).map_err(ChannelError::tls)?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    let mut transport = transport(options);
    let mut frequency = AckFrequencyConfig::default();
    frequency.ack_eliciting_threshold(ACK_THRESHOLD.into());
    transport.ack_frequency_config(Some(frequency));
    config.transport_config(Arc::new(transport));
    Ok(config)
}

/// The server configuration of an LMF.
pub(super) fn server_config(
    identity: &Identity,
    options: &Options,
) -> Result<ServerConfig, ChannelError> {
    let mut crypto = tls::server_config(identity)?;
    crypto.alpn_protocols = vec![ALPN.to_vec()];
    if options.early_data {
        // Flow control limits 0-RTT data in QUIC (RFC 9001, 4.6.1).
        crypto.max_early_data_size = u32::MAX;
    }
    let crypto = QuicServerConfig::try_from(crypto).map_err(ChannelError::tls)?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(Arc::new(transport(options))).migration(false);
    Ok(config)
}

pub(super) fn endpoint_config(options: &Options) -> Result<EndpointConfig, ChannelError> {
    let mut config = EndpointConfig::default();
    config
        .max_udp_payload_size(options.mtu.saturating_sub(28).max(1452))
        .map_err(ChannelError::tls)?;
    Ok(config)
}
