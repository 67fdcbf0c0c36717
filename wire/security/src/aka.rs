//! 5G-AKA in the home and the serving network (TS 33.501, 6.1.3.2; annex A).

use crate::kdf::{build_s, kdf};
use crate::milenage::{Amf, Auts, K, Milenage, Op, Opc, Sqn};
use crate::nas_5gs::{
    HxresStar, KAmf, KAusf, KSeaf, ResStar, Supi, XresStar, compute_hres_star, compute_hxres_star,
    derive_kamf, derive_kausf, derive_kseaf,
};
use crate::tuak::{Bits, Tuak, TuakKey};
use crate::{Autn, Ck, Ik, Rand, SecurityError, Zeroizing, constant_time_eq};

/// ABBA of this release: no bidding down between architectures (TS 33.501, A.7.1).
pub const ABBA: [u8; 2] = [0, 0];

/// The serving network name of a PLMN (TS 24.501, 9.12.1): `5G:mnc093.mcc208.3gppnetwork.org`.
pub fn serving_network_name(mcc: &str, mnc: &str) -> String {
    format!("5G:mnc{mnc:0>3}.mcc{mcc}.3gppnetwork.org")
}

/// The secret of a subscriber, ready for its algorithm: K with OPc for MILENAGE, K with TOPc for
/// TUAK.
#[derive(Clone)]
pub struct SubscriberKey(Algorithm);

#[derive(Clone)]
enum Algorithm {
    Milenage(Box<Milenage>),
    Tuak(Tuak, Bits),
}

/// An authentication vector as UMTS, LTE and 5G share it (TS 33.102, 6.3.2).
#[derive(Clone)]
pub struct Quintet {
    /// XRES, 4 to 16 bytes; 32 with TUAK.
    pub xres: Vec<u8>,
    /// CK.
    pub ck: Zeroizing<[u8; 16]>,
    /// IK.
    pub ik: Zeroizing<[u8; 16]>,
    /// AUTN.
    pub autn: Autn,
}

/// A USIM's result for a challenge with an authentic AUTN.
#[derive(Clone)]
pub struct Response {
    /// SQN of AUTN, whose freshness is still to be checked.
    pub sqn: u64,
    /// AMF of AUTN.
    pub amf: [u8; 2],
    /// RES.
    pub res: Vec<u8>,
    /// CK.
    pub ck: Zeroizing<[u8; 16]>,
    /// IK.
    pub ik: Zeroizing<[u8; 16]>,
}

impl Response {
    /// The separation bit of the AMF field, set in vectors for 5G (TS 33.501, 6.1.3).
    pub fn separation_bit(&self) -> bool {
        self.amf[0] & 0x80 != 0
    }

    /// RES* (TS 33.501, A.4).
    pub fn res_star(&self, rand: &Rand, serving_network: &str) -> Result<ResStar, SecurityError> {
        res_star(&self.ck, &self.ik, rand, &self.res, serving_network)
            .map(|bytes| ResStar::new(&bytes))
    }

    /// K_AUSF of 5G-AKA (TS 33.501, A.2).
    pub fn k_ausf(&self, autn: &Autn, serving_network: &str) -> Result<KAusf, SecurityError> {
        derive_kausf(&Ck::new(&self.ck), &Ik::new(&self.ik), serving_network.as_bytes(), autn)
    }
}

fn res_star(
    ck: &[u8; 16],
    ik: &[u8; 16],
    rand: &Rand,
    res: &[u8],
    serving_network: &str,
) -> Result<[u8; 16], SecurityError> {
    let s = build_s(0x6b, &[serving_network.as_bytes(), rand.as_octets(), res])?;
    let out = Zeroizing::new(kdf(&Zeroizing::new([ck.as_slice(), ik].concat()), &s));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&out[16..]);
    Ok(bytes)
}

/// CK' and IK'.
pub type KeyPair = (Zeroizing<[u8; 16]>, Zeroizing<[u8; 16]>);

