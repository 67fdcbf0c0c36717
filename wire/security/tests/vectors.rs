//! The test data of the specifications, and keys that another implementation derived.

use martlet_security::aka::{self, SubscriberKey};
use martlet_security::nas_5gs::{
    HomeNetworkPublicKey, KNasEnc, KNasInt, NasConnection, Suci, derive_kgnb, derive_knas_enc,
    derive_knas_int, derive_nh,
};
use martlet_security::sidf::{HomeNetworkKeys, SidfError};
use martlet_security::tuak::{Bits, Tuak, TuakKey};
use martlet_security::usim::{Challenge, Usim};
use martlet_security::{
    Bearer, CipheringAlgorithm, Direction, IntegrityAlgorithm, NasCount, Rand, milenage,
    nea_cipher_bits, nia_mac_bits,
};

/// The fields of each line of a file of vectors.
fn lines(file: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    file.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text).expect("hexadecimal digits")
}

fn array<const N: usize>(text: &str) -> [u8; N] {
    bytes(text).try_into().expect("bytes of this length")
}

const MILENAGE: &str = include_str!("vectors/milenage.tsv");

#[test]
fn milenage_gives_the_values_of_ts_35_208() {
    let mut sets = 0;
    for fields in lines(MILENAGE) {
        let [k, rand, sqn, amf, op, opc, f1, f1_star, f2, f5, f3, f4, f5_star] = fields[..] else {
            panic!("13 fields")
        };
        let key = SubscriberKey::from_hex(k, opc).expect("a key");
        let by_op = SubscriberKey::from_hex_op(k, op).expect("a key");
        let (rand, sqn, amf) = (
            Rand::new(&array(rand)),
            milenage::Sqn::new(&array(sqn)),
            milenage::Amf::new(&array(amf)),
        );
        for key in [&key, &by_op] {
            let functions = key.milenage().expect("a key for MILENAGE");
            assert_eq!(functions.f1(&rand, &sqn, &amf).as_octets()[..], bytes(f1));
            assert_eq!(functions.f1_star(&rand, &sqn, &amf).as_octets()[..], bytes(f1_star));
            assert_eq!(functions.f2(&rand).as_octets()[..], bytes(f2));
            assert_eq!(functions.f3(&rand).as_octets()[..], bytes(f3));
            assert_eq!(functions.f4(&rand).as_octets()[..], bytes(f4));
            assert_eq!(functions.f5(&rand).as_octets()[..], bytes(f5));
            assert_eq!(functions.f5_star(&rand).as_octets()[..], bytes(f5_star));
        }
        sets += 1;
    }
    assert_eq!(sets, 20);
}

#[test]
fn tuak_gives_the_values_of_ts_35_233() {
    let length = |text: &str| Bits::of(text.len() as u16 * 4).expect("a length of TUAK");
    let mut sets = 0;
    for fields in lines(include_str!("vectors/tuak.tsv")) {
        let [iterations, k, rand, sqn, amf, top, topc, f1, f1_star, f2, f3, f4, f5, f5_star] =
            fields[..]
        else {
            panic!("14 fields")
        };
        let key = match k.len() {
            32 => TuakKey::Short(array(k)),
            _ => TuakKey::Long(array(k)),
        };
        let tuak = Tuak::from_top(key, &array(top), iterations.parse().expect("a number"));
        let (rand, sqn, amf) = (array(rand), array(sqn), array(amf));
        assert_eq!(tuak.topc()[..], bytes(topc));
        assert_eq!(tuak.f1(&rand, &sqn, &amf, length(f1)), bytes(f1));
        assert_eq!(tuak.f1_star(&rand, &sqn, &amf, length(f1_star)), bytes(f1_star));
        let outputs = tuak.f2345(&rand, length(f2), length(f3), length(f4));
        assert_eq!(outputs.res, bytes(f2));
        assert_eq!(outputs.ck, bytes(f3));
        assert_eq!(outputs.ik, bytes(f4));
        assert_eq!(outputs.ak[..], bytes(f5));
        assert_eq!(tuak.f5_star(&rand)[..], bytes(f5_star));
        sets += 1;
    }
    assert_eq!(sets, 6);
}

