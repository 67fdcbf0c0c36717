//! NRPPa transport between LMFs and gNBs (TS 23.273, 6.11.2 and 6.11.3; TS 38.413, 8.10). The AMF
//! does not read NRPPa; the routing ID, which the gNB returns, selects the LMF.
//!
//! ```text
//! LMF -> AMF -> gNB  DOWNLINK (NON) UE ASSOCIATED NRPPA TRANSPORT
//! gNB -> AMF -> LMF  UPLINK (NON) UE ASSOCIATED NRPPA TRANSPORT
//! ```
use crate::n2::{Gnb, downlink};
use crate::ue::positioning::{MAX_SUBSCRIPTIONS, Subscription, of_routing};
use crate::ue::{Stop, Ue};
use crate::{Amf, metrics};
use bytes::Bytes;
use martlet_nf::callbacks::check_share;
use martlet_ngap::ngap::*;
use martlet_ngap::{Error, extract_ngap_ies};
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::common::{GlobalRanNodeId, RefToBinaryData};
use martlet_sbi_api::namf_communication::{
    N2InfoContainer, N2InfoContent, N2InformationClass, N2InformationNotification,
    N2InformationTransferReqData, N2InformationTransferResult, N2InformationTransferRspData,
    NgapIeType, NonUeN2InfoSubscriptionCreateData, NonUeN2InfoSubscriptionCreatedData,
    NrppaInformation,
};
use martlet_sbi_api::nlmf_callback::LmfCallbackClient;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::Semaphore;

/// Subscriptions of LMFs to NRPPa messages without a UE.
const MAX_LMFS: usize = 64;
/// Notifications in flight.
const MAX_CONCURRENT_NOTIFICATIONS: usize = 256;

/// Subscriptions of LMFs to NRPPa messages without a UE.
pub(crate) struct NonUeSubscriptions {
    list: Mutex<(u64, Vec<Subscription>)>,
    notification_permits: Arc<Semaphore>,
}

impl Default for NonUeSubscriptions {
    fn default() -> Self {
        NonUeSubscriptions {
            list: Mutex::default(),
            notification_permits: Arc::new(Semaphore::new(MAX_CONCURRENT_NOTIFICATIONS)),
        }
    }
}

impl NonUeSubscriptions {
    fn list(&self) -> MutexGuard<'_, (u64, Vec<Subscription>)> {
        self.list.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Namf_Communication_NonUeN2InfoSubscribe (TS 29.518, 5.2.2.4.2).
    pub(crate) fn subscribe(
        &self,
        data: NonUeN2InfoSubscriptionCreateData,
    ) -> Result<NonUeN2InfoSubscriptionCreatedData, Problem> {
        if data.n2_information_class != N2InformationClass::NRPPa {
            let class = format!(
                "n2InformationClass: {}; only NRPPa is supported",
                data.n2_information_class
            );
            return Err(Problem::new(400, "MANDATORY_IE_INCORRECT").detail(class));
        }
        let mut list = self.list();
        let (next, list) = &mut *list;
        list.retain(|it| it.uri != data.n2_notify_callback_uri);
        if list.len() >= MAX_LMFS {
            return Err(
                Problem::new(403, "UNSPECIFIED").detail("too many subscriptions to NRPPa messages")
            );
        }
        check_share(&data.n2_notify_callback_uri, list.iter().map(|it| it.uri.as_str()), MAX_LMFS)?;
        *next += 1;
        let id = next.to_string();
        list.push(Subscription {
            id: id.clone(),
            lmf: data.nf_id,
            uri: data.n2_notify_callback_uri,
        });
        Ok(NonUeN2InfoSubscriptionCreatedData {
            n2_notify_subscription_id: id,
            ..Default::default()
        })
    }

