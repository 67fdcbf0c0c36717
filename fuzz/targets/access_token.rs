//! Access tokens of the SBI (TS 33.501, 13.4.1), as a producer verifies them.
//!
//! The first byte selects whether the rest is a token, or claims that the NRF's key signs. The keys
//! in `keys/` are for this target only.
#![no_main]

use martlet_nf::tokens::{Claims, SigningKey, VerifyingKeys, now};
use std::path::Path;
use std::sync::LazyLock;

const KEYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/keys");
const INSTANCE: &str = "3fa85f64-5717-4562-b3fc-2c963f66afa6";

static PRIVATE: LazyLock<SigningKey> = LazyLock::new(|| {
    SigningKey::load(&Path::new(KEYS).join("token.pem")).expect("the NRF's private key")
});
static PUBLIC: LazyLock<VerifyingKeys> = LazyLock::new(|| {
    VerifyingKeys::load(&Path::new(KEYS).join("token.pub.pem")).expect("the NRF's public key")
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((kind, rest)) = data.split_first() else { return };
    if kind % 2 == 0 {
        if let Ok(token) = std::str::from_utf8(rest) {
            let _ = PUBLIC.check(token, "UDM", INSTANCE);
        }
        return;
    }
    let Ok(claims) = serde_json::from_slice::<Claims>(rest) else { return };
    let token = PRIVATE.sign(&claims).expect("claims are signed");
    if let Ok(verified) = PUBLIC.check(&token, "UDM", INSTANCE) {
        assert_eq!(verified, claims);
        assert!(verified.exp >= now(), "an expired token is accepted");
    }
    // With one bit of the signature changed, it is not the NRF's.
    let mut forged = token.into_bytes();
    let signature = forged.iter().rposition(|byte| *byte == b'.').expect("three parts") + 1;
    forged[signature] = if forged[signature] == b'A' { b'B' } else { b'A' };
    let forged = String::from_utf8(forged).expect("base64url");
    assert!(PUBLIC.check(&forged, "UDM", INSTANCE).is_err(), "a forged token is accepted");
});
