//! Sign-in with OpenID Connect: the authorization code flow with PKCE, `state` and `nonce`
//! (OpenID Connect Core 1.0, RFC 6749, RFC 7636, RFC 9207).
//!
//! 1. [`Provider::begin`] gives the address at the provider for the browser, and a cookie that
//!    binds the sign-in to it.
//! 2. The provider sends the browser to the console at `/oidc` with a code and the state.
//! 3. [`Provider::finish`] exchanges the code for an ID token, verifies it, and maps a claim to a
//!    role. A user without a role is refused.
mod config;
mod http_client;
mod id_token;
mod sign_ins;

pub use config::{OidcConfig, REDIRECT_PATH};
pub use http_client::CertificateError;
pub use sign_ins::{Begun, LIFETIME};

use crate::accounts::{ExternalUser, Role, now};
use crate::problem::Failure;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use form_urlencoded::{Serializer, byte_serialize};
use http::{Method, Request, StatusCode, header};
use http_body_util::Full;
use http_client::{FetchError, HttpClient};
use id_token::{Claims, Expected, IdTokenError};
use jsonwebtoken::jwk::Jwk;
use serde::Deserialize;
use serde_json::{Map, Value};
use sign_ins::{SignIn, SignIns};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// How long the provider's description and keys are used.
const METADATA_LIFETIME: Duration = Duration::from_secs(3600);
/// Maximum length of the name that the console shows, in characters.
const MAX_NAME: usize = 64;

/// Why a provider cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The client secret cannot be read.
    #[error("client_secret_file: {}: {reason}", file.display())]
    Secret {
        /// The file.
        file: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The certificates of the authorities cannot be read.
    #[error("ca: {0}")]
    Certificates(#[from] CertificateError),
}

/// Why a sign-in fails.
#[derive(Debug, Clone, thiserror::Error)]
pub enum OidcError {
    /// The provider does not answer.
    #[error("the provider does not answer at {url}: {reason}")]
    Unreachable {
        /// The address.
        url: String,
        /// The reason.
        reason: FetchError,
    },
    /// Its answer violates OpenID Connect.
    #[error("the provider answered otherwise than expected: {0}")]
    Protocol(String),
    /// It refused the code or the client.
    #[error("the provider refused: {0}")]
    Refused(String),
    /// The state is unknown, used or of another browser.
    #[error("no sign-in with this state waits in this browser")]
    State,
    /// The ID token is rejected.
    #[error(transparent)]
    IdToken(#[from] IdTokenError),
    /// No value of the claim has a role.
    #[error(
        "{name} has no role here: the claim {claim} has no value that oam.api.oidc.roles names"
    )]
    NoRole {
        /// The user.
        name: String,
        /// The claim.
        claim: String,
    },
}

impl OidcError {
    /// Whether the browser or its user is at fault, rather than the provider or the network.
    pub fn is_of_the_caller(&self) -> bool {
        matches!(self, Self::State | Self::IdToken(_) | Self::NoRole { .. })
    }
}

impl From<OidcError> for Failure {
    fn from(error: OidcError) -> Self {
        let detail = error.to_string();
        match error {
            OidcError::Unreachable { .. } => {
                Failure::unavailable(detail).remedy("sign in as a local user, or try again later")
            }
            OidcError::Protocol(_) => Failure::new(
                StatusCode::BAD_GATEWAY,
                "provider",
                "The identity provider answered otherwise",
                detail,
            )
            .remedy("compare oam.api.oidc with the provider's description"),
            OidcError::State => Failure::field(
                "state",
                detail,
                "begin again in the browser that shows the console, within ten minutes",
            ),
            OidcError::NoRole { .. } => {
                Failure::forbidden(detail).remedy("ask an administrator for a group with a role")
            }
            OidcError::Refused(_) | OidcError::IdToken(_) => {
                Failure::unauthenticated(detail).remedy("begin again, or sign in as a local user")
            }
        }
    }
}

/// The provider's description (OpenID Connect Discovery 1.0, 3).
#[derive(Debug, Clone, Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    #[serde(default)]
    userinfo_endpoint: Option<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

/// What the browser brings back (RFC 6749, 4.1.2; RFC 9207).
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// The state.
    pub state: String,
    /// The authorization code.
    pub code: Option<String>,
    /// The issuer.
    pub issuer: Option<String>,
    /// Why the provider refused.
    pub error: Option<String>,
}

#[derive(Deserialize)]
struct Tokens {
    id_token: String,
    #[serde(default)]
    access_token: Option<String>,
}

/// A value and the time when it was fetched.
type Cached<T> = Mutex<Option<(Instant, Arc<T>)>>;

