//! The API root of a producer, from its profile.
use martlet_sbi::ApiRoot;
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NfService, NfStatus};

/// A service of an instance.
pub(super) struct Candidate {
    pub priority: u32,
    pub root: ApiRoot,
    /// Its `apiPrefix` is the whole API root.
    pub is_absolute: bool,
}

/// An instance's service, if the instance is registered.
pub(super) fn candidate(profile: &NfProfile, api: &str) -> Option<Candidate> {
    if profile.nf_status != NfStatus::Registered {
        return None;
    }
    let listed = profile.nf_service_list.iter().flat_map(|list| list.values());
    let service = listed
        .chain(profile.nf_services.iter().flatten())
        .find(|s| s.service_name.as_str() == api)?;
    let priority = service.priority.or(profile.priority).unwrap_or(0);
    let (root, is_absolute) = root_of(profile, service)?;
    Some(Candidate { priority: priority.into(), root, is_absolute })
}

/// The API root of an instance: that of its first service.
pub(crate) fn root_of_instance(profile: &NfProfile) -> Option<ApiRoot> {
    let listed = profile.nf_service_list.iter().flat_map(|list| list.values());
    let service = listed.chain(profile.nf_services.iter().flatten()).next()?;
    Some(root_of(profile, service)?.0)
}

/// The API root of a service, and whether an absolute `apiPrefix` has it.
fn root_of(profile: &NfProfile, service: &NfService) -> Option<(ApiRoot, bool)> {
    if let Some((root, path)) = service.api_prefix.as_deref().and_then(ApiRoot::split) {
        return Some((ApiRoot { prefix: path.trim_end_matches('/').to_string(), ..root }, true));
    }
    let endpoint = service.ip_end_points.as_ref().and_then(|list| list.first());
    let scheme = service.scheme.as_str();
    let port = endpoint.and_then(|e| e.port).unwrap_or(if scheme == "https" { 443 } else { 80 });
    let ipv4 = endpoint
        .and_then(|e| e.ipv4_address)
        .or_else(|| profile.ipv4_addresses.as_ref()?.first().copied());
    let ipv6 = endpoint
        .and_then(|e| e.ipv6_address)
        .or_else(|| profile.ipv6_addresses.as_ref()?.first().copied());
    let host = match (ipv4, ipv6) {
        (Some(ip), _) => ip.to_string(),
        (None, Some(ip)) => format!("[{ip}]"),
        (None, None) => service.fqdn.clone().or_else(|| profile.fqdn.clone())?,
    };
    let prefix =
        service.api_prefix.as_ref().map_or(String::new(), |p| format!("/{}", p.trim_matches('/')));
    let root = ApiRoot { scheme: scheme.to_string(), authority: format!("{host}:{port}"), prefix };
    Some((root, false))
}
