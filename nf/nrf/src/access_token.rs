//! Nnrf_AccessToken_Get (TS 29.510, 5.4.2.2; TS 33.501, 13.4.1.1): JSON web tokens signed with the
//! NRF's key, for consumers that the producers' profiles allow.
use crate::registry::Entry;
use crate::{Nrf, authorisation};
use bytes::Bytes;
use http::HeaderValue;
use http::header::CACHE_CONTROL;
use martlet_nf::certificates::{self, CertificateFiles};
use martlet_nf::tokens::{Audience, Claims, KeyError, SignError, SigningKey};
use martlet_nf::{may_read_status, peer_certificate};
use martlet_sbi::{Body, BoxFuture, PathParams, Problem, Query, Request, Response, Route};
use martlet_sbi_api::nmartlet_status::NMARTLET_STATUS;
use martlet_sbi_api::nnrf_nfdiscovery::NNRF_DISC;
use martlet_sbi_api::nnrf_nfmanagement::{NNRF_NFM, NfProfile, NfService, NfStatus, NfType};
use martlet_sbi_api::nnrf_oauth2::{AccessTokenReq, AccessTokenRsp, NNRF_OAUTH2, NrfAccessToken};
use std::sync::{Arc, PoisonError, RwLock};

/// Signs tokens.
pub struct Signer(Arc<RwLock<SigningKey>>);

impl Signer {
    /// Loads a private key in PEM, and reads its file again when it changes.
    pub fn load(file: &str) -> Result<Signer, KeyError> {
        let key = Arc::new(RwLock::new(SigningKey::load(file.as_ref())?));
        let (reloaded, read) = (key.clone(), file.to_string());
        certificates::watch(CertificateFiles {
            name: "nrf.token_key".into(),
            files: vec![file.into()],
            reload: Box::new(move || {
                let key = SigningKey::load(read.as_ref())?;
                *reloaded.write().unwrap_or_else(PoisonError::into_inner) = key;
                Ok(())
            }),
            in_use: Box::new(Vec::new),
        });
        Ok(Signer(key))
    }

    fn sign(&self, claims: &Claims) -> Result<String, SignError> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).sign(claims)
    }
}

/// The routes of the service. Its errors are those of RFC 6749, 5.2, and nothing is cached.
pub fn routes(nrf: Arc<Nrf>) -> Vec<Route> {
    let as_oauth = |route: Route| {
        let inner = route.handler.clone();
        let handler = Arc::new(
            move |parameters: PathParams,
                  query: Query,
                  request: Request|
                  -> BoxFuture<'static, Result<Response, Problem>> {
                let answer = inner(parameters, query, request);
                Box::pin(async move {
                    let mut response = answer.await.unwrap_or_else(error);
                    response.headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
                    Ok(response)
                })
            },
        );
        Route { operation: route.operation, handler }
    };
    NNRF_OAUTH2.routes(nrf).into_iter().map(as_oauth).collect()
}

/// AccessTokenErr (TS 29.510, 6.3.5.2.5).
fn error(problem: Problem) -> Response {
    let own = [
        "invalid_request",
        "invalid_client",
        "invalid_grant",
        "unauthorized_client",
        "unsupported_grant_type",
        "invalid_scope",
    ];
    let code = own.into_iter().find(|code| *code == problem.cause()).unwrap_or("invalid_request");
    let status = if (400..500).contains(&problem.status()) { 400 } else { problem.status() };
    let body = serde_json::json!({"error": code, "error_description": problem.details.detail});
    let body = Body::encoded("application/json", Bytes::from(body.to_string()));
    Response { status, headers: Default::default(), body }
}

fn refused(cause: &str, detail: impl Into<String>) -> Problem {
    Problem::new(400, cause).detail(detail)
}

impl NrfAccessToken for Nrf {
    async fn access_token_request(&self, body: AccessTokenReq) -> Result<AccessTokenRsp, Problem> {
        let Some(signer) = &self.signer else {
            return Err(refused(
                "unauthorized_client",
                "this NRF issues no tokens: nrf.token_key is not configured",
            ));
        };
        if body.grant_type != "client_credentials" {
            return Err(refused(
                "unsupported_grant_type",
                "grant_type has to be client_credentials",
            ));
        }
        if body.scope.is_empty() || body.nf_instance_id.is_empty() {
            return Err(refused("invalid_request", "nfInstanceId or scope is missing"));
        }
        let is_of_callbacks = |scope: &str| scope.ends_with("-callback");
        if self.context.is_strict() && body.scope.split(' ').any(is_of_callbacks) {
            let detail = "notifications need no token (TS 33.501, 13.4.1; sbi.strict)";
            return Err(refused("invalid_scope", detail));
        }
        let (aud, scope) = {
            let state = self.state();
            let all = || state.registry.iter();
            let own = self.own_profile(&body)?;
            let consumer = match &own {
                Some(own) => own,
                None => client(all(), &body)?,
            };
            let scope = match self.is_own_target(&body) {
                true => own_scope(consumer, &body.scope)?,
                false => {
                    let targets = all().map(|entry| &entry.profile);
                    let targets: Vec<_> = targets.filter(|it| is_target(it, &body)).collect();
                    granted_scope(consumer, &targets, &body.scope)?
                }
            };
            (audience(&body)?, scope)
        };
        let claims = Claims {
            iss: self.context.instance_id().to_string(),
            sub: body.nf_instance_id,
            aud,
            scope: scope.clone(),
            exp: martlet_nf::tokens::now() + u64::from(self.config.token_s),
        };
        let token = signer.sign(&claims);
        Ok(AccessTokenRsp {
            access_token: token.map_err(|error| Problem::system_failure(error.to_string()))?,
            token_type: "Bearer".into(),
            expires_in: Some(self.config.token_s),
            scope: Some(scope),
        })
    }
}

