//! Access tokens of the SBI (TS 33.501, 13.4.1): a consumer requests one per service from the NRF,
//! and a producer requires one. The NRF's own services and callbacks need none.
use crate::StartError;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair,
    RSA_PKCS1_2048_8192_SHA512, UnparsedPublicKey, VerificationAlgorithm,
};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use martlet_sbi::{Peer, Problem, Request};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nnrf_oauth2::{AccessTokenReq, NrfAccessTokenClient};
use martlet_sbi_http::{Guard, Refusal};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds before its expiry that a token is renewed.
const RENEWAL_MARGIN_S: u64 = 30;
/// Maximum number of verified tokens that a producer caches.
const CACHE_SIZE: usize = 1024;

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

/// The protected header of every token: ECDSA with P-256 and SHA-256 (RFC 7518, 3.4).
const HEADER: &str = r#"{"alg":"ES256","typ":"JWT"}"#;

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
pub enum SignError {
    /// The claims cannot be encoded as JSON.
    #[error("the claims of a token cannot be encoded: {0}")]
    Encode(#[from] serde_json::Error),
    /// The system's random number generator failed.
    #[error("a token cannot be signed: no random numbers")]
    Random,
}

/// The NRF's private key.
pub struct SigningKey(EcdsaKeyPair);

impl SigningKey {
    /// Loads a P-256 key from PKCS #8 in PEM.
    ///
    /// # Errors
    /// The file cannot be read or holds no such key.
    pub fn load(file: &Path) -> Result<Self, KeyError> {
        let wrong = |error: &dyn std::fmt::Display| KeyError {
            file: file.into(),
            expected: "a P-256 key in PKCS #8",
            reason: error.to_string(),
        };
        let der = PrivatePkcs8KeyDer::from_pem_file(file).map_err(|e| wrong(&e))?;
        let key =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.secret_pkcs8_der());
        key.map(SigningKey).map_err(|e| wrong(&e))
    }

    /// A JSON web token in compact form (RFC 7515, 3.1).
    ///
    /// # Errors
    /// The system's random number generator failed.
    pub fn sign(&self, claims: &Claims) -> Result<String, SignError> {
        let claims = serde_json::to_vec(claims)?;
        let text = format!(
            "{}.{}",
            BASE64_URL_SAFE_NO_PAD.encode(HEADER),
            BASE64_URL_SAFE_NO_PAD.encode(claims)
        );
        let signature =
            self.0.sign(&SystemRandom::new(), text.as_bytes()).map_err(|_| SignError::Random)?;
        Ok(format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature.as_ref())))
    }
}

/// rsaEncryption (RFC 8017, A.1), as it is encoded.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];

/// The NRF's public key, which verifies tokens.
pub struct VerifyingKey {
    key: UnparsedPublicKey<Vec<u8>>,
    /// `ES256`, or `RS512` for an RSA key, as free5GC's NRF has.
    algorithm: &'static str,
}

impl VerifyingKey {
    /// Loads a P-256 or RSA key from SubjectPublicKeyInfo in PEM.
    ///
    /// # Errors
    /// The file cannot be read or holds no such key.
    pub fn load(file: &Path) -> Result<Self, KeyError> {
        let wrong = |error: &dyn std::fmt::Display| KeyError {
            file: file.into(),
            expected: "a public P-256 or RSA key in PEM",
            reason: error.to_string(),
        };
        let der = SubjectPublicKeyInfoDer::from_pem_file(file).map_err(|e| wrong(&e))?;
        if der.windows(RSA.len()).take(32).any(|bytes| bytes == RSA) {
            let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA512, der.to_vec());
            return Ok(VerifyingKey { key, algorithm: "RS512" });
        }
        // The structure ends with the uncompressed point (RFC 5480, 2.2).
        let point =
            der.len().checked_sub(65).and_then(|at| der.get(at..)).filter(|point| point[0] == 4);
        let point = point.ok_or_else(|| wrong(&"there is no uncompressed point in it"))?;
        let key = UnparsedPublicKey::new(
            &ECDSA_P256_SHA256_FIXED as &'static dyn VerificationAlgorithm,
            point.to_vec(),
        );
        Ok(VerifyingKey { key, algorithm: "ES256" })
    }

    /// Whether the key is of another vendor's NRF, which has no scopes of single operations.
    fn is_external(&self) -> bool {
        self.algorithm != "ES256"
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
    ) -> Result<Claims, &'static str> {
        let (text, signature) = token.rsplit_once('.').ok_or("not a JSON web token")?;
        let (header, claims) = text.split_once('.').ok_or("not a JSON web token")?;
        let open =
            |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| "not a JSON web token");
        let header: serde_json::Value =
            serde_json::from_slice(&open(header)?).map_err(|_| "the header is not JSON")?;
        // Other algorithms are rejected, whatever the header says.
        if header["alg"] != self.algorithm || !header["crit"].is_null() {
            return Err("the algorithm is not that of the NRF's key");
        }
        self.key
            .verify(text.as_bytes(), &open(signature)?)
            .map_err(|_| "the signature is not the NRF's")?;
        let claims: Claims =
            serde_json::from_slice(&open(claims)?).map_err(|_| "the claims are malformed")?;
        match (claims.exp > now(), claims.aud.has(nf_type, instance_id)) {
            (false, _) => Err("expired"),
            (_, false) => Err("the audience is another function"),
            _ => Ok(claims),
        }
    }
}

