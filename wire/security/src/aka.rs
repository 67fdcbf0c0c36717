//! 5G-AKA in the home and the serving network (TS 33.501, 6.1.3.2; annex A).

use crate::milenage::{Amf, Auts, K, Milenage, Op, Opc, Sqn};
use crate::nas_5gs::{
    HxresStar, KAmf, KAusf, KSeaf, ResStar, Supi, XresStar, compute_hres_star, compute_hxres_star, derive_kamf,
    derive_kausf, derive_kseaf,
};
use crate::{Autn, Rand, SecurityError};

/// ABBA of this release: no bidding down between architectures (TS 33.501, A.7.1).
pub const ABBA: [u8; 2] = [0, 0];

/// The serving network name of a PLMN (TS 24.501, 9.12.1): `5G:mnc093.mcc208.3gppnetwork.org`.
pub fn serving_network_name(mcc: &str, mnc: &str) -> String {
    format!("5G:mnc{mnc:0>3}.mcc{mcc}.3gppnetwork.org")
}

/// The secret of a subscriber, ready for MILENAGE: K with OPc.
#[derive(Clone)]
pub struct SubscriberKey(Milenage);

impl std::fmt::Debug for SubscriberKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SubscriberKey(..)")
    }
}

/// A key that is not one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is 32 hexadecimal digits")]
pub struct NoKey(&'static str);

/// 16 octets of 32 hexadecimal digits.
fn octets(what: &'static str, text: &str) -> Result<[u8; 16], NoKey> {
    let digits = text.as_bytes();
    let mut octets = [0; 16];
    if digits.len() != 32 {
        return Err(NoKey(what));
    }
    let value = |digit: u8| (digit as char).to_digit(16).and_then(|value| u8::try_from(value).ok());
    for (octet, pair) in octets.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return Err(NoKey(what)) };
        let (high, low) = value(*high).zip(value(*low)).ok_or(NoKey(what))?;
        *octet = high << 4 | low;
    }
    Ok(octets)
}

impl SubscriberKey {
    /// K and OPc.
    pub fn new(k: &[u8; 16], opc: &[u8; 16]) -> Self {
        Self(Milenage::new(&K::new(k), &Opc::new(opc)))
    }

    /// K and OP, from which OPc is derived (TS 35.206, 4.1).
    pub fn from_op(k: &[u8; 16], op: &[u8; 16]) -> Self {
        let k = K::new(k);
        Self(Milenage::new(&k, &Opc::from_op(&k, &Op::new(op))))
    }

    /// K and OPc as 32 hexadecimal digits each.
    pub fn from_hex(k: &str, opc: &str) -> Result<Self, NoKey> {
        Ok(Self::new(&octets("K", k)?, &octets("OPc", opc)?))
    }

    /// K and OP as 32 hexadecimal digits each.
    pub fn from_hex_op(k: &str, op: &str) -> Result<Self, NoKey> {
        Ok(Self::from_op(&octets("K", k)?, &octets("OP", op)?))
    }

    /// The functions of MILENAGE under this key.
    pub fn milenage(&self) -> &Milenage {
        &self.0
    }
}

/// The home environment authentication vector of 5G (TS 33.501, 6.1.3.2.0): what the UDM gives the AUSF.
pub struct Vector {
    /// The challenge.
    pub rand: Rand,
    /// The token that proves the network to the USIM.
    pub autn: Autn,
    /// What the UE is to answer.
    pub xres_star: XresStar,
    /// The key of the AUSF.
    pub k_ausf: KAusf,
}

fn sqn_of(sqn: u64) -> Sqn {
    let [_, _, octets @ ..] = (sqn & crate::sqn::MAX).to_be_bytes();
    Sqn::new(&octets)
}

/// OPc of a subscriber: its K with the operator's OP (TS 35.206, 4.1).
pub fn opc(k: &[u8; 16], op: &[u8; 16]) -> [u8; 16] {
    *crate::milenage::Opc::from_op(&crate::milenage::K::new(k), &crate::milenage::Op::new(op)).as_octets()
}

/// The vector of a subscriber for a serving network: `rand` is drawn at random, `sqn` is the subscriber's next
/// ([`crate::sqn::next`]), `amf` is the authentication management field, whose separation bit has to be set
/// (`[0x80, 0]`). An error for a serving network name of more than 65,535 octets.
pub fn vector(
    key: &SubscriberKey,
    rand: &Rand,
    sqn: u64,
    amf: [u8; 2],
    serving_network: &str,
) -> Result<Vector, SecurityError> {
    let vector = key.0.authentication_vector(rand, &sqn_of(sqn), &Amf::new(&amf));
    let network = serving_network.as_bytes();
    Ok(Vector {
        rand: rand.clone(),
        autn: vector.autn().clone(),
        xres_star: vector.xres_star(network)?,
        k_ausf: derive_kausf(vector.ck(), vector.ik(), network, vector.autn())?,
    })
}

/// SQN_MS from the AUTS of a synchronisation failure to the challenge `rand` (TS 33.102, 6.3.5).
/// [`SecurityError::MacFailure`] where it is not of this subscriber; the home network then keeps its SQN.
pub fn verify_auts(key: &SubscriberKey, rand: &Rand, auts: &[u8; 14]) -> Result<u64, SecurityError> {
    key.0.verify_auts(rand, &Auts::new(auts)).map(|sqn| sqn.get())
}

/// HXRES*, which the AUSF gives the serving network in place of XRES* (TS 33.501, A.5).
pub fn hxres_star(rand: &Rand, xres_star: &XresStar) -> HxresStar {
    compute_hxres_star(rand, xres_star)
}

/// Whether HRES* of the RES* that a UE sent is HXRES* (TS 33.501, 6.1.3.2.0, step 9), in constant time.
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
        for text in
            ["", "46", &k[1..], &format!("{k}00"), "g65b5ce8b199b49faa5f0a2ee238a6bc", "日本日本日本日本日本日本日本"]
        {
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

    #[test]
    fn an_auts_of_another_subscriber_is_refused() {
        let key = SubscriberKey::new(&[1; 16], &[2; 16]);
        let rand = Rand::new(&[3; 16]);
        let auts = *key.milenage().auts(&rand, &sqn_of(4096)).as_octets();
        assert_eq!(verify_auts(&key, &rand, &auts), Ok(4096));
        let other = SubscriberKey::new(&[9; 16], &[2; 16]);
        assert_eq!(verify_auts(&other, &rand, &auts), Err(SecurityError::MacFailure));
        assert_eq!(verify_auts(&key, &Rand::new(&[4; 16]), &auts), Err(SecurityError::MacFailure));
    }
}
