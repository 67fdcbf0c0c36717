//! Requests of an operator: pages of UE contexts, gNBs, and the release, paging and deregistration
//! of a UE (TS 23.502, 4.2.2.3.3: "by O&M intervention").
//!
//! | question | answer |
//! | --- | --- |
//! | `amf/ues/ARGUMENT` | a page of UE contexts, see [`PageRequest`] |
//! | `amf/ues-changed/POSITION` | the UEs that changed after a position, see [`changed`] |
//! | `amf/ue/SUPI` | a UE context |
//! | `amf/ue/SUPI/release`, `…/deregister`, `…/page` | what was done |
//! | `amf/rebalancing` | load re-balancing has begun, see [`rebalancing`] |
//! | `amf/gnbs` | the gNBs after NG setup |
//! | `amf/gnb/ID/release` | the association was aborted |
use crate::Amf;
use crate::procedures::connection::{an_release, paging, ue_context_release};
use crate::procedures::registration::{deregistration, implicit_deregistration};
use crate::rebalancing;
use crate::ue::tables::Summary;
use crate::ue::{Event, OperatorRequest, Ue, Work};
use martlet_nf::oam::Paths;
use martlet_ngap::ngap::{Cause, CauseMisc, CauseNas};
use martlet_sbi::{BoxFuture, Problem};
use serde::Deserialize;
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Arc, LazyLock};
use tokio::sync::oneshot;

/// Maximum number of UE contexts on a page.
const MAX_PAGE: usize = 1000;

/// Which UE contexts a page has.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PageRequest {
    /// The last SUPI of the page before; empty: the page is the first one.
    after: String,
    /// Whether the order of the SUPIs is descending.
    descending: bool,
    /// Maximum number of contexts, at most [`MAX_PAGE`].
    limit: usize,
    /// Text that the SUPI contains.
    search: String,
    /// The state, as [`Summary::status`] names it.
    state: String,
    /// Name of the gNB.
    gnb: String,
    /// Only these SUPIs; empty: all.
    supis: Vec<String>,
}

impl PageRequest {
    /// Whether a SUPI is after another one in the order of the pages.
    fn is_after(&self, supi: &str, other: &str) -> bool {
        if self.descending { supi < other } else { supi > other }
    }

    fn admits(&self, supi: &str, summary: &Summary) -> bool {
        (self.search.is_empty() || supi.contains(&self.search))
            && (self.state.is_empty() || summary.state() == self.state)
            && (self.gnb.is_empty() || summary.gnb.as_deref() == Some(self.gnb.as_str()))
            && (self.supis.is_empty() || self.supis.iter().any(|wanted| wanted == supi))
    }
}

/// A UE context in the order of the pages.
struct Row {
    supi: String,
    summary: Summary,
    descending: bool,
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        self.supi == other.supi
    }
}
impl Eq for Row {}
impl PartialOrd for Row {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Row {
    fn cmp(&self, other: &Self) -> Ordering {
        let ascending = self.supi.cmp(&other.supi);
        if self.descending { ascending.reverse() } else { ascending }
    }
}

/// What the command line and the API request of the AMF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OamRequest {
    Page,
    Changed,
    Describe,
    Ue(OperatorRequest),
    Rebalancing,
    Gnbs,
    ReleaseGnb,
    Unknown,
}

static REQUESTS: LazyLock<Paths<OamRequest>> = LazyLock::new(|| {
    Paths::new([
        ("amf/ues/{argument}", OamRequest::Page),
        ("amf/ues-changed/{position}", OamRequest::Changed),
        ("amf/ue/{supi}", OamRequest::Describe),
        ("amf/ue/{supi}/release", OamRequest::Ue(OperatorRequest::Release)),
        ("amf/ue/{supi}/deregister", OamRequest::Ue(OperatorRequest::Deregister)),
        ("amf/ue/{supi}/page", OamRequest::Ue(OperatorRequest::Page)),
        ("amf/rebalancing", OamRequest::Rebalancing),
        ("amf/gnbs", OamRequest::Gnbs),
        ("amf/gnb/{id}/release", OamRequest::ReleaseGnb),
        ("amf/{*other}", OamRequest::Unknown),
    ])
});

