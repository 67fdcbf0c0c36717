//! PFD management (TS 29.244, 6.2.5): applications by the flows that they have, for PDRs to detect.
use super::N4;
use martlet_pfcp::ie::{
    ApplicationId, ApplicationIdsPfds, Cause, FailedRuleId, OffendingIe, PfdContents, SdfFilter,
};
use martlet_pfcp::{IeValue, Message, PfdManagementRequest, PfdManagementResponse};
use martlet_upf_datapath::Change;
use martlet_upf_rules::dns::NamePattern;
use martlet_upf_rules::url::{UrlError, UrlPattern};
use martlet_upf_rules::{Application, RuleError, SdfRule};
use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

/// Applications provisioned by PFD management.
pub(super) type Applications = HashMap<Vec<u8>, Arc<Application>>;

/// The application that a PDR names.
pub(super) fn find(
    applications: &Applications,
    pdr: u16,
    id: Option<&ApplicationId>,
) -> Result<Option<Arc<Application>>, RuleError> {
    let Some(id) = id else { return Ok(None) };
    let why = || format!("PDR {pdr} detects the application {}, which has no PFDs", id.text());
    applications
        .get(&id.0)
        .cloned()
        .map(Some)
        .ok_or_else(|| RuleError::failure(FailedRuleId::Pdr(pdr), why()))
}

/// What the PFDs of an application describe.
#[derive(Default)]
struct Description {
    rules: Vec<SdfRule>,
    names: Vec<NamePattern>,
    urls: Vec<UrlPattern>,
}

/// PFD Contents that are not as they have to be.
fn incorrect(name: &str, error: impl fmt::Display) -> RuleError {
    let error = RuleError::other(Cause::MANDATORY_IE_INCORRECT, format!("{name}: {error}"));
    RuleError { offending: Some(PfdContents::TYPE), ..error }
}

/// PFD Contents that no packet would ever match.
fn not_supported(name: &str, why: &str) -> RuleError {
    let why = format!("a PFD of {name} is not supported: {why}");
    let error = RuleError::other(Cause::SERVICE_NOT_SUPPORTED, why);
    RuleError { offending: Some(PfdContents::TYPE), ..error }
}

/// Custom PFD content (8.2.39), whose form operators agree on. Here it is a text of lines, each of
/// `flow:`, `url:` or `domain:` and a value as in the other fields; `None` in another form.
fn custom(bytes: &[u8]) -> Option<PfdContents> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut contents = PfdContents::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (kind, value) = line.split_once(':')?;
        let value = value.trim();
        match kind {
            "flow" => contents.flow_descriptions.push(value.into()),
            "url" => contents.urls.push(value.into()),
            "domain" => contents.domain_names.push((value.into(), None)),
            _ => return None,
        }
    }
    Some(contents)
}

impl N4 {
    /// PFDs are accepted from associated SMFs only.
    pub(super) fn manage_pfds_of(
        &mut self,
        from: SocketAddr,
        request: PfdManagementRequest,
    ) -> Message {
        match self.is_known(from.ip()) {
            true => self.manage_pfds(request),
            false => PfdManagementResponse {
                cause: Cause::NO_ESTABLISHED_ASSOCIATION,
                offending_ie: None,
            }
            .into(),
        }
    }

    /// Applies a PFD management request completely or not at all.
    fn manage_pfds(&mut self, request: PfdManagementRequest) -> Message {
        match self.try_manage_pfds(request) {
            Ok(applications) => {
                tracing::info!(applications = applications.len(), "PFD management applied");
                self.take_applications(applications);
                self.detect_again();
                PfdManagementResponse { cause: Cause::ACCEPTED, offending_ie: None }.into()
            }
            Err(RuleError { cause, offending, why, .. }) => {
                if let Some(suppressed) = martlet_log_limit::line("pfd", 0) {
                    tracing::warn!(cause = cause.0, why, suppressed, "PFD management rejected");
                }
                PfdManagementResponse { cause, offending_ie: offending.map(OffendingIe) }.into()
            }
        }
    }

    fn try_manage_pfds(&self, request: PfdManagementRequest) -> Result<Applications, RuleError> {
        // A request without applications removes all (7.4.3.1).
        if request.applications.is_empty() {
            return Ok(Applications::new());
        }
        let mut applications = self.applications.clone();
        for ie in &request.applications {
            let id = ie.application_id.0.clone();
            match self.described(ie)? {
                None => drop(applications.remove(&id)),
                Some(application) => drop(applications.insert(id, Arc::new(application))),
            }
        }
        if applications.len() > self.settings.applications {
            return Err(RuleError::no_resources("more applications than n4.applications allows"));
        }
        Ok(applications)
    }

