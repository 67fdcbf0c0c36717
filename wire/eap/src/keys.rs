//! The keys of an authentication (RFC 9048, 3.3 and 3.4; TS 33.501, annex F).
use martlet_security::kdf::kdf;
use martlet_security::nas_5gs::KAusf;
use martlet_security::{Zeroize, Zeroizing, constant_time_eq};

/// The keys derived from CK' and IK' for an identity. K_encr and K_re are dropped: 5GS does not use
/// them. Their memory is overwritten on drop.
#[derive(Clone)]
pub struct Keys {
    /// K_aut, the key of AT_MAC.
    pub k_aut: [u8; 32],
    /// MSK.
    pub msk: [u8; 64],
    /// EMSK.
    pub emsk: [u8; 64],
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.k_aut.zeroize();
        self.msk.zeroize();
        self.emsk.zeroize();
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys(..)")
    }
}

/// All of MK: K_encr, K_aut, K_re, MSK, EMSK.
const MK: usize = 208;

/// PRF' (RFC 9048, 3.4.1).
fn prf(key: &[u8], seed: &[u8]) -> Zeroizing<[u8; MK]> {
    let mut out = Zeroizing::new([0; MK]);
    let mut last = Zeroizing::new(Vec::new());
    for (n, part) in (1..).zip(out.chunks_mut(32)) {
        let round = Zeroizing::new([last.as_slice(), seed, &[n]].concat());
        let block = Zeroizing::new(kdf(key, &round));
        part.copy_from_slice(&block[..part.len()]);
        last = Zeroizing::new(block.to_vec());
    }
    out
}

impl Keys {
    /// The keys of a peer. In 5GS its identity is the SUPI: the digits of an IMSI, or the NAI (TS
    /// 33.501, F.2; RFC 9048, 5.3.1.1).
    pub fn derive(ck_prime: &[u8; 16], ik_prime: &[u8; 16], identity: &str) -> Keys {
        let key = Zeroizing::new([ik_prime.as_slice(), ck_prime].concat());
        let mk = prf(&key, &[b"EAP-AKA'", identity.as_bytes()].concat());
        let mut keys = Keys { k_aut: [0; 32], msk: [0; 64], emsk: [0; 64] };
        keys.k_aut.copy_from_slice(&mk[16..48]);
        keys.msk.copy_from_slice(&mk[80..144]);
        keys.emsk.copy_from_slice(&mk[144..]);
        keys
    }

    /// K_AUSF: the first half of EMSK (TS 33.501, 6.1.3.1, step 10).
    pub fn k_ausf(&self) -> KAusf {
        let mut key = Zeroizing::new([0; 32]);
        key.copy_from_slice(&self.emsk[..32]);
        KAusf::new(&key)
    }

    /// Writes AT_MAC into an encoded packet whose last attribute is a zeroed AT_MAC.
    pub(crate) fn sign(&self, mut packet: Vec<u8>) -> Vec<u8> {
        let mac = self.mac(&packet);
        let at = packet.len().saturating_sub(16);
        packet[at..].copy_from_slice(&mac);
        packet
    }

    /// Whether the AT_MAC of a packet is correct; it may be at any position.
    pub(crate) fn accepts(&self, packet: &[u8]) -> bool {
        let Some(at) = mac_offset(packet) else { return false };
        let mut zeroed = packet.to_vec();
        let revealed: Vec<u8> = zeroed[at..at + 16].to_vec();
        zeroed[at..at + 16].fill(0);
        constant_time_eq(&self.mac(&zeroed), &revealed)
    }

    fn mac(&self, packet: &[u8]) -> [u8; 16] {
        let mut mac = [0; 16];
        mac.copy_from_slice(&kdf(&self.k_aut, packet)[..16]);
        mac
    }
}

/// Offset of the 16 bytes of AT_MAC.
fn mac_offset(packet: &[u8]) -> Option<usize> {
    let mut at = 8;
    while let Some([kind, words]) = packet.get(at..at + 2) {
        let length = usize::from(*words) * 4;
        if *kind == 11 {
            return (length == 20 && packet.len() >= at + 20).then_some(at + 4);
        }
        at += length.max(4);
    }
    None
}

/// The identity that a SUPI has in the derivation: without the prefix `imsi-`.
pub fn identity_of(supi: &str) -> &str {
    supi.strip_prefix("imsi-").or_else(|| supi.strip_prefix("nai-")).unwrap_or(supi)
}
