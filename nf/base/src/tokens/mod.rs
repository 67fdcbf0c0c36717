//! Access tokens of the SBI (TS 33.501, 13.4.1): a consumer requests one per service from the NRF,
//! and a producer requires one. The NRF's own services and callbacks need none, but may with
//! another vendor's NRF and functions.
mod at_callback;
mod at_instance;
mod at_nrf;
mod consumer;
mod producer;

pub(crate) use at_callback::AtCallback;
pub(crate) use at_instance::AtInstance;
pub(crate) use at_nrf::AtNrf;
pub(crate) use consumer::Tokens;
pub(crate) use producer::guard;

use http::header::WWW_AUTHENTICATE;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use martlet_sbi::Response;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The claims of a token (TS 29.510, 6.3.5.2.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Issuer: the NRF's instance identity.
    pub iss: String,
    /// Subject: the consumer's instance identity.
    pub sub: String,
    /// Audience: the NF type of the producers, or their instance identities.
    pub aud: Audience,
    /// Service names, separated by spaces.
    pub scope: String,
    /// Expiry, seconds since 1970.
    pub exp: u64,
}

impl Claims {
    /// Whether their form is not that of TS 29.510, 6.3.5.2.4: no issuer, or the text of one
    /// instance for the audience, which is an array of instances or an NF type.
    fn deviate(&self, nf_type: &str) -> bool {
        self.iss.is_empty() || matches!(&self.aud, Audience::One(name) if name != nf_type)
    }
}

/// Who may accept a token (RFC 7519, 4.1.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Audience {
    /// An NF type.
    One(String),
    /// Instance identities, or an NF type.
    Many(Vec<String>),
}

