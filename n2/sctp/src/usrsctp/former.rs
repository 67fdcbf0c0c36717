//! Ends the associations of a process that was killed (RFC 9260, 3.3.7 and 8.5.1).
use super::raw_socket::RawSocket;
use crate::AssociationRecord;
use std::collections::HashMap;
use std::net::IpAddr;

const ABORT: u8 = 6;
/// Error cause "User-Initiated Abort" (RFC 9260, 3.3.10.12).
const USER_INITIATED_ABORT: u16 = 12;
/// Its reason, of a multiple of four bytes.
const REASON: &[u8] = b"restarted...";

/// Sends ABORT to each peer, and returns how many were sent.
pub(crate) fn abort_former(records: &[AssociationRecord]) -> usize {
    let mut sockets: HashMap<IpAddr, Option<RawSocket>> = HashMap::new();
    let mut sent = 0;
    for record in records {
        let local = record.local.ip();
        let socket = sockets.entry(local).or_insert_with(|| {
            // The address may be gone.
            RawSocket::open_to_send(local)
                .inspect_err(|error| tracing::warn!(%local, %error, "ABORT not sent"))
                .ok()
        });
        if let Some(socket) = socket {
            let packet = &mut abort(record);
            sent += usize::from(socket.send(packet, (local, record.peer.ip())));
        }
    }
    sent
}

/// The packet, without its checksum.
fn abort(record: &AssociationRecord) -> Vec<u8> {
    let cause_length = 4 + REASON.len() as u16;
    let mut packet = [record.local.port().to_be_bytes(), record.peer.port().to_be_bytes()].concat();
    packet.extend(record.tag.to_be_bytes());
    packet.extend([0; 4]);
    // The T bit is not set: the tag is the peer's own one.
    packet.extend([ABORT, 0]);
    packet.extend((4 + cause_length).to_be_bytes());
    packet.extend(USER_INITIATED_ABORT.to_be_bytes());
    packet.extend(cause_length.to_be_bytes());
    packet.extend(REASON);
    packet
}