/// CK' and IK', which bind CK and IK to a network (TS 33.402, A.2; TS 33.501, A.3).
pub fn ck_ik_prime(
    ck: &[u8; 16],
    ik: &[u8; 16],
    autn: &Autn,
    network: &str,
) -> Result<KeyPair, SecurityError> {
    let s = build_s(0x20, &[network.as_bytes(), &autn.as_octets()[..6]])?;
    let out = Zeroizing::new(kdf(&Zeroizing::new([ck.as_slice(), ik].concat()), &s));
    let (mut ck, mut ik) = (Zeroizing::new([0; 16]), Zeroizing::new([0; 16]));
    ck.copy_from_slice(&out[..16]);
    ik.copy_from_slice(&out[16..]);
    Ok((ck, ik))
}

impl std::fmt::Debug for SubscriberKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SubscriberKey(..)")
    }
}

/// A key of a wrong length or with other characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} has a wrong length: write 32 hexadecimal digits, or 64 for TOPc")]
pub struct NoKey(&'static str);

/// The bytes of hexadecimal digits.
fn bytes<const N: usize>(what: &'static str, text: &str) -> Result<Zeroizing<[u8; N]>, NoKey> {
    let digits = text.as_bytes();
    let mut bytes = Zeroizing::new([0; N]);
    if digits.len() != 2 * N {
        return Err(NoKey(what));
    }
    let value = |digit: u8| (digit as char).to_digit(16).and_then(|value| u8::try_from(value).ok());
    for (octet, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return Err(NoKey(what)) };
        let (high, low) = value(*high).zip(value(*low)).ok_or(NoKey(what))?;
        *octet = high << 4 | low;
    }
    Ok(bytes)
}

impl SubscriberKey {
    /// K and OPc.
    pub fn new(k: &[u8; 16], opc: &[u8; 16]) -> Self {
        Self(Algorithm::Milenage(Box::new(Milenage::new(&K::new(k), &Opc::new(opc)))))
    }

    /// K and OP, from which OPc is derived (TS 35.206, 4.1).
    pub fn from_op(k: &[u8; 16], op: &[u8; 16]) -> Self {
        let k = K::new(k);
        Self(Algorithm::Milenage(Box::new(Milenage::new(&k, &Opc::from_op(&k, &Op::new(op))))))
    }

    /// TUAK with the length of its RES (TS 35.231).
    pub fn tuak(tuak: Tuak, res: Bits) -> Self {
        Self(Algorithm::Tuak(tuak, res))
    }

    /// TUAK: K as 32 or 64 hexadecimal digits, TOPc as 64, and its parameters.
    pub fn tuak_from_hex(k: &str, topc: &str, iterations: u8, res: Bits) -> Result<Self, NoKey> {
        let key = match k.len() {
            64 => TuakKey::Long(*bytes("K", k)?),
            _ => TuakKey::Short(*bytes("K", k)?),
        };
        let topc = bytes::<32>("TOPc", topc)?;
        Ok(Self::tuak(Tuak::new(key, &topc, iterations), res))
    }

    /// K and OPc as 32 hexadecimal digits each.
    pub fn from_hex(k: &str, opc: &str) -> Result<Self, NoKey> {
        let (k, opc) = (bytes::<16>("K", k)?, bytes::<16>("OPc", opc)?);
        Ok(Self::new(&k, &opc))
    }

    /// K and OP as 32 hexadecimal digits each.
    pub fn from_hex_op(k: &str, op: &str) -> Result<Self, NoKey> {
        let (k, op) = (bytes::<16>("K", k)?, bytes::<16>("OP", op)?);
        Ok(Self::from_op(&k, &op))
    }

    /// The functions of MILENAGE under this key; `None` for a subscriber with TUAK.
    pub fn milenage(&self) -> Option<&Milenage> {
        match &self.0 {
            Algorithm::Milenage(milenage) => Some(milenage),
            Algorithm::Tuak(..) => None,
        }
    }