/// The provider.
pub struct Provider {
    config: OidcConfig,
    issuer: String,
    secret: Mutex<Option<Arc<Zeroizing<String>>>>,
    http: HttpClient,
    sign_ins: SignIns,
    metadata: Cached<Metadata>,
    keys: Cached<Vec<Jwk>>,
}

/// Reads the client secret, if the client has one.
fn secret(config: &OidcConfig) -> Result<Option<Arc<Zeroizing<String>>>, ProviderError> {
    let Some(file) = &config.client_secret_file else { return Ok(None) };
    let wrong = |reason: String| ProviderError::Secret { file: file.clone(), reason };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let text = Zeroizing::new(text);
    match text.trim() {
        "" => Err(wrong("it is empty: write the client secret".into())),
        secret => Ok(Some(Arc::new(Zeroizing::new(secret.to_string())))),
    }
}

impl Provider {
    /// The provider of a configuration; none if it names no issuer. Blocks.
    ///
    /// # Errors
    /// The client secret or the certificates cannot be read.
    pub fn new(config: &OidcConfig) -> Result<Option<Self>, ProviderError> {
        let Some(issuer) = config.issuer.clone() else { return Ok(None) };
        let needs_tls = issuer.starts_with("https://");
        Ok(Some(Provider {
            secret: Mutex::new(secret(config)?),
            http: HttpClient::new(needs_tls, config.ca.as_deref())?,
            config: config.clone(),
            issuer,
            sign_ins: SignIns::default(),
            metadata: Cached::default(),
            keys: Cached::default(),
        }))
    }

    /// The files that [`Provider::reload`] reads.
    pub fn files(&self) -> Vec<PathBuf> {
        let files = [&self.config.ca, &self.config.client_secret_file];
        files.into_iter().flatten().cloned().collect()
    }

    /// Reads the authorities and the client secret again. What is in use stays in use after an
    /// error. Blocks.
    ///
    /// # Errors
    /// A file cannot be read, or is empty.
    pub fn reload(&self) -> Result<(), ProviderError> {
        let secret = secret(&self.config)?;
        self.http.reload(self.config.ca.as_deref())?;
        *self.secret.lock().unwrap_or_else(PoisonError::into_inner) = secret;
        Ok(())
    }

    /// The issuer.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Begins a sign-in of a browser at an address. Returns the address for the browser, and the
    /// cookie that it stores meanwhile.
    ///
    /// # Errors
    /// The provider does not answer.
    pub async fn begin(&self, address: IpAddr) -> Result<(String, Begun), Failure> {
        // Read each time, so that a failure of the provider is reported here.
        let metadata = self.fetch_metadata().await?;
        let begun = self.sign_ins.begin(address, Instant::now())?;
        let challenge = digest(&SHA256, begun.verifier.as_bytes());
        let challenge = BASE64_URL_SAFE_NO_PAD.encode(challenge.as_ref());
        let more = self.config.scopes.iter().filter(|scope| *scope != "openid");
        let scopes: Vec<&str> = std::iter::once("openid").chain(more.map(String::as_str)).collect();
        let mut query = Serializer::new(String::new());
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.config.client_id)
            .append_pair("redirect_uri", &self.config.redirect_uri)
            .append_pair("scope", &scopes.join(" "))
            .append_pair("state", &begun.state)
            .append_pair("nonce", &begun.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256");
        if !self.config.acr_values.is_empty() {
            query.append_pair("acr_values", &self.config.acr_values.join(" "));
        }
        let query = query.finish();
        let endpoint = &metadata.authorization_endpoint;
        let separator = if endpoint.contains('?') { '&' } else { '?' };
        Ok((format!("{endpoint}{separator}{query}"), begun))
    }

    /// Ends a sign-in with what the browser brought back, and its cookie.
    ///
    /// # Errors
    /// The state is not valid, the provider refused or does not answer, its ID token is wrong, or
    /// the user has no role.
    pub async fn finish(&self, answer: Answer, binding: &str) -> Result<ExternalUser, OidcError> {
        let taken = self.sign_ins.take(&answer.state, binding, Instant::now());
        let sign_in = taken.ok_or(OidcError::State)?;
        let metadata = self.metadata().await?;
        let is_missing =
            answer.issuer.is_none() && metadata.authorization_response_iss_parameter_supported;
        if is_missing || answer.issuer.as_ref().is_some_and(|issuer| *issuer != self.issuer) {
            return Err(IdTokenError::Issuer.into());
        }
        if let Some(error) = answer.error {
            return Err(OidcError::Refused(printable(&error)));
        }
        let code = answer.code.ok_or_else(|| OidcError::Protocol("it sent no code".into()))?;
        let tokens = self.exchange(&metadata, &code, &sign_in).await?;
        let claims = self.verify(&metadata, &tokens.id_token, &sign_in).await?;
        let mut more = claims.more;
        if claim(&more, &self.config.role_claim).is_none() {
            more.extend(self.user_info(&metadata, &tokens, &claims.sub).await?);
        }
        let name = claim(&more, &self.config.name_claim).and_then(Value::as_str);
        let name = name.filter(|name| !name.is_empty()).map_or(claims.sub.clone(), printable);
        let role = self.role(&more).ok_or_else(|| OidcError::NoRole {
            name: name.clone(),
            claim: self.config.role_claim.clone(),
        })?;
        Ok(ExternalUser { issuer: self.issuer.clone(), subject: claims.sub, name, role })
    }

