//! The access tokens of a consumer: one for each service, or for each service of one instance.
use super::{is_open, now};
use http::HeaderValue;
use martlet_sbi::{Peer, Problem, Request};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nnrf_oauth2::{AccessTokenReq, NrfAccessTokenClient};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Seconds before its expiry that a token is renewed.
const RENEWAL_MARGIN_S: u64 = 30;
/// Maximum number of cached tokens.
const CACHE_SIZE: usize = 1024;

/// The NF type of a service's producers: `UDM` of `nudm-sdm`.
fn producer(api: &str) -> Option<String> {
    let name = api.split('-').next()?.strip_prefix('n')?;
    Some(name.to_ascii_uppercase())
}

/// What a token is for.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Target {
    service: Cow<'static, str>,
    /// The NF type of its producers.
    producer: Option<String>,
    /// One producer; `None` for all of the type.
    instance: Option<String>,
}

impl Target {
    fn new(service: impl Into<Cow<'static, str>>, instance: Option<String>) -> Self {
        let service = service.into();
        Target { producer: producer(&service), service, instance }
    }
}

/// A consumer's tokens.
pub(crate) struct Tokens {
    nrf: NrfAccessTokenClient,
    nf_type: NfType,
    instance_id: String,
    /// Whether a token is for one instance of the producer (`sbi.interop.service_tokens`).
    names_instances: bool,
    /// Token and time of renewal.
    cache: Mutex<HashMap<Target, (HeaderValue, u64)>>,
}

impl Tokens {
    pub fn new(nrf: Peer, nf_type: NfType, instance_id: &str, names_instances: bool) -> Self {
        let nrf = NrfAccessTokenClient::new(nrf);
        let cache = Mutex::default();
        Tokens { nrf, nf_type, instance_id: instance_id.into(), names_instances, cache }
    }

    /// Adds the token for the service to a request. `instance` is the producer's `nfInstanceId`, as
    /// far as it is known.
    pub async fn attach(
        &self,
        request: &mut Request,
        instance: impl FnOnce() -> Option<String>,
    ) -> Result<(), Problem> {
        let api = request.operation.map(|operation| operation.api);
        let Some(api) = api.filter(|api| !is_open(api)) else { return Ok(()) };
        let instance = if self.names_instances { instance() } else { None };
        self.add(request, Target::new(api, instance)).await
    }

    /// Adds the token for a service of the NRF to a request.
    pub async fn attach_for_nrf(
        &self,
        request: &mut Request,
        api: &'static str,
    ) -> Result<(), Problem> {
        self.add(request, Target::new(api, None)).await
    }

    /// Adds the token for the callbacks of functions of a type, such as `npcf-callback`, to a
    /// notification.
    pub async fn attach_for_callback(
        &self,
        request: &mut Request,
        service: String,
    ) -> Result<(), Problem> {
        self.add(request, Target::new(service, None)).await
    }

    /// Adds the token for a service that functions of all types have: for this instance, or for the
    /// NRFs, which have no registered instance.
    pub async fn attach_for_instance(
        &self,
        request: &mut Request,
        api: &'static str,
        instance: Option<String>,
    ) -> Result<(), Problem> {
        let producer = instance.is_none().then(|| NfType::Nrf.as_str().to_string());
        self.add(request, Target { service: api.into(), producer, instance }).await
    }

    async fn add(&self, request: &mut Request, target: Target) -> Result<(), Problem> {
        let token = self.token(target).await?;
        request.headers.insert(http::header::AUTHORIZATION, token);
        Ok(())
    }

    fn cache(&self) -> MutexGuard<'_, HashMap<Target, (HeaderValue, u64)>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn token(&self, target: Target) -> Result<HeaderValue, Problem> {
        let cached = self.cache().get(&target).cloned();
        if let Some((token, _)) = cached.filter(|(_, until)| *until > now()) {
            return Ok(token);
        }
        let Target { service, producer, instance } = &target;
        let request = AccessTokenReq {
            grant_type: "client_credentials".into(),
            nf_instance_id: self.instance_id.clone(),
            nf_type: Some(self.nf_type.as_str().into()),
            target_nf_type: producer.clone(),
            target_nf_instance_id: instance.clone(),
            scope: service.to_string(),
        };
        let answer = self.nrf.access_token_request(request).await?;
        let token = HeaderValue::from_str(&format!("Bearer {}", answer.access_token));
        let token =
            token.map_err(|_| Problem::system_failure("the NRF's token is not a header value"))?;
        let until = now()
            + u64::from(answer.expires_in.unwrap_or(60)).saturating_sub(RENEWAL_MARGIN_S).max(1);
        let mut cache = self.cache();
        if cache.len() >= CACHE_SIZE {
            cache.clear();
        }
        cache.insert(target, (token.clone(), until));
        Ok(token)
    }

    /// A producer rejected a token: drops all tokens.
    pub fn clear(&self) {
        self.cache().clear();
    }
}
