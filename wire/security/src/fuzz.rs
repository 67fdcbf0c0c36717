//! The entry points of the fuzz targets and of `tests/never_panics.rs`.

use crate::aka::SubscriberKey;
use crate::nas_5gs::Suci;
use crate::sidf::{self, HomeNetworkKeys};

/// Decodes bytes as a SUCI, as mobile identity and as text, and de-conceals it.
///
/// # Panics
/// If a SUCI does not encode to the same text or bytes.
pub fn suci(bytes: &[u8]) {
    let mut keys = HomeNetworkKeys::new();
    keys.add_profile_a(27, &[0x42; 32]);
    keys.add_profile_b(27, &[0x17; 32]).expect("a key of the curve");
    if let Ok(suci) = Suci::from_nas_octets(bytes) {
        let _ = keys.deconceal(&suci.to_string());
        if let Ok(again) = suci.to_nas_octets() {
            assert!(
                Suci::from_nas_octets(&again).as_ref() == Ok(&suci),
                "a SUCI comes back from its bytes"
            );
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = keys.deconceal(text);
        let _ = SubscriberKey::from_hex(text, text);
        let _ = crate::sqn::from_text(text);
        if let Ok(suci) = sidf::parse(text) {
            let _ = suci.to_string();
        }
    }
}