    /// The highest role of the values of the claim.
    fn role(&self, claims: &Map<String, Value>) -> Option<Role> {
        let values = match claim(claims, &self.config.role_claim)? {
            Value::Array(values) => values.iter().collect(),
            value => vec![value],
        };
        let values = values.into_iter().filter_map(Value::as_str);
        values.filter_map(|value| self.config.roles.get(value).copied()).max()
    }

    async fn metadata(&self) -> Result<Arc<Metadata>, OidcError> {
        match fresh(&self.metadata) {
            Some(known) => Ok(known),
            None => self.fetch_metadata().await,
        }
    }

    async fn fetch_metadata(&self) -> Result<Arc<Metadata>, OidcError> {
        let url = format!(
            "{}/.well-known/openid-configuration",
            self.issuer.strip_suffix('/').unwrap_or(&self.issuer)
        );
        let value = self.get(&url, None).await?;
        let metadata: Metadata = serde_json::from_value(value)
            .map_err(|error| OidcError::Protocol(format!("{url}: {error}")))?;
        if metadata.issuer != self.issuer {
            let other = printable(&metadata.issuer);
            return Err(OidcError::Protocol(format!("{url} names the issuer {other}")));
        }
        let browser = metadata.authorization_endpoint.parse::<http::Uri>();
        if !browser.is_ok_and(|uri| config::is_protected(&uri)) {
            return Err(OidcError::Protocol("its authorization_endpoint has no TLS".into()));
        }
        Ok(keep(&self.metadata, metadata))
    }

    async fn fetch_keys(&self, metadata: &Metadata) -> Result<Arc<Vec<Jwk>>, OidcError> {
        let set = self.get(&metadata.jwks_uri, None).await?;
        Ok(keep(&self.keys, id_token::signature_keys(&set)))
    }

    async fn verify(
        &self,
        metadata: &Metadata,
        token: &str,
        sign_in: &SignIn,
    ) -> Result<Claims, OidcError> {
        let expected = Expected {
            issuer: &self.issuer,
            client_id: &self.config.client_id,
            nonce: &sign_in.nonce,
            acr_values: &self.config.acr_values,
            now: now(),
        };
        if let Some(keys) = fresh(&self.keys) {
            match id_token::verify(token, &keys, expected) {
                // The provider may have new keys.
                Err(IdTokenError::UnknownKey) => {}
                verified => return Ok(verified?),
            }
        }
        let keys = self.fetch_keys(metadata).await?;
        Ok(id_token::verify(token, &keys, expected)?)
    }

    /// Exchanges the code for tokens (RFC 6749, 4.1.3).
    async fn exchange(
        &self,
        metadata: &Metadata,
        code: &str,
        sign_in: &SignIn,
    ) -> Result<Tokens, OidcError> {
        let request = self.token_request(metadata, code, sign_in);
        let (status, value) = self.send(&metadata.token_endpoint, request).await?;
        if !status.is_success() {
            let error = value["error"].as_str().map(printable);
            return Err(OidcError::Refused(error.unwrap_or_else(|| format!("status {status}"))));
        }
        serde_json::from_value(value)
            .map_err(|error| OidcError::Protocol(format!("{}: {error}", metadata.token_endpoint)))
    }

