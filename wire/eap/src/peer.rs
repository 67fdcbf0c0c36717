//! The UE's side (RFC 4187, 6; RFC 9048, 3 and 5; TS 33.501, 6.1.3.1).
use crate::keys::Keys;
use crate::packet::{Attribute, Code, Packet, Subtype};
use martlet_security::aka::{Response, ck_ik_prime};
use martlet_security::{Autn, Rand};

/// The USIM's result for RAND and AUTN.
pub enum Verdict {
    /// Both are valid.
    Accepted(Box<Response>),
    /// AUTN has a wrong MAC, or is for another system.
    Rejected,
    /// AUTN is not fresh: AUTS.
    SynchronisationFailure([u8; 14]),
}

/// The UE's reaction to a request.
#[derive(Debug)]
pub enum Reply {
    /// A response, and the derived keys.
    Accepted(Vec<u8>, Box<Keys>),
    /// A response without keys, and whether it rejects the network.
    Other(Vec<u8>, Refusal),
    /// The packet is not a request, and is discarded.
    Ignored,
}

/// Why the response has no RES.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The network name is not the serving network's.
    Network,
    /// The MAC of AUTN is wrong.
    Token,
    /// The sequence number in AUTN is not fresh.
    Synchronisation,
    /// AT_MAC, or an attribute that is missing or not known.
    Packet,
    /// The network notified a failure.
    Notified,
    /// No key derivation function in common.
    Kdf,
}

/// Processes a request. `network` is the serving network's name, `identity` the UE's identity in
/// the derivation. `usim` is called at most once.
pub fn answer(
    bytes: &[u8],
    network: &str,
    identity: &str,
    usim: impl FnOnce(&Rand, &Autn) -> Verdict,
) -> Reply {
    let Some([1, identifier]) = bytes.get(..2) else { return Reply::Ignored };
    let identifier = *identifier;
    let reply = |subtype, attributes, refusal| {
        Reply::Other(Packet::new(Code::Response, identifier, subtype, attributes).encode(), refusal)
    };
    let cannot =
        || reply(Subtype::ClientError, vec![Attribute::ClientErrorCode(0)], Refusal::Packet);
    let Ok(packet) = Packet::decode(bytes) else { return cannot() };
    match packet.subtype() {
        Some(Subtype::Challenge) => {}
        Some(Subtype::Notification) => {
            return reply(Subtype::Notification, Vec::new(), Refusal::Notified);
        }
        // The identity is known from NAS, and 5GS has no fast re-authentication.
        _ => return cannot(),
    }
    let Some(challenge) = Challenge::of(&packet) else { return cannot() };
    let reject = |refusal| reply(Subtype::AuthenticationReject, Vec::new(), refusal);
    match challenge.kdfs.first() {
        Some(1) => {}
        // Another function is preferred, but ours is offered: request it (RFC 9048, 3.2).
        Some(_) if challenge.kdfs.contains(&1) => {
            return reply(Subtype::Challenge, vec![Attribute::Kdf(1)], Refusal::Kdf);
        }
        _ => return reject(Refusal::Kdf),
    }
    if challenge.network != network.as_bytes() {
        return reject(Refusal::Network);
    }
    let (rand, autn) = (Rand::new(&challenge.rand), Autn::new(&challenge.autn));
    let response = match usim(&rand, &autn) {
        Verdict::Accepted(response) => response,
        Verdict::Rejected => return reject(Refusal::Token),
        Verdict::SynchronisationFailure(auts) => {
            let kdfs = challenge.kdfs.iter().map(|kdf| Attribute::Kdf(*kdf));
            let attributes = std::iter::once(Attribute::Auts(auts)).chain(kdfs).collect();
            return reply(Subtype::SynchronizationFailure, attributes, Refusal::Synchronisation);
        }
    };
    let Ok((ck_prime, ik_prime)) = ck_ik_prime(&response.ck, &response.ik, &autn, network) else {
        return cannot();
    };
    let keys = Keys::derive(&ck_prime, &ik_prime, identity);
    if !keys.accepts(bytes) {
        return cannot();
    }
    let attributes = vec![Attribute::Res(response.res), Attribute::Mac([0; 16])];
    let answer = Packet::new(Code::Response, identifier, Subtype::Challenge, attributes).encode();
    Reply::Accepted(keys.sign(answer), Box::new(keys))
}

/// Whether bytes are EAP-Success (true) or EAP-Failure (false).
pub fn end(bytes: &[u8]) -> Option<bool> {
    match Packet::decode(bytes).ok()?.code {
        Code::Success => Some(true),
        Code::Failure => Some(false),
        _ => None,
    }
}

struct Challenge {
    rand: [u8; 16],
    autn: [u8; 16],
    network: Vec<u8>,
    kdfs: Vec<u16>,
}

impl Challenge {
    /// The attributes of a challenge; only AT_KDF may repeat.
    fn of(packet: &Packet) -> Option<Challenge> {
        let (mut rand, mut autn, mut network, mut mac, mut kdfs) =
            (None, None, None, None, Vec::new());
        for attribute in packet.attributes() {
            let again = match attribute {
                Attribute::Rand(bytes) => rand.replace(*bytes).is_some(),
                Attribute::Autn(bytes) => autn.replace(*bytes).is_some(),
                Attribute::KdfInput(name) => network.replace(name.clone()).is_some(),
                Attribute::Mac(bytes) => mac.replace(*bytes).is_some(),
                Attribute::Kdf(kdf) => {
                    kdfs.push(*kdf);
                    false
                }
                Attribute::Skipped(_) => false,
                _ => true,
            };
            if again {
                return None;
            }
        }
        mac?;
        Some(Challenge { rand: rand?, autn: autn?, network: network?, kdfs })
    }
}