/// The answer to a question, or `None` if it is not for the AMF.
pub(crate) fn answer(
    amf: &Arc<Amf>,
    question: &str,
) -> Option<BoxFuture<'static, Result<Value, Problem>>> {
    let (asked, segments) = REQUESTS.find(question)?;
    let amf = amf.clone();
    Some(Box::pin(async move {
        let segment = segments.first().map(String::as_str).unwrap_or_default();
        match asked {
            OamRequest::Page => page(&amf, segment),
            OamRequest::Changed => changed(&amf, segment),
            OamRequest::Describe => Ok(describe(&amf, segment)?),
            OamRequest::Ue(of_ue) => request(&amf, segment, of_ue).await,
            OamRequest::Rebalancing => rebalancing::command(&amf).await,
            OamRequest::Gnbs => Ok(gnbs(&amf)),
            OamRequest::ReleaseGnb => release_gnb(&amf, segment),
            OamRequest::Unknown => Err(Problem::new(404, "RESOURCE_URI_STRUCTURE_NOT_FOUND")
                .detail("the AMF does not know this request")),
        }
    }))
}

fn page(amf: &Amf, argument: &str) -> Result<Value, Problem> {
    let request: PageRequest = martlet_nf::oam::read_argument(argument)
        .ok_or_else(|| Problem::new(400, "INVALID_QUERY_PARAM").detail("not a page request"))?;
    let limit = request.limit.clamp(1, MAX_PAGE);
    // The first rows after the cursor, one more than requested: the last one shows whether there is
    // another page.
    let mut first: BinaryHeap<Row> = BinaryHeap::new();
    let mut matching = 0_usize;
    amf.tables.each(|summary| {
        let Some(supi) = &summary.supi else { return };
        let supi = supi.as_str();
        if !request.admits(supi, summary) {
            return;
        }
        matching += 1;
        let is_before = !request.after.is_empty() && !request.is_after(supi, &request.after);
        let is_beyond = first.len() > limit
            && first.peek().is_some_and(|row| !request.is_after(&row.supi, supi));
        if is_before || is_beyond {
            return;
        }
        let (supi, summary) = (supi.to_string(), summary.clone());
        first.push(Row { supi, summary, descending: request.descending });
        if first.len() > limit + 1 {
            first.pop();
        }
    });
    let mut rows = first.into_sorted_vec();
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| has_more).map(|row| row.supi.clone());
    let ues: Vec<_> = rows.iter().filter_map(|row| row.summary.describe()).collect();
    Ok(json!({"ues": ues, "next": next, "matching": matching}))
}

/// The UEs whose state, gNB or sessions changed after the `position` of an answer before.
fn changed(amf: &Amf, position: &str) -> Result<Value, Problem> {
    let position: u64 = position
        .parse()
        .map_err(|_| Problem::new(400, "INVALID_QUERY_PARAM").detail("not a position"))?;
    let changed = amf.tables.changed_after(position);
    let supis: Vec<&str> = changed.supis.iter().map(|supi| supi.as_str()).collect();
    Ok(json!({"position": changed.position, "supis": supis, "complete": changed.complete}))
}

fn describe(amf: &Amf, supi: &str) -> Result<Value, Problem> {
    let handle = amf.find(supi)?;
    amf.tables.summary(handle.number).and_then(|summary| summary.describe()).ok_or_else(|| {
        Problem::new(404, "CONTEXT_NOT_FOUND").detail(format!("the AMF does not know {supi}"))
    })
}

async fn request(amf: &Amf, supi: &str, request: OperatorRequest) -> Result<Value, Problem> {
    let (answer, answered) = oneshot::channel();
    amf.find(supi)?.send(Event::Operator(request, answer))?;
    answered.await.unwrap_or_else(|_| {
        Err(Problem::new(409, "CONTEXT_NOT_FOUND").detail("the UE context ended meanwhile"))
    })
}