impl Nrf {
    /// The profile of this NRF, if it is the consumer. It has no registered one, and calls no
    /// 3GPP service of others: its tokens are for notifications, and for the status of functions.
    fn own_profile(&self, body: &AccessTokenReq) -> Result<Option<NfProfile>, Problem> {
        if body.nf_instance_id != self.context.instance_id() {
            return Ok(None);
        }
        let is_allowed =
            |scope: &str| scope.ends_with("-callback") || scope == NMARTLET_STATUS::API;
        if !body.scope.split(' ').all(is_allowed) {
            let detail = "the NRF only notifies and reads the status of functions";
            return Err(refused("unauthorized_client", detail));
        }
        let id = body.nf_instance_id.parse();
        let id = id.map_err(|_| refused("invalid_client", "nfInstanceId is not an identity"))?;
        let profile = NfProfile::new(id, NfType::Nrf, NfStatus::Registered);
        // No owner is kept of the NRF itself.
        let peer = peer_certificate();
        let owner = peer.as_ref().map(|peer| peer.identity());
        if !authorisation::is_instance(peer.as_deref(), owner.as_deref(), &profile) {
            let detail = "nfInstanceId is that of the holder of another certificate";
            return Err(refused("invalid_client", detail));
        }
        Ok(Some(profile))
    }

    /// Whether a request is for services of the NRF itself, which has no registered profile.
    fn is_own_target(&self, body: &AccessTokenReq) -> bool {
        match (&body.target_nf_instance_id, &body.target_nf_type) {
            (Some(instance), _) => instance.eq_ignore_ascii_case(self.context.instance_id()),
            (None, target) => target.as_deref() == Some(NfType::Nrf.as_str()),
        }
    }
}

/// The scope of a token for the NRF's services. Each registered instance may use those of 3GPP;
/// they need no token here, but consumers of other vendors request one.
fn own_scope(consumer: &NfProfile, asked: &str) -> Result<String, Problem> {
    let own = [NNRF_NFM::API, NNRF_DISC::API, NMARTLET_STATUS::API];
    check_status_consumer(consumer, asked)?;
    let mut scopes = asked.split(' ').filter(|scope| !scope.is_empty());
    if let Some(other) = scopes.find(|scope| !own.contains(scope)) {
        return Err(refused("invalid_scope", format!("the NRF does not offer {other}")));
    }
    let granted: Vec<&str> =
        own.into_iter().filter(|own| asked.split(' ').any(|it| it == *own)).collect();
    match granted.is_empty() {
        true => Err(refused("invalid_scope", "scope names no service")),
        false => Ok(granted.join(" ")),
    }
}

/// Refuses a scope with the status of functions to consumers that may not read it.
fn check_status_consumer(consumer: &NfProfile, asked: &str) -> Result<(), Problem> {
    let is_asked = asked.split(' ').any(|scope| scope == NMARTLET_STATUS::API);
    match is_asked && !may_read_status(&consumer.nf_type) {
        true => {
            let detail = format!("{} may not use {}", consumer.nf_type, NMARTLET_STATUS::API);
            Err(refused("unauthorized_client", detail))
        }
        false => Ok(()),
    }
}

/// The registered instance that asks. It is the subject of the token, so its certificate has to be
/// that of the connection (TS 33.501, 13.4.1.1.2).
fn client<'a>(
    mut all: impl Iterator<Item = &'a Entry>,
    body: &AccessTokenReq,
) -> Result<&'a NfProfile, Problem> {
    let is_client = |entry: &&Entry| entry.profile.nf_instance_id.as_str() == body.nf_instance_id;
    let entry = all.find(is_client);
    let entry =
        entry.ok_or_else(|| refused("invalid_client", "this NF instance is not registered"))?;
    let profile = &entry.profile;
    // The registered NF type counts.
    if body.nf_type.as_deref().is_some_and(|claimed| claimed != profile.nf_type.as_str()) {
        return Err(refused("invalid_client", "this NF instance is registered with another type"));
    }
    let peer = peer_certificate();
    if !authorisation::is_instance(peer.as_deref(), entry.owner.as_deref(), profile) {
        let detail = "nfInstanceId is that of the holder of another certificate";
        return Err(refused("invalid_client", detail));
    }
    Ok(profile)
}

