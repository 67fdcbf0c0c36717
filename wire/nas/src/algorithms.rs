//! Selection of NEA and NIA, and conversion of UE capabilities to NGAP (TS 33.501, 6.7.2; TS
//! 24.501, 9.11.3.54).

use crate::{CipheringAlgorithm, IntegrityAlgorithm, NasUeSecurityCapability};

/// The first algorithm of each preference list that the UE supports; `None` if it supports none of
/// a list. A list for normal signalling must not have NIA0 (TS 33.501, 5.5.2).
pub fn select(
    capability: &NasUeSecurityCapability,
    ciphering: &[CipheringAlgorithm],
    integrity: &[IntegrityAlgorithm],
) -> Option<(CipheringAlgorithm, IntegrityAlgorithm)> {
    let ciphering =
        ciphering.iter().copied().find(|&algorithm| capability.supports_ea(algorithm as u8))?;
    let integrity =
        integrity.iter().copied().find(|&algorithm| capability.supports_ia(algorithm as u8))?;
    Some((ciphering, integrity))
}

/// The UE's algorithms as the bit strings of NGAP's UE Security Capabilities (TS 38.413, 9.3.1.86),
/// which start at algorithm 1. The octets of NAS start at algorithm 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct AccessStratumAlgorithms {
    pub nr_encryption: u8,
    pub nr_integrity: u8,
    pub eutra_encryption: u8,
    pub eutra_integrity: u8,
}

/// The UE's algorithms for the access stratum.
pub fn access_stratum(capability: &NasUeSecurityCapability) -> AccessStratumAlgorithms {
    AccessStratumAlgorithms {
        nr_encryption: capability.ea_byte() << 1,
        nr_integrity: capability.ia_byte() << 1,
        eutra_encryption: capability.eea_byte() << 1,
        eutra_integrity: capability.eia_byte() << 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CipheringAlgorithm::{NEA0, NEA1, NEA2};
    use IntegrityAlgorithm::{NIA1, NIA2, NIA3};

    #[test]
    fn the_first_common_algorithm_is_chosen() {
        // EA0 and EA2; IA2.
        let capability = NasUeSecurityCapability::from_capabilities(0xa0, 0x20);
        assert_eq!(select(&capability, &[NEA1, NEA2, NEA0], &[NIA1, NIA2]), Some((NEA2, NIA2)));
        assert_eq!(select(&capability, &[NEA0], &[NIA3]), None);
        assert_eq!(select(&capability, &[NEA1], &[NIA2]), None);
    }

    #[test]
    fn the_access_stratum_starts_at_algorithm_1() {
        let capability =
            NasUeSecurityCapability::from_capabilities_extended(0xe0, 0x60, 0x80, 0x10);
        let algorithms = access_stratum(&capability);
        assert_eq!((algorithms.nr_encryption, algorithms.nr_integrity), (0xc0, 0xc0));
        assert_eq!((algorithms.eutra_encryption, algorithms.eutra_integrity), (0x00, 0x20));
        // A capability without EPS algorithms.
        let none = access_stratum(&NasUeSecurityCapability::from_capabilities(0xe0, 0x60));
        assert_eq!((none.eutra_encryption, none.eutra_integrity), (0, 0));
    }
}