impl Audience {
    /// Whether it names this function, by NF type or instance identity.
    fn has(&self, nf_type: &str, instance_id: &str) -> bool {
        let is_own = |name: &str| name == nf_type || name.eq_ignore_ascii_case(instance_id);
        match self {
            Audience::One(name) => is_own(name),
            Audience::Many(names) => names.iter().any(|name| is_own(name)),
        }
    }
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Why a key file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: not {expected}: {reason}", file.display())]
pub struct KeyError {
    file: PathBuf,
    expected: &'static str,
    reason: String,
}

/// Why a token cannot be signed.
#[derive(Debug, thiserror::Error)]
#[error("a token cannot be signed: {0}")]
pub struct SignError(#[from] jsonwebtoken::errors::Error);

/// The NRF's private key.
pub struct SigningKey {
    key: EncodingKey,
    /// ES256, or RS512 for an RSA key.
    algorithm: Algorithm,
}

impl SigningKey {
    /// Loads a P-256 or RSA key from PKCS #8 in PEM.
    ///
    /// # Errors
    /// The file cannot be read or holds no such key.
    pub fn load(file: &Path) -> Result<Self, KeyError> {
        let wrong = |error: &dyn std::fmt::Display| KeyError {
            file: file.into(),
            expected: "a private P-256 or RSA key in PKCS #8",
            reason: error.to_string(),
        };
        let pem = std::fs::read_to_string(file).map_err(|e| wrong(&e))?;
        if !pem.contains("PRIVATE KEY") {
            return Err(wrong(&"it is no private key"));
        }
        let key = match EncodingKey::from_ec_pem(pem.as_bytes()) {
            Ok(key) => SigningKey { key, algorithm: Algorithm::ES256 },
            Err(_) => {
                let key = EncodingKey::from_rsa_pem(pem.as_bytes()).map_err(|e| wrong(&e))?;
                SigningKey { key, algorithm: Algorithm::RS512 }
            }
        };
        // A key of another curve, or a short one, signs nothing.
        key.sign_json(&serde_json::json!({})).map_err(|e| wrong(&e))?;
        Ok(key)
    }

    /// A JSON web token in compact form (RFC 7515, 3.1), signed by ECDSA with P-256 and SHA-256, or
    /// by an RSA key with SHA-512 (RFC 7518, 3.3 and 3.4).
    ///
    /// # Errors
    /// The system's random number generator failed.
    pub fn sign(&self, claims: &Claims) -> Result<String, SignError> {
        self.sign_json(claims)
    }

    fn sign_json(&self, claims: &impl Serialize) -> Result<String, SignError> {
        Ok(jsonwebtoken::encode(&Header::new(self.algorithm), claims, &self.key)?)
    }
}

/// Why a token is rejected. The text is sent to the consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It does not have three parts, or one of them is not what it must be.
    #[error("not a JSON web token")]
    Malformed,
    /// The header names another algorithm, or a critical extension.
    #[error("the algorithm is not that of the NRF's key")]
    Algorithm,
    /// The signature does not match.
    #[error("the signature is not the NRF's")]
    Signature,
    /// A claim is missing or malformed.
    #[error("the claims are malformed")]
    Claims,
    /// Without an issuer, or with one instance that is not in an array.
    #[error("the form of iss or aud is not that of TS 29.510, 6.3.5.2.4")]
    Form,
    /// The token has expired.
    #[error("expired")]
    Expired,
    /// The token is for other functions.
    #[error("the audience is another function")]
    Audience,
}

impl From<jsonwebtoken::errors::Error> for TokenError {
    fn from(error: jsonwebtoken::errors::Error) -> Self {
        use jsonwebtoken::errors::ErrorKind;
        match error.kind() {
            ErrorKind::InvalidAlgorithm | ErrorKind::UnsupportedAlgorithm => TokenError::Algorithm,
            ErrorKind::InvalidSignature => TokenError::Signature,
            ErrorKind::ExpiredSignature => TokenError::Expired,
            ErrorKind::MissingRequiredClaim(_) | ErrorKind::InvalidClaimFormat(_) => {
                TokenError::Claims
            }
            _ => TokenError::Malformed,
        }
    }
}

/// Length of an uncompressed point of P-256 (RFC 5480, 2.2).
const P256_POINT: usize = 65;

/// The first and the last line of a public key in PEM.
const PUBLIC_KEY: [&str; 2] = ["-----BEGIN PUBLIC KEY-----", "-----END PUBLIC KEY-----"];

/// The NRF's public keys, which verify tokens: several while a new key replaces another one.
pub struct VerifyingKeys(Vec<VerifyingKey>);

struct VerifyingKey {
    key: DecodingKey,
    /// ES256, or RS512 for an RSA key.
    algorithm: Algorithm,
}

impl VerifyingKeys {
    /// Loads P-256 or RSA keys from SubjectPublicKeyInfo in PEM, or the key of a certificate. Of
    /// several certificates, the first one has the key: the others are its authorities.
    ///
    /// # Errors
    /// The file cannot be read, holds no such key, or holds another key, too.
    pub fn load(file: &Path) -> Result<Self, KeyError> {
        let wrong = |error: &dyn std::fmt::Display| KeyError {
            file: file.into(),
            expected: "a public P-256 or RSA key, or a certificate, in PEM",
            reason: error.to_string(),
        };
        let pem = std::fs::read_to_string(file).map_err(|e| wrong(&e))?;
        if pem.contains("PRIVATE KEY") {
            return Err(wrong(&"it is a private key"));
        }
        let load = |pem: &str| -> Result<VerifyingKey, KeyError> {
            if let Ok(key) = DecodingKey::from_rsa_pem(pem.as_bytes()) {
                return Ok(VerifyingKey { key, algorithm: Algorithm::RS512 });
            }
            let key = DecodingKey::from_ec_pem(pem.as_bytes()).map_err(|e| wrong(&e))?;
            let point = key.try_get_as_bytes().map_err(|e| wrong(&e))?;
            if point.len() != P256_POINT || point.first() != Some(&4) {
                return Err(wrong(&"there is no uncompressed point of P-256 in it"));
            }
            Ok(VerifyingKey { key, algorithm: Algorithm::ES256 })
        };
        let [first, last] = PUBLIC_KEY;
        let public_keys = pem.split_inclusive(last).filter(|part| part.contains(first));
        let keys = public_keys.map(load).collect::<Result<Vec<_>, _>>()?;
        match keys.is_empty() {
            true => Ok(VerifyingKeys(vec![load(&pem)?])),
            false => Ok(VerifyingKeys(keys)),
        }
    }

