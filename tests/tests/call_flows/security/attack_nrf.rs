//! Attacks of the holder of a function's certificate on the NRF: tokens for services that its
//! function does not use, and registrations in the name of others.
use anyhow::{Context, Result, ensure};
use http::header::{CACHE_CONTROL, WWW_AUTHENTICATE};
use martlet::config::{Config, PkiFile};
use martlet::core::Sbi;
use martlet::pki;
use martlet_sbi::{
    ApiRoot, Body, CallPolicy, JsonPatch, PatchItem, Payload, Peer, Problem, Request, Response,
    Transport,
};
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscoveryClient, SearchQuery};
use martlet_sbi_api::nnrf_nfmanagement::{
    DefaultNotificationSubscription, NfInstanceQuery, NfManagementClient, NfProfile, NfStatus,
    NfType, NotificationType, SubscriptionData,
};
use martlet_sbi_api::nnrf_oauth2::{AccessTokenReq, NrfAccessTokenClient};
use martlet_sbi_http::{ClientLimits, HttpBinding, Tls};
use martlet_tests::{GATEWAY, TestCore, in_namespace, reaches};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const NRF: &str = "https://127.0.0.10:7777";
const UDR: &str = "https://127.0.0.11:7777";
const UDM: &str = "https://127.0.0.12:7777";
const KEYS: &str = "/nudr-dr/v2/subscription-data/imsi-001010000000001/authentication-data/\
                    authentication-subscription";

