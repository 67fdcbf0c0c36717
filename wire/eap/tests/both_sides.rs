//! The test data of RFC 9048, and both sides with each other.
use martlet_eap::keys::{Keys, identity_of};
use martlet_eap::packet::{Attribute, Code, Packet, Subtype};
use martlet_eap::peer::{self, Refusal, Reply, Verdict};
use martlet_eap::server::{Outcome, Server, Vector};
use martlet_security::aka::{self, SubscriberKey, ck_ik_prime};
use martlet_security::{Autn, Rand};

const NETWORK: &str = "5G:mnc001.mcc001.3gppnetwork.org";
const SUPI: &str = "imsi-001010000000001";

#[test]
fn the_keys_are_those_of_rfc_9048() {
    let array = |text: &str| -> [u8; 16] { hex::decode(text).unwrap().try_into().unwrap() };
    let mut cases = 0;
    for line in include_str!("vectors/rfc9048.tsv").lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<_> = line.split('\t').collect();
        let [network, _rand, autn, ck, ik, _res, primes, mk] = fields[..] else {
            panic!("8 fields")
        };
        let (ck_prime, ik_prime) =
            ck_ik_prime(&array(ck), &array(ik), &Autn::new(&array(autn)), network).unwrap();
        assert_eq!(hex::encode([*ck_prime, *ik_prime].concat()), primes);
        let keys = Keys::derive(&ck_prime, &ik_prime, "0555444333222111");
        assert_eq!(hex::encode(keys.k_aut), mk[32..96]);
        assert_eq!(hex::encode(keys.msk), mk[160..288]);
        assert_eq!(hex::encode(keys.emsk), mk[288..]);
        assert_eq!(keys.k_ausf().as_octets()[..], keys.emsk[..32]);
        cases += 1;
    }
    assert_eq!(cases, 4);
}

fn key() -> SubscriberKey {
    SubscriberKey::new(&[0x46; 16], &[0xcd; 16])
}

fn challenge(network: &str, identity: &str) -> (Server, Vec<u8>) {
    let rand = Rand::new(&[0x23; 16]);
    let vector = aka::eap_vector(&key(), &rand, 32, [0x80, 0], network).unwrap();
    let vector = Vector {
        rand: *rand.as_octets(),
        autn: *vector.autn.as_octets(),
        xres: vector.xres,
        ck_prime: vector.ck_prime,
        ik_prime: vector.ik_prime,
        network,
        identity,
    };
    Server::challenge(&vector, 7)
}

fn usim(key: &SubscriberKey) -> impl FnOnce(&Rand, &Autn) -> Verdict {
    |rand, autn| match key.check_autn(rand, autn) {
        Ok(response) => Verdict::Accepted(Box::new(response)),
        Err(_) => Verdict::Rejected,
    }
}

#[test]
fn both_sides_agree() {
    let (mut server, request) = challenge(NETWORK, identity_of(SUPI));
    let Reply::Accepted(answer, keys) =
        peer::answer(&request, NETWORK, identity_of(SUPI), usim(&key()))
    else {
        panic!("the challenge is right")
    };
    let Outcome::Success(end) = server.answer(&answer) else { panic!("the answer is right") };
    assert_eq!(peer::end(&end), Some(true));
    assert_eq!(keys.k_ausf().as_octets(), server.keys().k_ausf().as_octets());
}

#[test]
fn an_answer_that_was_changed_is_refused_after_a_notification() {
    for at in [12, 30] {
        let (mut server, request) = challenge(NETWORK, identity_of(SUPI));
        let Reply::Accepted(mut answer, _) =
            peer::answer(&request, NETWORK, identity_of(SUPI), usim(&key()))
        else {
            panic!("the challenge is right")
        };
        answer[at] ^= 1;
        let Outcome::Request(notification) = server.answer(&answer) else {
            panic!("RES or MAC is wrong")
        };
        let Reply::Other(confirmation, Refusal::Notified) =
            peer::answer(&notification, NETWORK, identity_of(SUPI), usim(&key()))
        else {
            panic!("a notification is confirmed")
        };
        let Outcome::Failure(end) = server.answer(&confirmation) else { panic!("it has failed") };
        assert_eq!(peer::end(&end), Some(false));
    }
}