    /// Verifies signature, audience and expiry of a token and returns its claims.
    ///
    /// # Errors
    /// Why it is invalid.
    pub fn check(
        &self,
        token: &str,
        nf_type: &str,
        instance_id: &str,
    ) -> Result<Claims, TokenError> {
        let mut refused = TokenError::Algorithm;
        for key in &self.0 {
            match key.check(token, nf_type, instance_id) {
                // It may be of another key.
                Err(TokenError::Algorithm) => {}
                Err(TokenError::Signature) => refused = TokenError::Signature,
                outcome => return outcome,
            }
        }
        Err(refused)
    }
}

impl VerifyingKey {
    fn check(&self, token: &str, nf_type: &str, instance_id: &str) -> Result<Claims, TokenError> {
        // Only the key's algorithm is accepted, whatever the header names.
        let mut validation = Validation::new(self.algorithm);
        validation.leeway = 0;
        // An instance identity is compared without regard to case, see below.
        validation.validate_aud = false;
        let data = jsonwebtoken::decode::<Claims>(token, &self.key, &validation)?;
        let claims = data.claims;
        if data.header.crit.is_some() {
            return Err(TokenError::Algorithm);
        }
        match (claims.exp > now(), claims.aud.has(nf_type, instance_id)) {
            (false, _) => Err(TokenError::Expired),
            (_, false) => Err(TokenError::Audience),
            _ => Ok(claims),
        }
    }
}

/// Whether a rejection says that a bearer token is missing or wrong (RFC 6750, 3).
fn has_challenge(answer: &Response) -> bool {
    let challenges = answer.headers.get_all(WWW_AUTHENTICATE).iter();
    let mut texts = challenges.filter_map(|value| value.to_str().ok());
    texts.any(|text| {
        let scheme = text.split([' ', ',']).next().unwrap_or_default();
        scheme.eq_ignore_ascii_case("bearer")
    })
}

/// Whether a service needs a token.
fn is_open(api: &str) -> bool {
    api.ends_with("-callback") || matches!(api, "nnrf-nfm" | "nnrf-disc" | "oauth2")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Generated with OpenSSL for this test.
    const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgBPz9qw+hiBDo5Mm7
kHNqZHWUY8mRBIaUAbH3PGYeq1KhRANCAAQlxzB9eIWyk8Szcl8SwdoMd1o4Kzd1
f9b7pz576BqyPyIhU/G+kzalBMGDY2MWrgH/dDo6bCVYEt2mbuEdHx+8
-----END PRIVATE KEY-----
";
    const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEJccwfXiFspPEs3JfEsHaDHdaOCs3
dX/W+6c+e+gasj8iIVPxvpM2pQTBg2NjFq4B/3Q6OmwlWBLdpm7hHR8fvA==
-----END PUBLIC KEY-----
";

    fn claims() -> Claims {
        let (iss, sub) = ("nrf".into(), "amf-1".into());
        Claims {
            iss,
            sub,
            aud: Audience::One("UDM".into()),
            scope: "nudm-sdm".into(),
            exp: now() + 60,
        }
    }

    #[test]
    fn a_token_is_valid_only_unmodified_for_its_audience_and_until_its_expiry() {
        let folder = std::env::temp_dir().join(format!("martlet-tokens-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (private, public) = (folder.join("private.pem"), folder.join("public.pem"));
        std::fs::write(&private, PRIVATE).unwrap();
        std::fs::write(&public, PUBLIC).unwrap();
        let (signer, key) =
            (SigningKey::load(&private).unwrap(), VerifyingKeys::load(&public).unwrap());
        // Once: the second may change in between.
        let claims = claims();
        let token = signer.sign(&claims).unwrap();
        assert_eq!(key.check(&token, "UDM", "1"), Ok(claims.clone()));
        assert_eq!(key.check(&token, "UDR", "1"), Err(TokenError::Audience));
        let one = Claims { aud: Audience::Many(vec!["udm-1".into()]), ..claims.clone() };
        let for_one = signer.sign(&one).unwrap();
        assert_eq!(key.check(&for_one, "UDM", "udm-1"), Ok(one));
        assert!(key.check(&for_one, "UDM", "udm-2").is_err());
        let ended = signer.sign(&Claims { exp: now() - 1, ..claims.clone() }).unwrap();
        assert_eq!(key.check(&ended, "UDM", "1"), Err(TokenError::Expired));
        // Other claims under the same signature; no signature; an algorithm that is none.
        let other = signer.sign(&Claims { scope: "nudm-uecm".into(), ..claims.clone() }).unwrap();
        let mixed = [token.split('.').next(), other.split('.').nth(1), token.split('.').nth(2)]
            .map(Option::unwrap)
            .join(".");
        assert_eq!(key.check(&mixed, "UDM", "1"), Err(TokenError::Signature));
        let body = token.split('.').nth(1).unwrap();
        // {"alg":"none"}
        let unsigned = format!("eyJhbGciOiJub25lIn0.{body}.");
        assert_eq!(key.check(&unsigned, "UDM", "1"), Err(TokenError::Malformed));
        // The public key as the secret of HMAC, as a library that trusts the header would use it.
        let secret = EncodingKey::from_secret(PUBLIC.as_bytes());
        let confused = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &secret);
        assert_eq!(key.check(&confused.unwrap(), "UDM", "1"), Err(TokenError::Algorithm));
        // A critical extension that this program does not know.
        let critical = Header { crit: Some(vec!["x".into()]), ..Header::new(Algorithm::ES256) };
        let critical = jsonwebtoken::encode(&critical, &claims, &signer.key).unwrap();
        assert_eq!(key.check(&critical, "UDM", "1"), Err(TokenError::Algorithm));
        for wrong in ["", "a", "a.b", "a.b.c", "..", "é.é.é"] {
            assert!(key.check(wrong, "UDM", "1").is_err(), "{wrong}");
        }
        assert!(VerifyingKeys::load(&private).is_err() && SigningKey::load(&public).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// TS 33.501, 13.4.1.1: what the NRF signs with a new key is valid without a restart.
    #[test]
    fn a_replaced_key_verifies_new_tokens_and_refuses_former_ones() {
        use crate::tolerance::Tolerance;
        use martlet_sbi_api::nnrf_nfmanagement::NfType;
        let folder = std::env::temp_dir().join(format!("martlet-new-key-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let [private, public] = ["private.pem", "public.pem"].map(|name| folder.join(name));
        std::fs::write(&private, PRIVATE).unwrap();
        std::fs::write(&public, RSA_PUBLIC).unwrap();
        let tolerance = Tolerance::new(NfType::Udr, false);
        let guard = guard(NfType::Udr, "1", &public, false, tolerance).unwrap();
        let claims = Claims {
            aud: Audience::One("UDR".into()),
            scope: "nudr-dr".into(),
            exp: now() + 600,
            ..claims()
        };
        let new = SigningKey::load(&private).unwrap().sign(&claims).unwrap();
        let status = |token: &str| {
            let mut headers = http::HeaderMap::new();
            let value = format!("Bearer {token}").parse().unwrap();
            headers.insert(http::header::AUTHORIZATION, value);
            let outcome = (guard.0)(&http::Method::GET, &headers, "/nudr-dr/v2/x", None);
            outcome.err().map_or(200, |refusal| refusal.problem.status())
        };
        // The scope of the former token is another one: it is verified, and refused for that.
        assert_eq!((status(RSA_TOKEN), status(&new)), (403, 401));
        let replace = |text: &str| {
            std::fs::write(folder.join("new"), text).unwrap();
            std::fs::rename(folder.join("new"), &public).unwrap();
            crate::certificates::check(false);
        };
        // With both, no function has to have the new one at the same time as the NRF.
        replace(&format!("{RSA_PUBLIC}{PUBLIC}"));
        assert_eq!((status(RSA_TOKEN), status(&new)), (403, 200));
        replace(PUBLIC);
        assert_eq!((status(RSA_TOKEN), status(&new)), (401, 200));
        // A broken file leaves the key in use.
        for broken in ["-----BEGIN PUBLIC KEY-----\n", &format!("{RSA_PUBLIC}{}", &PUBLIC[..60])] {
            replace(broken);
            assert_eq!((status(RSA_TOKEN), status(&new)), (401, 200));
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// Generated with OpenSSL for this test, as free5GC's NRF signs.
    const RSA_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAlQODAlnnrhlJiEDXTsyD
BLG6ik1zgz7B8smmbqPNu4UEDh7VfqjtX0FB5DbY1s4bUiCmeXEm+5r0lgWwD7tC
/I8KLO9qsPiCV+7gBH9HAVEGst0x8rNoNtsGXAzV7RuoozJNmIlb0Pya8JyDLSE3
Edu9924w9DXkXVC8eD72edts9GQqFQ2L9yVlLW3B20ahR8p3Dc5H8mCFip8mpBeT
ocJYv7XppjeDJWIFQnLolbS8c/sIN2SYupEze37PSBxhBuHOcPhS1WjIMU+MLAfW
q5lrjuJ2P9vRsrk/4cQZGWc9whF3pRy+lhXZT0lGS25ARdGrAiGr6f/kCnEpRfvO
/QIDAQAB
-----END PUBLIC KEY-----
";
    const RSA_TOKEN: &str = concat!(
        "eyJhbGciOiJSUzUxMiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJucmYiLCJzdWIiOiJhbWYtMSIsImF1ZCI",
        "6WyJVRE0iLCJVRFIiXSwic2NvcGUiOiJudWRtLXNkbSIsImV4cCI6OTk5OTk5OTk5OX0.Zh6I1_HTRrY",
        "JqQgCYE5E_xQUwQ9kmdPbIoELHJPnpTfv5DAhCBuZ1bCW-qUG4h-nYzg7ayV0rKxxvOKMQ36QuuWU9nY",
        "PfUywpXD6AMG1JFVVSvymKCMQsTPQAVjXapTXD1e2s-vaAkn5BZnBPX5GdOxtBE-Ng0Uyv5JsFvAcM6C",
        "Yx5XHGvJ2nabSmK8DjoRnRwRjl50R0lDncLg6O6nA03j9JyfMy-kukSuLLG9wXn8siUuO6UKIf6dVyHA",
        "_TNEgXAhM4RTZDsUOCmZrTsJCPTG5RreMUEqfntXTASbwjTBdVZXFNCgOWiLmY3-t7PG9pjXCGnYt4oB",
        "uDwaKz8f3jg",
    );

    #[test]
    fn a_token_of_an_rsa_key_is_valid_for_each_of_its_audience() {
        let file = std::env::temp_dir().join(format!("martlet-rsa-{}.pem", std::process::id()));
        std::fs::write(&file, RSA_PUBLIC).unwrap();
        let key = VerifyingKeys::load(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        let claims = key.check(RSA_TOKEN, "UDR", "1").unwrap();
        assert_eq!(claims.aud, Audience::Many(vec!["UDM".into(), "UDR".into()]));
        assert_eq!(key.check(RSA_TOKEN, "AUSF", "1"), Err(TokenError::Audience));
        let changed = RSA_TOKEN.replace(".eyJpc3", ".eyJpc2");
        assert!(key.check(&changed, "UDM", "1").is_err());
        // The header of the other algorithm.
        let (_, rest) = RSA_TOKEN.split_once('.').unwrap();
        let other = format!("eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.{rest}");
        assert_eq!(key.check(&other, "UDM", "1"), Err(TokenError::Algorithm));
    }
}
