//! The stream between switch and controller: packets in both directions, and digests.
use super::{Client, ClientError, entity, m, stream_request, stream_response};
use crate::p4runtime::convert::{from_bytes, to_bytes};
use crate::p4runtime::resolve::is_named;

/// What a switch sends on the stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A packet for the controller.
    Packet {
        /// The port at which it arrived.
        port: u32,
        /// The frame, from its Ethernet header on.
        payload: Vec<u8>,
    },
    /// Data that the program of the switch collected. The list is acknowledged already.
    Digest {
        /// The short name in the P4Info of the switch.
        name: String,
        /// The number of the list.
        list: u64,
        /// One element for each message of the program.
        data: Vec<m::Data>,
    },
    /// This controller is not the primary one any more. The highest election ID is this one.
    Demoted(u64),
    /// The switch refused a packet or an acknowledgement.
    Refused(String),
}

/// The IDs of the server's P4Info that messages of the stream have.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The field `ingress_port` of packets to the controller.
    ingress_port: Option<u32>,
    /// The field `egress_port` of packets from the controller.
    egress_port: Option<u32>,
    digests: Vec<m::Preamble>,
}

impl Names {
    pub(super) fn of(info: &m::P4Info) -> Names {
        let field = |header: &str, field: &str| {
            let all = &info.controller_packet_metadata;
            let header = all.iter().find(|one| is_named(one.preamble.as_ref(), header))?;
            Some(header.metadata.iter().find(|one| one.name == field)?.id)
        };
        Names {
            ingress_port: field("packet_in", "ingress_port"),
            egress_port: field("packet_out", "egress_port"),
            digests: info.digests.iter().filter_map(|one| one.preamble.clone()).collect(),
        }
    }

    fn digest(&self, name: &str) -> Result<u32, ClientError> {
        let found = self.digests.iter().find(|digest| is_named(Some(digest), name));
        found.map(|digest| digest.id).ok_or_else(|| {
            ClientError::Failed(format!("the program of the switch has no digest {name}"))
        })
    }

    /// The name of a digest without those of the blocks around it.
    fn digest_name(&self, id: u32) -> Option<String> {
        let digest = self.digests.iter().find(|digest| digest.id == id)?;
        digest.name.rsplit('.').next().map(str::to_owned)
    }
}

impl Client {
    /// The next event of the stream. Lists of digests are acknowledged, so that the switch sends
    /// new data.
    ///
    /// # Errors
    /// This controller did not ask to be primary, or the stream ended.
    ///
    /// # Cancel safety
    /// No event is lost if the future is dropped before it is ready.
    pub async fn next_event(&mut self) -> Result<Event, ClientError> {
        let Some((sender, stream)) = &mut self.stream else {
            return Err(ClientError::Failed("the controller has no stream: become primary".into()));
        };
        loop {
            let message = stream.message().await.map_err(super::failed)?;
            let Some(message) = message else {
                return Err(ClientError::Failed("the switch ended the stream".into()));
            };
            match message.update {
                Some(stream_response::Update::Packet(packet)) => {
                    let of = |field: &&m::PacketMetadata| {
                        Some(field.metadata_id) == self.names.ingress_port
                    };
                    let port = packet.metadata.iter().find(of).map(|field| {
                        from_bytes(&field.value, 32, "ingress_port").map(|port| port as u32)
                    });
                    let Some(Ok(port)) = port else {
                        let why = "a packet of the switch has no ingress_port";
                        return Err(ClientError::Failed(why.into()));
                    };
                    return Ok(Event::Packet { port, payload: packet.payload });
                }
                Some(stream_response::Update::Digest(digest)) => {
                    let m::DigestList { digest_id, list_id, data, .. } = digest;
                    let ack = m::DigestListAck { digest_id, list_id };
                    let update = Some(stream_request::Update::DigestAck(ack));
                    // An acknowledgement may be lost: the switch then sends the data again.
                    let _ = sender.try_send(m::StreamMessageRequest { update });
                    let name = self.names.digest_name(digest_id).ok_or_else(|| {
                        ClientError::Failed(format!("the switch sent digest {digest_id:#010x}"))
                    })?;
                    return Ok(Event::Digest { name, list: list_id, data });
                }
                Some(stream_response::Update::Arbitration(update))
                    if update.status.as_ref().is_some_and(|status| status.code != 0) =>
                {
                    let highest = update.election_id.unwrap_or_default();
                    return Ok(Event::Demoted(highest.low));
                }
                // This controller is primary.
                Some(stream_response::Update::Arbitration(_)) => {}
                Some(stream_response::Update::Error(error)) => {
                    return Ok(Event::Refused(error.message));
                }
                // A message of a later version.
                None => {}
            }
        }
    }

