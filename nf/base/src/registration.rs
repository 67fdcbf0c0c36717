//! Registration with the NRF (TS 23.502, 4.17; TS 29.510, 5.2.2.2): register, heartbeat,
//! deregister.
use crate::discovery::is_absence;
use crate::nrfs::Nrf;
use crate::{CommonConfig, NetworkFunction, NfContext, Shutdown};
use futures_util::future::join_all;
use martlet_interop::SbiQuirk;
use martlet_sbi::{JsonPatch, OperationInfo, PatchItem, Problem};
use martlet_sbi_api::common::{NfInstanceId, UriScheme};
use martlet_sbi_api::nnrf_nfmanagement::{
    IpEndPoint, NfInstanceQuery, NfManagementClient, NfProfile, NfService, NfServiceStatus,
    NfServiceVersion, NfStatus, ServiceName,
};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Back-off between registration attempts: short at first, since the NRF may be starting.
const FIRST_BACK_OFF: Duration = Duration::from_millis(10);
const MAX_BACK_OFF: Duration = Duration::from_secs(5);
/// Back-off from which on the NRF counts as absent.
const STARTING_BACK_OFF: Duration = Duration::from_millis(640);
/// Longest time between two heartbeats: an absent NRF is noticed within it.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// Timeout of a heartbeat.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// Time between two heartbeats while the NRF does not answer.
const ABSENCE_INTERVAL: Duration = Duration::from_millis(100);
/// Timeout of a deregistration. A new connection with certificates takes most of it on a machine
/// under load.
const DEREGISTRATION_TIMEOUT: Duration = Duration::from_secs(1);
/// Time limit for the deregistration from all NRFs, which is simultaneous.
pub(crate) const LONGEST_DEREGISTRATION: Duration = Duration::from_millis(1100);

/// The NF profile of a function: address, services, and members of its own.
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
    // NRFs and consumers of others read the array only (TS 29.510, 6.1.6.2.2).
    let services = profile.nf_service_list.iter().flat_map(|list| list.values());
    profile.nf_services = Some(services.cloned().collect());
    profile
}

fn fresh_id() -> NfInstanceId {
    let text = uuid::Uuid::new_v4().to_string();
    text.parse().expect("a UUID is an NF instance identity")
}

/// The 3GPP services, without callbacks.
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
            crate::authorisation::restrict(&mut service);
            service
        });
    }
    list
}

/// Registers with each NRF, sends heartbeats, registers again with one that has lost the
/// registration, and deregisters at the shutdown.
pub(crate) async fn maintain(context: Arc<NfContext>, profile: NfProfile, shutdown: Shutdown) {
    let id = profile.nf_instance_id.to_string();
    let lives = context.nrfs().iter().map(|nrf| maintain_at(&context, nrf, &id, &profile));
    let subscriptions = async {
        loop {
            context.nrf_changed().await;
            context.discovery().reset();
        }
    };
    tokio::select! {
        _ = join_all(lives) => {}
        () = subscriptions => {}
        () = shutdown.wait() => {
            let leave = |nrf: &Nrf| {
                let client = NfManagementClient::new(nrf.peer.within(DEREGISTRATION_TIMEOUT));
                let id = id.clone();
                let was_registered = nrf.registered.load(Ordering::Relaxed);
                let nrf = nrf.peer.root().clone();
                async move {
                    let outcome = client.deregister_nf_instance(&id).await;
                    let failed = outcome.err().filter(|problem| problem.status() != 404);
                    if let Some(problem) = failed.filter(|_| was_registered) {
                        tracing::warn!(%nrf, %problem, "not deregistered: the NRF has this \
                            instance until its heartbeats are missing");
                    }
                }
            };
            join_all(context.nrfs().iter().map(leave)).await;
        }
    }
}

/// Keeps the registration with one NRF.
async fn maintain_at(context: &NfContext, nrf: &Nrf, id: &str, profile: &NfProfile) {
    let client = NfManagementClient::new(nrf.peer.clone());
    loop {
        let interval = register(context, nrf, &client, id, profile).await;
        nrf.registered.store(true, Ordering::Relaxed);
        context.registration_changed();
        keep_alive(context, nrf, &client, id, interval).await;
        nrf.registered.store(false, Ordering::Relaxed);
        context.registration_changed();
        context.discovery().reset();
    }
}

