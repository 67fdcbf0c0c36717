//! Nnrf_NFManagement (TS 29.510, 5.2).
use crate::Nrf;
use crate::authorisation::{check_instance_owner, check_profile, check_subscription_owner};
use crate::registry::Entry;
use crate::subscriptions::StatusEvent;
use martlet_interop::{Quirk, SbiQuirk};
use martlet_nf::{callbacks, peer_certificate};
use martlet_sbi::{Created, JsonPatch, PatchError, Problem, StatusReply};
use martlet_sbi_api::common::{DateTime, Links};
use martlet_sbi_api::nnrf_nfmanagement::{
    NfInstanceQuery, NfInstancesQuery, NfManagement, NfProfile, NfStatus, SERVICE_MAP,
    SubscriptionData, UriList,
};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// The heartbeat interval if the instance requests none.
const DEFAULT_HEARTBEAT_S: u32 = 10;
/// The heartbeat interval of an instance that need not send any.
const FOREVER_S: u64 = u32::MAX as u64;

impl NfManagement for Nrf {
    async fn get_nf_instances(&self, query: NfInstancesQuery) -> Result<UriList, Problem> {
        let root = self.context.api_root();
        let state = self.state();
        let of_type =
            |entry: &&Entry| query.nf_type.as_ref().is_none_or(|t| *t == entry.profile.nf_type);
        let uris: Vec<String> = state
            .registry
            .iter()
            .filter(of_type)
            .map(|entry| {
                format!("{root}/nnrf-nfm/v1/nf-instances/{}", entry.profile.nf_instance_id)
            })
            .collect();
        let total = uris.len();
        let size = query.page_size.or(query.limit).map_or(total.max(1), |n| n as usize);
        let skip = (query.page_number.unwrap_or(1).max(1) as usize - 1).saturating_mul(size);
        let shown: Vec<_> = uris.into_iter().skip(skip).take(size).collect();
        let items = Links::Many(
            shown
                .into_iter()
                .map(|uri| martlet_sbi_api::common::Link { href: Some(uri) })
                .collect(),
        );
        let own = Links::to(format!("{root}/nnrf-nfm/v1/nf-instances"));
        let links = BTreeMap::from([("self".to_string(), own), ("item".to_string(), items)]);
        Ok(UriList { links: Some(links), total_item_count: Some(total as u32) })
    }

    async fn get_nf_instance(
        &self,
        nf_instance_id: &str,
        _: NfInstanceQuery,
    ) -> Result<NfProfile, Problem> {
        let state = self.state();
        state
            .registry
            .get(nf_instance_id)
            .map(|entry| entry.profile.clone())
            .ok_or_else(|| unknown(nf_instance_id))
    }

    async fn register_nf_instance(
        &self,
        nf_instance_id: &str,
        body: NfProfile,
    ) -> Result<StatusReply<NfProfile>, Problem> {
        let mut profile = body;
        if profile.nf_instance_id.as_str() != nf_instance_id {
            return Err(Problem::mandatory_ie_incorrect(
                "/nfInstanceId",
                "it differs from the path's",
            ));
        }
        if profile.fqdn.is_none()
            && profile.ipv4_addresses.is_none()
            && profile.ipv6_addresses.is_none()
        {
            let detail = "the profile has neither an FQDN nor an IP address";
            return Err(Problem::new(400, "MANDATORY_IE_MISSING").detail(detail));
        }
        let peer = peer_certificate();
        check_profile(peer.as_deref(), &profile)?;
        let asked = profile.heart_beat_timer;
        let interval = self.heartbeat_s(asked);
        profile.heart_beat_timer = Some(interval);
        let silent = self.config.interop.no_heartbeats && asked.is_none();
        if silent {
            SbiQuirk::NoHeartbeats.met("nrf", nf_instance_id);
        }
        let interval = Duration::from_secs(if silent { FOREVER_S } else { interval.into() });
        let owner = peer.as_ref().map(|peer| peer.identity());
        let (before, replaced) = {
            let mut state = self.state();
            for held in state.registry.in_any_case(nf_instance_id) {
                check_instance_owner(peer.as_deref(), held.owner.as_deref(), nf_instance_id)?;
            }
            let replaced = state.registry.remove_replaced(&profile, owner.as_deref());
            let entry = Entry {
                profile: profile.clone(),
                owner,
                interval,
                seen: Instant::now(),
                is_restored: false,
            };
            let before = state.registry.put(entry).map_err(|full| {
                Problem::new(500, "INSUFFICIENT_RESOURCES").detail(full.to_string())
            })?;
            (before, replaced)
        };
        replaced.iter().for_each(|id| self.persist_instance(id));
        self.persist_instance(nf_instance_id);
        let (nf, id) = (profile.nf_type.as_str(), nf_instance_id);
        tracing::debug!(nf, id, again = before.is_some(), "registered");
        Ok(match before {
            Some(before) => {
                self.notify(StatusEvent::Changed { before: &before, is_minor: false }, &profile);
                StatusReply::ok(self.answer(profile))
            }
            None => {
                self.notify(StatusEvent::Registered, &profile);
                let location = format!("{}/nnrf-nfm/v1/nf-instances/{id}", self.context.api_root());
                StatusReply::created(location, self.answer(profile))
            }
        })
    }