/// A temporary folder of certificates.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Result<Folder> {
        let folder =
            std::env::temp_dir().join(format!("martlet-attack-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        pki::init(&Config::default(), &folder, &[])?;
        Ok(Folder(folder))
    }

    /// The connections of a function's certificate.
    fn holder(&self, name: &str) -> Result<Holder> {
        let file = |end: &str| self.0.join(format!("{name}{end}.pem"));
        let tls = Tls::load(&self.0.join(PkiFile::AUTHORITY), &file(""), &file("-key"))?;
        let own = tls.own().and_then(|own| own.instance_of(&name.to_ascii_uppercase()));
        let own = own.context("the certificate has no instance identity")?.to_string();
        let limits = ClientLimits { retries: 0, ..ClientLimits::default() };
        Ok(Holder(Arc::new(HttpBinding::new(limits).with_tls(Some(tls))), own))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Who holds the certificate of a function, and the identity of its instance.
struct Holder(Arc<HttpBinding>, String);

impl Holder {
    fn peer(&self, at: &str) -> Result<Peer> {
        let (root, _) = ApiRoot::split(at).context("not an API root")?;
        Ok(Peer::new(self.0.clone(), root, "LMF", CallPolicy::default()))
    }

    fn management(&self) -> Result<NfManagementClient> {
        Ok(NfManagementClient::new(self.peer(NRF)?))
    }

    async fn token(&self, request: AccessTokenReq) -> Result<Result<String, Problem>> {
        let tokens = NrfAccessTokenClient::new(self.peer(NRF)?);
        Ok(tokens.access_token_request(request).await.map(|token| token.access_token))
    }

    /// Sends a request as it is.
    async fn send(&self, at: &str, target: &str, token: Option<&str>) -> Result<Response> {
        self.ask(http::Method::GET, at, target, token, None).await
    }

    /// The same with a method and a body in JSON.
    async fn ask(
        &self,
        method: http::Method,
        at: &str,
        target: &str,
        token: Option<&str>,
        body: Option<Value>,
    ) -> Result<Response> {
        let (root, _) = ApiRoot::split(at).context("not an API root")?;
        let mut headers = http::HeaderMap::new();
        if let Some(token) = token {
            headers.insert(http::header::AUTHORIZATION, format!("bearer {token}").parse()?);
        }
        let request = Request {
            operation: None,
            method,
            target: target.into(),
            headers,
            body: match body {
                Some(json) => Body::encoded("application/json", json.to_string().into()),
                None => Body::empty(),
            },
            deadline: None,
        };
        self.0.send(&root, request).await.map_err(|problem| anyhow::anyhow!("{problem}"))
    }

    /// The registered instance of a type.
    async fn find(&self, nf_type: NfType) -> Result<NfProfile> {
        let query = SearchQuery {
            target_nf_type: Some(nf_type),
            requester_nf_type: Some(NfType::Lmf),
            ..SearchQuery::default()
        };
        let found = NfDiscoveryClient::new(self.peer(NRF)?).search_nf_instances(query).await;
        let found = found.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        found.nf_instances.into_iter().next().context("not registered")
    }
}

fn wanted(id: &str, nf_type: NfType, target: &str, scope: &str) -> AccessTokenReq {
    AccessTokenReq {
        grant_type: "client_credentials".into(),
        nf_instance_id: id.into(),
        nf_type: Some(nf_type.as_str().into()),
        target_nf_type: Some(target.into()),
        target_nf_instance_id: None,
        scope: scope.into(),
    }
}

/// A profile at the LMF's own address.
fn profile_of(id: &str, nf_type: NfType) -> Result<NfProfile> {
    let mut profile = NfProfile::new(
        id.parse().map_err(|_| anyhow::anyhow!("{id}"))?,
        nf_type,
        NfStatus::Registered,
    );
    profile.ipv4_addresses = Some(vec!["127.0.0.18".parse()?]);
    Ok(profile)
}

async fn secured_core(folder: &Path) -> Result<TestCore> {
    secured_core_on(Sbi::Http, folder).await
}

/// A core whose functions call each other over a binding, and listen with certificates.
async fn secured_core_on(sbi: Sbi, folder: &Path) -> Result<TestCore> {
    let folder = folder.display().to_string();
    TestCore::start_on(sbi, move |config| config.sbi.pki = folder).await
}

/// Expects a refusal with this cause.
fn expect<T: std::fmt::Debug>(answer: Result<T, Problem>, status: u16, cause: &str) -> Result<()> {
    let is_it = answer.as_ref().is_err_and(|it| it.status() == status && it.cause() == cause);
    ensure!(is_it, "{status} {cause} expected, not {answer:?}");
    Ok(())
}

const OWN: &str = "00000000-0000-4000-8000-00000000000a";

#[test]
fn attack_certificate_holder_gets_a_token_for_the_keys() {
    in_namespace(|| async {
        let folder = Folder::new("tokens")?;
        let core = secured_core(&folder.0).await?;
        let lmf = folder.holder("lmf")?;
        let udm_holder = folder.holder("udm")?;
        // An LMF of its own, which is registered.
        let own = lmf.1.as_str();
        let registered =
            lmf.management()?.register_nf_instance(own, profile_of(own, NfType::Lmf)?).await;
        registered.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let udm = lmf.find(NfType::Udm).await?.nf_instance_id.to_string();

        let asked = |id: &str, nf_type, target: &str, scope: &str| {
            lmf.token(wanted(id, nf_type, target, scope))
        };
        expect(asked(own, NfType::Lmf, "UDR", "nudr-dr").await?, 400, "unauthorized_client")?;
        expect(asked(&udm, NfType::Udm, "UDR", "nudr-dr").await?, 400, "invalid_client")?;
        expect(asked(own, NfType::Udm, "UDR", "nudr-dr").await?, 400, "invalid_client")?;
        expect(asked(own, NfType::Lmf, "UDM", "nudm-secrets").await?, 400, "invalid_scope")?;
        expect(asked(own, NfType::Lmf, "AMF", "nudr-dr").await?, 400, "invalid_scope")?;
        let all = asked(own, NfType::Lmf, "AMF", "namf-comm nudr-dr").await?;
        expect(all, 400, "invalid_scope")?;

        // A token for a service that the LMF uses opens no other one, and no other function.
        let token = asked(own, NfType::Lmf, "AMF", "namf-comm").await?;
        let token = token.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        for (at, target) in [(UDR, KEYS), (UDM, "/nudm-sdm/v2/imsi-001010000000001/am-data")] {
            let answer = lmf.send(at, target, Some(&token)).await?;
            let challenge = answer.headers.get(WWW_AUTHENTICATE).context("no WWW-Authenticate")?;
            let has_error = challenge.to_str()?.contains("error=\"invalid_token\"");
            ensure!(answer.status == 401 && has_error, "{answer:?}");
        }
        let answer = lmf.send(UDR, KEYS, None).await?;
        let challenge = answer.headers.get(WWW_AUTHENTICATE).context("no WWW-Authenticate")?;
        ensure!(answer.status == 401 && challenge.to_str()?.starts_with("Bearer "), "{answer:?}");

        // A UDM of the UDM's certificate has them; targetNfInstanceId alone is enough.
        let second = udm_holder.1.as_str();
        let mut profile = profile_of(second, NfType::Udm)?;
        profile.ipv4_addresses = Some(vec!["127.0.0.12".parse()?]);
        let management = udm_holder.management()?;
        let registered = management.register_nf_instance(second, profile).await;
        registered.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let udr = lmf.find(NfType::Udr).await?.nf_instance_id.to_string();
        let request = AccessTokenReq {
            target_nf_type: None,
            target_nf_instance_id: Some(udr),
            ..wanted(second, NfType::Udm, "", "nudr-dr")
        };
        let token = udm_holder.token(request).await?;
        let token = token.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let answer = udm_holder.send(UDR, KEYS, Some(&token)).await?;
        ensure!(answer.status == 200, "{answer:?}");
        let left = management.deregister_nf_instance(second).await;
        left.map_err(|problem| anyhow::anyhow!("{problem}"))?;

        // The core itself works with its tokens.
        let gnb = core.gnb(1).await?;
        core.register_use_session_and_deregister(&gnb, 1).await?;
        core.until_all_released().await
    });
}

/// A PCF reads policy data at the UDR, and no keys.
#[test]
fn attack_pcf_reads_keys_with_its_token() {
    in_namespace(|| async {
        let folder = Folder::new("scopes")?;
        let _core = secured_core(&folder.0).await?;
        let pcf = folder.holder("pcf")?;
        let own = pcf.1.as_str();
        let mut profile = profile_of(own, NfType::Pcf)?;
        profile.ipv4_addresses = Some(vec!["127.0.0.14".parse()?]);
        let registered = pcf.management()?.register_nf_instance(own, profile).await;
        registered.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let keys = "nudr-dr:subscription-data:authentication-subscription:read";
        let refused = pcf.token(wanted(own, NfType::Pcf, "UDR", keys)).await?;
        expect(refused, 400, "invalid_scope")?;
        let token = pcf.token(wanted(own, NfType::Pcf, "UDR", "nudr-dr")).await?;
        let token = token.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let answer = pcf.send(UDR, KEYS, Some(&token)).await?;
        let challenge = answer.headers.get(WWW_AUTHENTICATE).context("no WWW-Authenticate")?;
        let has_error = challenge.to_str()?.contains("error=\"insufficient_scope\"");
        ensure!(answer.status == 403 && has_error, "{answer:?}");
        let policy = "/nudr-dr/v2/policy-data/ues/imsi-001010000000001/am-data";
        let answer = pcf.send(UDR, policy, Some(&token)).await?;
        ensure!(![401, 403].contains(&answer.status), "{answer:?}");
        Ok(())
    });
}

/// A PCF and an SMF may use services of the AMF and of SMFs, but not each operation.
#[test]
fn attack_certificate_holder_gets_positions_and_ends_sessions_of_others() {
    in_namespace(|| async {
        let folder = Folder::new("operations")?;
        let core = secured_core(&folder.0).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let uri = "https://127.0.0.14:7777/messages";
        let of_ue = json!({"n1MessageClass": "LPP", "n1NotifyCallbackUri": uri});
        let of_gnbs = json!({"n2InformationClass": "NRPPa", "n2NotifyCallbackUri": uri});
        let messages = "/namf-comm/v1/ue-contexts/imsi-001010000000001/n1-n2-messages";
        let mut requests = vec![
            ("pcf", 17, format!("{messages}/subscriptions"), of_ue),
            ("pcf", 17, "/namf-comm/v1/non-ue-n2-messages/subscriptions".into(), of_gnbs),
        ];
        for session in 0..4 {
            let path = format!("/nsmf-pdusession/v1/sm-contexts/{session}/release");
            requests.push(("smf", 16, path, json!({})));
        }
        for (name, host, path, body) in requests {
            // The certificate is checked before the token, which the NRF would issue.
            let holder = folder.holder(name)?;
            let at = format!("https://127.0.0.{host}:7777");
            let answer = holder.ask(http::Method::POST, &at, &path, None, Some(body)).await?;
            let body = answer.body.to_encoded().ok().flatten().map(|it| it.bytes);
            let body = body.unwrap_or_default();
            let is_refused = String::from_utf8_lossy(&body).contains("of no function that sends");
            ensure!(answer.status == 403 && is_refused, "{path}: {answer:?}");
        }
        reaches(&ue, 1, GATEWAY).await
    });
}

/// An LMF may send positioning messages, and neither releases nor moves sessions with them.
#[test]
fn attack_certificate_holder_sends_messages_of_sessions_to_the_gnb() {
    in_namespace(|| async {
        let folder = Folder::new("transfers")?;
        let core = secured_core(&folder.0).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let lmf = folder.holder("lmf")?;
        let profile = profile_of(&lmf.1, NfType::Lmf)?;
        let registered = lmf.management()?.register_nf_instance(&lmf.1, profile).await;
        registered.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let token = lmf.token(wanted(&lmf.1, NfType::Lmf, "AMF", "namf-comm")).await?;
        let token = token.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let at = "https://127.0.0.17:7777";
        let path = "/namf-comm/v1/ue-contexts/imsi-001010000000001/n1-n2-messages";
        for (class, kind) in [("SM", "PDU_RES_REL_CMD"), ("NRPPa", "PDU_RES_SETUP_REQ")] {
            let content = json!({"ngapIeType": kind, "ngapData": {"contentId": "n2"}});
            let information = json!({"pduSessionId": 1, "n2InfoContent": content});
            let container = json!({"n2InformationClass": class, "smInfo": information});
            let body = json!({"pduSessionId": 1, "n2InfoContainer": container});
            let post = http::Method::POST;
            let answer = lmf.ask(post, at, path, Some(&token), Some(body)).await?;
            let body = answer.body.to_encoded().ok().flatten().map(|it| it.bytes);
            let body = body.unwrap_or_default();
            let is_refused = String::from_utf8_lossy(&body).contains("sends such a message");
            ensure!(answer.status == 403 && is_refused, "{class}: {answer:?}");
        }
        reaches(&ue, 1, GATEWAY).await
    });
}

#[test]
fn attack_certificate_holder_replaces_the_udm() {
    certificate_holder_replaces_the_udm(Sbi::Http, "replaced");
}

/// Functions that register over the fabric have no certificate at the NRF.
#[test]
fn attack_certificate_holder_replaces_the_udm_of_a_fabric() {
    certificate_holder_replaces_the_udm(Sbi::Fabric, "replaced-fabric");
}

fn certificate_holder_replaces_the_udm(sbi: Sbi, folder: &'static str) {
    in_namespace(move || async move {
        let folder = Folder::new(folder)?;
        let core = secured_core_on(sbi, &folder.0).await?;
        let lmf = folder.holder("lmf")?;
        let management = lmf.management()?;
        let genuine = lmf.find(NfType::Udm).await?;
        let id = genuine.nf_instance_id.to_string();

        expect(management.deregister_nf_instance(&id).await, 403, "REQUEST_NOT_ALLOWED")?;
        let mut moved = genuine.clone();
        moved.ipv4_addresses = Some(vec!["127.0.0.18".parse()?]);
        let replaced = management.register_nf_instance(&id, moved).await;
        expect(replaced, 403, "REQUEST_NOT_ALLOWED")?;
        let suspended = PatchItem {
            op: "replace".into(),
            path: "/nfStatus".into(),
            from: None,
            value: Some(serde_json::json!("SUSPENDED")),
        };
        let suspended = JsonPatch(vec![suspended]);
        let patched = management.update_nf_instance(&id, suspended).await;
        expect(patched, 403, "REQUEST_NOT_ALLOWED")?;
        // A false UDM, and an LMF at an address that is not the certificate's.
        let false_udm = management.register_nf_instance(OWN, profile_of(OWN, NfType::Udm)?).await;
        expect(false_udm, 403, "REQUEST_NOT_ALLOWED")?;
        let mut elsewhere = genuine.clone();
        elsewhere.nf_type = NfType::Lmf;
        elsewhere.nf_instance_id = lmf.1.parse().map_err(|_| anyhow::anyhow!("{}", lmf.1))?;
        let registered = management.register_nf_instance(&lmf.1, elsewhere).await;
        expect(registered, 403, "REQUEST_NOT_ALLOWED")?;

        let profile = management.get_nf_instance(&id, NfInstanceQuery::default()).await;
        let profile = profile.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        ensure!(profile.nf_status == NfStatus::Registered, "{profile:?}");
        let gnb = core.gnb(1).await?;
        core.register_use_session_and_deregister(&gnb, 1).await?;
        core.until_all_released().await
    });
}

#[test]
fn attack_certificate_holder_registers_another_instance() {
    in_namespace(|| async {
        let folder = Folder::new("instances")?;
        let _core = secured_core(&folder.0).await?;
        let lmf = folder.holder("lmf")?;
        let management = lmf.management()?;
        // An identity that no other certificate has registered yet, and that of another function.
        let pcf = folder.holder("pcf")?.1;
        for id in [OWN, pcf.as_str()] {
            let registered =
                management.register_nf_instance(id, profile_of(id, NfType::Lmf)?).await;
            expect(registered, 403, "REQUEST_NOT_ALLOWED")?;
        }
        let registered =
            management.register_nf_instance(&lmf.1, profile_of(&lmf.1, NfType::Lmf)?).await;
        registered.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        // Renewed, it is the same instance.
        pki::renew(&folder.0, &["lmf".into()], pki::FUNCTION_DAYS)?;
        ensure!(folder.holder("lmf")?.1 == lmf.1, "the identity has changed");
        let renewed = folder.holder("lmf")?.management()?;
        let left = renewed.deregister_nf_instance(&lmf.1).await;
        left.map_err(|problem| anyhow::anyhow!("{problem}"))
    });
}

#[test]
fn attack_subscription_sends_notifications_to_the_oam_port() {
    in_namespace(|| async {
        let folder = Folder::new("callbacks")?;
        let _core = secured_core(&folder.0).await?;
        let lmf = folder.holder("lmf")?;
        let management = lmf.management()?;
        let at = |uri: &str| SubscriptionData {
            nf_status_notification_uri: uri.into(),
            ..SubscriptionData::default()
        };
        for uri in [
            "http://127.0.0.1:9090/ask/charging/imsi-001010000000001/unlimited",
            "http://127.0.0.18:9090/x",
            "http://[::1]:7777/x",
            "https://127.0.0.18:7777@127.0.0.1:9090/x",
            "http://localhost:9090/x",
        ] {
            let answer = management.create_subscription(at(uri)).await;
            expect(answer, 403, "REQUEST_NOT_ALLOWED").context(uri.to_string())?;
        }
        // In its own profile, for messages that other functions send without a subscription.
        let mut profile = profile_of(&lmf.1, NfType::Lmf)?;
        let oam = "http://127.0.0.1:9090/x".into();
        let notification = DefaultNotificationSubscription::new(NotificationType::N1Messages, oam);
        profile.default_notification_subscriptions = Some(vec![notification]);
        let registered = management.register_nf_instance(&lmf.1, profile).await;
        expect(registered, 403, "REQUEST_NOT_ALLOWED")?;
        // At a registered function it is served, and another function cannot remove it.
        let own = at("https://127.0.0.18:7777/x");
        let created = management.create_subscription(own).await;
        let created = created.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let id = created.body.subscription_id.context("no identity")?;
        let other = folder.holder("pcf")?.management()?;
        expect(other.remove_subscription(&id).await, 403, "REQUEST_NOT_ALLOWED")?;
        let removed = management.remove_subscription(&id).await;
        removed.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        // A subscription that was removed, or has expired, has no owner.
        expect(management.remove_subscription(&id).await, 404, "SUBSCRIPTION_NOT_FOUND")
    });
}

/// Notifications need no token: only functions of the type that sends them may.
#[test]
fn attack_certificate_holder_sends_notifications_of_other_functions() {
    in_namespace(|| async {
        let folder = Folder::new("notifications")?;
        let core = secured_core(&folder.0).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let (lmf, udm) = (folder.holder("lmf")?, folder.holder("udm")?);
        let supi = "imsi-001010000000001";
        let deregistration = format!("/namf-callback/v1/deregistration/{supi}");
        let withdrawn = json!({
            "deregReason": "SUBSCRIPTION_WITHDRAWN", "accessType": "3GPP_ACCESS",
        });
        let resource = json!({"resourceUri": "https://127.0.0.14:7777/x", "cause": "UNSPECIFIED"});
        let profile = profile_of(OWN, NfType::Ausf)?;
        let registered = json!({
            "event": "NF_REGISTERED",
            "nfInstanceUri": format!("{NRF}/nnrf-nfm/v1/nf-instances/{OWN}"),
            "nfProfile": serde_json::to_value(profile)?,
        });
        let mut requests = vec![
            (17, deregistration.clone(), withdrawn.clone()),
            (17, format!("/namf-callback/v1/am-policy/{supi}/terminate"), resource.clone()),
            (17, format!("/namf-callback/v1/sdm-change/{supi}"), json!({"notifyItems": []})),
            (17, "/namf-callback/v1/n1-message-notify".into(), json!({})),
            (12, "/nudr-data-callback/v1/data-change".into(), json!({"notifyItems": []})),
            (14, "/nudr-policy-callback/v1/policy-data-change".into(), json!([])),
            // A false AUSF, at the LMF's own address.
            (17, "/nnrf-nfstatus-callback/v1/nf-status".into(), registered),
        ];
        for session in 0..4 {
            let reports = [
                ("sm-policy", "/terminate", resource.clone()),
                ("deregistration", "", withdrawn.clone()),
                ("charging", "", json!({"notificationType": "ABORT_CHARGING"})),
            ];
            requests.extend(reports.map(|(kind, end, body)| {
                (16, format!("/nsmf-callback/v1/{kind}/{session}{end}"), body)
            }));
            let status = json!({"statusInfo": {"resourceStatus": "RELEASED"}});
            let path = format!("/namf-callback/v1/sm-context-status/{supi}/1/{session}");
            requests.push((17, path, status));
        }
        for (host, path, body) in requests {
            let at = format!("https://127.0.0.{host}:7777");
            let answer = lmf.ask(http::Method::POST, &at, &path, None, Some(body)).await?;
            ensure!(answer.status == 403, "{path}: {answer:?}");
        }
        // With its token for `namf-comm`, it does not move the UE's context to itself, either.
        let registered = lmf.management()?;
        let registered =
            registered.register_nf_instance(&lmf.1, profile_of(&lmf.1, NfType::Lmf)?).await;
        registered.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let token = lmf.token(wanted(&lmf.1, NfType::Lmf, "AMF", "namf-comm")).await?;
        let token = token.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let context = format!("/namf-comm/v1/ue-contexts/{supi}");
        let transfer = json!({"reason": "MOBI_REG_UE_VALIDATED", "accessType": "3GPP_ACCESS"});
        let transferred = json!({"transferStatus": "TRANSFERRED"});
        let (post, put) = (http::Method::POST, http::Method::PUT);
        for (method, end, body) in [
            (&post, "/transfer", transfer),
            (&post, "/transfer-update", transferred),
            (&post, "/release", json!({"ngapCause": {"group": 0, "value": 0}})),
            (&put, "", json!({})),
        ] {
            let path = format!("{context}{end}");
            let at = "https://127.0.0.17:7777";
            let answer = lmf.ask(method.clone(), at, &path, Some(&token), Some(body)).await?;
            ensure!(answer.status == 403, "{path}: {answer:?}");
        }
        reaches(&ue, 1, GATEWAY).await?;
        ensure!(core.counts().registered == 1, "{:?}", core.counts());
        // The UDM's is accepted.
        let at = "https://127.0.0.17:7777";
        let answer = udm.ask(post, at, &deregistration, None, Some(withdrawn)).await?;
        ensure!((200..300).contains(&answer.status), "{answer:?}");
        core.until_all_released().await
    });
}

/// RFC 6749, 5.1 and 5.2: answers are not cached, and errors are OAuth's.
#[test]
fn token_errors_are_those_of_oauth() {
    in_namespace(|| async {
        let folder = Folder::new("oauth")?;
        let _core = secured_core(&folder.0).await?;
        let lmf = folder.holder("lmf")?;
        let (root, _) = ApiRoot::split(NRF).context("not an API root")?;
        let encoded = wanted(OWN, NfType::Lmf, "AMF", "namf-comm").encode();
        let encoded = encoded.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let encoded = encoded.context("no form")?;
        let request = Request {
            operation: None,
            method: http::Method::POST,
            target: "/oauth2/token".into(),
            headers: http::HeaderMap::new(),
            body: martlet_sbi::Body::encoded(encoded.content_type, encoded.bytes),
            deadline: None,
        };
        let answer = lmf.0.send(&root, request).await;
        let answer = answer.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        let cache = answer.headers.get(CACHE_CONTROL).context("no Cache-Control")?;
        ensure!(answer.status == 400 && cache == "no-store", "{answer:?}");
        let body = answer.body.to_encoded().ok().flatten().context("no body")?;
        ensure!(body.content_type.starts_with("application/json"), "{}", body.content_type);
        let error: serde_json::Value = serde_json::from_slice(&body.bytes)?;
        ensure!(error["error"] == "invalid_client", "{error}");
        Ok(())
    });
}
