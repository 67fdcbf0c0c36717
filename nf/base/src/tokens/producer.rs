//! Access tokens as a producer verifies them.
use super::{Claims, TokenError, VerifyingKeys, is_open, now};
use crate::StartError;
use crate::certificates::{self, CertificateFiles};
use crate::tolerance::Tolerance;
use martlet_interop::SbiQuirk;
use martlet_sbi::Problem;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_http::{Guard, PeerCertificate, Refusal};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of verified tokens that a producer caches.
const CACHE_SIZE: usize = 1024;

/// The NRF's keys, and the tokens that they have verified.
struct Verifier {
    keys: VerifyingKeys,
    verified: HashMap<String, Claims>,
}

fn locked(verifier: &Mutex<Verifier>) -> MutexGuard<'_, Verifier> {
    verifier.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Loads the NRF's keys, and reads their file again when it changes. Tokens of a key that it does
/// not have any more are refused then, also verified ones: consumers request others.
fn watched(own: &NfType, file: &Path) -> Result<Arc<Mutex<Verifier>>, StartError> {
    let keys = VerifyingKeys::load(file)?;
    let verifier = Arc::new(Mutex::new(Verifier { keys, verified: HashMap::new() }));
    let (reloaded, read) = (verifier.clone(), file.to_path_buf());
    certificates::watch(CertificateFiles {
        name: format!("{}.sbi.token_key", own.as_str().to_ascii_lowercase()),
        files: vec![file.to_path_buf()],
        reload: Box::new(move || {
            let keys = VerifyingKeys::load(&read)?;
            *locked(&reloaded) = Verifier { keys, verified: HashMap::new() };
            Ok(())
        }),
        in_use: Box::new(Vec::new),
    });
    Ok(verifier)
}

/// A guard that requires a token of the NRF for a service of this function, with the scope that the
/// operation needs. `has_operation_scopes`: the NRF issues such scopes; else the service's name
/// alone is required.
///
/// # Errors
/// The file holds no public key.
pub(crate) fn guard(
    own: NfType,
    instance_id: &str,
    file: &Path,
    has_operation_scopes: bool,
    tolerance: Tolerance,
) -> Result<Guard, StartError> {
    let verifier = watched(&own, file)?;
    let instance_id = instance_id.to_string();
    let check = move |method: &http::Method,
                      headers: &http::HeaderMap,
                      path: &str,
                      peer: Option<&PeerCertificate>| {
        let api = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        if let (Some(senders), Some(peer)) = (crate::authorisation::senders(method, path), peer)
            && !senders.iter().any(|nf_type| peer.is_of_type(nf_type.as_str()))
        {
            let detail = format!("the certificate is of no function that sends this: {api}");
            let problem = Problem::new(403, "REQUEST_NOT_ALLOWED").detail(detail);
            return Err(Refusal { problem, challenge: String::new() });
        }
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
            let mut verifier = locked(&verifier);
            match verifier.verified.get(token).filter(|claims| claims.exp > now()) {
                Some(claims) => claims.clone(),
                None => {
                    let checked = verifier.keys.check(token, own.as_str(), &instance_id);
                    let claims = checked
                        .and_then(|claims| {
                            let tolerates =
                                || tolerance.tolerates(SbiQuirk::TokenClaims, issuer(&claims));
                            match claims.deviate(own.as_str()) && !tolerates() {
                                true => Err(TokenError::Form),
                                false => Ok(claims),
                            }
                        })
                        .map_err(|why| Refusal {
                            problem: Problem::new(401, "")
                                .detail(format!("invalid access token: {why}")),
                            challenge: format!(
                                "Bearer realm=\"martlet\", error=\"invalid_token\", \
                                 error_description=\"{why}\""
                            ),
                        })?;
                    if verifier.verified.len() >= CACHE_SIZE {
                        verifier.verified.clear();
                    }
                    verifier.verified.insert(token.to_string(), claims.clone());
                    claims
                }
            }
        };
        let has = |scope: &str| claims.scope.split(' ').any(|own| own == scope);
        let operation = crate::authorisation::required_scope(method, path).filter(|scope| {
            if !has_operation_scopes && !has(scope) && has(api) {
                tolerance.tolerates(SbiQuirk::ServiceScope, issuer(&claims));
            }
            has_operation_scopes
        });
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

/// The NRF that issued a token, for the status.
fn issuer(claims: &Claims) -> &str {
    match claims.iss.as_str() {
        "" => "NRF",
        issuer => issuer,
    }
}

/// The token of an `Authorization` header. The scheme's case does not matter (RFC 9110, 11.1).
fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start())
}

