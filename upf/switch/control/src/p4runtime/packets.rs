//! Packet-in and packet-out.
use super::convert;
use super::messages::{self as m, stream_response};
use super::server::Server;
use crate::error::{Code as WriteCode, WriteError, refuse};
use tokio::sync::Notify;

/// Maximum size in bytes of a packet-out.
const FRAME: std::ops::RangeInclusive<usize> = 14..=2040;

impl Server {
    /// Forwards packets for the controller, each time that `wakeup` is notified.
    pub(super) async fn packets_in(&self, wakeup: &Notify) {
        loop {
            wakeup.notified().await;
            while let Some((port, payload)) = self.tables.target().receive() {
                let metadata = vec![m::PacketMetadata {
                    metadata_id: 1,
                    value: convert::to_bytes(port.into()),
                }];
                let update = stream_response::Update::Packet(m::Packet { payload, metadata });
                if let Some(primary) = self.arbitration().primary() {
                    // A slow controller loses packets.
                    let _ = primary
                        .sender
                        .try_send(Ok(m::StreamMessageResponse { update: Some(update) }));
                }
                // Yields to other tasks, however many packets arrive.
                tokio::task::yield_now().await;
            }
        }
    }

    pub(super) fn packet_out(&self, id: u64, packet: &m::Packet) -> Result<(), WriteError> {
        let is_primary = {
            let arbitration = self.arbitration();
            let election =
                arbitration.controllers.get(&id).and_then(|controller| controller.election);
            election.is_some() && election == arbitration.highest
        };
        if !is_primary {
            return refuse(
                WriteCode::PermissionDenied,
                "only the primary controller may send packets: use a higher election ID",
            );
        }
        let [metadata] = &packet.metadata[..] else {
            return refuse(
                WriteCode::InvalidArgument,
                "a packet-out needs one metadata field, 1: its egress port",
            );
        };
        let port = convert::from_bytes(&metadata.value, 32, "egress_port")? as u32;
        if metadata.metadata_id != 1 || port >= self.tables.target().ports() {
            let ports = self.tables.target().ports();
            return refuse(
                WriteCode::InvalidArgument,
                format!("egress_port has to be field 1, and a port from 0 to {}", ports - 1),
            );
        }
        let bytes = packet.payload.len();
        if !FRAME.contains(&bytes) {
            let (min, max) = (FRAME.start(), FRAME.end());
            return refuse(
                WriteCode::InvalidArgument,
                format!("a frame has {min} to {max} bytes with its Ethernet header, not {bytes}"),
            );
        }
        Ok(self.tables.target().send(port, &packet.payload)?)
    }
}
