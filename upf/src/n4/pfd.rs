//! PFD management (TS 29.244, 6.2.5): applications by the flows that they have, for PDRs to detect.
use super::N4;
use crate::datapath::Change;
use crate::rules::{Application, RuleError, SdfRule};
use martlet_pfcp::ie::{ApplicationId, ApplicationIdsPfds, Cause, FailedRuleId, OffendingIe, PfdContents, SdfFilter};
use martlet_pfcp::{IeValue, Message, PfdManagementRequest, PfdManagementResponse};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// What is known of applications.
pub(super) type Applications = HashMap<Vec<u8>, Arc<Application>>;

/// The application that a PDR names.
pub(super) fn find(
    applications: &Applications,
    pdr: u16,
    id: Option<&ApplicationId>,
) -> Result<Option<Arc<Application>>, RuleError> {
    let Some(id) = id else { return Ok(None) };
    let why = || format!("PDR {pdr} detects the application {}, of which no PFD tells", id.text());
    applications.get(&id.0).cloned().map(Some).ok_or_else(|| RuleError::failure(FailedRuleId::Pdr(pdr), why()))
}

impl N4 {
    /// Only an SMF that is associated may tell.
    pub(super) fn manage_pfds_of(&mut self, from: SocketAddr, request: PfdManagementRequest) -> Message {
        match self.is_known(from.ip()) {
            true => self.manage_pfds(request),
            false => PfdManagementResponse { cause: Cause::NO_ESTABLISHED_ASSOCIATION, offending_ie: None }.into(),
        }
    }

    /// Takes over what a request tells of applications, or nothing of it.
    fn manage_pfds(&mut self, request: PfdManagementRequest) -> Message {
        match self.try_manage_pfds(request) {
            Ok(applications) => {
                tracing::info!(applications = applications.len(), "packet flow descriptions");
                self.applications = applications;
                self.detect_anew();
                PfdManagementResponse { cause: Cause::ACCEPTED, offending_ie: None }.into()
            }
            Err(RuleError { cause, offending, why, .. }) => {
                tracing::warn!(cause = cause.0, why, "packet flow descriptions refused");
                PfdManagementResponse { cause, offending_ie: offending.map(OffendingIe) }.into()
            }
        }
    }

    fn try_manage_pfds(&self, request: PfdManagementRequest) -> Result<Applications, RuleError> {
        // Without any application, all are forgotten (7.4.3.1).
        if request.applications.is_empty() {
            return Ok(Applications::new());
        }
        let mut applications = self.applications.clone();
        for ie in &request.applications {
            let id = ie.application_id.0.clone();
            let rules = self.flows_of(ie)?;
            match rules.is_empty() {
                true => drop(applications.remove(&id)),
                false => drop(applications.insert(id.clone(), Arc::new(Application { id, rules }))),
            }
        }
        if applications.len() > self.settings.applications {
            return Err(RuleError::no_resources("more applications than n4.applications allows"));
        }
        Ok(applications)
    }

    fn flows_of(&self, ie: &ApplicationIdsPfds) -> Result<Vec<SdfRule>, RuleError> {
        let name = ie.application_id.text();
        let mut rules = Vec::new();
        for contents in ie.contexts.iter().flat_map(|context| &context.contents) {
            // What packets say of URLs and names is not looked at here: such an application would never be found.
            if contents.flow_descriptions.is_empty() {
                let why = format!("a PFD of {name} has no flow description, and no other kind is detected here");
                return Err(RuleError {
                    offending: Some(PfdContents::TYPE),
                    ..RuleError::other(Cause::SERVICE_NOT_SUPPORTED, why)
                });
            }
            for text in &contents.flow_descriptions {
                let filter = SdfFilter { flow_description: Some(text.clone()), ..SdfFilter::default() };
                let rule = SdfRule::of(&filter).map_err(|error| RuleError {
                    offending: Some(PfdContents::TYPE),
                    ..RuleError::other(Cause::MANDATORY_IE_INCORRECT, format!("{name}: {error}"))
                })?;
                rules.push(rule);
            }
        }
        if rules.len() > self.settings.flows_per_application {
            let why = format!("{name} has {} flows; n4.flows_per_application allows fewer", rules.len());
            return Err(RuleError::no_resources(why));
        }
        Ok(rules)
    }

    /// Has sessions detect applications as they are now. PDRs of one that is forgotten match nothing any more.
    fn detect_anew(&mut self) {
        for context in self.sessions.values_mut() {
            let session = &mut context.session;
            if session.pdrs.values().all(|pdr| pdr.application.is_none()) {
                continue;
            }
            let before = session.clone();
            for pdr in session.pdrs.values_mut() {
                let Some(old) = &pdr.application else { continue };
                let known = self.applications.get(&old.id).cloned();
                pdr.application = Some(known.unwrap_or_else(|| nothing(&old.id)));
            }
            if *session == before {
                continue;
            }
            let outcome = session.resolve(&self.settings.rules).map_err(|error| error.to_string());
            let outcome =
                outcome.and_then(|()| self.datapath.apply(&Change::to(session)).map_err(|error| error.to_string()));
            if let Err(error) = outcome {
                tracing::error!(seid = session.seid, error, "a session goes on with the PFDs of before");
                *session = before;
            }
        }
    }
}

/// What stands for an application that is forgotten: of no packet.
fn nothing(id: &[u8]) -> Arc<Application> {
    let flow_description = Some("permit out 255 from 0.0.0.0 to 0.0.0.0".to_string());
    let filter = SdfFilter { flow_description, ..SdfFilter::default() };
    Arc::new(Application { id: id.to_vec(), rules: SdfRule::of(&filter).into_iter().collect() })
}