#[test]
fn the_peer_refuses_what_is_not_its_own() {
    let refusal = |request: &[u8], identity: &str, key: &SubscriberKey| match peer::answer(
        request,
        NETWORK,
        identity,
        usim(key),
    ) {
        Reply::Other(answer, refusal) => {
            (refusal, Packet::decode(&answer).unwrap().subtype().unwrap())
        }
        _ => panic!("accepted"),
    };
    let (_, right) = challenge(NETWORK, identity_of(SUPI));
    // Another network than that which serves the UE.
    let (_, elsewhere) = challenge("5G:mnc002.mcc001.3gppnetwork.org", identity_of(SUPI));
    assert_eq!(
        refusal(&elsewhere, identity_of(SUPI), &key()),
        (Refusal::Network, Subtype::AuthenticationReject)
    );
    // Another home network; another identity, for which the keys are others; a packet that was
    // changed.
    let other = SubscriberKey::new(&[1; 16], &[1; 16]);
    assert_eq!(
        refusal(&right, identity_of(SUPI), &other),
        (Refusal::Token, Subtype::AuthenticationReject)
    );
    assert_eq!(refusal(&right, "001010000000002", &key()), (Refusal::Packet, Subtype::ClientError));
    let mut changed = right.clone();
    *changed.last_mut().unwrap() ^= 1;
    assert_eq!(
        refusal(&changed, identity_of(SUPI), &key()),
        (Refusal::Packet, Subtype::ClientError)
    );
    // No AT_MAC, AT_RAND twice, no function in common, another function first.
    let with = |change: fn(&mut Vec<Attribute>)| {
        let mut packet = Packet::decode(&right).unwrap();
        change(&mut packet.content.as_mut().unwrap().attributes);
        packet.encode()
    };
    let without_mac = with(|attributes| attributes.retain(|a| !matches!(a, Attribute::Mac(_))));
    assert_eq!(refusal(&without_mac, identity_of(SUPI), &key()).0, Refusal::Packet);
    let twice = with(|attributes| attributes.push(Attribute::Rand([0; 16])));
    assert_eq!(refusal(&twice, identity_of(SUPI), &key()).0, Refusal::Packet);
    let none = with(|attributes| {
        attributes.iter_mut().for_each(|a| {
            if let Attribute::Kdf(kdf) = a {
                *kdf = 2
            }
        })
    });
    assert_eq!(
        refusal(&none, identity_of(SUPI), &key()),
        (Refusal::Kdf, Subtype::AuthenticationReject)
    );
    let second = with(|attributes| attributes.insert(0, Attribute::Kdf(2)));
    assert_eq!(refusal(&second, identity_of(SUPI), &key()), (Refusal::Kdf, Subtype::Challenge));
    // What is no request has no answer.
    let end = Packet::end(Code::Success, 7).encode();
    assert!(matches!(peer::answer(&end, NETWORK, identity_of(SUPI), usim(&key())), Reply::Ignored));
}

#[test]
fn a_stale_sequence_number_is_answered_with_auts() {
    let (mut server, request) = challenge(NETWORK, identity_of(SUPI));
    let behind = |rand: &Rand, _: &Autn| Verdict::SynchronisationFailure(key().auts(rand, 4096));
    let Reply::Other(answer, Refusal::Synchronisation) =
        peer::answer(&request, NETWORK, identity_of(SUPI), behind)
    else {
        panic!("not fresh")
    };
    let Outcome::Synchronise(auts) = server.answer(&answer) else { panic!("AUTS is missing") };
    assert_eq!(aka::verify_auts(&key(), &Rand::new(&server.rand()), &auts), Ok(4096));
}

#[test]
fn the_server_fails_what_it_did_not_ask_for() {
    let answers = [
        Packet::new(Code::Response, 8, Subtype::Challenge, vec![]),
        Packet::new(Code::Request, 7, Subtype::Challenge, vec![]),
        Packet::new(Code::Response, 7, Subtype::AuthenticationReject, vec![]),
        Packet::new(Code::Response, 7, Subtype::ClientError, vec![Attribute::ClientErrorCode(0)]),
        Packet::new(Code::Response, 7, Subtype::SynchronizationFailure, vec![]),
        Packet::new(Code::Response, 7, Subtype::Identity, vec![]),
    ];
    for answer in answers {
        let (mut server, _) = challenge(NETWORK, identity_of(SUPI));
        assert!(matches!(server.answer(&answer.encode()), Outcome::Failure(_)), "{answer:?}");
    }
}