    /// An application with its flows, without the addresses of its domain names. `None` without
    /// PFDs.
    fn described(&self, ie: &ApplicationIdsPfds) -> Result<Option<Application>, RuleError> {
        let name = ie.application_id.text();
        let mut found = Description::default();
        for contents in ie.contexts.iter().flat_map(|context| &context.contents) {
            self.describe(&name, contents, &mut found)?;
        }
        let Description { mut rules, names, urls } = found;
        let count = rules.len().max(names.len()).max(urls.len());
        if count > self.settings.flows_per_application {
            let why = format!(
                "{name} has {count} flows, names or URLs; n4.flows_per_application allows fewer"
            );
            return Err(RuleError::no_resources(why));
        }
        // Without a flow, no packet matches until a URL is requested.
        if rules.is_empty() && names.is_empty() {
            rules.extend(no_packet());
        }
        let id = ie.application_id.0.clone();
        Ok((count > 0).then_some(Application { id, rules, names, urls }))
    }

    /// Adds what one PFD describes. It is rejected if none of its parts is detected here.
    fn describe(
        &self,
        name: &str,
        contents: &PfdContents,
        found: &mut Description,
    ) -> Result<(), RuleError> {
        let written = contents.custom.as_deref().and_then(custom);
        let readable = contents.custom.is_none() || written.is_some();
        let written = written.unwrap_or_default();
        let (mut parts, mut hidden) = (0, None);
        for text in contents.flow_descriptions.iter().chain(&written.flow_descriptions) {
            let filter = SdfFilter { flow_description: Some(text.clone()), ..SdfFilter::default() };
            let rule = SdfRule::of(&filter);
            found.rules.push(rule.map_err(|error| incorrect(name, error))?);
            parts += 1;
        }
        for text in contents.urls.iter().chain(&written.urls) {
            match UrlPattern::read(text) {
                Ok(_) if !self.datapath.detects_urls() => {
                    hidden = Some("URLs are not detected with upf.xdp.nat".to_string());
                }
                Ok(pattern) => {
                    found.urls.push(pattern);
                    parts += 1;
                }
                Err(error @ UrlError::Hidden(_)) => hidden = Some(error.to_string()),
                Err(error) => return Err(incorrect(name, error)),
            }
        }
        for (text, protocol) in contents.domain_names.iter().chain(&written.domain_names) {
            if self.settings.name_servers.is_empty() {
                let why = "it has a domain name, which requires n4.name_servers";
                return Err(not_supported(name, why));
            }
            // Names in TLS are not read: TS 29.122, 5.14.2.2.4.
            if protocol.as_ref().is_some_and(|protocol| protocol != b"DNS_QNAME") {
                let why = "it has a domain name of another protocol than DNS_QNAME";
                return Err(not_supported(name, why));
            }
            let pattern = NamePattern::read(text);
            found.names.push(pattern.map_err(|error| incorrect(name, error))?);
            parts += 1;
        }
        if parts > 0 {
            return Ok(());
        }
        let why = match &hidden {
            Some(why) => why,
            None if !readable => "its custom content is not in the form of docs/n4.md",
            None => "it has no content that is detected here",
        };
        Err(not_supported(name, why))
    }

    /// Updates the sessions' applications. PDRs of a removed application match no packet.
    pub(super) fn detect_again(&mut self) {
        for context in self.sessions.values_mut() {
            if context.rules().pdrs.values().all(|pdr| pdr.application.is_none()) {
                continue;
            }
            let before = context.session();
            let mut session = before.clone();
            for pdr in session.pdrs.values_mut() {
                let Some(old) = &pdr.application else { continue };
                let known = self.applications.get(&old.id).cloned();
                pdr.application = Some(known.unwrap_or_else(|| matches_nothing(&old.id)));
            }
            if session == before {
                continue;
            }
            let outcome = session.resolve(&self.settings.rules).map_err(|error| error.to_string());
            let outcome = outcome.and_then(|()| {
                self.datapath.apply(&Change::to(&session)).map_err(|error| error.to_string())
            });
            match outcome {
                Ok(()) => context.set(session),
                Err(error) => tracing::error!(
                    seid = session.seid,
                    error,
                    "session not updated: the previous PFDs stay"
                ),
            }
        }
    }
}

/// The rule of a removed application: it matches no packet.
fn matches_nothing(id: &[u8]) -> Arc<Application> {
    Arc::new(Application {
        id: id.to_vec(),
        rules: no_packet().into_iter().collect(),
        names: Vec::new(),
        urls: Vec::new(),
    })
}

/// A flow that no packet is of.
pub(super) fn no_packet() -> Option<SdfRule> {
    let flow_description = Some("permit out 255 from 0.0.0.0 to 0.0.0.0".to_string());
    SdfRule::of(&SdfFilter { flow_description, ..SdfFilter::default() }).ok()
}
