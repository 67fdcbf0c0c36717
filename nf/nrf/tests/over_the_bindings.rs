//! The NRF as its consumers see it, through the local binding and over HTTP/2.
use http::header::AUTHORIZATION;
use martlet_nf::tokens::VerifyingKeys;
use martlet_nf::{
    CommonConfig, Environment, NetworkFunction, NfContext, Shutdown, StartError, start,
};
use martlet_nrf::{Nrf, NrfConfig};
use martlet_sbi::{
    ApiRoot, Bindings, Body, CallPolicy, JsonPatch, LocalBinding, OperationInfo, PatchItem, Peer,
    Problem, Request, Response, Route, Router,
};
use martlet_sbi_api::common::{Snssai, UriScheme};
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscoveryClient, SearchQuery};
use martlet_sbi_api::nnrf_nfmanagement::*;
use martlet_sbi_api::nnrf_nfstatus_callback::{NNRF_NFSTATUS_CALLBACK, NfStatusCallback};
use martlet_sbi_api::nnrf_oauth2::{AccessTokenReq, NrfAccessTokenClient};
use martlet_sbi_api::{Json, TextList};
use martlet_sbi_http::{ClientLimits, HttpBinding, ServerLimits};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

struct Consumer {
    management: NfManagementClient,
    discovery: NfDiscoveryClient,
    tokens: NrfAccessTokenClient,
    local: LocalBinding,
    // Ends the NRF when dropped.
    _trigger: martlet_nf::ShutdownTrigger,
}

/// An address of loopback that this process alone uses: a port of it is free, whatever the ports of
/// other programs are.
fn at(port: u16) -> SocketAddr {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    // Process identities have 22 bits.
    SocketAddr::from(([127, 64 | (high & 0x3f), middle, low], port))
}

async fn nrf(http: bool, port: u16) -> Consumer {
    nrf_with(http, port, NrfConfig::default(), |_| {}).await
}

async fn nrf_with(
    http: bool,
    port: u16,
    config: NrfConfig,
    change: impl FnOnce(&mut CommonConfig),
) -> Consumer {
    let (trigger, shutdown) = Shutdown::new();
    let local = LocalBinding::new();
    let remote = Arc::new(HttpBinding::new(ClientLimits::default()));
    let bindings = if http {
        Bindings::new().with_remote(remote)
    } else {
        Bindings::new().with_local(local.clone())
    };
    let environment = Environment {
        bindings: bindings.clone(),
        fabric: None,
        listen: http,
        sockets: None,
        limits: ServerLimits::default(),
        taps: vec![],
        shutdown,
    };
    let address = at(port);
    // The listener of notifications is not registered.
    let mut common = CommonConfig {
        callbacks_allow: vec!["listener".into()],
        ..CommonConfig::at(address, address)
    };
    change(&mut common);
    start::<Nrf>(config, &common, &environment).await.unwrap();
    let peer = Peer::new(
        Arc::new(bindings),
        ApiRoot::http(address.to_string()),
        "SMF",
        CallPolicy::default(),
    );
    Consumer {
        management: NfManagementClient::new(peer.clone()),
        discovery: NfDiscoveryClient::new(peer.clone()),
        tokens: NrfAccessTokenClient::new(peer),
        local,
        _trigger: trigger,
    }
}

fn smf(id: u8, dnn: &str) -> NfProfile {
    let id = format!("00000000-0000-4000-8000-0000000000{id:02x}").parse().unwrap();
    let mut profile = NfProfile::new(id, NfType::Smf, NfStatus::Registered);
    profile.ipv4_addresses = Some(vec!["127.0.0.9".parse().unwrap()]);
    profile.heart_beat_timer = Some(10);
    let item: DnnSmfInfoItem = serde_json::from_value(serde_json::json!({"dnn": dnn})).unwrap();
    let slice =
        SnssaiSmfInfoItem { s_nssai: Snssai::new(1, None).into(), dnn_smf_info_list: vec![item] };
    profile.smf_info = Some(SmfInfo { s_nssai_smf_info_list: vec![slice], ..Default::default() });
    let version = NfServiceVersion {
        api_version_in_uri: "v1".into(),
        api_full_version: "1.0.0".into(),
        expiry: None,
    };
    let name = ServiceName::from("nsmf-pdusession");
    let service = NfService::new(
        "1".into(),
        name,
        vec![version],
        UriScheme::Http,
        NfServiceStatus::Registered,
    );
    profile.nf_service_list = Some([("1".to_string(), service)].into());
    profile
}