/// Registers, with retries until it succeeds. Returns the heartbeat interval that the NRF requests.
async fn register(
    context: &NfContext,
    nrf: &Nrf,
    client: &NfManagementClient,
    id: &str,
    profile: &NfProfile,
) -> Duration {
    let mut back_off = FIRST_BACK_OFF;
    loop {
        let profile = NfProfile { nf_status: status(context), ..profile.clone() };
        let asked = profile.heart_beat_timer;
        let outcome = client.register_nf_instance(id, profile).await;
        let outcome = match outcome {
            Err(problem) => registered_despite(context, client, id, problem).await,
            Ok(reply) => Ok(reply.body),
        };
        match outcome {
            Ok(registered) => {
                nrf.state.available();
                let asked = registered.and_then(|p| p.heart_beat_timer).or(asked);
                tracing::debug!("registered with the NRF");
                return Duration::from_secs(asked.unwrap_or(10).clamp(1, 3600).into());
            }
            Err(problem) if is_absence(&problem) => {
                // The functions of a core start at the same time.
                if back_off >= STARTING_BACK_OFF {
                    nrf.state.unavailable(&problem);
                }
            }
            Err(problem) => tracing::error!(%problem, "registration rejected by the NRF"),
        }
        tokio::time::sleep(back_off).await;
        back_off = (back_off * 2).min(MAX_BACK_OFF);
    }
}

/// The profile, if the NRF has it although it answered with a problem: free5GC's fails to
/// notify others of the registration.
async fn registered_despite(
    context: &NfContext,
    client: &NfManagementClient,
    id: &str,
    problem: Problem,
) -> Result<Option<NfProfile>, Problem> {
    if context.is_strict() || problem.cause() != "NOTIFICATION_ERROR" {
        return Err(problem);
    }
    match client.get_nf_instance(id, NfInstanceQuery::default()).await {
        Ok(profile) => {
            context.tolerates(SbiQuirk::RegistrationError, &client.peer().root().authority);
            Ok(Some(profile))
        }
        Err(_) => Err(problem),
    }
}

/// Sends heartbeats until the NRF does not know the instance. While the NRF does not answer, it is
/// asked more often, so that a new NRF gets the registration at once.
async fn keep_alive(
    context: &NfContext,
    nrf: &Nrf,
    client: &NfManagementClient,
    id: &str,
    interval: Duration,
) {
    let mut pause = interval.min(CHECK_INTERVAL);
    let within = NfManagementClient::new(client.peer().within(CHECK_TIMEOUT));
    let (mut operative, mut draining) = (context.operative(), context.draining());
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = context.discovery().nrf_failed() => {}
            _ = operative.changed() => {}
            _ = draining.changed() => {}
        }
        let heartbeat = heartbeat(&status(context));
        match within.update_nf_instance(id, JsonPatch(vec![heartbeat])).await {
            Ok(_) => {
                nrf.state.available();
                pause = interval.min(CHECK_INTERVAL);
            }
            Err(problem) if problem.status() == 404 => {
                tracing::info!("registration lost at the NRF, registering again");
                return;
            }
            Err(problem) if is_absence(&problem) => {
                nrf.state.unavailable(&problem);
                pause = ABSENCE_INTERVAL;
            }
            Err(problem) => {
                tracing::warn!(%problem, "heartbeat failed");
                pause = interval.min(CHECK_INTERVAL);
            }
        }
    }
}

/// The status at the NRF.
fn status(context: &NfContext) -> NfStatus {
    match context.is_selectable() {
        true => NfStatus::Registered,
        false => NfStatus::Suspended,
    }
}

/// The heartbeat (TS 29.510, 5.2.2.3.2).
fn heartbeat(status: &NfStatus) -> PatchItem {
    PatchItem {
        op: "replace".into(),
        path: "/nfStatus".into(),
        from: None,
        value: Some(serde_json::Value::String(status.as_str().into())),
    }
}