#[test]
fn the_keys_of_5g_aka_are_those_of_another_implementation() {
    let network = aka::serving_network_name("208", "93");
    let supi = "imsi-208930000000001";
    let mut sets = 0;
    for (set, keys) in lines(MILENAGE).zip(lines(include_str!("vectors/5g-aka.tsv"))) {
        let key = SubscriberKey::from_hex(set[0], set[5]).expect("a key");
        let sqn = u64::from_str_radix(set[2], 16).expect("a number");
        let [rand, autn, xres_star, k_ausf, hxres_star, k_seaf, k_amf, enc, int, k_gnb, nh] =
            keys[..]
        else {
            panic!("11 fields")
        };
        let rand = Rand::new(&array(rand));
        let vector = aka::vector(&key, &rand, sqn, array(set[3]), &network).expect("a vector");
        assert_eq!(hex::encode(vector.autn.as_octets()), autn);
        assert_eq!(hex::encode(vector.xres_star.as_octets()), xres_star);
        assert_eq!(hex::encode(vector.k_ausf.as_octets()), k_ausf);
        let hashed = aka::hxres_star(&rand, &vector.xres_star);
        assert_eq!(hex::encode(hashed.as_octets()), hxres_star);
        assert!(aka::hres_star_matches(&rand, &array(xres_star), &hashed));
        assert!(!aka::hres_star_matches(&rand, &[0; 16], &hashed));
        let seaf = aka::k_seaf(&vector.k_ausf, &network).expect("a key");
        assert_eq!(hex::encode(seaf.as_octets()), k_seaf);
        let amf = aka::k_amf(&seaf, supi).expect("a key");
        assert_eq!(hex::encode(amf.as_octets()), k_amf);
        assert_eq!(hex::encode(derive_knas_enc(&amf, CipheringAlgorithm::NEA2).as_octets()), enc);
        assert_eq!(hex::encode(derive_knas_int(&amf, IntegrityAlgorithm::NIA2).as_octets()), int);
        let gnb = derive_kgnb(&amf, NasCount::ZERO);
        assert_eq!(hex::encode(gnb.as_octets()), k_gnb);
        assert_eq!(hex::encode(derive_nh(&amf, &gnb).as_octets()), nh);
        // The card has the same result, if its number is not too far behind and the separation bit
        // is set.
        let mut usim = Usim::at(key, sqn.saturating_sub(64));
        match usim.challenge(&rand, &vector.autn, &network) {
            Challenge::Accepted(answer) => {
                assert_eq!(hex::encode(answer.res_star.as_octets()), xres_star);
                assert_eq!(
                    hex::encode(answer.k_amf(&network, supi).expect("a key").as_octets()),
                    k_amf
                );
            }
            Challenge::NotForFiveG => assert_eq!(array::<2>(set[3])[0] & 0x80, 0),
            Challenge::MacFailure | Challenge::SyncFailure(_) => {
                panic!("the card refuses set {sets}")
            }
        }
        sets += 1;
    }
    assert_eq!(sets, 20);
}

/// Octets of `bits` bits, the last one with zeros after them.
fn masked(text: &str, bits: usize) -> Vec<u8> {
    let mut bytes = bytes(text);
    bytes.truncate(bits.div_ceil(8));
    if let (Some(last), true) = (bytes.last_mut(), !bits.is_multiple_of(8)) {
        *last &= 0xff << (8 - bits % 8);
    }
    bytes
}