fn find(dnn: &str) -> SearchQuery {
    SearchQuery {
        target_nf_type: Some(NfType::Smf),
        requester_nf_type: Some(NfType::Amf),
        service_names: Some(TextList(vec!["nsmf-pdusession".into()])),
        snssais: Some(Json(vec![Snssai::new(1, None)])),
        dnn: Some(dnn.parse().unwrap()),
        // It knows services as a map.
        requester_features: Some("20".into()),
        ..Default::default()
    }
}

async fn life_of_an_instance(consumer: &Consumer) -> Result<(), Problem> {
    let Consumer { management, discovery, .. } = consumer;
    let (first, second) = (smf(1, "internet"), smf(2, "ims"));
    let reply = management.register_nf_instance(&first.nf_instance_id, first.clone()).await?;
    assert_eq!(reply.status, 201);
    assert!(reply.location.unwrap().ends_with(first.nf_instance_id.as_str()));
    assert_eq!(
        management.register_nf_instance(&first.nf_instance_id, first.clone()).await?.status,
        200
    );
    management.register_nf_instance(&second.nf_instance_id, second.clone()).await?;

    let found = discovery.search_nf_instances(find("internet")).await?;
    assert_eq!(found.nf_instances, std::slice::from_ref(&first));
    // Without the feature, they are returned as an array.
    let older = SearchQuery { requester_features: None, ..find("internet") };
    let shown = discovery.search_nf_instances(older).await?.nf_instances.remove(0);
    assert_eq!(
        shown.nf_services.map(|list| list.len()),
        first.nf_service_list.as_ref().map(|map| map.len())
    );
    assert!(discovery.search_nf_instances(find("other")).await?.nf_instances.is_empty());
    let incomplete = discovery
        .search_nf_instances(SearchQuery {
            target_nf_type: Some(NfType::Smf),
            ..Default::default()
        })
        .await;
    assert_eq!(incomplete.unwrap_err().cause(), "MANDATORY_QUERY_PARAM_MISSING");

    let item = |path: &str, value: serde_json::Value| PatchItem {
        op: "replace".into(),
        path: path.into(),
        from: None,
        value: Some(value),
    };
    let beat = JsonPatch(vec![item("/nfStatus", "REGISTERED".into())]);
    assert_eq!(
        management.update_nf_instance(&first.nf_instance_id, beat.clone()).await?.status,
        204
    );
    let moved = JsonPatch(vec![item("/nfInstanceId", second.nf_instance_id.as_str().into())]);
    let refused = management.update_nf_instance(&first.nf_instance_id, moved).await.unwrap_err();
    assert_eq!(refused.cause(), "MODIFICATION_NOT_ALLOWED");
    let nonsense = JsonPatch(vec![item("/no/such/place", 1.into())]);
    assert_eq!(
        management.update_nf_instance(&first.nf_instance_id, nonsense).await.unwrap_err().status(),
        400
    );

    management.deregister_nf_instance(&first.nf_instance_id).await?;
    assert_eq!(
        management.update_nf_instance(&first.nf_instance_id, beat).await.unwrap_err().status(),
        404
    );
    assert!(discovery.search_nf_instances(find("internet")).await?.nf_instances.is_empty());
    Ok(())
}

#[tokio::test]
async fn an_instance_registers_and_deregisters_locally() {
    life_of_an_instance(&nrf(false, 47101).await).await.unwrap();
}

#[tokio::test]
async fn an_instance_registers_and_deregisters_over_http() {
    life_of_an_instance(&nrf(true, 47102).await).await.unwrap();
}

/// A function without services that is drained.
struct Drained;

impl NetworkFunction for Drained {
    const TYPE: NfType = NfType::Smf;
    type Config = ();

    async fn create(_: (), context: Arc<NfContext>) -> Result<Arc<Self>, StartError> {
        context.set_draining(true);
        Ok(Arc::new(Drained))
    }

    fn routes(self: &Arc<Self>) -> Vec<Route> {
        Vec::new()
    }
}

