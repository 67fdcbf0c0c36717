//! The UE's side (RFC 4187, 6; RFC 9048, 3 and 5; TS 33.501, 6.1.3.1).
use crate::keys::Keys;
use crate::packet::{Attribute, Code, Packet, Subtype};
use martlet_security::aka::{Response, ck_ik_prime};
use martlet_security::{Autn, Rand};

/// What a USIM says to RAND and AUTN.
pub enum Verdict {
    /// Both are right.
    Accepted(Box<Response>),
    /// AUTN is not the home network's, or not for this system.
    Rejected,
    /// AUTN is not fresh: AUTS.
    SynchronisationFailure([u8; 14]),
}

/// What the UE does with a request.
#[derive(Debug)]
pub enum Reply {
    /// This answers it, and these are the keys.
    Accepted(Vec<u8>, Box<Keys>),
    /// This answers it, and there is nothing more to it; whether the UE refuses the network by it.
    Other(Vec<u8>, Refusal),
    /// It is no request that has an answer.
    Ignored,
}

/// Why an answer is not RES.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The network's name is not that of the serving network.
    Network,
    /// AUTN.
    Token,
    /// The sequence number.
    Synchronisation,
    /// AT_MAC, or an attribute that is missing or not known.
    Packet,
    /// The network says that it does not go on.
    Notified,
    /// No key derivation function in common.
    Kdf,
}

/// Answers a request. `network` is the name of the serving network, `identity` is the UE's in the
/// derivation; `usim` is asked at most once.
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
        // The identity is known from NAS; fast re-authentication is none of 5GS.
        _ => return cannot(),
    }
    let Some(challenge) = Challenge::of(&packet) else { return cannot() };
    let reject = |refusal| reply(Subtype::AuthenticationReject, Vec::new(), refusal);
    match challenge.kdfs.first() {
        Some(1) => {}
        // Another one first, but ours is among them: it is asked for (RFC 9048, 3.2).
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

/// Whether bytes are the end that a UE waits for: EAP-Success true, EAP-Failure false.
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
    /// The attributes of a challenge, each once but AT_KDF.
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
