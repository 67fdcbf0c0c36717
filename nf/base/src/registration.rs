//! A function's registration with the NRF (TS 23.502, 4.17; TS 29.510, 5.2.2.2): made, kept alive,
//! taken back.
use crate::{CommonConfig, NetworkFunction, NfContext, Shutdown};
use martlet_sbi::{JsonPatch, OperationInfo, PatchItem};
use martlet_sbi_api::common::{NfInstanceId, UriScheme};
use martlet_sbi_api::nnrf_nfmanagement::{
    IpEndPoint, NfManagementClient, NfProfile, NfService, NfServiceStatus, NfServiceVersion,
    NfStatus, ServiceName,
};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Between attempts to reach an NRF that is not there: short at first, since it may just be
/// starting.
const FIRST_BACK_OFF: Duration = Duration::from_millis(10);
const LONGEST_BACK_OFF: Duration = Duration::from_secs(5);
const FAREWELL: Duration = Duration::from_millis(300);

/// The profile of a function: its address, its services, and what it adds itself.
pub(crate) fn profile<F: NetworkFunction>(
    function: &F,
    context: &NfContext,
    common: &CommonConfig,
    served: &[&'static OperationInfo],
) -> NfProfile {
    let id: NfInstanceId = context.instance_id().parse().unwrap_or_else(|_| fresh_id());
    let mut profile = NfProfile::new(id, F::TYPE, NfStatus::Registered);
    profile.heart_beat_timer = Some(common.heartbeat_s.into());
    let authority = common.authority();
    let endpoint = match authority.parse::<SocketAddr>() {
        Ok(address) => {
            let mut endpoint = IpEndPoint { port: Some(address.port()), ..Default::default() };
            match address.ip() {
                IpAddr::V4(ip) => {
                    endpoint.ipv4_address = Some(ip);
                    profile.ipv4_addresses = Some(vec![ip]);
                }
                IpAddr::V6(ip) => {
                    endpoint.ipv6_address = Some(ip);
                    profile.ipv6_addresses = Some(vec![ip]);
                }
            }
            endpoint
        }
        Err(_) => {
            let (host, port) = authority.rsplit_once(':').unwrap_or((&authority, "80"));
            profile.fqdn = Some(host.to_string());
            IpEndPoint { port: port.parse().ok(), ..Default::default() }
        }
    };
    profile.nf_service_list = Some(services(served, &endpoint, common));
    function.profile(&mut profile);
    profile
}

fn fresh_id() -> NfInstanceId {
    let text = uuid::Uuid::new_v4().to_string();
    text.parse().expect("a UUID is an NF instance identity")
}

/// The services that 3GPP knows, without what serves callbacks.
fn services(
    served: &[&'static OperationInfo],
    endpoint: &IpEndPoint,
    common: &CommonConfig,
) -> BTreeMap<String, NfService> {
    let mut list: BTreeMap<String, NfService> = BTreeMap::new();
    for operation in served {
        let name = ServiceName::from(operation.api);
        if matches!(name, ServiceName::Other(_)) {
            continue;
        }
        list.entry(operation.api.to_string()).or_insert_with(|| {
            let version = NfServiceVersion {
                api_version_in_uri: operation.version.to_string(),
                api_full_version: format!("{}.0.0", operation.version.trim_start_matches('v')),
                expiry: None,
            };
            let status = NfServiceStatus::Registered;
            let scheme = if common.https { UriScheme::Https } else { UriScheme::Http };
            let mut service =
                NfService::new(operation.api.to_string(), name, vec![version], scheme, status);
            service.oauth2_required = common.token_key.as_ref().map(|_| true);
            service.ip_end_points = Some(vec![endpoint.clone()]);
            service
        });
    }
    list
}

/// Registers, sends heartbeats, registers again where the NRF has forgotten, and deregisters at the
/// shutdown.
pub(crate) async fn keep(context: Arc<NfContext>, profile: NfProfile, shutdown: Shutdown) {
    let nrf = NfManagementClient::new(context.nrf());
    let id = profile.nf_instance_id.to_string();
    let lives = async {
        loop {
            let interval = register(&nrf, &id, &profile).await;
            context.set_registered(true);
            while heartbeat(&nrf, &id, interval).await {}
            context.set_registered(false);
            context.discovery().start_over();
        }
    };
    tokio::select! {
        () = lives => {}
        () = shutdown.wait() => {
            let goodbye = nrf.peer().within(FAREWELL);
            let _ = NfManagementClient::new(goodbye).deregister_nf_instance(&id).await;
        }
    }
}

/// Registers, however long it takes, and returns the interval of heartbeats that the NRF asks for.
async fn register(nrf: &NfManagementClient, id: &str, profile: &NfProfile) -> Duration {
    let mut back_off = FIRST_BACK_OFF;
    loop {
        match nrf.register_nf_instance(id, profile.clone()).await {
            Ok(reply) => {
                let asked =
                    reply.body.and_then(|p| p.heart_beat_timer).or(profile.heart_beat_timer);
                tracing::debug!("registered with the NRF");
                return Duration::from_secs(asked.unwrap_or(10).clamp(1, 3600).into());
            }
            Err(problem) if problem.transport.is_some() => {
                if back_off >= Duration::from_secs(1) {
                    tracing::warn!(nrf = %nrf.peer().root(), %problem, "the NRF is not reached; is it running?");
                }
            }
            Err(problem) => tracing::error!(%problem, "the NRF refuses the registration"),
        }
        tokio::time::sleep(back_off).await;
        back_off = (back_off * 2).min(LONGEST_BACK_OFF);
    }
}

/// Sends one heartbeat after the interval; false where the NRF knows the function no more.
async fn heartbeat(nrf: &NfManagementClient, id: &str, interval: Duration) -> bool {
    tokio::time::sleep(interval).await;
    let alive = PatchItem {
        op: "replace".into(),
        path: "/nfStatus".into(),
        from: None,
        value: Some(serde_json::Value::String("REGISTERED".into())),
    };
    match nrf.update_nf_instance(id, JsonPatch(vec![alive])).await {
        Ok(_) => true,
        Err(problem) if problem.status() == 404 => {
            tracing::info!("the NRF knows this function no more; registering again");
            false
        }
        Err(problem) => {
            tracing::warn!(%problem, "a heartbeat did not reach the NRF");
            true
        }
    }
}