#[tokio::test]
async fn a_drained_function_registers_as_suspended() {
    let consumer = nrf(false, 47105).await;
    let (_trigger, shutdown) = Shutdown::new();
    let environment = Environment {
        bindings: Bindings::new().with_local(consumer.local.clone()),
        fabric: None,
        listen: false,
        sockets: None,
        limits: ServerLimits::default(),
        taps: vec![],
        shutdown,
    };
    let id = smf(1, "internet").nf_instance_id;
    let common = CommonConfig {
        instance_id: Some(id.to_string()),
        ..CommonConfig::at("127.0.0.9:7777".parse().unwrap(), at(47105))
    };
    let _function = start::<Drained>((), &common, &environment).await.unwrap();
    // The first status that the NRF has.
    let registered = async {
        loop {
            match consumer.management.get_nf_instance(&id, NfInstanceQuery::default()).await {
                Ok(profile) => return profile.nf_status,
                Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    };
    let status = tokio::time::timeout(Duration::from_secs(30), registered).await;
    assert_eq!(status, Ok(NfStatus::Suspended));
}

#[derive(Default)]
struct Listener(Mutex<Vec<(String, String)>>);
impl NfStatusCallback for Listener {
    async fn nf_status_notify(&self, body: NotificationData) -> Result<(), Problem> {
        let id = body.nf_profile.map(|p| p.nf_instance_id.to_string()).unwrap_or_default();
        self.0
            .lock()
            .unwrap()
            .push((body.event.as_str().to_string(), id[id.len() - 2..].to_string()));
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn subscribers_are_notified_of_instances_and_of_missing_heartbeats() {
    let consumer = nrf(false, 47103).await;
    let listener = Arc::new(Listener::default());
    let router = martlet_sbi::Router::new().serve(NNRF_NFSTATUS_CALLBACK.routes(listener.clone()));
    consumer.local.add("listener:1", Arc::new(router));
    let data = SubscriptionData {
        nf_status_notification_uri: "http://listener:1/nnrf-nfstatus-callback/v1/nf-status".into(),
        subscr_cond: Some(SubscrCond::nf_type(NfType::Smf)),
        ..Default::default()
    };
    let id =
        consumer.management.create_subscription(data).await.unwrap().body.subscription_id.unwrap();
    consumer
        .management
        .register_nf_instance(&smf(1, "internet").nf_instance_id, smf(1, "internet"))
        .await
        .unwrap();
    // Three heartbeats stay out, and then seven more.
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert!(
        consumer
            .discovery
            .search_nf_instances(find("internet"))
            .await
            .unwrap()
            .nf_instances
            .is_empty()
    );
    tokio::time::sleep(Duration::from_secs(71)).await;
    let notifications = std::mem::take(&mut *listener.0.lock().unwrap());
    let event = |name: &str| (name.to_string(), "01".to_string());
    assert_eq!(
        notifications,
        [event("NF_REGISTERED"), event("NF_PROFILE_CHANGED"), event("NF_DEREGISTERED")]
    );

    consumer.management.remove_subscription(&id).await.unwrap();
    consumer
        .management
        .register_nf_instance(&smf(2, "ims").nf_instance_id, smf(2, "ims"))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(listener.0.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_update_of_the_heartbeat_timer_changes_the_interval() {
    let Consumer { management, discovery, .. } = &nrf(false, 47107).await;
    let smf = smf(1, "internet");
    management.register_nf_instance(&smf.nf_instance_id, smf.clone()).await.unwrap();
    let update = async |seconds: u32| {
        let item = PatchItem {
            op: "replace".into(),
            path: "/heartBeatTimer".into(),
            from: None,
            value: Some(seconds.into()),
        };
        let reply = management
            .update_nf_instance(&smf.nf_instance_id, JsonPatch(vec![item]))
            .await
            .unwrap();
        (reply.status, reply.body.and_then(|profile| profile.heart_beat_timer))
    };
    let is_found = async || {
        let found = discovery.search_nf_instances(find("internet")).await.unwrap();
        !found.nf_instances.is_empty()
    };
    assert_eq!(update(60).await, (200, Some(60)));
    // Three of the former intervals.
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert!(is_found().await);
    // The NRF limits the interval.
    assert_eq!(update(600).await, (200, Some(60)));
    assert_eq!(update(60).await, (204, None));
    assert_eq!(update(5).await, (200, Some(5)));
    tokio::time::sleep(Duration::from_secs(16)).await;
    assert!(!is_found().await);
}

#[derive(Default)]
struct ConditionEvents(Mutex<Vec<(NotificationEventType, Option<ConditionEventType>)>>);
impl NfStatusCallback for ConditionEvents {
    async fn nf_status_notify(&self, body: NotificationData) -> Result<(), Problem> {
        assert!(body.nf_profile.is_some());
        self.0.lock().unwrap().push((body.event, body.condition_event));
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn subscribers_are_notified_of_instances_that_match_their_condition_no_longer() {
    let consumer = nrf(false, 47106).await;
    let listener = Arc::new(ConditionEvents::default());
    let router = martlet_sbi::Router::new().serve(NNRF_NFSTATUS_CALLBACK.routes(listener.clone()));
    consumer.local.add("listener:1", Arc::new(router));
    let data = SubscriptionData {
        nf_status_notification_uri: "http://listener:1/nnrf-nfstatus-callback/v1/nf-status".into(),
        subscr_cond: Some(SubscrCond { nf_set_id: Some("one".into()), ..Default::default() }),
        ..Default::default()
    };
    consumer.management.create_subscription(data).await.unwrap();
    let mut smf = smf(1, "internet");
    for sets in [["one"], ["two"], ["two"], ["one"]] {
        smf.nf_set_id_list = Some(sets.map(String::from).into());
        let id = smf.nf_instance_id.clone();
        consumer.management.register_nf_instance(&id, smf.clone()).await.unwrap();
        // The notification is delivered in the background.
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let patch = |set: &str| {
        JsonPatch(vec![PatchItem {
            op: "replace".into(),
            path: "/nfSetIdList".into(),
            from: None,
            value: Some([set].as_slice().into()),
        }])
    };
    consumer.management.update_nf_instance(&smf.nf_instance_id, patch("two")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (changed, removed) =
        (NotificationEventType::NfProfileChanged, Some(ConditionEventType::NfRemoved));
    let notifications = std::mem::take(&mut *listener.0.lock().unwrap());
    assert_eq!(
        notifications,
        [
            (NotificationEventType::NfRegistered, None),
            (changed.clone(), removed.clone()),
            (changed.clone(), Some(ConditionEventType::NfAdded)),
            (changed, removed),
        ]
    );
}

/// The callback of a subscriber that requires tokens for notifications, as free5GC's functions do
/// for theirs.
static NOTIFICATION: OperationInfo = OperationInfo {
    api: "nsmf-callback",
    version: "v1",
    name: "NFStatusNotify",
    method: http::Method::POST,
    path: "/nf-status",
    errors: &[],
    body: None,
};

#[tokio::test]
async fn a_subscriber_that_requires_tokens_gets_one_of_the_nrf() {
    const KEYS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/keys");
    const OWN: &str = "00000000-0000-4000-8000-0000000000ff";
    let config = NrfConfig { token_key: Some(format!("{KEYS}/token.pem")), ..NrfConfig::default() };
    let public = format!("{KEYS}/token.pub.pem");
    let consumer = nrf_with(false, 47104, config, |common| {
        common.token_key = Some(public.clone());
        common.instance_id = Some(OWN.into());
    })
    .await;
    let (authorizations, mut received) = tokio::sync::mpsc::unbounded_channel();
    let handler = move |_, _, request: Request| {
        let value = request.headers.get(AUTHORIZATION).map(|it| it.to_str().unwrap().to_string());
        let status = if value.is_some() { 204 } else { 401 };
        authorizations.send(value).unwrap();
        let answer: martlet_sbi::BoxFuture<'static, _> =
            Box::pin(async move { Ok(Response::new(status, Body::empty())) });
        answer
    };
    let route = Route { operation: &NOTIFICATION, handler: Arc::new(handler) };
    consumer.local.add("127.0.0.9:80", Arc::new(Router::new().serve(vec![route])));
    let register = async |profile: NfProfile| {
        let id = profile.nf_instance_id.clone();
        consumer.management.register_nf_instance(&id, profile).await.unwrap();
    };
    let subscriber = smf(1, "internet");
    register(subscriber.clone()).await;
    let data = SubscriptionData {
        nf_status_notification_uri: "http://127.0.0.9:80/nsmf-callback/v1/nf-status".into(),
        subscr_cond: Some(SubscrCond::nf_type(NfType::Smf)),
        ..Default::default()
    };
    consumer.management.create_subscription(data).await.unwrap();
    register(smf(2, "ims")).await;
    assert_eq!(received.recv().await.unwrap(), None);
    let value = received.recv().await.unwrap().unwrap();
    let keys = VerifyingKeys::load(Path::new(&public)).unwrap();
    let token = value.strip_prefix("Bearer ").unwrap();
    let claims = keys.check(token, "SMF", &subscriber.nf_instance_id).unwrap();
    assert_eq!((claims.sub.as_str(), claims.scope.as_str()), (OWN, "nsmf-callback"));
    // It is known from then on.
    register(smf(3, "ims")).await;
    assert!(received.recv().await.unwrap().is_some());

    // No peer gets a token for a service in the name of the NRF.
    let request = AccessTokenReq {
        grant_type: "client_credentials".into(),
        nf_instance_id: OWN.into(),
        nf_type: Some("NRF".into()),
        target_nf_type: Some("SMF".into()),
        target_nf_instance_id: None,
        scope: "nsmf-pdusession".into(),
    };
    let refused = consumer.tokens.access_token_request(request).await;
    assert!(refused.is_err_and(|problem| problem.status() == 400));
}