/// Whether a service needs a token.
fn is_open(api: &str) -> bool {
    api.ends_with("-callback") || matches!(api, "nnrf-nfm" | "nnrf-disc" | "oauth2")
}

/// The NF type of a service's producers: `UDM` of `nudm-sdm`.
fn producer(api: &str) -> Option<String> {
    let name = api.split('-').next()?.strip_prefix('n')?;
    Some(name.to_ascii_uppercase())
}

/// A consumer's tokens.
pub(crate) struct Tokens {
    nrf: NrfAccessTokenClient,
    nf_type: NfType,
    instance_id: String,
    /// Token and time of renewal by service name.
    cache: Mutex<HashMap<&'static str, (http::HeaderValue, u64)>>,
}

impl Tokens {
    pub fn new(nrf: Peer, nf_type: NfType, instance_id: &str) -> Self {
        let nrf = NrfAccessTokenClient::new(nrf);
        Tokens { nrf, nf_type, instance_id: instance_id.into(), cache: Mutex::default() }
    }

    /// Adds the token for the service to a request.
    pub async fn attach(&self, request: &mut Request) -> Result<(), Problem> {
        let Some(api) =
            request.operation.map(|operation| operation.api).filter(|api| !is_open(api))
        else {
            return Ok(());
        };
        let token = self.token(api).await?;
        request.headers.insert(http::header::AUTHORIZATION, token);
        Ok(())
    }

    async fn token(&self, api: &'static str) -> Result<http::HeaderValue, Problem> {
        let cached = self.cache.lock().unwrap_or_else(|e| e.into_inner()).get(api).cloned();
        if let Some((token, _)) = cached.filter(|(_, until)| *until > now()) {
            return Ok(token);
        }
        let request = AccessTokenReq {
            grant_type: "client_credentials".into(),
            nf_instance_id: self.instance_id.clone(),
            nf_type: Some(self.nf_type.as_str().into()),
            target_nf_type: producer(api),
            target_nf_instance_id: None,
            scope: api.into(),
        };
        let answer = self.nrf.access_token_request(request).await?;
        let token = http::HeaderValue::from_str(&format!("Bearer {}", answer.access_token));
        let token =
            token.map_err(|_| Problem::system_failure("the NRF's token is not a header value"))?;
        let until = now()
            + u64::from(answer.expires_in.unwrap_or(60)).saturating_sub(RENEWAL_MARGIN_S).max(1);
        self.cache.lock().unwrap_or_else(|e| e.into_inner()).insert(api, (token.clone(), until));
        Ok(token)
    }

    /// A producer rejected a token: drops all tokens.
    pub fn clear(&self) {
        self.cache.lock().unwrap_or_else(|e| e.into_inner()).clear();
    }
}

