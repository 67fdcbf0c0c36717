//! Other producers for one that failed: members of its NF set (TS 29.500, 6.12), or any producer of
//! a service that keeps no state.
use super::criteria::SERVICE_MAP;
use super::{AVOIDANCE, CACHE_SIZE, Discovery};
use crate::binding::Binding;
use martlet_sbi::{ApiRoot, Request};
use martlet_sbi_api::TextList;
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscoveryClient, SearchQuery};
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, ServiceName};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The members of an NF set, as the NRF last reported.
pub(super) struct Members {
    /// The `nfInstanceId` of each. None until the NRF has answered.
    instances: Option<Vec<String>>,
    until: Instant,
}

impl Members {
    /// Whether the set has a member besides the binding's instance. True if not known yet.
    fn has_other(&self, binding: &Binding) -> bool {
        let Some(instances) = &self.instances else { return true };
        match &binding.instance {
            Some(own) => instances.iter().any(|instance| instance != own),
            None => instances.len() > 1,
        }
    }
}

impl Discovery {
    /// Records the binding of a producer.
    pub(crate) fn add_binding(&self, root: &ApiRoot, binding: Binding) {
        let mut state = self.state();
        if state.sets.len() < CACHE_SIZE || state.sets.contains_key(root) {
            state.sets.insert(root.clone(), binding);
        }
    }

    /// Whether the producer's set has other members. A failed producer may have left the set.
    pub(crate) fn has_other_members(self: &Arc<Self>, root: &ApiRoot) -> bool {
        let state = &mut *self.state();
        let Some(binding) = state.sets.get(root) else { return false };
        let now = Instant::now();
        let known = state.members.get(&binding.set);
        if let Some(members) = known.filter(|members| members.until > now) {
            return members.has_other(binding);
        }
        let members = Members {
            instances: known.and_then(|members| members.instances.clone()),
            until: now + AVOIDANCE,
        };
        let beside = members.has_other(binding);
        if state.members.len() < CACHE_SIZE || known.is_some() {
            martlet_tasks::spawn(self.clone().ask_members(binding.clone()));
            state.members.insert(binding.set.clone(), members);
        }
        beside
    }

    /// Requests the members of a set from the NRF.
    async fn ask_members(self: Arc<Self>, binding: Binding) {
        let Some(target) = binding.nf_type() else { return };
        self.subscribed(&target);
        let query = SearchQuery {
            target_nf_type: Some(target),
            requester_nf_type: Some(self.requester.clone()),
            requester_nf_instance_id: self.instance.clone(),
            target_nf_set_id: Some(binding.set.clone()),
            requester_features: Some(SERVICE_MAP.into()),
            ..Default::default()
        };
        if let Ok(found) = NfDiscoveryClient::new(self.nrf.clone()).search_nf_instances(query).await
        {
            let until = Instant::now() + Duration::from_secs(found.validity_period.into());
            let instances = found
                .nf_instances
                .iter()
                .map(|profile| profile.nf_instance_id.to_string())
                .collect();
            self.state().members.insert(binding.set, Members { instances: Some(instances), until });
        }
    }

    /// The replacement of a producer that failed recently.
    pub(crate) fn replacement(&self, root: &ApiRoot) -> Option<ApiRoot> {
        let mut state = self.state();
        if state.replacements.is_empty() {
            return None;
        }
        let now = Instant::now();
        state.replacements.retain(|_, (_, until)| *until > now);
        state.replacements.get(root).map(|(other, _)| other.clone())
    }

    /// Reselects another member of a failed producer's set (TS 29.500, 6.12.1). Returns its root
    /// and the binding.
    pub(crate) async fn reselect(
        self: &Arc<Self>,
        root: &ApiRoot,
        api: &str,
    ) -> Option<(ApiRoot, Binding)> {
        let binding = self.state().sets.get(root).cloned()?;
        let target = binding.nf_type()?;
        // A callback has no other producer than its URI's.
        let service =
            Some(ServiceName::from(api)).filter(|name| !matches!(name, ServiceName::Other(_)))?;
        let query = SearchQuery {
            target_nf_type: Some(target.clone()),
            requester_nf_type: Some(self.requester.clone()),
            requester_nf_instance_id: self.instance.clone(),
            service_names: Some(TextList(vec![service])),
            target_nf_set_id: Some(binding.set.clone()),
            requester_features: Some(SERVICE_MAP.into()),
            ..Default::default()
        };
        let found = NfDiscoveryClient::new(self.nrf.clone()).search_nf_instances(query).await;
        let found = found
            .inspect_err(|problem| tracing::debug!(%problem, "NF set has no other member"))
            .ok()?;
        let member = |profile: &NfProfile| {
            Some((self.candidate(profile, api)?, profile.nf_instance_id.to_string()))
        };
        let mut members: Vec<_> = found.nf_instances.iter().filter_map(member).collect();
        let mut state = self.state();
        let now = Instant::now();
        members.retain(|((_, other), _)| {
            other != root
                && *other != self.own_root
                && state.suspects.get(other).is_none_or(|until| *until <= now)
        });
        members.sort_by_key(|((priority, _), _)| *priority);
        let ((_, other), instance) = members.into_iter().next()?;
        if state.replacements.len() < CACHE_SIZE {
            state.replacements.insert(root.clone(), (other.clone(), now + AVOIDANCE));
        }
        state.sets.insert(other.clone(), Binding { instance: Some(instance), ..binding.clone() });
        tracing::warn!(
            failed = %root,
            other = %other,
            set = binding.set,
            "producer failed, another member of its set selected"
        );
        Some((other, binding))
    }

    /// The other producers of a request that any of them can serve.
    pub(crate) fn alternatives(&self, root: &ApiRoot, request: &Request) -> Vec<ApiRoot> {
        let Some(api) = replaceable_service(root, request) else { return Vec::new() };
        let state = self.state();
        let mut lists = state.last_known.values();
        let list = lists.find(|(of, all)| *of == api && all.contains(root));
        // One that was suspended since it was selected is in no list any more.
        let list = list.or_else(|| state.last_known.get(api));
        let others = list.into_iter().flat_map(|(_, all)| all);
        others.filter(|other| *other != root).cloned().collect()
    }
}

/// Services whose producers have no state of their own, so that each serves each request.
const STATELESS: [&str; 8] = [
    "nudr-dr",
    "nudm-ueau",
    "nudm-uecm",
    "nudm-sdm",
    "nnssf-nsselection",
    "nnssf-nssaiavailability",
    "nlmf-loc",
    "nnrf-disc",
];
/// Services whose producers hold the resources that they created. Any producer can create one.
const WITH_RESOURCES: [&str; 4] =
    ["nausf-auth", "npcf-am-policy-control", "npcf-smpolicycontrol", "nchf-convergedcharging"];

/// The service of a request that another producer can serve as well.
fn replaceable_service<'a>(root: &ApiRoot, request: &'a Request) -> Option<&'a str> {
    let path = request.target.strip_prefix(&*root.prefix)?.split('?').next()?;
    let mut segments = path.trim_matches('/').split('/');
    let api = segments.next()?;
    // API, version and collection: a resource is created.
    let creates = request.method == http::Method::POST && segments.count() == 2;
    let is_replaceable = STATELESS.contains(&api) || creates && WITH_RESOURCES.contains(&api);
    is_replaceable.then_some(api)
}
