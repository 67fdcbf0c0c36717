//! Requests of the command line that each function answers: the functions of the whole network with
//! what each reports about itself, and draining.
use crate::discovery::{is_absence, root_of_instance};
use crate::paths::Paths;
use crate::{NfContext, callbacks};
use futures_util::StreamExt;
use futures_util::future::join_all;
use martlet_sbi::{ApiRoot, BoxFuture, Problem};
use martlet_sbi_api::nmartlet_status::{FunctionStatus, NfStatusServiceClient};
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NfStatus, NfType};
use serde_json::{Value, json};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// Timeout of a function's status: longer than that, the function counts as hung or cut off.
const STATUS_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of functions that are asked at the same time.
const MAX_ASKED: usize = 64;

/// A function of the network.
struct Listed {
    /// What the NRF has of it.
    listing: Value,
    /// `None` without a service.
    root: Option<ApiRoot>,
    /// Its `nfInstanceId`; `None` for an NRF, which has no profile.
    instance: Option<String>,
}

impl Listed {
    fn function(profile: &NfProfile) -> Self {
        let listing = json!({
            "type": profile.nf_type.to_string(),
            "id": profile.nf_instance_id.to_string(),
            "status": profile.nf_status.as_str(),
            "address": callbacks::authorities(profile).first(),
            "set": profile.nf_set_id_list.as_ref().and_then(|sets| sets.first()),
            "priority": profile.priority,
        });
        let instance = Some(profile.nf_instance_id.to_string());
        Listed { listing, root: root_of_instance(profile), instance }
    }

    fn nrf(root: &ApiRoot) -> Self {
        let listing = json!({
            "type": NfType::Nrf.to_string(), "id": null, "status": null,
            "address": root.authority, "set": null, "priority": null,
        });
        Listed { listing, root: Some(root.clone()), instance: None }
    }

    /// What the function reports about itself.
    async fn with_status(self, context: &NfContext) -> Value {
        let Listed { mut listing, root, instance } = self;
        let answer = match root {
            None => Err(Problem::new(404, "").detail("it has no service")),
            Some(root) => {
                let peer = context.instance_peer(root, instance, STATUS_TIMEOUT);
                NfStatusServiceClient::new(peer).get_status().await
            }
        };
        describe(&mut listing, answer);
        listing
    }
}

/// Adds a function's answer to its listing.
fn describe(listing: &mut Value, answer: Result<FunctionStatus, Problem>) {
    match answer {
        Ok(status) => {
            let is_ready = status.missing.is_empty();
            listing["readiness"] = if is_ready { "ready" } else { "not_ready" }.into();
            listing["missing"] = status.missing.into();
            listing["version"] = status.version.into();
            // These types have no map whose keys are not strings, so they are always JSON.
            listing["upfs"] = serde_json::to_value(status.upfs).unwrap_or_default();
            listing["gnbs"] = serde_json::to_value(status.gnbs).unwrap_or_default();
            listing["registered_ues"] = status.registered_ues.into();
        }
        Err(problem) => {
            let is_silent = is_absence(&problem);
            listing["readiness"] = if is_silent { "no_answer" } else { "unknown" }.into();
            listing["error"] = problem.to_string().into();
        }
    }
}

/// The functions of the network by type: identity, status, address, set, and what each reports
/// about itself.
async fn functions(context: Arc<NfContext>) -> Result<Value, Problem> {
    let mut all = context.profiles().all().await?;
    all.sort_by(|a, b| {
        let key =
            |profile: &NfProfile| (profile.nf_type.to_string(), profile.nf_instance_id.to_string());
        key(a).cmp(&key(b))
    });
    let nrfs = context.nrfs().iter().map(|nrf| Listed::nrf(nrf.peer.root()));
    let listed: Vec<Listed> = nrfs.chain(all.iter().map(Listed::function)).collect();
    let asked = listed.into_iter().map(|listed| listed.with_status(&context));
    let functions: Vec<Value> =
        futures_util::stream::iter(asked).buffered(MAX_ASKED).collect().await;
    Ok(functions.into())
}