    /// The vector of a challenge (TS 33.102, 6.3.2).
    pub fn quintet(&self, rand: &Rand, sqn: u64, amf: [u8; 2]) -> Quintet {
        let sqn = sqn_of(sqn);
        match &self.0 {
            Algorithm::Milenage(milenage) => {
                let vector = milenage.authentication_vector(rand, &sqn, &Amf::new(&amf));
                Quintet {
                    xres: vector.xres().as_octets().to_vec(),
                    ck: Zeroizing::new(*vector.ck().as_octets()),
                    ik: Zeroizing::new(*vector.ik().as_octets()),
                    autn: vector.autn().clone(),
                }
            }
            Algorithm::Tuak(tuak, res) => {
                let out = tuak.f2345(rand.as_octets(), *res, Bits::B128, Bits::B128);
                let mac = tuak.f1(rand.as_octets(), sqn.as_octets(), &amf, Bits::B64);
                let mut autn = [0; 16];
                autn[..6].copy_from_slice(&xor(sqn.as_octets(), &out.ak));
                autn[6..8].copy_from_slice(&amf);
                autn[8..].copy_from_slice(&mac);
                Quintet {
                    xres: out.res.clone(),
                    ck: key(&out.ck),
                    ik: key(&out.ik),
                    autn: Autn::new(&autn),
                }
            }
        }
    }

    /// The USIM's result for a challenge; [`SecurityError::MacFailure`] where AUTN is not from its
    /// home network.
    pub fn check_autn(&self, rand: &Rand, autn: &Autn) -> Result<Response, SecurityError> {
        match &self.0 {
            Algorithm::Milenage(milenage) => {
                let response = milenage.check_autn(rand, autn)?;
                Ok(Response {
                    sqn: response.sqn().get(),
                    amf: *response.amf().as_octets(),
                    res: response.res().as_octets().to_vec(),
                    ck: Zeroizing::new(*response.ck().as_octets()),
                    ik: Zeroizing::new(*response.ik().as_octets()),
                })
            }
            Algorithm::Tuak(tuak, res) => {
                let out = tuak.f2345(rand.as_octets(), *res, Bits::B128, Bits::B128);
                let bytes = autn.as_octets();
                let mut concealed = [0; 6];
                concealed.copy_from_slice(&bytes[..6]);
                let (sqn, amf) = (xor(&concealed, &out.ak), [bytes[6], bytes[7]]);
                let mac = tuak.f1(rand.as_octets(), &sqn, &amf, Bits::B64);
                if !constant_time_eq(&mac, &bytes[8..]) {
                    return Err(SecurityError::MacFailure);
                }
                Ok(Response {
                    sqn: Sqn::new(&sqn).get(),
                    amf,
                    res: out.res.clone(),
                    ck: key(&out.ck),
                    ik: key(&out.ik),
                })
            }
        }
    }

    /// AUTS, with which a USIM whose highest SQN is `sqn_ms` answers a challenge that is not fresh
    /// (TS 33.102, 6.3.3).
    pub fn auts(&self, rand: &Rand, sqn_ms: u64) -> [u8; 14] {
        let sqn = sqn_of(sqn_ms);
        match &self.0 {
            Algorithm::Milenage(milenage) => *milenage.auts(rand, &sqn).as_octets(),
            Algorithm::Tuak(tuak, _) => {
                let mut auts = [0; 14];
                auts[..6].copy_from_slice(&xor(sqn.as_octets(), &tuak.f5_star(rand.as_octets())));
                auts[6..].copy_from_slice(&tuak.f1_star(
                    rand.as_octets(),
                    sqn.as_octets(),
                    &[0, 0],
                    Bits::B64,
                ));
                auts
            }
        }
    }
}

fn xor(a: &[u8; 6], b: &[u8; 6]) -> [u8; 6] {
    std::array::from_fn(|n| a[n] ^ b[n])
}

/// CK or IK of 128 bits.
fn key(bytes: &[u8]) -> Zeroizing<[u8; 16]> {
    let mut key = Zeroizing::new([0; 16]);
    key.copy_from_slice(bytes);
    key
}

/// The home environment authentication vector of 5G (TS 33.501, 6.1.3.2.0), which the UDM gives to
/// the AUSF.
pub struct Vector {
    /// The challenge.
    pub rand: Rand,
    /// The token that authenticates the network to the USIM.
    pub autn: Autn,
    /// The expected response of the UE.
    pub xres_star: XresStar,
    /// The key of the AUSF.
    pub k_ausf: KAusf,
}

fn sqn_of(sqn: u64) -> Sqn {
    let [_, _, bytes @ ..] = (sqn & crate::sqn::MAX).to_be_bytes();
    Sqn::new(&bytes)
}