/// Whether a token for this request opens the services of an instance.
fn is_target(profile: &NfProfile, body: &AccessTokenReq) -> bool {
    body.target_nf_type.as_deref().is_none_or(|target| target == profile.nf_type.as_str())
        && body
            .target_nf_instance_id
            .as_deref()
            .is_none_or(|target| target.eq_ignore_ascii_case(profile.nf_instance_id.as_str()))
}

/// One instance, or all of an NF type.
fn audience(body: &AccessTokenReq) -> Result<Audience, Problem> {
    match (&body.target_nf_instance_id, &body.target_nf_type) {
        (Some(instance), _) => Ok(Audience::Many(vec![instance.clone()])),
        (None, Some(target)) => Ok(Audience::One(target.clone())),
        (None, None) => {
            Err(refused("invalid_request", "targetNfType or targetNfInstanceId is missing"))
        }
    }
}

/// The scope that the consumer gets: the services that it asks for, and the scopes of operations
/// that it may use there.
fn granted_scope(
    consumer: &NfProfile,
    producers: &[&NfProfile],
    asked: &str,
) -> Result<String, Problem> {
    check_status_consumer(consumer, asked)?;
    let mut granted: Vec<&str> = Vec::new();
    for scope in asked.split(' ').filter(|scope| !scope.is_empty()) {
        let name = scope.split(':').next().unwrap_or(scope);
        // Functions list no service for their callbacks, and each registered function may notify.
        // They do not list the status service either.
        let is_unlisted =
            |profile: &&NfProfile| name == callbacks_of(profile) || name == NMARTLET_STATUS::API;
        if scope == name && producers.iter().any(is_unlisted) {
            if !granted.contains(&name) {
                granted.push(name);
            }
            continue;
        }
        let offered: Vec<(&NfProfile, &NfService)> = producers
            .iter()
            .flat_map(|profile| services(profile).map(move |service| (*profile, service)))
            .filter(|(_, service)| service.service_name.as_str() == name)
            .collect();
        if offered.is_empty() {
            let detail = format!("no registered function of the target offers {name}");
            return Err(refused("invalid_scope", detail));
        }
        // The token opens the service at each of them.
        let is_allowed = |(profile, service): &(&NfProfile, &NfService)| {
            crate::matching::allows(profile, service, consumer)
        };
        if !offered.iter().all(is_allowed) {
            let detail = format!("{} may not use {name}", consumer.nf_type);
            return Err(refused("unauthorized_client", detail));
        }
        let operations = operations(&offered, consumer)?;
        if scope != name && !operations.iter().flatten().any(|own| *own == scope) {
            let detail = format!("{} may not use {scope}", consumer.nf_type);
            return Err(refused("invalid_scope", detail));
        }
        let more = operations.into_iter().flatten().filter(|own| scope == name || *own == scope);
        for scope in std::iter::once(name).chain(more) {
            if !granted.contains(&scope) {
                granted.push(scope);
            }
        }
    }
    match granted.is_empty() {
        true => Err(refused("invalid_scope", "scope names no service")),
        false => Ok(granted.join(" ")),
    }
}

/// The scope of notifications to a function, such as `npcf-callback`. Martlet's functions need no
/// token for them, but those of free5GC do, and request one.
fn callbacks_of(consumer: &NfProfile) -> String {
    format!("n{}-callback", consumer.nf_type.as_str().to_ascii_lowercase())
}

/// The scopes of operations that all of the producers allow the consumer; `None` if they restrict
/// no operations.
fn operations<'a>(
    offered: &[(&'a NfProfile, &'a NfService)],
    consumer: &NfProfile,
) -> Result<Option<Vec<&'a str>>, Problem> {
    let maps = offered.iter().filter_map(|(_, it)| it.allowed_operations_per_nf_type.as_ref());
    let mut common: Option<Vec<&str>> = None;
    for map in maps {
        let own = map.get(consumer.nf_type.as_str()).ok_or_else(|| {
            let detail = format!("{} may use no operation of the service", consumer.nf_type);
            refused("unauthorized_client", detail)
        })?;
        match &mut common {
            None => common = Some(own.iter().map(String::as_str).collect()),
            Some(common) => common.retain(|scope| own.iter().any(|other| other == scope)),
        }
    }
    Ok(common)
}

