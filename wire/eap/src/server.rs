//! The AUSF's side (RFC 4187, 6; RFC 9048; TS 33.501, 6.1.3.1).
use crate::keys::Keys;
use crate::packet::{Attribute, Code, Packet, Subtype};
use martlet_security::{Zeroizing, constant_time_eq};

/// AT_NOTIFICATION: a general failure before the authentication has succeeded (RFC 4187, 10.19).
const GENERAL_FAILURE: u16 = 16384;

/// An authentication vector with the peer's identity.
pub struct Vector<'a> {
    /// RAND.
    pub rand: [u8; 16],
    /// AUTN.
    pub autn: [u8; 16],
    /// XRES.
    pub xres: Vec<u8>,
    /// CK'.
    pub ck_prime: Zeroizing<[u8; 16]>,
    /// IK'.
    pub ik_prime: Zeroizing<[u8; 16]>,
    /// The serving network name, sent in AT_KDF_INPUT.
    pub network: &'a str,
    /// The peer's identity in the derivation ([`crate::keys::identity_of`]).
    pub identity: &'a str,
}

/// An authentication in progress.
#[derive(Debug)]
pub struct Server {
    identifier: u8,
    rand: [u8; 16],
    xres: Vec<u8>,
    keys: Keys,
    /// A failure was notified, and the peer's confirmation is pending.
    notified: bool,
}

/// The result of a response.
#[derive(Debug)]
pub enum Outcome {
    /// The peer is authenticated: send EAP-Success.
    Success(Vec<u8>),
    /// Send another request first.
    Request(Vec<u8>),
    /// The peer is not authenticated: send EAP-Failure.
    Failure(Vec<u8>),
    /// The sequence number is not fresh: AUTS for the RAND of the challenge. A new challenge has to
    /// follow.
    Synchronise([u8; 14]),
}

impl Server {
    /// A challenge, and the state that waits for its response.
    pub fn challenge(vector: &Vector<'_>, identifier: u8) -> (Server, Vec<u8>) {
        let keys = Keys::derive(&vector.ck_prime, &vector.ik_prime, vector.identity);
        let attributes = vec![
            Attribute::Rand(vector.rand),
            Attribute::Autn(vector.autn),
            Attribute::Kdf(1),
            Attribute::KdfInput(vector.network.as_bytes().to_vec()),
            Attribute::Mac([0; 16]),
        ];
        let packet =
            Packet::new(Code::Request, identifier, Subtype::Challenge, attributes).encode();
        let packet = keys.sign(packet);
        let server = Server {
            identifier,
            rand: vector.rand,
            xres: vector.xres.clone(),
            keys,
            notified: false,
        };
        (server, packet)
    }

    /// RAND of the challenge.
    pub fn rand(&self) -> [u8; 16] {
        self.rand
    }

    /// The identifier of the last request.
    pub fn identifier(&self) -> u8 {
        self.identifier
    }

    /// The keys, valid once the outcome is success.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Processes a response. Every outcome except [`Outcome::Request`] ends the authentication.
    pub fn answer(&mut self, bytes: &[u8]) -> Outcome {
        let failure =
            |identifier| Outcome::Failure(Packet::end(Code::Failure, identifier).encode());
        let packet = match Packet::decode(bytes) {
            Ok(packet) if packet.code == Code::Response && packet.identifier == self.identifier => {
                packet
            }
            _ => return failure(self.identifier),
        };
        if self.notified {
            return failure(self.identifier);
        }
        match packet.subtype() {
            Some(Subtype::Challenge) if self.is_right(bytes, &packet) => {
                Outcome::Success(Packet::end(Code::Success, self.identifier).encode())
            }
            Some(Subtype::Challenge) => {
                // A notification precedes EAP-Failure (RFC 4187, 6.3.2).
                self.notified = true;
                self.identifier = self.identifier.wrapping_add(1);
                let attributes = vec![Attribute::Notification(GENERAL_FAILURE)];
                Outcome::Request(
                    Packet::new(Code::Request, self.identifier, Subtype::Notification, attributes)
                        .encode(),
                )
            }
            Some(Subtype::SynchronizationFailure) => {
                let auts = packet.attributes().iter().find_map(|attribute| match attribute {
                    Attribute::Auts(auts) => Some(*auts),
                    _ => None,
                });
                auts.map_or_else(|| failure(self.identifier), Outcome::Synchronise)
            }
            _ => failure(self.identifier),
        }
    }

    /// Ends the authentication with EAP-Failure, without a look at the response.
    pub fn refuse(&self) -> Outcome {
        Outcome::Failure(Packet::end(Code::Failure, self.identifier).encode())
    }

    fn is_right(&self, bytes: &[u8], packet: &Packet) -> bool {
        let res = packet.attributes().iter().find_map(|attribute| match attribute {
            Attribute::Res(res) => Some(res),
            _ => None,
        });
        self.keys.accepts(bytes) && res.is_some_and(|res| constant_time_eq(res, &self.xres))
    }
}
