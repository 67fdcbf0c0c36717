//! Addresses of applications that PFDs describe by domain names, learned from DNS responses.
use super::deadlines::Deadline;
use super::pfd::{Applications, no_packet};
use super::{Moment, N4};
use crate::metrics;
use martlet_pfcp::ie::SdfFilter;
use martlet_upf_rules::dns::Answer;
use martlet_upf_rules::{Application, SdfRule};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Minimum interval between rule updates for learned addresses: each update touches all sessions
/// that detect such an application.
const PAUSE: Duration = Duration::from_millis(100);
/// Maximum lifetime of an address, whatever the TTL.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Learned addresses by name.
#[derive(Default)]
pub(super) struct LearnedAddresses {
    /// By application: addresses, until when they hold, and the application without them.
    by_application: HashMap<Vec<u8>, Known>,
    updated: Option<Instant>,
    changed: bool,
}

struct Known {
    provisioned: Arc<Application>,
    addresses: Vec<(IpAddr, Instant)>,
}

impl Known {
    /// The application with its resolved addresses. Without addresses and flows it matches no
    /// packet.
    fn application(&self) -> Arc<Application> {
        let mut rules = self.provisioned.rules.clone();
        rules.extend(self.addresses.iter().filter_map(|(address, _)| flow_with(*address)));
        if rules.is_empty() {
            rules.extend(no_packet());
        }
        Arc::new(Application { rules, ..Application::clone(&self.provisioned) })
    }
}

/// All packets to and from an address.
fn flow_with(address: IpAddr) -> Option<SdfRule> {
    let flow_description = Some(format!("permit out ip from {address} to assigned"));
    SdfRule::of(&SdfFilter { flow_description, ..SdfFilter::default() }).ok()
}

impl N4 {
    /// Updates the applications from PFDs. Resolved addresses of unchanged names are preserved.
    pub(super) fn take_applications(&mut self, mut applications: Applications) {
        let mut before = std::mem::take(&mut self.addresses_of.by_application);
        for (id, application) in
            applications.iter_mut().filter(|(_, application)| !application.names.is_empty())
        {
            let known =
                before.remove(id).filter(|known| known.provisioned.names == application.names);
            // An application that this request does not contain already has its addresses.
            let untold =
                self.applications.get(id).is_some_and(|current| Arc::ptr_eq(current, application));
            let known = match known {
                Some(known) if untold => known,
                Some(Known { addresses, .. }) => {
                    Known { provisioned: application.clone(), addresses }
                }
                None => Known { provisioned: application.clone(), addresses: Vec::new() },
            };
            *application = known.application();
            self.addresses_of.by_application.insert(id.clone(), known);
        }
        self.applications = applications;
    }

    /// A name server has answered a UE.
    pub(super) fn answer_seen(&mut self, server: IpAddr, answer: &Answer, now: Moment) {
        if !self.settings.name_servers.contains(&server) {
            metrics::DNS_RESPONSES.with_label_values(&["foreign"]).inc();
            return;
        }
        let max = self.settings.addresses_per_application;
        let mut named = false;
        for known in self.addresses_of.by_application.values_mut() {
            if !known
                .provisioned
                .names
                .iter()
                .any(|pattern| answer.names.iter().any(|name| pattern.matches(name)))
            {
                continue;
            }
            named = true;
            for (address, holds) in &answer.addresses {
                let holds = Duration::from_secs((*holds).into())
                    .clamp(self.settings.dns_min_hold.min(LONGEST), LONGEST);
                let until = now.instant + holds;
                match known.addresses.iter_mut().find(|(known, _)| known == address) {
                    Some((_, before)) => *before = until.max(*before),
                    None => {
                        known.addresses.push((*address, until));
                        self.addresses_of.changed = true;
                    }
                }
            }
            if known.addresses.len() > max {
                known.addresses.sort_by_key(|(_, until)| std::cmp::Reverse(*until));
                known.addresses.truncate(max);
            }
        }
        metrics::DNS_RESPONSES.with_label_values(&[if named { "believed" } else { "other" }]).inc();
        if self.addresses_of.changed {
            let free = self.addresses_of.updated.map_or(now.instant, |updated| updated + PAUSE);
            if free <= now.instant {
                self.names_due(now)
            } else {
                self.deadlines.set(Deadline::Names, free)
            }
        }
    }

    /// Updates the sessions to the resolved addresses.
    pub(super) fn names_due(&mut self, now: Moment) {
        let mut changed = std::mem::take(&mut self.addresses_of.changed);
        for known in self.addresses_of.by_application.values_mut() {
            let before = known.addresses.len();
            known.addresses.retain(|(_, until)| *until > now.instant);
            changed |= known.addresses.len() != before;
        }
        if changed {
            for (id, known) in &self.addresses_of.by_application {
                self.applications.insert(id.clone(), known.application());
            }
            self.addresses_of.updated = Some(now.instant);
            self.detect_again();
        }
        let ends = self
            .addresses_of
            .by_application
            .values()
            .flat_map(|known| &known.addresses)
            .map(|(_, until)| *until);
        match ends.min() {
            Some(end) => self.deadlines.set(Deadline::Names, end),
            None => self.deadlines.cancel(Deadline::Names),
        }
    }
}