fn gnbs(amf: &Amf) -> Value {
    let mut ues = std::collections::HashMap::<Arc<str>, u64>::new();
    amf.tables.each(|summary| {
        if let Some(gnb) = &summary.gnb {
            *ues.entry(gnb.clone()).or_default() += 1;
        }
    });
    let gnb = |gnb: &Arc<crate::n2::Gnb>| {
        let mut status = gnb.status()?;
        status["connectedUes"] = ues.get(&*gnb.label()).copied().unwrap_or(0).into();
        status["receivedMessages"] = gnb.received().into();
        Some(status)
    };
    amf.gnbs.all().iter().filter_map(gnb).collect()
}

fn release_gnb(amf: &Amf, id: &str) -> Result<Value, Problem> {
    let gnb = amf.gnbs.of(id).ok_or_else(|| {
        Problem::new(404, "CONTEXT_NOT_FOUND").detail(format!("no gNB with identity {id}"))
    })?;
    tracing::info!(gnb = gnb.label(), "association aborted by the operator");
    gnb.abort();
    Ok(json!({"done": "the association was aborted; the gNB may set it up again"}))
}

/// Performs an operator's request in the UE's task, and answers it.
pub(crate) async fn run(
    ue: &mut Ue,
    request: OperatorRequest,
    answer: oneshot::Sender<Result<Value, Problem>>,
) {
    let is_deregistration = matches!(request, OperatorRequest::Deregister);
    if is_deregistration && paging::before_deregistration(ue).await {
        return ue.task.deferred.push_back(Work::Event(Event::Operator(request, answer)));
    }
    let _ = answer.send(perform(ue, request).await);
}

async fn perform(ue: &mut Ue, request: OperatorRequest) -> Result<Value, Problem> {
    tracing::info!(supi = ue.label(), gnb = ue.gnb(), ?request, "requested by the operator");
    match request {
        OperatorRequest::Release => match ue.connection.is_some() {
            true => {
                an_release::run(ue, Cause::misc(CauseMisc::om_intervention), Vec::new()).await;
                Ok(json!({"done": "the UE context is released at the gNB"}))
            }
            false => Err(conflict("the UE is not connected: there is nothing to release")),
        },
        OperatorRequest::Page => {
            if ue.connection.is_some() {
                return Err(conflict("the UE is connected already"));
            }
            if !ue.can_be_paged() {
                return Err(conflict("the UE cannot be paged: it is not registered and idle"));
            }
            match paging::run(ue).await {
                true => Ok(json!({"done": "the UE answered the paging"})),
                false => Err(Problem::new(504, "UE_NOT_REACHABLE")
                    .detail("no answer to the paging: the UE is switched off or out of coverage")),
            }
        }
        OperatorRequest::Deregister => {
            if !ue.is_registered() {
                return Err(conflict("the UE is not registered"));
            }
            let was_notified = deregistration::by_operator(ue).await;
            implicit_deregistration::locally(ue).await;
            ue.security = None;
            ue_context_release::run(ue, Cause::nas(CauseNas::deregister));
            Ok(json!({
                "done": match was_notified {
                    true => "the UE is deregistered",
                    false => "the UE is deregistered; it did not answer, and learns it later",
                }
            }))
        }
    }
}

fn conflict(detail: &str) -> Problem {
    Problem::new(409, "UE_IN_NON_ALLOWED_STATE").detail(detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_found_by_their_paths() {
        let found = |path: &str| REQUESTS.find(path).map(|(request, _)| request);
        for (path, request) in [
            ("amf/ues/e30", OamRequest::Page),
            ("amf/ues-changed/7", OamRequest::Changed),
            ("amf/ue/imsi-1", OamRequest::Describe),
            ("amf/ue/imsi-1/release", OamRequest::Ue(OperatorRequest::Release)),
            ("amf/ue/imsi-1/deregister", OamRequest::Ue(OperatorRequest::Deregister)),
            ("amf/ue/imsi-1/page", OamRequest::Ue(OperatorRequest::Page)),
            ("amf/rebalancing", OamRequest::Rebalancing),
            ("amf/gnbs", OamRequest::Gnbs),
            ("amf/gnb/00101-7/release", OamRequest::ReleaseGnb),
            ("amf/ue/imsi-1/rename", OamRequest::Unknown),
            ("amf/gnb/00101-7", OamRequest::Unknown),
        ] {
            assert_eq!(found(path), Some(request), "{path}");
        }
        assert_eq!(found("smf/sessions/imsi-1"), None);
    }
}