/// OPc of a subscriber: its K with the operator's OP (TS 35.206, 4.1).
pub fn opc(k: &[u8; 16], op: &[u8; 16]) -> [u8; 16] {
    *crate::milenage::Opc::from_op(&crate::milenage::K::new(k), &crate::milenage::Op::new(op))
        .as_octets()
}

/// The vector of a subscriber for a serving network: `rand` is drawn at random, `sqn` is the
/// subscriber's next ([`crate::sqn::next`]), `amf` is the authentication management field, whose
/// separation bit has to be set (`[0x80, 0]`). An error for a serving network name of more than
/// 65,535 bytes.
pub fn vector(
    key: &SubscriberKey,
    rand: &Rand,
    sqn: u64,
    amf: [u8; 2],
    serving_network: &str,
) -> Result<Vector, SecurityError> {
    let quintet = key.quintet(rand, sqn, amf);
    let xres_star = res_star(&quintet.ck, &quintet.ik, rand, &quintet.xres, serving_network)?;
    let (ck, ik) = (Ck::new(&quintet.ck), Ik::new(&quintet.ik));
    Ok(Vector {
        rand: rand.clone(),
        xres_star: XresStar::new(&xres_star),
        k_ausf: derive_kausf(&ck, &ik, serving_network.as_bytes(), &quintet.autn)?,
        autn: quintet.autn,
    })
}

/// The home environment authentication vector of EAP-AKA' (TS 33.501, 6.1.3.1), which the UDM gives
/// to the AUSF.
pub struct EapVector {
    /// The token that authenticates the network to the USIM.
    pub autn: Autn,
    /// The expected response of the UE.
    pub xres: Vec<u8>,
    /// CK'.
    pub ck_prime: Zeroizing<[u8; 16]>,
    /// IK'.
    pub ik_prime: Zeroizing<[u8; 16]>,
}

/// The vector for EAP-AKA'; as [`vector`].
pub fn eap_vector(
    key: &SubscriberKey,
    rand: &Rand,
    sqn: u64,
    amf: [u8; 2],
    serving_network: &str,
) -> Result<EapVector, SecurityError> {
    let Quintet { xres, ck, ik, autn } = key.quintet(rand, sqn, amf);
    let (ck_prime, ik_prime) = ck_ik_prime(&ck, &ik, &autn, serving_network)?;
    Ok(EapVector { autn, xres, ck_prime, ik_prime })
}

/// SQN_MS from the AUTS of a synchronisation failure to the challenge `rand` (TS 33.102, 6.3.5).
/// [`SecurityError::MacFailure`] where it is not from this subscriber; the home network's SQN then
/// stays.
pub fn verify_auts(
    key: &SubscriberKey,
    rand: &Rand,
    auts: &[u8; 14],
) -> Result<u64, SecurityError> {
    match &key.0 {
        Algorithm::Milenage(milenage) => {
            milenage.verify_auts(rand, &Auts::new(auts)).map(|sqn| sqn.get())
        }
        Algorithm::Tuak(tuak, _) => {
            let mut concealed = [0; 6];
            concealed.copy_from_slice(&auts[..6]);
            let sqn = Sqn::new(&xor(&concealed, &tuak.f5_star(rand.as_octets()))).get();
            match constant_time_eq(&key.auts(rand, sqn), auts) {
                true => Ok(sqn),
                false => Err(SecurityError::MacFailure),
            }
        }
    }
}

/// HXRES*, which the AUSF gives the serving network in place of XRES* (TS 33.501, A.5).
pub fn hxres_star(rand: &Rand, xres_star: &XresStar) -> HxresStar {
    compute_hxres_star(rand, xres_star)
}

/// Whether HRES* of the RES* that a UE sent is HXRES* (TS 33.501, 6.1.3.2.0, step 9), in constant
/// time.
pub fn hres_star_matches(rand: &Rand, res_star: &[u8; 16], hxres_star: &HxresStar) -> bool {
    hxres_star.accepts(&compute_hres_star(rand, &ResStar::new(res_star)))
}

/// K_SEAF, which the AUSF gives the serving network (TS 33.501, A.6).
pub fn k_seaf(k_ausf: &KAusf, serving_network: &str) -> Result<KSeaf, SecurityError> {
    derive_kseaf(k_ausf, serving_network.as_bytes())
}