    /// Waits until the switch ends the stream or the connection is lost, and discards events. For
    /// controllers that need none. Without a stream it waits forever.
    ///
    /// # Cancel safety
    /// Nothing but events is lost if the future is dropped.
    pub async fn stream_end(&mut self) -> ClientError {
        let Some((_, stream)) = &mut self.stream else { return std::future::pending().await };
        loop {
            match stream.message().await {
                Ok(Some(_)) => {}
                Ok(None) => return ClientError::Failed("the switch ended the stream".into()),
                Err(status) => return super::failed(status),
            }
        }
    }

    /// Sends a frame out of a port of the switch. A refusal is an event of the stream.
    ///
    /// # Errors
    /// This controller did not ask to be primary, or the program has no packets from controllers.
    pub async fn send_packet(&mut self, port: u32, payload: Vec<u8>) -> Result<(), ClientError> {
        let (Some((sender, _)), Some(metadata_id)) = (&self.stream, self.names.egress_port) else {
            return Err(ClientError::Failed(
                "the controller has no stream, or the program has no packet_out".into(),
            ));
        };
        let metadata = vec![m::PacketMetadata { metadata_id, value: to_bytes(port.into()) }];
        let update = Some(stream_request::Update::Packet(m::Packet { payload, metadata }));
        let sent = sender.send(m::StreamMessageRequest { update }).await;
        sent.map_err(|_| ClientError::Failed("the switch ended the stream".into()))
    }

    /// Has the switch send a digest, by its name in the P4Info of the switch.
    ///
    /// # Errors
    /// The program has no such digest, or the switch refuses it.
    pub async fn enable_digest(
        &mut self,
        name: &str,
        config: m::DigestConfig,
    ) -> Result<(), ClientError> {
        self.write_digest(name, m::UpdateType::Insert, Some(config)).await
    }

    /// Ends a digest.
    ///
    /// # Errors
    /// As [`Client::enable_digest`].
    pub async fn disable_digest(&mut self, name: &str) -> Result<(), ClientError> {
        self.write_digest(name, m::UpdateType::Delete, None).await
    }

    async fn write_digest(
        &mut self,
        name: &str,
        kind: m::UpdateType,
        config: Option<m::DigestConfig>,
    ) -> Result<(), ClientError> {
        let entry = m::DigestEntry { digest_id: self.names.digest(name)?, config };
        let entity = Some(m::Entity { entity: Some(entity::Entity::Digest(entry)) });
        self.send(vec![m::Update { r#type: kind as i32, entity }], 0).await
    }

    /// The configuration of a digest; `None` if it is not enabled.
    ///
    /// # Errors
    /// As [`Client::enable_digest`].
    pub async fn digest(&mut self, name: &str) -> Result<Option<m::DigestConfig>, ClientError> {
        let entry = m::DigestEntry { digest_id: self.names.digest(name)?, config: None };
        let found = self.read(entity::Entity::Digest(entry)).await?;
        Ok(found.into_iter().find_map(|entity| match entity {
            entity::Entity::Digest(entry) => entry.config,
            _ => None,
        }))
    }
}
