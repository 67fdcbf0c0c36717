//! The entry point of the fuzz target and of `tests/never_panics.rs`.
use crate::packet::Packet;
use crate::peer::{self, Verdict};
use crate::server::{Server, Vector};

/// Decodes bytes as a packet, passes it to both sides, and checks that it encodes to itself.
///
/// # Panics
/// If a decoded packet does not encode to the same packet.
pub fn packet(bytes: &[u8]) {
    if let Ok(packet) = Packet::decode(bytes) {
        let again = Packet::decode(&packet.encode());
        assert_eq!(again.as_ref(), Ok(&packet), "a packet comes back from its bytes");
    }
    let (network, identity) = ("5G:mnc001.mcc001.3gppnetwork.org", "001010000000001");
    let _ = peer::answer(bytes, network, identity, |_, _| Verdict::Rejected);
    let _ = peer::end(bytes);
    let (rand, autn, xres) = ([1; 16], [2; 16], vec![3; 8]);
    let vector = Vector {
        rand,
        autn,
        xres,
        ck_prime: [4; 16].into(),
        ik_prime: [5; 16].into(),
        network,
        identity,
    };
    let (mut server, _) = Server::challenge(&vector, bytes.get(1).copied().unwrap_or_default());
    let _ = server.answer(bytes);
}
