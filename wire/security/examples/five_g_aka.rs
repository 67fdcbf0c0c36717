//! Plays 5G-AKA: UDM, AUSF, AMF and UE.
use martlet_security::aka::{self, SubscriberKey};
use martlet_security::usim::{Challenge, Usim};
use martlet_security::{Rand, sqn};

fn main() {
    let key = SubscriberKey::from_hex(
        "465b5ce8b199b49faa5f0a2ee238a6bc",
        "cd63cb71954a9f4e48a5994e37a02baf",
    )
    .unwrap();
    let network = aka::serving_network_name("208", "93");

    // UDM: the next sequence number of the subscriber, a fresh RAND, and the vector.
    let sqn = sqn::next(0);
    let vector = aka::vector(&key, &Rand::new(&[0x23; 16]), sqn, [0x80, 0x00], &network).unwrap();
    // AUSF: what the serving network gets.
    let hxres_star = aka::hxres_star(&vector.rand, &vector.xres_star);
    let k_seaf = aka::k_seaf(&vector.k_ausf, &network).unwrap();
    // UE: checks AUTN and answers.
    let mut usim = Usim::new(key);
    let Challenge::Accepted(answer) = usim.challenge(&vector.rand, &vector.autn, &network) else {
        unreachable!()
    };
    // AMF: HRES* equals HXRES*. AUSF: RES* equals XRES*.
    assert!(aka::hres_star_matches(&vector.rand, answer.res_star.as_octets(), &hxres_star));
    assert!(vector.xres_star.accepts(&answer.res_star));
    // Both sides derive K_AMF.
    let k_amf = aka::k_amf(&k_seaf, "imsi-208930000000001").unwrap();
    assert_eq!(
        answer.k_amf(&network, "imsi-208930000000001").unwrap().as_octets(),
        k_amf.as_octets()
    );
    println!("{network}: RES* and both K_AMF agree, sequence number {}", usim.sqn());
}