/// A guard that requires a token of the NRF for a service of this function, with the scope that
/// the operation needs.
///
/// # Errors
/// The file holds no public key.
pub(crate) fn guard(own: NfType, instance_id: &str, file: &Path) -> Result<Guard, StartError> {
    let key =
        VerifyingKey::load(file).map_err(|error| StartError(format!("{error}; see sbi.pki")))?;
    let remembered: Mutex<HashMap<String, Claims>> = Mutex::default();
    let instance_id = instance_id.to_string();
    let check = move |method: &http::Method, headers: &http::HeaderMap, path: &str| {
        let api = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        if is_open(api) {
            return Ok(());
        }
        let header = headers.get(http::header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let Some(token) = header.and_then(bearer) else {
            return Err(Refusal {
                problem: Problem::new(401, "")
                    .detail(format!("{api} needs an access token of the NRF")),
                // Without an error, since there was no token (RFC 6750, 3.1).
                challenge: "Bearer realm=\"martlet\"".into(),
            });
        };
        let claims = {
            let mut remembered = remembered.lock().unwrap_or_else(|e| e.into_inner());
            match remembered.get(token).filter(|claims| claims.exp > now()) {
                Some(claims) => claims.clone(),
                None => {
                    let claims =
                        key.check(token, own.as_str(), &instance_id).map_err(|why| Refusal {
                            problem: Problem::new(401, "")
                                .detail(format!("invalid access token: {why}")),
                            challenge: format!(
                                "Bearer realm=\"martlet\", error=\"invalid_token\", \
                                 error_description=\"{why}\""
                            ),
                        })?;
                    if remembered.len() >= CACHE_SIZE {
                        remembered.clear();
                    }
                    remembered.insert(token.to_string(), claims.clone());
                    claims
                }
            }
        };
        let has = |scope: &str| claims.scope.split(' ').any(|own| own == scope);
        let operation =
            crate::authorisation::required_scope(method, path).filter(|_| !key.is_external());
        let missing = [Some(api), operation].into_iter().flatten().find(|scope| !has(scope));
        match missing {
            None => Ok(()),
            Some(scope) => Err(Refusal {
                problem: Problem::new(403, "INSUFFICIENT_SCOPE")
                    .detail(format!("the access token is not for {scope}")),
                challenge: format!(
                    "Bearer realm=\"martlet\", error=\"insufficient_scope\", scope=\"{}\"",
                    operation
                        .map_or(api.to_string(), |operation| format!("{api} {operation}"))
                        .replace(['"', '\\'], "")
                ),
            }),
        }
    };
    Ok(Guard(Arc::new(check)))
}

/// The token of an `Authorization` header. The scheme's case does not matter (RFC 9110, 11.1).
fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start())
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
            (SigningKey::load(&private).unwrap(), VerifyingKey::load(&public).unwrap());
        // Once: the second may change in between.
        let claims = claims();
        let token = signer.sign(&claims).unwrap();
        assert_eq!(key.check(&token, "UDM", "1"), Ok(claims.clone()));
        assert_eq!(key.check(&token, "UDR", "1"), Err("the audience is another function"));
        let one = Claims { aud: Audience::Many(vec!["udm-1".into()]), ..claims.clone() };
        let for_one = signer.sign(&one).unwrap();
        assert_eq!(key.check(&for_one, "UDM", "udm-1"), Ok(one));
        assert!(key.check(&for_one, "UDM", "udm-2").is_err());
        let ended = signer.sign(&Claims { exp: now() - 1, ..claims.clone() }).unwrap();
        assert_eq!(key.check(&ended, "UDM", "1"), Err("expired"));
        // Other claims under the same signature; no signature; an algorithm that is none.
        let other = signer.sign(&Claims { scope: "nudm-uecm".into(), ..claims.clone() }).unwrap();
        let mixed = [token.split('.').next(), other.split('.').nth(1), token.split('.').nth(2)]
            .map(Option::unwrap)
            .join(".");
        assert_eq!(key.check(&mixed, "UDM", "1"), Err("the signature is not the NRF's"));
        let none = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
        let unsigned = format!("{none}.{}.", token.split('.').nth(1).unwrap());
        assert_eq!(
            key.check(&unsigned, "UDM", "1"),
            Err("the algorithm is not that of the NRF's key")
        );
        for wrong in ["", "a", "a.b", "a.b.c", "..", "é.é.é"] {
            assert!(key.check(wrong, "UDM", "1").is_err(), "{wrong}");
        }
        assert!(VerifyingKey::load(&private).is_err() && SigningKey::load(&public).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