#[test]
fn ciphering_gives_the_values_of_the_specifications() {
    let mut sets = [0; 4];
    for fields in lines(include_str!("vectors/nea.tsv")) {
        let [algorithm, key, count, bearer, direction, bits, plain, ciphered] = fields[..] else {
            panic!("8 fields")
        };
        let number: u8 = algorithm.parse().expect("a number");
        let bits: usize = bits.parse().expect("a number");
        let mut data = masked(plain, bits);
        nea_cipher_bits(
            &KNasEnc::new(&array(key)),
            u32::from_str_radix(count, 16).expect("a number"),
            Bearer::new(bearer.parse().expect("a number")).expect("five bits"),
            Direction::try_from(direction.parse::<u8>().expect("a number")).expect("a direction"),
            &mut data,
            bits as u64,
            CipheringAlgorithm::try_from(number).expect("an algorithm"),
        )
        .expect("a length that fits");
        assert_eq!(
            hex::encode(data),
            hex::encode(masked(ciphered, bits)),
            "NEA{number}, {bits} bits"
        );
        sets[usize::from(number)] += 1;
    }
    assert_eq!(sets, [0, 6, 3, 3]);
}

#[test]
fn integrity_gives_the_values_of_the_specifications() {
    let mut sets = [0; 4];
    for fields in lines(include_str!("vectors/nia.tsv")) {
        let [algorithm, key, count, bearer, direction, bits, message, mac] = fields[..] else {
            panic!("8 fields")
        };
        let number: u8 = algorithm.parse().expect("a number");
        let bits: usize = bits.parse().expect("a number");
        let calculated = nia_mac_bits(
            &KNasInt::new(&array(key)),
            u32::from_str_radix(count, 16).expect("a number"),
            Bearer::new(bearer.parse().expect("a number")).expect("five bits"),
            Direction::try_from(direction.parse::<u8>().expect("a number")).expect("a direction"),
            &masked(message, bits),
            bits as u64,
            IntegrityAlgorithm::try_from(number).expect("an algorithm"),
        )
        .expect("a length that fits");
        assert_eq!(format!("{calculated:08x}"), mac, "NIA{number}, {bits} bits");
        sets[usize::from(number)] += 1;
    }
    assert_eq!(sets, [0, 6, 6, 4]);
}

#[test]
fn the_suci_of_ts_33_501_annex_c_4_are_deconcealed() {
    let mut keys = HomeNetworkKeys::new();
    keys.add_profile_a(
        27,
        &array("c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d"),
    );
    keys.add_profile_b(
        27,
        &array("f1ab1074477ebcc7f554ea1c5fc368b1616730155e0041ac447d6301975fecda"),
    )
    .expect("a key of the curve");
    assert_eq!(
        keys.public_keys(),
        [
            (1, 27, bytes("5a8d38864820197c3394b92613b20b91633cbd897119273bf8e4a6f4eec0a650")),
            (2, 27, bytes("0272da71976234ce833a6907425867b82e074d44ef907dfb4b3e21c1c2256ebcd1")),
        ]
    );
    let profile_a = "b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457d\
                     cb02352410cddd9e730ef3fa87";
    let profile_b = "039aab8376597021e855679a9778ea0b67396e68c66df32c0f41e9acca2da9b9\
                     d146a33fc2716ac7dae96aa30a4d";
    for suci in [
        "suci-0-274-012-0-0-0-001002086".to_string(),
        format!("suci-0-274-012-0-1-27-{profile_a}"),
        format!("suci-0-274-012-0-2-27-{profile_b}"),
    ] {
        assert_eq!(keys.deconceal(&suci).as_deref(), Ok("imsi-274012001002086"), "{suci}");
        // The text is that of the mobile identity.
        let parsed = martlet_security::sidf::parse(&suci).expect("a SUCI");
        let again = Suci::from_nas_octets(&parsed.to_nas_octets().expect("bytes")).expect("a SUCI");
        assert_eq!(again.to_string(), suci);
    }
    // Profile A under the key of profile B.
    let crossed = format!("suci-0-274-012-0-2-27-{profile_a}");
    assert!(matches!(keys.deconceal(&crossed), Err(SidfError::Suci(_) | SidfError::Text(_))));
    let whole_point = "0472da71976234ce833a6907425867b82e074d44ef907dfb4b3e21c1c2256ebcd1\
                       5a7ded52fcbb097a4ed250e036c7b9c8c7004c4eedc4f068cd7bf8d3f900e3b4";
    assert!(HomeNetworkPublicKey::profile_b(&bytes(whole_point)).is_ok());
    assert_eq!(u8::from(NasConnection::ThreeGpp), 1);
}