    /// Namf_Communication_NonUeN2InfoUnSubscribe.
    pub(crate) fn unsubscribe(&self, id: &str) -> Result<(), Problem> {
        let mut list = self.list();
        let before = list.1.len();
        list.1.retain(|it| it.id != id);
        (list.1.len() < before)
            .then_some(())
            .ok_or_else(|| Problem::new(404, "SUBSCRIPTION_NOT_FOUND"))
    }
}

/// The NRPPa information of a container, if it has class NRPPa.
pub(crate) fn information(container: &N2InfoContainer) -> Option<&NrppaInformation> {
    container
        .nrppa_info
        .as_ref()
        .filter(|_| container.n2_information_class == N2InformationClass::NRPPa)
}

/// A notification with an NRPPa message.
fn notification(
    subscription: &Subscription,
    routing: &[u8],
    message: Bytes,
    about: Option<&GlobalRanNodeId>,
) -> Notification {
    let ngap_data = RefToBinaryData { content_id: "n2".into() };
    let content =
        N2InfoContent { ngap_ie_type: Some(NgapIeType::NrppaPdu), ngap_data, ..Default::default() };
    let mut container = N2InfoContainer::new(N2InformationClass::NRPPa);
    let named = || std::str::from_utf8(routing).ok()?.parse().ok();
    container.nrppa_info =
        subscription.lmf.clone().or_else(named).map(|lmf| NrppaInformation::new(lmf, content));
    let body = N2InformationNotification {
        n2_notify_subscription_id: subscription.id.clone(),
        n2_info_container: Some(container),
        ran_node_id: about.cloned(),
        ..Default::default()
    };
    Multipart::new(body).part("n2", content_type::NGAP, message)
}

type Notification = Multipart<N2InformationNotification>;

/// Notifies an LMF in a task of its own.
fn notify(amf: &Arc<Amf>, about: Option<String>, uri: String, body: Notification, of_ue: bool) {
    let Ok(permit) = amf.nrppa_subscriptions.notification_permits.clone().try_acquire_owned()
    else {
        return metrics::dropped("nrppa");
    };
    let mut peer = amf.context.callback_peer();
    if let Some(supi) = &about {
        peer = peer.about(supi);
    }
    martlet_nf::spawn(async move {
        let lmf = LmfCallbackClient::new(peer);
        let notified = match of_ue {
            true => lmf.n2_info_notify(&uri, body).await,
            false => lmf.non_ue_n2_info_notify(&uri, body).await,
        };
        if let Err(problem) = notified {
            metrics::ngap_error("nrppa_not_forwarded");
            if let Some(suppressed) = martlet_log_limit::line("nrppa_not_forwarded", &uri) {
                tracing::info!(
                    supi = about, %problem, suppressed,
                    "NRPPa message not delivered to an LMF"
                );
            }
        }
        drop(permit);
    });
}

/// UPLINK UE ASSOCIATED NRPPA TRANSPORT: forwards it to its LMF.
pub(crate) fn uplink(ue: &mut Ue, routing: &[u8], message: Bytes) {
    let known = &ue.positioning.nrppa;
    let Some(subscription) = of_routing(&known.list, routing) else {
        metrics::ngap_error("nrppa_not_forwarded");
        if let Some(suppressed) = martlet_log_limit::line("nrppa_routing", ue.gnb_address()) {
            tracing::info!(
                supi = ue.label(),
                gnb = ue.gnb(),
                suppressed,
                "NRPPa message dropped: no subscription"
            );
        }
        return;
    };
    let gnb = ue.connection.as_ref().and_then(|connection| connection.gnb.setup());
    let mut body =
        notification(subscription, routing, message, gnb.as_ref().map(|setup| &setup.global));
    let correlation = known.correlations.iter().find(|(of, _)| of == routing);
    body.json.lcs_correlation_id = correlation.map(|(_, id)| id.clone());
    notify(&ue.amf, Some(ue.label()), subscription.uri.clone(), body, true);
}

