//! ID tokens (OpenID Connect Core 1.0, 3.1.3.7): signature, issuer, audience, times and nonce.
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Seconds that the provider's clock may differ from this machine's.
const LEEWAY_S: u64 = 30;
/// Maximum length of a subject (OpenID Connect Core 1.0, 2).
const MAX_SUBJECT: usize = 255;

/// Why an ID token is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdTokenError {
    /// Not a JSON web token with the claims that it must have.
    #[error("the ID token is malformed")]
    Malformed,
    /// Not signed, signed by a shared secret, or with an extension that is not known.
    #[error("the algorithm of the ID token is not permitted")]
    Algorithm,
    /// The provider publishes no such key.
    #[error("the key of the ID token is not one of the provider's")]
    UnknownKey,
    /// The signature does not fit.
    #[error("the signature of the ID token is wrong")]
    Signature,
    /// Issued by another provider.
    #[error("the ID token is of another issuer")]
    Issuer,
    /// Issued for another client.
    #[error("the ID token is for another client")]
    Audience,
    /// It has expired.
    #[error("the ID token has expired; compare the clocks of both machines")]
    Expired,
    /// It was issued in the future.
    #[error("the ID token is not valid yet; compare the clocks of both machines")]
    Early,
    /// It belongs to another sign-in.
    #[error(
        "the provider did not sign the user in as asked: acr is none of oidc.acr_values, such as \
         that of a second factor"
    )]
    Context,
    #[error("the ID token is of another sign-in: its nonce is wrong")]
    Nonce,
}

/// The claims that a token must have.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    /// The issuer.
    pub issuer: &'a str,
    /// The client's identity.
    pub client_id: &'a str,
    /// The nonce of the sign-in.
    pub nonce: &'a str,
    /// Requested authentication contexts, of which the token has to have one; empty: any.
    pub acr_values: &'a [String],
    /// Seconds since 1970.
    pub now: u64,
}