fn services(profile: &NfProfile) -> impl Iterator<Item = &NfService> {
    let listed = profile.nf_service_list.iter().flat_map(|list| list.values());
    listed.chain(profile.nf_services.iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(nf_type: NfType, services: serde_json::Value) -> NfProfile {
        let id = "00000000-0000-4000-8000-000000000001".parse().unwrap();
        let mut profile = NfProfile::new(id, nf_type, NfStatus::Registered);
        profile.nf_services = Some(serde_json::from_value(services).unwrap());
        profile
    }

    fn udr(allowed: serde_json::Value) -> NfProfile {
        let mut service = serde_json::json!({"serviceInstanceId": "1", "serviceName": "nudr-dr",
            "versions": [], "scheme": "https", "nfServiceStatus": "REGISTERED"});
        for (name, value) in allowed.as_object().unwrap() {
            service[name] = value.clone();
        }
        profile(NfType::Udr, serde_json::json!([service]))
    }

    #[test]
    fn a_token_for_the_nrf_is_for_its_services_alone() {
        let of_type = |nf_type| profile(nf_type, serde_json::json!([]));
        let own_scope = |asked| super::own_scope(&of_type(NfType::Amf), asked);
        assert_eq!(own_scope("nnrf-disc").unwrap(), "nnrf-disc");
        assert_eq!(own_scope("nnrf-disc  nnrf-nfm").unwrap(), "nnrf-nfm nnrf-disc");
        assert_eq!(own_scope("nmartlet-status").unwrap(), "nmartlet-status");
        let refused = super::own_scope(&of_type(NfType::Nef), "nmartlet-status").unwrap_err();
        assert_eq!(refused.cause(), "unauthorized_client");
        for wrong in ["", " ", "nudr-dr", "nnrf-disc nudr-dr", "nnrf-nfm:nf-instances:read"] {
            assert_eq!(own_scope(wrong).unwrap_err().cause(), "invalid_scope", "{wrong}");
        }
    }

    #[test]
    fn a_consumer_gets_the_operations_that_the_profiles_allow_it() {
        let restricted = udr(serde_json::json!({
            "allowedNfTypes": ["UDM", "PCF"],
            "allowedOperationsPerNfType": {"UDM": ["nudr-dr:a", "nudr-dr:b"], "PCF": []},
        }));
        let of_type = |nf_type| profile(nf_type, serde_json::json!([]));
        let (udm, pcf, lmf) = (of_type(NfType::Udm), of_type(NfType::Pcf), of_type(NfType::Lmf));
        let all = [&restricted];
        assert_eq!(granted_scope(&udm, &all, "nudr-dr").unwrap(), "nudr-dr nudr-dr:a nudr-dr:b");
        assert_eq!(granted_scope(&udm, &all, "nudr-dr:a").unwrap(), "nudr-dr nudr-dr:a");
        assert_eq!(granted_scope(&pcf, &all, "nudr-dr").unwrap(), "nudr-dr");
        assert_eq!(granted_scope(&pcf, &all, "nudr-dr:a").unwrap_err().cause(), "invalid_scope");
        assert_eq!(
            granted_scope(&lmf, &all, "nudr-dr").unwrap_err().cause(),
            "unauthorized_client"
        );
        assert_eq!(
            granted_scope(&udm, &all, "nudr-dr nsecret").unwrap_err().cause(),
            "invalid_scope"
        );
        assert_eq!(granted_scope(&udm, &[], "nudr-dr").unwrap_err().cause(), "invalid_scope");
        // Notifications to a registered function of the type.
        assert_eq!(granted_scope(&lmf, &all, "nudr-callback").unwrap(), "nudr-callback");
        for wrong in ["npcf-callback", "nudr-callback:a"] {
            assert_eq!(granted_scope(&lmf, &all, wrong).unwrap_err().cause(), "invalid_scope");
        }
        assert_eq!(granted_scope(&lmf, &[], "nudr-callback").unwrap_err().cause(), "invalid_scope");
        // The status of each registered function, for Martlet's functions alone.
        assert_eq!(granted_scope(&lmf, &all, "nmartlet-status").unwrap(), "nmartlet-status");
        for consumer in [NfType::Nef, NfType::Af] {
            let refused = granted_scope(&of_type(consumer), &all, "nmartlet-status").unwrap_err();
            assert_eq!(refused.cause(), "unauthorized_client");
        }
        assert!(granted_scope(&lmf, &[], "nmartlet-status").is_err());
        // A second producer without restrictions does not lift those of the first.
        let open = udr(serde_json::json!({}));
        let both = [&restricted, &open];
        assert_eq!(
            granted_scope(&lmf, &both, "nudr-dr").unwrap_err().cause(),
            "unauthorized_client"
        );
        assert_eq!(granted_scope(&lmf, &[&open], "nudr-dr").unwrap(), "nudr-dr");
    }
}