    fn token_request(
        &self,
        metadata: &Metadata,
        code: &str,
        sign_in: &SignIn,
    ) -> http::Result<Request<Full<Bytes>>> {
        let methods = &metadata.token_endpoint_auth_methods_supported;
        let has = |method: &str| methods.iter().any(|one| one == method);
        let in_body = !has("client_secret_basic") && has("client_secret_post");
        let mut body = Serializer::new(String::new());
        body.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &self.config.redirect_uri)
            .append_pair("code_verifier", &sign_in.verifier);
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(&metadata.token_endpoint)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let secret = self.secret.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match secret {
            Some(secret) if !in_body => {
                // Both parts are encoded as in a form (RFC 6749, 2.3.1).
                let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
                let pair = format!("{}:{}", encoded(&self.config.client_id), encoded(&secret));
                let basic = format!("Basic {}", BASE64_STANDARD.encode(Zeroizing::new(pair)));
                request = request.header(header::AUTHORIZATION, basic);
            }
            secret => {
                body.append_pair("client_id", &self.config.client_id);
                if let Some(secret) = secret {
                    body.append_pair("client_secret", &secret);
                }
            }
        }
        request.body(Full::new(Bytes::from(body.finish())))
    }

    /// Claims of the user that are not in the ID token (OpenID Connect Core 1.0, 5.3).
    async fn user_info(
        &self,
        metadata: &Metadata,
        tokens: &Tokens,
        subject: &str,
    ) -> Result<Map<String, Value>, OidcError> {
        let (Some(url), Some(token)) = (&metadata.userinfo_endpoint, &tokens.access_token) else {
            return Ok(Map::new());
        };
        match self.get(url, Some(token)).await? {
            Value::Object(claims) if claims.get("sub").is_some_and(|sub| sub == subject) => {
                Ok(claims)
            }
            _ => Err(OidcError::Protocol("its user information is of another user".into())),
        }
    }

    async fn get(&self, url: &str, bearer: Option<&str>) -> Result<Value, OidcError> {
        let mut request = Request::builder().uri(url);
        if let Some(token) = bearer {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let (status, value) = self.send(url, request.body(Full::default())).await?;
        match status {
            StatusCode::OK => Ok(value),
            status => Err(OidcError::Protocol(format!("status {status} at {url}"))),
        }
    }

    async fn send(
        &self,
        url: &str,
        request: http::Result<Request<Full<Bytes>>>,
    ) -> Result<(StatusCode, Value), OidcError> {
        let request = request.map_err(|error| OidcError::Protocol(format!("{url}: {error}")))?;
        let sent = self.http.send(request).await;
        let (status, body) =
            sent.map_err(|reason| OidcError::Unreachable { url: url.into(), reason })?;
        let value = serde_json::from_slice(&body);
        match (value, status.is_success()) {
            (Ok(value), _) => Ok((status, value)),
            (Err(_), false) => Ok((status, Value::Null)),
            (Err(error), true) => Err(OidcError::Protocol(format!("{url}: {error}"))),
        }
    }
}

fn fresh<T>(cached: &Cached<T>) -> Option<Arc<T>> {
    let cached = cached.lock().unwrap_or_else(PoisonError::into_inner);
    let known = cached.as_ref().filter(|(at, _)| at.elapsed() < METADATA_LIFETIME);
    known.map(|(_, value)| value.clone())
}

fn keep<T>(cached: &Cached<T>, value: T) -> Arc<T> {
    let value = Arc::new(value);
    let mut cached = cached.lock().unwrap_or_else(PoisonError::into_inner);
    *cached = Some((Instant::now(), value.clone()));
    value
}

/// A claim by its name, or by a path with dots such as `realm_access.roles`.
fn claim<'a>(claims: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    if let Some(value) = claims.get(path) {
        return Some(value);
    }
    let (first, rest) = path.split_once('.')?;
    claim(claims.get(first)?.as_object()?, rest)
}

/// A text of the provider for people: short, and without control characters.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    fn provider(role_claim: &str) -> Provider {
        let roles = [("noc", Role::Operator), ("admins", Role::Administrator)];
        let config = OidcConfig {
            issuer: Some("http://127.0.0.1:1".into()),
            role_claim: role_claim.into(),
            roles: BTreeMap::from(roles.map(|(name, role)| (name.into(), role))),
            ..OidcConfig::default()
        };
        Provider::new(&config).unwrap().unwrap()
    }

    #[test]
    fn the_highest_role_of_the_claim_applies_and_without_one_there_is_none() {
        let role =
            |path: &str, claims: Value| provider(path).role(claims.as_object().expect("an object"));
        assert_eq!(role("groups", json!({"groups": ["noc"]})), Some(Role::Operator));
        let both = json!({"groups": ["other", "noc", "admins"]});
        assert_eq!(role("groups", both), Some(Role::Administrator));
        assert_eq!(role("groups", json!({"groups": "noc"})), Some(Role::Operator));
        let nested = json!({"realm_access": {"roles": ["admins"]}});
        assert_eq!(role("realm_access.roles", nested), Some(Role::Administrator));
        let dotted = json!({"https://core.example/roles": ["noc"]});
        assert_eq!(role("https://core.example/roles", dotted), Some(Role::Operator));
        for none in [json!({}), json!({"groups": []}), json!({"groups": ["NOC", 1, null]})] {
            assert_eq!(role("groups", none.clone()), None, "{none}");
        }
    }

    #[tokio::test]
    async fn a_provider_that_is_down_is_an_error_that_names_its_address() {
        let failure = provider("groups").begin([127, 0, 0, 1].into()).await.unwrap_err();
        let problem = failure.problem();
        assert_eq!(problem.status, 503);
        assert!(problem.detail.contains("http://127.0.0.1:1/.well-known"), "{}", problem.detail);
    }
}
