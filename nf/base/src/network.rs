//! Requests of the command line that each function answers: the list of the network's functions,
//! and draining.
use crate::NfContext;
use crate::profiles::Profiles;
use martlet_sbi::{BoxFuture, Problem};
use martlet_sbi_api::nnrf_nfmanagement::NfProfile;
use std::sync::Arc;

/// The functions of the network by type: identity, status, address, set.
async fn functions(profiles: Profiles) -> Result<serde_json::Value, Problem> {
    let mut all = profiles.all().await?;
    all.sort_by(|a, b| {
        let key =
            |profile: &NfProfile| (profile.nf_type.to_string(), profile.nf_instance_id.to_string());
        key(a).cmp(&key(b))
    });
    let of = |profile: &NfProfile| {
        serde_json::json!({
            "type": profile.nf_type.to_string(),
            "id": profile.nf_instance_id.to_string(),
            "status": profile.nf_status.as_str(),
            "address": crate::callbacks::authorities(profile).first(),
            "set": profile.nf_set_id_list.as_ref().and_then(|sets| sets.first()),
            "priority": profile.priority,
        })
    };
    Ok(all.iter().map(of).collect())
}

/// Answers a request of the command line; `None` if it is another one's. `name` is the function's.
pub(crate) fn ask(
    context: &Arc<NfContext>,
    name: &str,
    question: &str,
) -> Option<BoxFuture<'static, Result<serde_json::Value, Problem>>> {
    if question == "network" {
        return Some(Box::pin(functions(context.profiles())));
    }
    let (command, function) = question.split_once('/')?;
    let draining = match command {
        "drain" => true,
        "undrain" => false,
        _ => return None,
    };
    if function != name {
        return None;
    }
    let before = context.set_draining(draining);
    let answer = serde_json::json!({
        "function": name, "draining": draining, "draining_before": before,
    });
    Some(Box::pin(async move { Ok(answer) }))
}
