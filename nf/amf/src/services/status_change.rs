//! Subscriptions to the state of the AMF (TS 29.518, 5.2.2.5): before it stops, it notifies its
//! consumers of its unavailable GUAMIs, as it notifies the gNBs (TS 23.501, 5.21.2.2).
use crate::Amf;
use futures_util::future::join_all;
use martlet_nf::callbacks::check_share;
use martlet_sbi::{ApiRoot, Problem};
use martlet_sbi_api::common::Guami;
use martlet_sbi_api::namf_communication::{
    AmfStatusCallbackClient, AmfStatusChangeNotification, AmfStatusInfo, StatusChange,
    SubscriptionData,
};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// Subscriptions at the same time.
const MAX_SUBSCRIPTIONS: usize = 64;

/// Time for a consumer to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// All subscriptions, and the number of the last one.
#[derive(Default)]
pub(crate) struct StatusSubscriptions(Mutex<(u64, Vec<(String, SubscriptionData)>)>);

impl StatusSubscriptions {
    fn list(&self) -> MutexGuard<'_, (u64, Vec<(String, SubscriptionData)>)> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Adds a subscription and returns its identity. One URI has one subscription.
    pub(crate) fn subscribe(&self, data: &SubscriptionData) -> Result<String, Problem> {
        if ApiRoot::split(&data.amf_status_uri).is_none() {
            let detail = "amfStatusUri: not an http or https URI";
            return Err(Problem::new(400, "MANDATORY_IE_INCORRECT").detail(detail));
        }
        let mut list = self.list();
        let (last, list) = &mut *list;
        list.retain(|(_, other)| other.amf_status_uri != data.amf_status_uri);
        if list.len() >= MAX_SUBSCRIPTIONS {
            return Err(Problem::new(403, "UNSPECIFIED").detail("too many subscriptions"));
        }
        let others = list.iter().map(|(_, other)| other.amf_status_uri.as_str());
        check_share(&data.amf_status_uri, others, MAX_SUBSCRIPTIONS)?;
        *last += 1;
        list.push((last.to_string(), data.clone()));
        Ok(last.to_string())
    }

    /// Removes a subscription.
    pub(crate) fn unsubscribe(&self, id: &str) -> Result<(), Problem> {
        let mut list = self.list();
        let before = list.1.len();
        list.1.retain(|(own, _)| own != id);
        match list.1.len() < before {
            true => Ok(()),
            false => Err(Problem::new(404, "SUBSCRIPTION_NOT_FOUND")),
        }
    }
}

/// Notifies the consumers of the AMF's unavailable GUAMIs (AMFStatusChangeNotify).
pub(crate) async fn unavailable(amf: &Amf) {
    let subscriptions = std::mem::take(&mut amf.status_subscriptions.list().1);
    join_all(subscriptions.into_iter().map(|(_, data)| notify(amf, data))).await;
}

async fn notify(amf: &Amf, data: SubscriptionData) {
    let wanted = |guami: &Guami| data.guami_list.as_ref().is_none_or(|list| list.contains(guami));
    let own = amf.served.guamis.iter().map(|guami| &guami.sbi);
    let guamis: Vec<Guami> = own.filter(|guami| wanted(guami)).cloned().collect();
    if guamis.is_empty() {
        return;
    }
    let info = AmfStatusInfo::new(guamis, StatusChange::AmfUnavailable);
    let body = AmfStatusChangeNotification { amf_status_info_list: vec![info] };
    let peer = amf.context.callback_peer().within(ANSWER_TIMEOUT);
    let uri = data.amf_status_uri;
    if let Err(problem) =
        AmfStatusCallbackClient::new(peer).amf_status_change_notify(&uri, body).await
    {
        tracing::info!(uri, %problem, "AMF status notification failed");
    }
}
