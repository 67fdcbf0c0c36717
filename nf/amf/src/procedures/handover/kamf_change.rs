//! Change of K_AMF at an inter-AMF handover (horizontal key derivation; TS 33.501, 6.9.2.3.3 and
//! A.13): the source AMF gives a derived K_AMF instead of its own. The target AMF starts a new key
//! chain; the UE gets the change in a NAS container through the target gNB (TS 24.501, 4.4.3.3 and
//! 9.11.2.6).
use crate::n2::NextHop;
use crate::ue::{Security, Ue};
use martlet_nas::{NasCount, key_change};
use martlet_sbi_api::common::SecretText;
use martlet_sbi_api::namf_communication::{KeyAmf, KeyAmfType, MmContext, NgKsi, ScType, SeafData};
use martlet_security::AccessKeyCount;
use martlet_security::nas_5gs::{derive_kamf_prime_handover, derive_kgnb};

/// Keys for HANDOVER REQUEST.
pub(crate) struct Keys {
    pub chain: NextHop,
    pub nh: [u8; 32],
    /// Intra N1 mode NAS transparent container.
    pub container: Option<Vec<u8>>,
}

impl Keys {
    /// Keys of an unchanged K_AMF.
    pub fn with_current_k_amf(chain: NextHop, nh: [u8; 32]) -> Self {
        Keys { chain, nh, container: None }
    }
}

/// Source AMF: a K_AMF derived with the next downlink NAS COUNT, and that COUNT. The COUNT is used
/// once, so each handover, also a repeated one, has its own key.
pub(crate) fn derive_at_source(security: &mut Security) -> Option<(SeafData, u32)> {
    let count = security.skip_downlink()?;
    let derived = derive_kamf_prime_handover(security.key(), count);
    let key_amf = KeyAmf {
        key_type: KeyAmfType::Kprimeamf,
        key_val: SecretText(hex::encode(derived.as_octets())),
    };
    let mut keys = SeafData::new(NgKsi { tsc: ScType::Native, ksi: security.ngksi }, key_amf);
    (keys.key_amf_change_ind, keys.key_amf_h_derivation_ind) = (Some(true), Some(true));
    Some((keys, count.get()))
}

/// Target AMF: a temporary K_gNB in place of NH, with NCC 0, and the NAS container.
pub(crate) fn take_at_target(ue: &Ue, mm: Option<&MmContext>) -> Option<Keys> {
    let security = ue.security.as_ref()?;
    let k_gnb = derive_kgnb(security.key(), AccessKeyCount::Handover);
    let nh = *k_gnb.as_octets();
    let chain = NextHop::from_k_gnb(security.key().clone(), k_gnb);
    let count = NasCount::new(mm?.nas_downlink_count?).ok()?;
    let algorithms = (security.nas.ciphering_algorithm(), security.integrity);
    let container = key_change::container(security.key(), security.ngksi, algorithms, count)?;
    Some(Keys { chain, nh, container: Some(container) })
}