    async fn update_nf_instance(
        &self,
        nf_instance_id: &str,
        body: JsonPatch,
    ) -> Result<StatusReply<NfProfile>, Problem> {
        let (before, updated, is_minor, is_as_asked) = {
            let mut state = self.state();
            let entry =
                state.registry.get_mut(nf_instance_id).ok_or_else(|| unknown(nf_instance_id))?;
            let peer = peer_certificate();
            check_instance_owner(peer.as_deref(), entry.owner.as_deref(), nf_instance_id)?;
            let mut patched = body.apply_to(&entry.profile).map_err(PatchError::into_problem)?;
            if patched.nf_instance_id != entry.profile.nf_instance_id
                || patched.nf_type != entry.profile.nf_type
            {
                let detail = "identity and type of an instance cannot change";
                return Err(Problem::new(403, "MODIFICATION_NOT_ALLOWED").detail(detail));
            }
            if patched != entry.profile {
                check_profile(peer.as_deref(), &patched)?;
            }
            let asked = patched.heart_beat_timer;
            if asked != entry.profile.heart_beat_timer {
                let interval = self.heartbeat_s(asked);
                patched.heart_beat_timer = Some(interval);
                entry.interval = Duration::from_secs(interval.into());
            }
            let is_as_asked = patched.heart_beat_timer == asked;
            (entry.seen, entry.is_restored) = (Instant::now(), false);
            // A heartbeat, or a change of load alone (5.2.2.3.2).
            let quiet = |item: &martlet_sbi::PatchItem| {
                matches!(item.path.as_str(), "/nfStatus" | "/load" | "/loadTimeStamp")
            };
            let changed = patched != entry.profile;
            let heartbeat =
                body.0.iter().all(quiet) && patched.nf_status == entry.profile.nf_status;
            let before = changed.then(|| std::mem::replace(&mut entry.profile, patched.clone()));
            (before, patched, heartbeat, is_as_asked)
        };
        let Some(before) = before else {
            // 204 if everything is as requested (5.2.2.3.1).
            return Ok(match is_as_asked {
                true => StatusReply::no_content(),
                false => StatusReply::ok(updated),
            });
        };
        self.persist_instance(nf_instance_id);
        self.notify(StatusEvent::Changed { before: &before, is_minor }, &updated);
        Ok(if is_minor { StatusReply::no_content() } else { StatusReply::ok(updated) })
    }

    async fn deregister_nf_instance(&self, nf_instance_id: &str) -> Result<(), Problem> {
        let removed = {
            let mut state = self.state();
            if let Some(held) = state.registry.get(nf_instance_id) {
                let peer = peer_certificate();
                check_instance_owner(peer.as_deref(), held.owner.as_deref(), nf_instance_id)?;
            }
            state.registry.remove(nf_instance_id)
        };
        let mut profile = removed.ok_or_else(|| unknown(nf_instance_id))?;
        self.persist_instance(nf_instance_id);
        profile.nf_status = NfStatus::Undiscoverable;
        self.notify(StatusEvent::Deregistered, &profile);
        Ok(())
    }

    async fn create_subscription(
        &self,
        body: SubscriptionData,
    ) -> Result<Created<SubscriptionData>, Problem> {
        if martlet_sbi::ApiRoot::split(&body.nf_status_notification_uri).is_none() {
            return Err(Problem::mandatory_ie_incorrect(
                "/nfStatusNotificationUri",
                "it is not an http or https URI",
            ));
        }
        let consumer = self.check_callback(&body.nf_status_notification_uri)?;
        let owner = peer_certificate().map(|peer| peer.identity());
        let mut data = body;
        let valid = self.validity(&mut data);
        let (expired, added) = {
            let (mut state, now) = (self.state(), Instant::now());
            let expired = state.subscriptions.expire(now);
            (expired, state.subscriptions.add(data, owner, consumer, now, valid))
        };
        expired.iter().for_each(|id| self.persist_subscription(id));
        let held = added.map_err(|limit| {
            Problem::new(500, "INSUFFICIENT_RESOURCES").detail(limit.to_string())
        })?;
        let id = held.subscription_id.as_deref().unwrap_or_default();
        self.persist_subscription(id);
        let location = format!("{}/nnrf-nfm/v1/subscriptions/{id}", self.context.api_root());
        Ok(Created { location, body: shown(held) })
    }

