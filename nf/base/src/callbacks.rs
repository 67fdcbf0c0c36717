//! The allowed targets of notifications: registered functions, and the addresses of
//! `sbi.callbacks.allow`. A consumer cannot have requests sent to any other address, such as the
//! loopback or the OAM port of a machine.
use crate::profiles::Profiles;
use martlet_sbi::{ApiRoot, BoxFuture, Problem};
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NfType};
use prometheus::{IntCounter, register_int_counter};
use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// Time for which a registered address stays known without another request to the NRF.
const VALIDITY: Duration = Duration::from_secs(60);
/// Minimum time between two requests to the NRF, so that consumers cannot cause more. A consumer
/// that may have registered since the last request waits for the next one.
const INTERVAL: Duration = Duration::from_millis(100);

static REFUSED: LazyLock<IntCounter> = LazyLock::new(|| {
    register_int_counter!(
        "martlet_sbi_callbacks_refused_total",
        "Subscriptions refused because their notifications would go to no registered function"
    )
    .expect("registered once")
});

/// The hosts and ports of an instance's services.
pub fn authorities(profile: &NfProfile) -> Vec<String> {
    let listed = profile.nf_service_list.iter().flat_map(|list| list.values());
    let mut all = Vec::new();
    for service in listed.chain(profile.nf_services.iter().flatten()) {
        if let Some((root, _)) = service.api_prefix.as_deref().and_then(ApiRoot::split) {
            all.push(root.authority);
        }
        let default = if service.scheme.as_str() == "https" { 443 } else { 80 };
        let mut hosts: Vec<String> = Vec::new();
        let of_profile = (&profile.ipv4_addresses, &profile.ipv6_addresses);
        hosts.extend(of_profile.0.iter().flatten().map(|ip| ip.to_string()));
        hosts.extend(of_profile.1.iter().flatten().map(|ip| format!("[{ip}]")));
        hosts.extend(service.fqdn.iter().chain(&profile.fqdn).cloned());
        let endpoints = service.ip_end_points.iter().flatten();
        let mut ports: Vec<u16> = Vec::new();
        for endpoint in endpoints {
            let port = endpoint.port.unwrap_or(default);
            ports.push(port);
            let ipv4 = endpoint.ipv4_address.map(|ip| ip.to_string());
            let ipv6 = endpoint.ipv6_address.map(|ip| format!("[{ip}]"));
            all.extend(ipv4.into_iter().chain(ipv6).map(|host| format!("{host}:{port}")));
        }
        if ports.is_empty() {
            ports.push(default);
        }
        for port in ports {
            all.extend(hosts.iter().map(|host| format!("{host}:{port}")));
        }
    }
    all
}

/// Host and port of a URI, with the default port of its scheme.
pub fn authority(uri: &str) -> Option<String> {
    let (root, _) = ApiRoot::split(uri)?;
    // With an @, the part before it is user information and not the host.
    if root.authority.is_empty() || root.authority.contains('@') {
        return None;
    }
    let after_bracket = root.authority.rsplit(']').next().unwrap_or_default();
    Some(match (after_bracket.contains(':'), root.scheme.as_str()) {
        (true, _) => root.authority,
        (false, "https") => format!("{}:443", root.authority),
        (false, _) => format!("{}:80", root.authority),
    })
}

/// The host of a host and port.
fn host(authority: &str) -> &str {
    authority.rsplit_once(':').map_or(authority, |(host, _)| host)
}

/// Whether two hosts with ports have the same host.
pub fn is_same_host(one: &str, other: &str) -> bool {
    host(one).eq_ignore_ascii_case(host(other))
}

/// Whether a host and port is in `sbi.callbacks.allow`: `host:port`, or `host` for all ports.
pub fn is_allowed(allow: &[String], authority: &str) -> bool {
    allow.iter().any(|one| one == authority || one == host(authority))
}

/// A consumer, known by the host and port of its callbacks, has at most half of a limit of
/// subscriptions, so that there is room for others. A profile may name many ports, so all of a host
/// have at most three quarters. `others` are the URIs of all subscriptions.
///
/// # Errors
/// 403 if it has them.
pub fn check_share<'a>(
    uri: &str,
    others: impl Iterator<Item = &'a str>,
    max: usize,
) -> Result<(), Problem> {
    let Some(consumer) = authority(uri) else { return Ok(()) };
    let (mut own, mut of_host) = (0, 0);
    for other in others.filter_map(authority) {
        own += usize::from(other == consumer);
        of_host += usize::from(is_same_host(&other, &consumer));
    }
    let detail = if own >= max.div_ceil(2) {
        format!("the consumer has {own} subscriptions, half of the limit of {max}")
    } else if of_host >= max - max / 4 {
        format!("the consumer's host has {of_host} subscriptions, most of the limit of {max}")
    } else {
        return Ok(());
    };
    if let Some(suppressed) = martlet_log_limit::line("subscriptions_of_a_consumer", 0) {
        tracing::warn!(uri, suppressed, detail, "subscription refused: the consumer has too many");
    }
    Err(Problem::new(403, "QUOTA_EXCEEDED").detail(detail))
}

/// The refusal of a callback URI.
pub fn refusal(uri: &str) -> Problem {
    REFUSED.inc();
    if let Some(suppressed) = martlet_log_limit::line("callback", 0) {
        tracing::warn!(uri, suppressed, "callback URI refused: no registered function is there");
    }
    Problem::new(403, "REQUEST_NOT_ALLOWED").detail(format!(
        "{uri:?} is not the address of a registered function: register it with the NRF, or add \
         its host to sbi.callbacks.allow"
    ))
}

