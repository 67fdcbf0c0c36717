//! How UERANSIM's UE reads a challenge and writes its answer.
//!
//! Its decoder (3.2.7 and 3.3) rejects each attribute shorter than two words of four octets. RFC
//! 9048, 3.2, requires one word for AT_KDF, and the same UE takes the key derivation function from
//! an AT_KDF of one word alone. So it accepts no form of AT_KDF, of any network: its subscribers
//! need 5G-AKA. Earlier versions accept the form of the RFC, and answer with an AT_KDF of their
//! own.
use martlet_eap::keys::identity_of;
use martlet_eap::packet::{Attribute, Code, Packet, Subtype};
use martlet_eap::server::{Outcome, Server, Vector};
use martlet_security::Rand;
use martlet_security::aka::{self, SubscriberKey};

const NETWORK: &str = "5G:mnc001.mcc001.3gppnetwork.org";
const SUPI: &str = "imsi-001010000000001";
const AT_KDF: u8 = 24;

fn challenge() -> (Server, Vec<u8>, Vec<u8>) {
    let (key, rand) = (SubscriberKey::new(&[0x46; 16], &[0xcd; 16]), Rand::new(&[0x23; 16]));
    let vector = aka::eap_vector(&key, &rand, 32, [0x80, 0], NETWORK).unwrap();
    let xres = vector.xres.clone();
    let vector = Vector {
        rand: *rand.as_octets(),
        autn: *vector.autn.as_octets(),
        xres: vector.xres,
        ck_prime: vector.ck_prime,
        ik_prime: vector.ik_prime,
        network: NETWORK,
        identity: identity_of(SUPI),
    };
    let (server, request) = Server::challenge(&vector, 7);
    (server, request, xres)
}

/// The attributes of a packet: type, and the octets after type and length. `shortest` is the least
/// length in words that the reader accepts.
fn attributes(packet: &[u8], shortest: usize) -> Option<Vec<(u8, Vec<u8>)>> {
    let mut rest = packet.get(8..)?;
    let mut found = Vec::new();
    while let [kind, words, ..] = *rest {
        let words = usize::from(words);
        if words < shortest.max(1) || words * 4 > rest.len() {
            return None;
        }
        let (attribute, others) = rest.split_at(words * 4);
        found.push((kind, attribute[2..].to_vec()));
        rest = others;
    }
    Some(found)
}

/// The key derivation function that the UE reads: only from an AT_KDF with a value of two octets.
fn kdf(packet: &[u8], shortest: usize) -> Option<u16> {
    let (_, value) = attributes(packet, shortest)?.into_iter().find(|(kind, _)| *kind == AT_KDF)?;
    value.try_into().ok().map(u16::from_be_bytes)
}

/// The challenge with its AT_KDF stretched to a number of words.
fn with_kdf_of(packet: &[u8], words: u8) -> Vec<u8> {
    let mut out = packet[..8].to_vec();
    for (kind, mut value) in attributes(packet, 1).unwrap() {
        if kind == AT_KDF {
            value.resize(usize::from(words) * 4 - 2, 0);
        }
        out.extend([kind, ((value.len() + 2) / 4) as u8]);
        out.extend(value);
    }
    let length = u16::try_from(out.len()).unwrap().to_be_bytes();
    out[2..4].copy_from_slice(&length);
    out
}

#[test]
fn the_key_derivation_function_has_the_form_of_the_rfc() {
    let (_, request, _) = challenge();
    let (_, value) =
        attributes(&request, 1).unwrap().into_iter().find(|(kind, _)| *kind == AT_KDF).unwrap();
    assert_eq!(value, [0, 1]);
    // What the versions before 3.2.7 read, and free5GC sends.
    assert_eq!(kdf(&request, 1), Some(1));
}

#[test]
fn ueransim_3_3_accepts_no_form_of_at_kdf() {
    let (_, request, _) = challenge();
    for words in 1..=255 {
        let stretched = with_kdf_of(&request, words);
        assert_eq!(kdf(&stretched, 2), None, "{words} words");
    }
    // Without AT_KDF there is no function either.
    let mut without = request[..8].to_vec();
    for (kind, value) in attributes(&request, 1).unwrap() {
        if kind != AT_KDF {
            without.extend([kind, ((value.len() + 2) / 4) as u8]);
            without.extend(value);
        }
    }
    assert_eq!(kdf(&without, 2), None);
}

/// RES, MAC and AT_KDF, in this order.
#[test]
fn an_answer_with_at_kdf_behind_the_mac_is_accepted() {
    let (mut server, request, xres) = challenge();
    let identifier = request[1];
    let packet = Packet::new(
        Code::Response,
        identifier,
        Subtype::Challenge,
        vec![Attribute::Res(xres), Attribute::Mac([0; 16]), Attribute::Kdf(1)],
    );
    let mut bytes = packet.encode();
    let mac = mac_of(&server, &bytes);
    let at = bytes.len() - 4 - 16;
    bytes[at..at + 16].copy_from_slice(&mac);
    let Outcome::Success(end) = server.answer(&bytes) else { panic!("the answer is right") };
    assert_eq!(Packet::decode(&end).unwrap().code, Code::Success);
}

/// AT_MAC: the first 16 octets of HMAC-SHA-256 over the packet (RFC 9048, 3).
fn mac_of(server: &Server, packet: &[u8]) -> [u8; 16] {
    martlet_security::kdf::kdf(&server.keys().k_aut, packet)[..16].try_into().unwrap()
}