    async fn update_subscription(
        &self,
        subscription_id: &str,
        body: JsonPatch,
    ) -> Result<StatusReply<SubscriptionData>, Problem> {
        let (held, owner) = {
            let state = self.state();
            let held = state.subscriptions.get(subscription_id).cloned();
            let held = held.ok_or_else(|| no_subscription(subscription_id))?;
            (held, state.subscriptions.owner(subscription_id).map(String::from))
        };
        check_subscription_owner(peer_certificate().as_deref(), owner.as_deref())?;
        let mut patched = body.apply_to(&held).map_err(PatchError::into_problem)?;
        // Another URI would be another consumer's.
        if patched.nf_status_notification_uri != held.nf_status_notification_uri {
            let detail = "nfStatusNotificationUri cannot change: subscribe again";
            return Err(Problem::new(403, "MODIFICATION_NOT_ALLOWED").detail(detail));
        }
        patched.subscription_id = Some(subscription_id.to_string());
        let asked = patched.validity_time.clone();
        let valid = self.validity(&mut patched);
        let now = Instant::now();
        self.state().subscriptions.replace(subscription_id, patched.clone(), now, valid);
        self.persist_subscription(subscription_id);
        // 204 if everything is as requested (5.2.2.5.6).
        Ok(if patched.validity_time == asked {
            StatusReply::no_content()
        } else {
            StatusReply::ok(shown(patched))
        })
    }

    async fn remove_subscription(&self, subscription_id: &str) -> Result<(), Problem> {
        {
            let mut state = self.state();
            if state.subscriptions.get(subscription_id).is_none() {
                return Err(no_subscription(subscription_id));
            }
            let owner = state.subscriptions.owner(subscription_id);
            check_subscription_owner(peer_certificate().as_deref(), owner)?;
            state.subscriptions.remove(subscription_id);
        }
        self.persist_subscription(subscription_id);
        Ok(())
    }
}

/// A subscription as the consumer gets it: with the NRF's features in place of its own.
fn shown(data: SubscriptionData) -> SubscriptionData {
    SubscriptionData {
        requester_features: None,
        nrf_supported_features: Some(SERVICE_MAP.into()),
        ..data
    }
}

impl Nrf {
    /// Host and port of a notification URI, if a registered function is there.
    fn check_callback(&self, uri: &str) -> Result<String, Problem> {
        let authority = callbacks::authority(uri).ok_or_else(|| callbacks::refusal(uri))?;
        let state = self.state();
        let mut registered = state.registry.iter().map(|entry| &entry.profile);
        match self.context.is_callback_allowed(&authority)
            || registered.any(|profile| callbacks::authorities(profile).contains(&authority))
        {
            true => Ok(authority),
            false => Err(callbacks::refusal(uri)),
        }
    }

    /// The validity of a subscription: as requested, up to the limit.
    fn validity(&self, data: &mut SubscriptionData) -> Duration {
        let max = Duration::from_secs(self.config.subscription_s.into());
        match data.validity_time.as_ref().map(DateTime::remaining) {
            Some(asked) if asked <= max => asked,
            _ => {
                data.validity_time = Some(DateTime::after(max));
                max
            }
        }
    }
}

impl Nrf {
    /// The heartbeat interval for a requested one.
    fn heartbeat_s(&self, asked: Option<u32>) -> u32 {
        asked.unwrap_or(DEFAULT_HEARTBEAT_S).clamp(1, self.config.max_heartbeat_s)
    }

    /// The profile as the answer to its registration has it.
    fn answer(&self, mut profile: NfProfile) -> NfProfile {
        if self.config.interop.oauth2_in_custom_info {
            let custom = profile.custom_info.get_or_insert_with(|| serde_json::json!({}));
            if let Some(members) = custom.as_object_mut() {
                members.insert("oauth2".into(), self.signer.is_some().into());
            }
        }
        profile
    }
}

fn unknown(id: &str) -> Problem {
    Problem::new(404, "RESOURCE_NOT_FOUND").detail(format!("no instance {id} is registered"))
}

fn no_subscription(id: &str) -> Problem {
    Problem::new(404, "SUBSCRIPTION_NOT_FOUND").detail(format!("there is no subscription {id}"))
}
