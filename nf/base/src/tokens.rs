//! Access tokens of the SBI (TS 33.501, 13.4.1): a consumer asks the NRF for one for each service
//! that it calls, and a producer lets nobody in without. The NRF's own services and callbacks need
//! none.
use crate::StartError;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, UnparsedPublicKey,
};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use martlet_sbi::{Peer, Problem, Request};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nnrf_oauth2::{AccessTokenReq, NrfAccessTokenClient};
use martlet_sbi_http::Guard;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

/// A token is asked for anew so many seconds before it ends.
const EARLY: u64 = 30;
/// Tokens that a producer remembers to have checked.
const MOST_REMEMBERED: usize = 1024;

/// What a token says (TS 29.510, 6.3.5.2.4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// The NRF.
    pub iss: String,
    /// The consumer.
    pub sub: String,
    /// NF type of the producers.
    pub aud: String,
    /// Names of services, with spaces between them.
    pub scope: String,
    /// Seconds since 1970 at which it ends.
    pub exp: u64,
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The protected header of every token: ECDSA with P-256 and SHA-256 (RFC 7518, 3.4).
const HEADER: &str = r#"{"alg":"ES256","typ":"JWT"}"#;

/// The NRF's key.
pub struct SigningKey(EcdsaKeyPair);

impl SigningKey {
    /// From PKCS #8 in PEM.
    ///
    /// # Errors
    /// The file holds no such key.
    pub fn load(file: &Path) -> Result<Self, String> {
        let wrong = |error: &dyn std::fmt::Display| {
            format!("{} is no P-256 key in PKCS #8: {error}", file.display())
        };
        let der = PrivatePkcs8KeyDer::from_pem_file(file).map_err(|e| wrong(&e))?;
        let key =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.secret_pkcs8_der());
        key.map(SigningKey).map_err(|e| wrong(&e))
    }

    /// A JSON web token in compact form (RFC 7515, 3.1).
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn sign(&self, claims: &Claims) -> Result<String, String> {
        let claims = serde_json::to_vec(claims).map_err(|e| e.to_string())?;
        let text = format!(
            "{}.{}",
            BASE64_URL_SAFE_NO_PAD.encode(HEADER),
            BASE64_URL_SAFE_NO_PAD.encode(claims)
        );
        let signature =
            self.0.sign(&SystemRandom::new(), text.as_bytes()).map_err(|e| e.to_string())?;
        Ok(format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature.as_ref())))
    }
}

/// What checks tokens of the NRF.
pub struct VerifyingKey(UnparsedPublicKey<Vec<u8>>);

impl VerifyingKey {
    /// From a SubjectPublicKeyInfo in PEM.
    ///
    /// # Errors
    /// The file holds no such key.
    pub fn load(file: &Path) -> Result<Self, String> {
        let wrong = |error: &dyn std::fmt::Display| {
            format!("{} is no public P-256 key in PEM: {error}", file.display())
        };
        let der = SubjectPublicKeyInfoDer::from_pem_file(file).map_err(|e| wrong(&e))?;
        // The point, uncompressed, is what such a structure ends with (RFC 5480, 2.2).
        let point =
            der.len().checked_sub(65).and_then(|at| der.get(at..)).filter(|point| point[0] == 4);
        let point = point.ok_or_else(|| wrong(&"there is no uncompressed point in it"))?;
        Ok(VerifyingKey(UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point.to_vec())))
    }

    /// What a token says that the NRF has signed, that is for this audience, and has not ended.
    ///
    /// # Errors
    /// Why it is not taken.
    pub fn check(&self, token: &str, audience: &str) -> Result<Claims, &'static str> {
        let (text, signature) = token.rsplit_once('.').ok_or("it is no JSON web token")?;
        let (header, claims) = text.split_once('.').ok_or("it is no JSON web token")?;
        let open =
            |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| "it is no JSON web token");
        let header: serde_json::Value =
            serde_json::from_slice(&open(header)?).map_err(|_| "its header is no JSON")?;
        // No other algorithm is taken, whatever the token wishes.
        if header["alg"] != "ES256" || !header["crit"].is_null() {
            return Err("its algorithm is not ES256");
        }
        self.0
            .verify(text.as_bytes(), &open(signature)?)
            .map_err(|_| "its signature is not the NRF's")?;
        let claims: Claims = serde_json::from_slice(&open(claims)?)
            .map_err(|_| "its claims are not those of a token")?;
        match (claims.exp > now(), claims.aud == audience) {
            (false, _) => Err("it has ended"),
            (_, false) => Err("it is for another type of function"),
            _ => Ok(claims),
        }
    }
}

/// Whether a service needs a token.
fn is_open(api: &str) -> bool {
    api.ends_with("-callback") || matches!(api, "nnrf-nfm" | "nnrf-disc" | "oauth2")
}

