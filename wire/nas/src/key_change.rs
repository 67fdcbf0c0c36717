//! The Intra N1 mode NAS transparent container (TS 24.501, 9.11.2.6): it informs a UE in a handover
//! to another AMF that K_AMF has changed, and of the algorithms (TS 33.501, 6.9.2.3.3).
use crate::{
    CipheringAlgorithm, IntegrityAlgorithm, KAmf, NasCount, NasIntraN1ModeNasTransparentContainer,
    NasKeySetIdentifier, NasSecurityAlgorithms,
};
use martlet_security::nas_5gs::{derive_kamf_prime_handover, derive_knas_int, nas_container_mac};

/// Octets of the container's value.
const LEN: usize = 7;
/// Of these, the message authentication code.
const MAC_LEN: usize = 4;

/// A changed K_AMF, as a UE reads it from a container.
pub struct ChangedKey {
    /// The new K_AMF.
    pub k_amf: KAmf,
    /// The ciphering or integrity algorithm used with it.
    pub ciphering: CipheringAlgorithm,
    /// The ciphering or integrity algorithm used with it.
    pub integrity: IntegrityAlgorithm,
}

/// The container's value, authenticated with the new key `k_amf`. `ngksi` (0 to 6) is unchanged;
/// `count` is the downlink NAS COUNT that the source AMF derived the key with. `None` for an
/// unknown algorithm.
pub fn container(
    k_amf: &KAmf,
    ngksi: u8,
    (ciphering, integrity): (CipheringAlgorithm, IntegrityAlgorithm),
    count: NasCount,
) -> Option<Vec<u8>> {
    let algorithms = NasSecurityAlgorithms::new((ciphering as u8) << 4 | integrity as u8);
    let ngksi = NasKeySetIdentifier::new(ngksi);
    let decoded = NasIntraN1ModeNasTransparentContainer::from_fields(
        0,
        algorithms,
        true,
        ngksi,
        count.get() as u8,
    );
    let mac = mac(k_amf, integrity, decoded.value.get(MAC_LEN..)?)?;
    Some(decoded.with_message_authentication_code(mac).value.to_vec())
}

/// Reads a container at the UE. `k_amf` and `ngksi` are those of the current context; `next` is the
/// next expected downlink COUNT, so that a used one is refused. `None` where the container does not
/// decode or verify.
pub fn taken(k_amf: &KAmf, ngksi: u8, next: NasCount, container: &[u8]) -> Option<ChangedKey> {
    let decoded = NasIntraN1ModeNasTransparentContainer::new(container.to_vec());
    let algorithms = decoded.security_algorithms()?.value;
    let ciphering = CipheringAlgorithm::from_u8(algorithms >> 4)?;
    let integrity = IntegrityAlgorithm::from_u8(algorithms & 0xf)?;
    let of_this_set = decoded.key_set_identifier()?.value == ngksi;
    if container.len() != LEN || !of_this_set || !decoded.k_amf_change_flag()? {
        return None;
    }
    // The container has only the last octet of the COUNT: take the first unused COUNT that ends so.
    let ahead = u32::from(decoded.sequence_number()?.wrapping_sub(next.get() as u8));
    let count = NasCount::new(next.get().checked_add(ahead)?).ok()?;
    let k_amf = derive_kamf_prime_handover(k_amf, count);
    let proved = mac(&k_amf, integrity, container.get(MAC_LEN..)?)?
        == decoded.message_authentication_code()?;
    proved.then_some(ChangedKey { k_amf, ciphering, integrity })
}

fn mac(k_amf: &KAmf, integrity: IntegrityAlgorithm, message: &[u8]) -> Option<u32> {
    // NIA0 authenticates nothing.
    let algorithm = integrity.try_into().ok().filter(|_| integrity != IntegrityAlgorithm::NIA0)?;
    Some(nas_container_mac(&derive_knas_int(k_amf, algorithm), message, algorithm))
}

#[cfg(test)]
mod tests {
    use super::*;
    use CipheringAlgorithm::NEA2;
    use IntegrityAlgorithm::{NIA0, NIA2};

    fn key() -> KAmf {
        KAmf::new(&[0x11; 32])
    }

    fn count(count: u32) -> NasCount {
        NasCount::new(count).unwrap()
    }

    fn made(at: u32) -> (KAmf, Vec<u8>) {
        let new = derive_kamf_prime_handover(&key(), count(at));
        let decoded = container(&new, 5, (NEA2, NIA2), count(at)).unwrap();
        (new, decoded)
    }

    #[test]
    fn a_ue_finds_the_key_that_the_network_has_derived() {
        for (at, next) in [(0, 0), (7, 5), (0x1ff, 0x1ff), (0x200, 0x1ff), (0x2fe, 0x1ff)] {
            let (new, decoded) = made(at);
            assert_eq!(decoded[4..], [0x22, 0x15, at as u8]);
            let taken = taken(&key(), 5, count(next), &decoded).unwrap();
            assert_eq!(taken.k_amf.as_octets(), new.as_octets(), "{at:#x} as {next:#x} is next");
            assert_eq!((taken.ciphering, taken.integrity), (NEA2, NIA2));
        }
    }

    #[test]
    fn unauthenticated_messages_change_nothing() {
        let (_, decoded) = made(7);
        // A wrong bit, a truncated or too long container, another key or key set, a used COUNT.
        for bit in 0..decoded.len() * 8 {
            let mut wrong = decoded.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            assert!(taken(&key(), 5, count(7), &wrong).is_none(), "bit {bit}");
        }
        assert!(taken(&key(), 5, count(7), &decoded[..6]).is_none());
        assert!(taken(&key(), 5, count(7), &[&decoded[..], &[0]].concat()).is_none());
        assert!(taken(&KAmf::new(&[0x12; 32]), 5, count(7), &decoded).is_none());
        assert!(taken(&key(), 4, count(7), &decoded).is_none());
        assert!(taken(&key(), 5, count(8), &decoded).is_none());
        assert!(container(&key(), 5, (NEA2, NIA0), count(0)).is_none());
    }
}