/// DOWNLINK UE ASSOCIATED NRPPA TRANSPORT: forwards an LMF's message to the UE's gNB.
pub(crate) async fn downlink(
    ue: &mut Ue,
    nrppa: &NrppaInformation,
    correlation: Option<&str>,
    message: &Bytes,
) -> Result<(), Stop> {
    let routing = nrppa.nf_id.as_ref().as_bytes().to_vec();
    let correlations = &mut ue.positioning.nrppa.correlations;
    correlations.retain(|(of, _)| *of != routing);
    if correlations.len() < MAX_SUBSCRIPTIONS {
        correlations.extend(correlation.map(|id| (routing.clone(), id.to_owned())));
    }
    let Some(connection) = &ue.connection else { return Err(Stop::ConnectionLost) };
    let sent = connection.send(downlink::ue_associated_nrppa(connection, routing, message)).await;
    sent.then_some(()).ok_or(Stop::ConnectionLost)
}

/// UPLINK NON UE ASSOCIATED NRPPA TRANSPORT: forwards it to its LMF.
pub(crate) fn from_gnb(amf: &Arc<Amf>, gnb: &Gnb, pdu: &NGAPPDU<'_>) -> Result<(), Error> {
    extract_ngap_ies!(pdu, UplinkNonUEAssociatedNRPPaTransport,
        req routing: RoutingID = RoutingID(routing) => routing,
        req message: NRPPaPDU = NRPPa_PDU(message) => message,
    );
    let subscription = of_routing(&amf.nrppa_subscriptions.list().1, &routing.0).cloned();
    let Some(subscription) = subscription else {
        metrics::ngap_error("nrppa_not_forwarded");
        if let Some(suppressed) = martlet_log_limit::line("nrppa_routing", gnb.address.ip()) {
            tracing::info!(gnb = gnb.label(), suppressed, "NRPPa message dropped: no subscription");
        }
        return Ok(());
    };
    let setup = gnb.setup();
    let message = Bytes::copy_from_slice(&message.0);
    let body =
        notification(&subscription, &routing.0, message, setup.as_ref().map(|setup| &setup.global));
    notify(amf, None, subscription.uri, body, false);
    Ok(())
}

/// Namf_Communication_NonUeN2MessageTransfer (TS 29.518, 5.2.2.4.1): to the named gNBs, or to all.
pub(crate) async fn to_gnbs(
    amf: &Amf,
    body: Multipart<N2InformationTransferReqData>,
) -> Result<N2InformationTransferRspData, Problem> {
    let request = &body.json;
    let Some(nrppa) = information(&request.n2_information) else {
        return Err(Problem::new(403, "UNSPECIFIED").detail("only NRPPa messages are supported"));
    };
    let message = body.find(&nrppa.nrppa_pdu.ngap_data.content_id);
    let message =
        message.ok_or_else(|| Problem::invalid_message("a referenced binary part is missing"))?;
    let is_meant = |gnb: &Gnb| {
        let Some(setup) = gnb.setup() else { return false };
        let named =
            request.global_ran_node_list.as_ref().is_none_or(|list| list.contains(&setup.global));
        let area = |list: &Vec<_>| setup.areas.iter().any(|area| list.contains(&area.tai.to_sbi()));
        named && request.tai_list.as_ref().is_none_or(area)
    };
    let gnbs: Vec<_> = amf.gnbs.all().into_iter().filter(|gnb| is_meant(gnb)).collect();
    let mut sent = 0;
    for gnb in &gnbs {
        match downlink::non_ue_associated_nrppa(nrppa.nf_id.as_ref().as_bytes().to_vec(), message) {
            Ok(pdu) => sent += usize::from(gnb.send(0, &pdu).await),
            Err(error) => return Err(Problem::new(500, "SYSTEM_FAILURE").detail(error.to_string())),
        }
    }
    match sent {
        0 => Err(Problem::new(404, "CONTEXT_NOT_FOUND")
            .detail("none of the addressed gNBs is connected")),
        _ => Ok(N2InformationTransferRspData::new(
            N2InformationTransferResult::N2InfoTransferInitiated,
        )),
    }
}