#[cfg(test)]
mod tests {
    use super::super::{Audience, SigningKey};
    use super::*;
    use http::header::AUTHORIZATION;
    use http::{HeaderMap, Method};

    const KEYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/interop/keys");
    const INSTANCE: &str = "3fa85f64-5717-4562-b3fc-2c963f66afa6";
    const KEY_OF_A_SUBSCRIBER: &str =
        "/nudr-dr/v2/subscription-data/imsi-1/authentication-data/authentication-subscription";

    /// The status of the refusal; 200 without one.
    fn status(guard: &Guard, authorization: Option<&str>) -> u16 {
        let mut headers = HeaderMap::new();
        headers.extend(authorization.map(|text| (AUTHORIZATION, text.parse().unwrap())));
        let outcome = (guard.0)(&Method::GET, &headers, KEY_OF_A_SUBSCRIBER, None);
        outcome.err().map_or(200, |refusal| refusal.problem.status())
    }

    #[test]
    fn a_token_of_an_rsa_key_is_verified() {
        let file = |name: &str| Path::new(KEYS).join(name);
        let signer = SigningKey::load(&file("token-key.pem")).unwrap();
        let token = |aud: Audience, scope: &str, exp: u64| {
            let (iss, sub, scope) = ("nrf".into(), "udm-1".into(), scope.into());
            format!("Bearer {}", signer.sign(&Claims { iss, sub, aud, scope, exp }).unwrap())
        };
        let (one, many) = (|name: &str| Audience::One(name.into()), Audience::Many);
        let soon = now() + 60;
        // The certificate has the same key.
        for public in ["token.pem", "certificate.pem"] {
            let tolerance = |is_strict| Tolerance::new(NfType::Udr, is_strict);
            let of = |is_strict| {
                guard(NfType::Udr, INSTANCE, &file(public), false, tolerance(is_strict)).unwrap()
            };
            let (guard, strict) = (of(false), of(true));
            let cases = [
                (one(INSTANCE), 200),
                (one("UDR"), 200),
                (many(vec!["UDM".into(), "UDR".into()]), 200),
                (many(vec![INSTANCE.to_uppercase()]), 200),
                (one("UDM"), 401),
                (one(""), 401),
                (many(Vec::new()), 401),
                (one("00000000-0000-4000-8000-000000000001"), 401),
            ];
            for (aud, expected) in cases {
                let token = token(aud.clone(), "nudr-dr", soon);
                assert_eq!(status(&guard, Some(&token)), expected, "{public}: {aud:?}");
                // One instance is named in an array.
                let expected = if aud == one(INSTANCE) { 401 } else { expected };
                assert_eq!(status(&strict, Some(&token)), expected, "{public}: {aud:?}, strict");
            }
            let (iss, sub, scope) = (String::new(), "udm-1".into(), "nudr-dr".into());
            let claims = Claims { iss, sub, aud: one("UDR"), scope, exp: soon };
            let without_issuer = format!("Bearer {}", signer.sign(&claims).unwrap());
            assert_eq!(status(&guard, Some(&without_issuer)), 200);
            assert_eq!(status(&strict, Some(&without_issuer)), 401);
            let valid = token(one("UDR"), "nudr-dr", soon);
            assert_eq!(status(&guard, None), 401);
            for wrong in ["Bearer", "Bearer ", "Basic YTpi", &valid.replace("Bearer ", "")] {
                assert_eq!(status(&guard, Some(wrong)), 401, "{wrong}");
            }
            let (body, _) = valid.rsplit_once('.').unwrap();
            assert_eq!(status(&guard, Some(&format!("{body}.AAAA"))), 401);
            assert_eq!(status(&guard, Some(&token(one("UDR"), "nudr-dr", now() - 1))), 401);
            assert_eq!(status(&guard, Some(&token(one("UDR"), "nudm-sdm", soon))), 403);
        }
        // Martlet's NRF issues scopes of operations, also with an RSA key.
        let tolerance = Tolerance::new(NfType::Udr, true);
        let guard = guard(NfType::Udr, INSTANCE, &file("token.pem"), true, tolerance).unwrap();
        let service = token(one("UDR"), "nudr-dr", soon);
        assert_eq!(status(&guard, Some(&service)), 403);
        let scope = "nudr-dr nudr-dr:subscription-data:authentication-subscription:read";
        assert_eq!(status(&guard, Some(&token(one("UDR"), scope, soon))), 200);
    }
}