/// The registered addresses with the types of their functions, as the NRF reports them.
#[derive(Default)]
struct Known {
    functions: HashMap<String, NfType>,
    /// When the NRF was asked.
    at: Option<Instant>,
}

/// Decides where a function sends notifications.
pub(crate) struct Callbacks {
    allow: Vec<String>,
    profiles: Profiles,
    known: Mutex<Known>,
}

impl Callbacks {
    pub fn new(profiles: Profiles, allow: Vec<String>) -> Self {
        Callbacks { allow, profiles, known: Mutex::default() }
    }

    /// Whether the configuration allows a host and port.
    pub fn is_allowed(&self, authority: &str) -> bool {
        is_allowed(&self.allow, authority)
    }

    /// Whether notifications may go to a URI.
    ///
    /// # Errors
    /// 403 if no registered function is there; the NRF's failure if it cannot be asked.
    pub async fn check(&self, uri: &str) -> Result<(), Problem> {
        if ApiRoot::split(uri).is_none() {
            let detail = format!("{uri:?} is not an http or https URI");
            return Err(Problem::new(400, "MANDATORY_IE_INCORRECT").detail(detail));
        }
        let Some(authority) = authority(uri) else { return Err(refusal(uri)) };
        if self.is_allowed(&authority) {
            return Ok(());
        }
        match self.registered(&authority).await? {
            Some(_) => Ok(()),
            None => Err(refusal(uri)),
        }
    }

    /// The type of the function that is registered at a host and port, if there is one. Boxed: the
    /// crate of each network function would compile it again otherwise.
    ///
    /// # Errors
    /// The NRF's failure if it cannot be asked.
    pub fn registered<'a>(
        &'a self,
        authority: &'a str,
    ) -> BoxFuture<'a, Result<Option<NfType>, Problem>> {
        Box::pin(self.find_registered(authority))
    }

    async fn find_registered(&self, authority: &str) -> Result<Option<NfType>, Problem> {
        let asked = Instant::now();
        loop {
            let mut known = self.known.lock().await;
            let function = known.functions.get(authority).cloned();
            let is_known = function.is_some();
            let age = known.at.map_or(Duration::MAX, |at| at.elapsed());
            // Or the NRF was asked after this request had arrived.
            if (is_known && age < VALIDITY) || (!is_known && known.at.is_some_and(|at| at >= asked))
            {
                return Ok(function);
            }
            if !is_known && age < INTERVAL {
                drop(known);
                tokio::time::sleep(INTERVAL - age).await;
                continue;
            }
            let at = Instant::now();
            match self.functions().await {
                Ok(functions) => (known.functions, known.at) = (functions, Some(at)),
                // While the NRF does not answer, the addresses of its last answer stay valid.
                Err(problem) if is_known => {
                    tracing::debug!(%problem, "addresses not refreshed");
                    known.at = Some(at);
                }
                Err(problem) => return Err(problem),
            }
            return Ok(known.functions.get(authority).cloned());
        }
    }

    async fn functions(&self) -> Result<HashMap<String, NfType>, Problem> {
        let profiles = self.profiles.all().await?;
        let of_profile = |profile: &NfProfile| {
            let nf_type = profile.nf_type.clone();
            authorities(profile).into_iter().map(move |authority| (authority, nf_type.clone()))
        };
        Ok(profiles.iter().flat_map(of_profile).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_consumer_has_at_most_half_of_the_subscriptions() {
        let uri = |n: usize| format!("http://127.0.0.9:80/{n}");
        let held: Vec<String> = (0..2).map(uri).chain(["http://127.0.0.8/x".into()]).collect();
        let check = |uri, max| check_share(uri, held.iter().map(String::as_str), max);
        assert!(check("http://127.0.0.9/new", 5).is_ok());
        assert_eq!(check("http://127.0.0.9/new", 4).unwrap_err().cause(), "QUOTA_EXCEEDED");
        assert!(check("http://127.0.0.8/new", 4).is_ok());
    }

    #[test]
    fn a_host_with_many_ports_leaves_subscriptions_to_others() {
        let uri = |port: usize| format!("http://amf.example:{port}/x");
        let held: Vec<String> = (1..=12).map(uri).collect();
        let check = |uri, held: &[String]| check_share(uri, held.iter().map(String::as_str), 16);
        assert!(check("http://amf.example:13/x", &held[1..]).is_ok());
        for same in ["http://amf.example:13/x", "https://AMF.example/x"] {
            assert_eq!(check(same, &held).unwrap_err().cause(), "QUOTA_EXCEEDED", "{same}");
        }
        assert!(check("http://smf.example:1/x", &held).is_ok());
    }

    #[test]
    fn an_authority_has_a_port_and_no_user() {
        assert_eq!(authority("http://amf.example/x").as_deref(), Some("amf.example:80"));
        assert_eq!(authority("https://[::1]/x").as_deref(), Some("[::1]:443"));
        assert_eq!(authority("http://127.0.0.17:7777/x").as_deref(), Some("127.0.0.17:7777"));
        assert_eq!(authority("http://127.0.0.17:7777@127.0.0.1:80/x"), None);
        let allow = ["127.0.0.9:80".to_string(), "af.example".to_string()];
        assert!(is_allowed(&allow, "127.0.0.9:80") && is_allowed(&allow, "af.example:1"));
        assert!(!is_allowed(&allow, "127.0.0.9:81") && !is_allowed(&allow, "127.0.0.1:80"));
    }
}