/// K_AMF of a subscriber, `imsi-…` or `nai-…` (TS 33.501, A.7), with the ABBA of this release.
pub fn k_amf(k_seaf: &KSeaf, supi: &str) -> Result<KAmf, SecurityError> {
    derive_kamf(k_seaf, &Supi::parse(supi)?, &ABBA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_network_name_has_three_digits_of_mnc() {
        assert_eq!(serving_network_name("208", "93"), "5G:mnc093.mcc208.3gppnetwork.org");
        assert_eq!(serving_network_name("310", "410"), "5G:mnc410.mcc310.3gppnetwork.org");
    }

    #[test]
    fn a_key_is_32_digits() {
        let k = "465b5ce8b199b49faa5f0a2ee238a6bc";
        assert!(SubscriberKey::from_hex(k, &k.to_uppercase()).is_ok());
        for text in [
            "",
            "46",
            &k[1..],
            &format!("{k}00"),
            "g65b5ce8b199b49faa5f0a2ee238a6bc",
            "日本日本日本日本日本日本日本",
        ] {
            assert!(SubscriberKey::from_hex(text, k).is_err(), "{text}");
        }
    }

    #[test]
    fn op_gives_the_opc_of_test_set_1() {
        let (k, op) = ("465b5ce8b199b49faa5f0a2ee238a6bc", "cdc202d5123e20f62b6d676ac72cb318");
        let rand = Rand::new(&[7; 16]);
        let by_op = SubscriberKey::from_hex_op(k, op).unwrap();
        let by_opc = SubscriberKey::from_hex(k, "cd63cb71954a9f4e48a5994e37a02baf").unwrap();
        let autn = |key| vector(key, &rand, 33, [0x80, 0], "5G:x").unwrap().autn;
        assert_eq!(autn(&by_op).as_octets(), autn(&by_opc).as_octets());
        assert_eq!(format!("{by_op:?}"), "SubscriberKey(..)");
    }

    fn both_algorithms(k: [u8; 16]) -> [SubscriberKey; 2] {
        let tuak = Tuak::new(TuakKey::Short(k), &[2; 32], 1);
        [SubscriberKey::new(&k, &[2; 16]), SubscriberKey::tuak(tuak, Bits::B64)]
    }

    #[test]
    fn a_challenge_is_answered_with_either_algorithm() {
        for (key, other) in both_algorithms([1; 16]).iter().zip(both_algorithms([9; 16])) {
            let rand = Rand::new(&[3; 16]);
            let vector = vector(key, &rand, 4097, [0x80, 0], "5G:x").unwrap();
            let response = key.check_autn(&rand, &vector.autn).unwrap();
            assert_eq!((response.sqn, response.amf), (4097, [0x80, 0]));
            assert!(vector.xres_star.accepts(&response.res_star(&rand, "5G:x").unwrap()));
            assert_eq!(
                response.k_ausf(&vector.autn, "5G:x").unwrap().as_octets(),
                vector.k_ausf.as_octets()
            );
            assert!(matches!(
                other.check_autn(&rand, &vector.autn),
                Err(SecurityError::MacFailure)
            ));
        }
    }

    #[test]
    fn an_auts_of_another_subscriber_is_refused() {
        for (key, other) in both_algorithms([1; 16]).iter().zip(both_algorithms([9; 16])) {
            let rand = Rand::new(&[3; 16]);
            let auts = key.auts(&rand, 4096);
            assert_eq!(verify_auts(key, &rand, &auts), Ok(4096));
            assert_eq!(verify_auts(&other, &rand, &auts), Err(SecurityError::MacFailure));
        }
        let key = SubscriberKey::new(&[1; 16], &[2; 16]);
        let rand = Rand::new(&[3; 16]);
        let auts = key.auts(&rand, 4096);
        assert_eq!(verify_auts(&key, &rand, &auts), Ok(4096));
        let other = SubscriberKey::new(&[9; 16], &[2; 16]);
        assert_eq!(verify_auts(&other, &rand, &auts), Err(SecurityError::MacFailure));
        assert_eq!(verify_auts(&key, &Rand::new(&[4; 16]), &auts), Err(SecurityError::MacFailure));
    }
}