/// The claims of a verified token.
#[derive(Debug, Clone, Deserialize)]
pub struct Claims {
    iss: String,
    /// Subject: the user's identity at the issuer.
    pub sub: String,
    aud: Audience,
    exp: u64,
    iat: u64,
    #[serde(default)]
    nbf: Option<u64>,
    #[serde(default)]
    nonce: Option<String>,
    #[serde(default)]
    azp: Option<String>,
    /// All others.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

/// The keys of a JWK set (RFC 7517) that verify signatures. Keys that are not understood are left
/// out.
pub fn signature_keys(set: &Value) -> Vec<Jwk> {
    let all = set["keys"].as_array().into_iter().flatten();
    let keys = all.filter_map(|key| serde_json::from_value::<Jwk>(key.clone()).ok());
    let signs = |key: &Jwk| {
        key.common.public_key_use.as_ref().is_none_or(|used| *used == PublicKeyUse::Signature)
            && matches!(
                key.algorithm,
                AlgorithmParameters::EllipticCurve(_)
                    | AlgorithmParameters::RSA(_)
                    | AlgorithmParameters::OctetKeyPair(_)
            )
    };
    keys.filter(signs).collect()
}

fn is_permitted(algorithm: Algorithm) -> bool {
    !matches!(algorithm, Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512)
}

/// Verifies a token with the provider's keys.
///
/// # Errors
/// The first thing that is wrong with it.
pub fn verify(token: &str, keys: &[Jwk], expected: Expected<'_>) -> Result<Claims, IdTokenError> {
    let header = jsonwebtoken::decode_header(token).map_err(|_| IdTokenError::Malformed)?;
    if !is_permitted(header.alg) || header.crit.is_some() {
        return Err(IdTokenError::Algorithm);
    }
    let fits = |key: &&Jwk| {
        let is_named = header.kid.is_none() || header.kid == key.common.key_id;
        let permitted = key.common.key_algorithm;
        is_named && permitted.is_none_or(|one| one == KeyAlgorithm::from(header.alg))
    };
    let mut outcome = Err(IdTokenError::UnknownKey);
    for key in keys.iter().filter(fits) {
        outcome = decode(token, key, header.alg);
        if outcome.is_ok() {
            break;
        }
    }
    check(outcome?, expected)
}

fn decode(token: &str, key: &Jwk, algorithm: Algorithm) -> Result<Claims, IdTokenError> {
    use jsonwebtoken::errors::ErrorKind;
    let key = DecodingKey::from_jwk(key).map_err(|_| IdTokenError::UnknownKey)?;
    let mut validation = Validation::new(algorithm);
    // The claims are compared in `check`, with the same clock.
    validation.validate_exp = false;
    validation.validate_aud = false;
    validation.required_spec_claims.clear();
    let decoded = jsonwebtoken::decode::<Claims>(token, &key, &validation);
    decoded.map(|token| token.claims).map_err(|error| match error.kind() {
        ErrorKind::InvalidSignature => IdTokenError::Signature,
        ErrorKind::InvalidAlgorithm => IdTokenError::Algorithm,
        _ => IdTokenError::Malformed,
    })
}

fn check(claims: Claims, expected: Expected<'_>) -> Result<Claims, IdTokenError> {
    if claims.iss != expected.issuer {
        return Err(IdTokenError::Issuer);
    }
    let (is_for_us, is_for_others) = match &claims.aud {
        Audience::One(one) => (one == expected.client_id, false),
        Audience::Many(many) => (many.iter().any(|one| one == expected.client_id), many.len() > 1),
    };
    let is_party = claims.azp.as_deref().is_some_and(|party| party == expected.client_id);
    // With several audiences, or if it is there, the authorized party is this client.
    let needs_party = is_for_others || claims.azp.is_some();
    if !is_for_us || (needs_party && !is_party) {
        return Err(IdTokenError::Audience);
    }
    if claims.exp.saturating_add(LEEWAY_S) <= expected.now {
        return Err(IdTokenError::Expired);
    }
    let latest = expected.now.saturating_add(LEEWAY_S);
    if claims.iat > latest || claims.nbf.is_some_and(|from| from > latest) {
        return Err(IdTokenError::Early);
    }
    if claims.nonce.as_deref() != Some(expected.nonce) {
        return Err(IdTokenError::Nonce);
    }
    let acr = claims.more.get("acr").and_then(Value::as_str);
    let is_asked_for = |acr: &str| expected.acr_values.iter().any(|asked| asked == acr);
    if !expected.acr_values.is_empty() && !acr.is_some_and(is_asked_for) {
        return Err(IdTokenError::Context);
    }
    let is_valid = (1..=MAX_SUBJECT).contains(&claims.sub.len())
        && claims.sub.chars().all(|c| c == ' ' || c.is_ascii_graphic());
    if is_valid { Ok(claims) } else { Err(IdTokenError::Malformed) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::rand::SystemRandom;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
    use base64::Engine;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;
    use jsonwebtoken::{EncodingKey, Header};
    use serde_json::json;

    const NOW: u64 = 1_800_000_000;
    const EXPECTED: Expected<'static> = Expected {
        issuer: "https://id.example",
        client_id: "martlet",
        nonce: "n",
        acr_values: &[],
        now: NOW,
    };

    /// A new key: how to sign with it, and its JWK.
    fn key(kid: &str) -> (EncodingKey, Value) {
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new()).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref()).unwrap();
        let point = pair.public_key().as_ref();
        let text = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let jwk = json!({"kty": "EC", "crv": "P-256", "kid": kid, "use": "sig",
            "x": text(&point[1..33]), "y": text(&point[33..])});
        (EncodingKey::from_ec_der(document.as_ref()), jwk)
    }

    fn claims(change: Value) -> Value {
        let mut all = json!({"iss": EXPECTED.issuer, "aud": "martlet", "sub": "anna",
            "exp": NOW + 60, "iat": NOW, "nonce": "n", "groups": ["admins"]});
        json_patch::merge(&mut all, &change);
        all
    }

    fn sign(change: Value, kid: Option<&str>, with: &EncodingKey) -> String {
        let header = Header { kid: kid.map(str::to_string), ..Header::new(Algorithm::ES256) };
        jsonwebtoken::encode(&header, &claims(change), with).unwrap()
    }

    #[test]
    fn a_token_of_the_provider_for_this_sign_in_is_accepted() {
        let (own, jwk) = key("a");
        let (_, other) = key("b");
        let unknown = json!({"kty": "new", "kid": "c"});
        let keys = signature_keys(&json!({"keys": [unknown, other, jwk]}));
        assert_eq!(keys.len(), 2);
        for (change, kid) in [
            (json!({}), Some("a")),
            (json!({}), None),
            (json!({"aud": ["martlet"]}), Some("a")),
            (json!({"aud": ["martlet", "other"], "azp": "martlet"}), Some("a")),
            (json!({"exp": NOW - LEEWAY_S + 1}), Some("a")),
        ] {
            let verified = verify(&sign(change.clone(), kid, &own), &keys, EXPECTED);
            let claims = verified.unwrap_or_else(|error| panic!("{change}: {error}"));
            assert_eq!((claims.sub.as_str(), &claims.more["groups"]), ("anna", &json!(["admins"])));
        }
    }

    #[test]
    fn a_second_factor_that_was_asked_for_is_needed() {
        let (own, jwk) = key("a");
        let keys = signature_keys(&json!({"keys": [jwk]}));
        let asked = ["mfa".to_string(), "phrh".to_string()];
        let expected = Expected { acr_values: &asked, ..EXPECTED };
        let check = |change| verify(&sign(change, Some("a"), &own), &keys, expected).map(|_| ());
        assert_eq!(check(json!({"acr": "mfa"})), Ok(()));
        for wrong in [json!({}), json!({"acr": "password"}), json!({"acr": ["mfa"]})] {
            assert_eq!(check(wrong.clone()), Err(IdTokenError::Context), "{wrong}");
        }
    }

    #[test]
    fn a_token_that_is_wrong_in_one_thing_is_rejected() {
        let (own, jwk) = key("a");
        let (foreign, foreign_jwk) = key("a");
        let keys = signature_keys(&json!({"keys": [jwk]}));
        let check = |change: Value| verify(&sign(change, Some("a"), &own), &keys, EXPECTED);
        for (change, error) in [
            (json!({"iss": "https://evil.example"}), IdTokenError::Issuer),
            (json!({"aud": "other"}), IdTokenError::Audience),
            (json!({"aud": []}), IdTokenError::Audience),
            (json!({"aud": ["martlet", "other"]}), IdTokenError::Audience),
            (json!({"azp": "other"}), IdTokenError::Audience),
            (json!({"exp": NOW - LEEWAY_S}), IdTokenError::Expired),
            (json!({"exp": null}), IdTokenError::Malformed),
            (json!({"iat": NOW + LEEWAY_S + 1}), IdTokenError::Early),
            (json!({"nbf": NOW + LEEWAY_S + 1}), IdTokenError::Early),
            (json!({"nonce": "other"}), IdTokenError::Nonce),
            (json!({"nonce": null}), IdTokenError::Nonce),
            (json!({"sub": ""}), IdTokenError::Malformed),
            (json!({"sub": "a\nb"}), IdTokenError::Malformed),
        ] {
            assert_eq!(check(change.clone()).map(|_| ()), Err(error), "{change}");
        }
        let with = |token: &str| verify(token, &keys, EXPECTED).map(|_| ());
        let unknown = sign(json!({}), Some("b"), &own);
        assert_eq!(with(&unknown), Err(IdTokenError::UnknownKey));
        let forged = sign(json!({}), Some("a"), &foreign);
        assert_eq!(with(&forged), Err(IdTokenError::Signature));
        assert!(
            verify(&forged, &signature_keys(&json!({"keys": [foreign_jwk]})), EXPECTED).is_ok()
        );
        // The public key as the secret of a MAC, and no signature.
        let secret = EncodingKey::from_secret(b"x and y of the public key");
        let header = Header { kid: Some("a".into()), ..Header::new(Algorithm::HS256) };
        let confused = jsonwebtoken::encode(&header, &claims(json!({})), &secret).unwrap();
        assert_eq!(with(&confused), Err(IdTokenError::Algorithm));
        let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let unsigned = format!("{}.{}.", part(&json!({"alg": "none"})), part(&claims(json!({}))));
        assert_eq!(with(&unsigned), Err(IdTokenError::Malformed));
        for text in ["", "a.b.c", "...", &"x".repeat(10_000)] {
            assert_eq!(with(text), Err(IdTokenError::Malformed), "{text}");
        }
    }
}
