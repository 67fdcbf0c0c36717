//! What the two ends say of themselves.

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
/// A server may not answer more than three times what an unknown client sent, 1,200 octets at first
/// (RFC 9000, 8.1): its first packet has to fit that.
const FIRST: u16 = 3500;
/// Octets that a peer may send before it is told that they were read: a few of the largest
/// messages.
pub(super) const RECEIVE: u32 = 262_144;

/// Datagrams after which the LMF acknowledges at once, if its answer has not done so before: more
/// than a message has. Whatever goes down before the answer may have to be repeated on the air, and
/// the answer waits behind it, since a radio keeps the order.
const UNACKNOWLEDGED: u32 = 100;

pub(super) fn transport(options: &Options) -> TransportConfig {
    let mut transport = TransportConfig::default();
    // One stream, which the UE opens.
    transport.max_concurrent_bidi_streams(1u8.into()).max_concurrent_uni_streams(0u8.into());
    transport.stream_receive_window(RECEIVE.into()).receive_window(RECEIVE.into());
    transport.datagram_receive_buffer_size(None);
    // A phone is asked now and then: that nothing is said for long is no sign that it is gone.
    transport.max_idle_timeout(None);
    // The path is known: its packets are as large as it says from the first on, or soon after.
    let payload = options.mtu.saturating_sub(28).max(1200);
    transport.initial_mtu(payload.min(FIRST));
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(payload);
    transport.mtu_discovery_config((payload > FIRST).then_some(discovery));
    transport.congestion_controller_factory(Arc::new(OneMessageConfig));
    transport.initial_rtt(Duration::from_millis(50));
    transport.enable_segmentation_offload(false);
    transport
}

/// What the connections of a UE have in common.
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
    frequency.ack_eliciting_threshold(UNACKNOWLEDGED.into());
    transport.ack_frequency_config(Some(frequency));
    config.transport_config(Arc::new(transport));
    Ok(config)
}

/// What the connections of an LMF have in common.
pub(super) fn server_config(
    identity: &Identity,
    options: &Options,
) -> Result<ServerConfig, ChannelError> {
    let mut crypto = tls::server_config(identity)?;
    crypto.alpn_protocols = vec![ALPN.to_vec()];
    if options.early_data {
        // QUIC has its own limits of what may come (RFC 9001, 4.6.1).
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
