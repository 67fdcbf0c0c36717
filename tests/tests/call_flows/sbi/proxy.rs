//! A proxy in front of a network function, which answers as functions of other vendors do.
use crate::security::scas::{peer, problem};
use anyhow::{Context, Result};
use martlet_sbi::{OperationInfo, Response, Route, Router, Transport};
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscoveryClient, SearchQuery};
use martlet_sbi_api::nnrf_nfmanagement::{NfInstanceQuery, NfManagementClient, NfProfile, NfType};
use martlet_sbi_http::{ClientLimits, HttpBinding, HttpServer, ServerLimits};
use martlet_tests::TestCore;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Address of the proxy.
pub const AT: &str = "127.0.0.79";

/// The proxy.
pub struct Proxy {
    calls: Arc<AtomicUsize>,
    not_found: Arc<AtomicUsize>,
}

impl Proxy {
    /// Number of requests so far.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Number of answers 404 so far.
    pub fn not_found(&self) -> usize {
        self.not_found.load(Ordering::Relaxed)
    }

    /// Registers a proxy with the NRF as the better one of two instances of `kind`. It forwards the
    /// operations to `real`, and `rewrite` changes the responses. `change` changes its profile.
    pub async fn before(
        core: &TestCore,
        kind: NfType,
        real: SocketAddr,
        services: &[&'static [&'static OperationInfo]],
        change: impl Fn(&mut NfProfile),
        rewrite: fn(&OperationInfo, Response) -> Response,
    ) -> Result<Proxy> {
        let rewrite =
            move |operation: &OperationInfo, _: &str, response| rewrite(operation, response);
        let proxy = Proxy::of(real, services, rewrite).await?;
        register(core, kind, change).await?;
        Ok(proxy)
    }

    /// A proxy that is not registered. `rewrite` gets the target of the request, too.
    pub async fn of(
        real: SocketAddr,
        services: &[&'static [&'static OperationInfo]],
        rewrite: impl Fn(&OperationInfo, &str, Response) -> Response + Copy + Send + Sync + 'static,
    ) -> Result<Proxy> {
        Proxy::with_limits(real, services, ServerLimits::default(), rewrite).await
    }

    /// [`Proxy::of`] with limits, such as a guard that requires access tokens.
    pub async fn with_limits(
        real: SocketAddr,
        services: &[&'static [&'static OperationInfo]],
        limits: ServerLimits,
        rewrite: impl Fn(&OperationInfo, &str, Response) -> Response + Copy + Send + Sync + 'static,
    ) -> Result<Proxy> {
        let calls = Arc::new(AtomicUsize::new(0));
        let not_found = Arc::new(AtomicUsize::new(0));
        let binding = Arc::new(HttpBinding::new(ClientLimits::default()));
        let root = martlet_sbi::ApiRoot::http(real.to_string());
        let route = |operation: &&'static OperationInfo| {
            let operation = *operation;
            let (calls, not_found) = (calls.clone(), not_found.clone());
            let (binding, root) = (binding.clone(), root.clone());
            let handler = move |_, _, request: martlet_sbi::Request| {
                let (calls, not_found) = (calls.clone(), not_found.clone());
                let (binding, root) = (binding.clone(), root.clone());
                let forwarded: martlet_sbi::BoxFuture<'static, _> = Box::pin(async move {
                    calls.fetch_add(1, Ordering::Relaxed);
                    let target = request.target.clone();
                    let response = binding.send(&root, request).await?;
                    if response.status == 404 {
                        not_found.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(rewrite(operation, &target, response))
                });
                forwarded
            };
            Route { operation, handler: Arc::new(handler) }
        };
        let routes = services.iter().flat_map(|operations| operations.iter()).map(route);
        let router = Arc::new(Router::new().serve(routes.collect()));
        let server = HttpServer::bind(format!("{AT}:7777").parse()?, router, limits).await?;
        tokio::spawn(server.run());
        Ok(Proxy { calls, not_found })
    }
}

async fn register(core: &TestCore, kind: NfType, change: impl Fn(&mut NfProfile)) -> Result<()> {
    let IpAddr::V4(nrf) = core.config().sbi.nrf.first().ip() else {
        anyhow::bail!("IPv4 is needed")
    };
    let nrf = peer(nrf.octets()[3])?;
    let query = SearchQuery {
        target_nf_type: Some(kind),
        requester_nf_type: Some(NfType::Amf),
        ..Default::default()
    };
    let found = NfDiscoveryClient::new(nrf.clone()).search_nf_instances(query).await;
    let found = found.map_err(problem)?.nf_instances;
    let own = found.first().context("not registered")?.nf_instance_id.to_string();
    let management = NfManagementClient::new(nrf);
    // Discovery leaves out the services that an AMF may not use.
    let read = management.get_nf_instance(&own, NfInstanceQuery::default()).await;
    let mut profile = read.map_err(problem)?;
    let second_choice = NfProfile { priority: Some(10), ..profile.clone() };
    let at = AT.parse()?;
    profile.nf_instance_id = "6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f79".parse()?;
    profile.ipv4_addresses = Some(vec![at]);
    let listed = profile.nf_service_list.iter_mut().flat_map(|list| list.values_mut());
    for service in listed.chain(profile.nf_services.iter_mut().flatten()) {
        for endpoint in service.ip_end_points.iter_mut().flatten() {
            endpoint.ipv4_address = Some(at);
        }
    }
    change(&mut profile);
    let id = profile.nf_instance_id.to_string();
    management.register_nf_instance(&id, profile).await.map_err(problem)?;
    // The core's own one would register again if it were removed.
    management.register_nf_instance(&own, second_choice).await.map_err(problem)?;
    Ok(())
}