/// The type of those who produce a service: `UDM` of `nudm-sdm`.
fn producer(api: &str) -> Option<String> {
    let name = api.split('-').next()?.strip_prefix('n')?;
    Some(name.to_ascii_uppercase())
}

/// A consumer's tokens.
pub(crate) struct Tokens {
    nrf: NrfAccessTokenClient,
    nf_type: NfType,
    instance_id: String,
    /// By the name of the service: a token, and when it is asked for anew.
    kept: Mutex<HashMap<&'static str, (http::HeaderValue, u64)>>,
}

impl Tokens {
    pub fn new(nrf: Peer, nf_type: NfType, instance_id: &str) -> Self {
        let nrf = NrfAccessTokenClient::new(nrf);
        Tokens { nrf, nf_type, instance_id: instance_id.into(), kept: Mutex::default() }
    }

    /// Puts the token for the service into a request.
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
        let kept = self.kept.lock().unwrap_or_else(|e| e.into_inner()).get(api).cloned();
        if let Some((token, _)) = kept.filter(|(_, until)| *until > now()) {
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
        let token = token.map_err(|_| Problem::system_failure("the NRF's token is none"))?;
        let until = now() + u64::from(answer.expires_in.unwrap_or(60)).saturating_sub(EARLY).max(1);
        self.kept.lock().unwrap_or_else(|e| e.into_inner()).insert(api, (token.clone(), until));
        Ok(token)
    }

    /// A producer did not take a token: all are asked for anew.
    pub fn forget(&self) {
        self.kept.lock().unwrap_or_else(|e| e.into_inner()).clear();
    }
}

/// Lets those in who have a token of the NRF for a service of this type of function.
///
/// # Errors
/// The file holds no public key.
pub(crate) fn guard(own: NfType, file: &Path) -> Result<Guard, StartError> {
    let key = VerifyingKey::load(file)
        .map_err(|error| StartError(format!("{error}; sbi.pki names the folder")))?;
    let remembered: Mutex<HashMap<String, Claims>> = Mutex::default();
    let check = move |headers: &http::HeaderMap, path: &str| {
        let api = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        if is_open(api) {
            return Ok(());
        }
        let refused = |detail: String| Problem::new(401, "").detail(detail);
        let header = headers.get(http::header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = header.and_then(|value| value.strip_prefix("Bearer "));
        let token =
            token.ok_or_else(|| refused(format!("{api} needs an access token of the NRF")))?;
        let mut remembered = remembered.lock().unwrap_or_else(|e| e.into_inner());
        let claims = match remembered.get(token).filter(|claims| claims.exp > now()) {
            Some(claims) => claims.clone(),
            None => {
                let checked = key.check(token, own.as_str());
                let claims = checked
                    .map_err(|why| refused(format!("the access token is not taken: {why}")))?;
                if remembered.len() >= MOST_REMEMBERED {
                    remembered.clear();
                }
                remembered.insert(token.to_string(), claims.clone());
                claims
            }
        };
        match claims.scope.split(' ').any(|scope| scope == api) {
            true => Ok(()),
            false => {
                Err(Problem::new(403, "").detail(format!("the access token is not for {api}")))
            }
        }
    };
    Ok(Guard(Arc::new(check)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made once with OpenSSL, for this test alone.
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
        Claims { iss, sub, aud: "UDM".into(), scope: "nudm-sdm".into(), exp: now() + 60 }
    }

    #[test]
    fn a_token_is_taken_as_it_was_signed_for_its_audience_and_its_time_alone() {
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
        assert_eq!(key.check(&token, "UDM"), Ok(claims.clone()));
        assert_eq!(key.check(&token, "UDR"), Err("it is for another type of function"));
        let ended = signer.sign(&Claims { exp: now() - 1, ..claims.clone() }).unwrap();
        assert_eq!(key.check(&ended, "UDM"), Err("it has ended"));
        // Other claims under the same signature; no signature; an algorithm that is none.
        let other = signer.sign(&Claims { scope: "nudm-uecm".into(), ..claims.clone() }).unwrap();
        let mixed = [token.split('.').next(), other.split('.').nth(1), token.split('.').nth(2)]
            .map(Option::unwrap)
            .join(".");
        assert_eq!(key.check(&mixed, "UDM"), Err("its signature is not the NRF's"));
        let none = BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
        let unsigned = format!("{none}.{}.", token.split('.').nth(1).unwrap());
        assert_eq!(key.check(&unsigned, "UDM"), Err("its algorithm is not ES256"));
        for wrong in ["", "a", "a.b", "a.b.c", "..", "é.é.é"] {
            assert!(key.check(wrong, "UDM").is_err(), "{wrong}");
        }
        assert!(VerifyingKey::load(&private).is_err() && SigningKey::load(&public).is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