/// Whether another registered function of the same type is ready. One without the status service
/// counts as ready.
pub async fn another_is_ready(context: &NfContext) -> bool {
    !others_by_readiness(context).await.ready.is_empty()
}

/// The other registered functions of the same type.
#[derive(Debug, Default)]
pub struct Others {
    /// Profiles of those that are ready. One without the status service counts as ready.
    pub ready: Vec<NfProfile>,
    /// Profiles of those that do not answer.
    pub silent: Vec<NfProfile>,
}

/// The other registered functions of the same type: each is asked for its status.
pub async fn others_by_readiness(context: &NfContext) -> Others {
    let all = context.profiles().of_type(context.nf_type().clone()).await.unwrap_or_default();
    let is_other = |profile: &NfProfile| {
        profile.nf_instance_id.as_str() != context.instance_id()
            && profile.nf_status == NfStatus::Registered
    };
    let asked = all.into_iter().filter(is_other).take(MAX_ASKED).map(|profile| async {
        let root = root_of_instance(&profile)?;
        let instance = Some(profile.nf_instance_id.to_string());
        let peer = context.instance_peer(root, instance, STATUS_TIMEOUT);
        Some((profile, NfStatusServiceClient::new(peer).get_status().await))
    });
    let mut others = Others::default();
    for (profile, answer) in join_all(asked).await.into_iter().flatten() {
        match answer {
            Ok(status) if !status.missing.is_empty() => {}
            Err(problem) if is_absence(&problem) => others.silent.push(profile),
            _ => others.ready.push(profile),
        }
    }
    others
}

/// What the command line requests of any function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Network,
    Drain,
    Undrain,
}

static REQUESTS: LazyLock<Paths<Request>> = LazyLock::new(|| {
    Paths::new([
        ("network", Request::Network),
        ("drain/{function}", Request::Drain),
        ("undrain/{function}", Request::Undrain),
    ])
});

/// Answers a request of the command line; `None` if it is another one's. `name` is the function's.
pub(crate) fn ask(
    context: &Arc<NfContext>,
    name: &str,
    question: &str,
) -> Option<BoxFuture<'static, Result<Value, Problem>>> {
    let (request, function) = REQUESTS.find(question)?;
    let draining = match request {
        Request::Network => return Some(Box::pin(functions(context.clone()))),
        Request::Drain => true,
        Request::Undrain => false,
    };
    if function.first().is_none_or(|function| function != name) {
        return None;
    }
    let before = context.set_draining(draining);
    let answer = json!({
        "function": name, "draining": draining, "draining_before": before,
    });
    Some(Box::pin(async move { Ok(answer) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi::TransportFailure;

    #[test]
    fn requests_are_found_by_their_paths() {
        let upf = || vec!["upf".to_string()];
        assert_eq!(REQUESTS.find("network"), Some((Request::Network, Vec::new())));
        assert_eq!(REQUESTS.find("drain/upf"), Some((Request::Drain, upf())));
        assert_eq!(REQUESTS.find("undrain/upf"), Some((Request::Undrain, upf())));
        assert_eq!(REQUESTS.find("drain"), None);
    }

    #[test]
    fn a_function_that_does_not_answer_differs_from_one_without_the_service() {
        let described = |answer| {
            let mut listing = json!({});
            describe(&mut listing, answer);
            listing
        };
        let missing = vec!["database postgresql://db: not available for 1.0 s".to_string()];
        let status = FunctionStatus { missing: missing.clone(), ..Default::default() };
        let lacks = described(Ok(status));
        assert_eq!(lacks["readiness"], "not_ready");
        assert_eq!(lacks["missing"], json!(missing));
        assert_eq!(described(Ok(FunctionStatus::default()))["readiness"], "ready");
        let refused = Problem::unreachable(TransportFailure::NotSent, "connection refused");
        for silent in [refused, Problem::timed_out("after 1 s")] {
            assert_eq!(described(Err(silent))["readiness"], "no_answer");
        }
        for (status, cause) in [(404, ""), (400, "INVALID_API"), (400, "invalid_scope")] {
            let unknown = described(Err(Problem::new(status, cause)));
            assert_eq!(unknown["readiness"], "unknown", "{cause}");
        }
    }
}
