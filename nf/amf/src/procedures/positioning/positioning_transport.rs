//! Positioning messages between a UE and an LMF (TS 23.273, 6.11.1 and 6.18; TS 24.501, 5.4.5.2.3):
//! LPP, location services messages, and UPP-CMI for user plane connections.
//!
//! ```text
//! UE -> AMF -> LMF  UL NAS TRANSPORT, N1MessageNotify
//! LMF -> AMF -> UE  N1N2MessageTransfer, DL NAS TRANSPORT
//! ```
use crate::metrics;
use crate::procedures::connection::dl_nas_transport::return_payload;
use crate::ue::positioning::MAX_SUBSCRIPTIONS;
use crate::ue::{Stop, Ue};
use bytes::Bytes;
use martlet_lcsupp::codes::upp_cm;
use martlet_nas::{
    GmmCause, Nas5gsMessage, NasAdditionalInformation, NasDlNasTransport, NasPayloadContainer,
    NasPayloadContainerType, NasUlNasTransport, PayloadContainerKind,
};
use martlet_nf::callbacks::check_share;
use martlet_sbi::{Multipart, Problem};
use martlet_sbi_api::common::RefToBinaryData;
use martlet_sbi_api::namf_communication::{
    N1MessageClass, N1MessageContainer, N1MessageNotification, N2InformationClass,
    UeN1N2InfoSubscriptionCreateData, UeN1N2InfoSubscriptionCreatedData,
};
use martlet_sbi_api::nlmf_callback::LmfCallbackClient;
use martlet_sbi_api::nlmf_location::{LcsUpConnectionInd, LmfLocationClient, UpConfig};

/// The payload container type of an N1 message class, if it is a positioning class.
fn kind_of(class: &N1MessageClass) -> Option<PayloadContainerKind> {
    match class {
        N1MessageClass::Lpp => Some(PayloadContainerKind::LtePp),
        N1MessageClass::Lcs => Some(PayloadContainerKind::LocationServices),
        N1MessageClass::UppCmi => Some(PayloadContainerKind::UppCmiContainer),
        _ => None,
    }
}

/// The N1 message class of a payload container type, if it is a positioning type.
pub(crate) fn class_of(kind: PayloadContainerKind) -> Option<N1MessageClass> {
    match kind {
        PayloadContainerKind::LtePp => Some(N1MessageClass::Lpp),
        PayloadContainerKind::LocationServices => Some(N1MessageClass::Lcs),
        PayloadContainerKind::UppCmiContainer => Some(N1MessageClass::UppCmi),
        _ => None,
    }
}

/// Whether an N1 message class is a positioning class.
pub(crate) fn is_positioning(class: &N1MessageClass) -> bool {
    kind_of(class).is_some()
}

/// Subscribes an LMF to a UE's messages (TS 29.518, 5.2.2.3.3).
pub(crate) fn subscribe(
    ue: &mut Ue,
    data: UeN1N2InfoSubscriptionCreateData,
) -> Result<UeN1N2InfoSubscriptionCreatedData, Problem> {
    if let (Some(N2InformationClass::NRPPa), Some(uri)) =
        (&data.n2_information_class, &data.n2_notify_callback_uri)
    {
        let known = &mut ue.positioning;
        // A repeated subscription replaces the old one.
        known.nrppa.list.retain(|it| it.uri != *uri);
        let others = known.nrppa.list.iter().map(|it| it.uri.as_str());
        check_share(uri, others, MAX_SUBSCRIPTIONS)?;
        known.next += 1;
        let id = known.next.to_string();
        return match known.nrppa.add(&id, data.nf_id, uri) {
            true => Ok(UeN1N2InfoSubscriptionCreatedData {
                n1n2_notify_subscription_id: id,
                supported_features: None,
            }),
            false => {
                Err(Problem::new(403, "UNSPECIFIED")
                    .detail("too many subscriptions to NRPPa messages"))
            }
        };
    }
    let (Some(class), Some(uri)) = (data.n1_message_class, data.n1_notify_callback_uri) else {
        let missing = "n1MessageClass and n1NotifyCallbackUri, or n2InformationClass NRPPa and \
                       n2NotifyCallbackUri";
        return Err(Problem::new(400, "MANDATORY_IE_MISSING").detail(missing));
    };
    if !is_positioning(&class) {
        return Err(
            Problem::new(400, "MANDATORY_IE_INCORRECT").detail(format!("n1MessageClass: {class}"))
        );
    }
    let known = &mut ue.positioning;
    // A repeated subscription replaces the old one.
    known.subscriptions.retain(|(_, of, to)| (of, to) != (&class, &uri));
    if known.subscriptions.len() >= MAX_SUBSCRIPTIONS {
        return Err(
            Problem::new(403, "UNSPECIFIED").detail("too many subscriptions to the UE's messages")
        );
    }
    let others = known.subscriptions.iter().map(|(.., other)| other.as_str());
    check_share(&uri, others, MAX_SUBSCRIPTIONS)?;
    known.next += 1;
    let id = known.next.to_string();
    known.subscriptions.push((id.clone(), class, uri));
    Ok(UeN1N2InfoSubscriptionCreatedData {
        n1n2_notify_subscription_id: id,
        supported_features: None,
    })
}

/// Ends a subscription.
pub(crate) fn unsubscribe(ue: &mut Ue, id: &str) -> Result<(), Problem> {
    let before = ue.positioning.subscriptions.len();
    ue.positioning.subscriptions.retain(|(known, ..)| known != id);
    match ue.positioning.subscriptions.len() < before || ue.positioning.nrppa.remove(id) {
        true => Ok(()),
        false => Err(Problem::new(404, "SUBSCRIPTION_NOT_FOUND")),
    }
}

/// Forwards a message of the UE to the subscribed LMF. Without one, requests for the setup or the
/// termination of a user plane connection go to the UE's LMF: another AMF may have had the
/// subscription.
pub(crate) async fn uplink(
    ue: &mut Ue,
    class: N1MessageClass,
    transport: NasUlNasTransport,
) -> Result<(), Stop> {
    let message = Bytes::copy_from_slice(&transport.payload_container.value);
    let (kind, supi) = (transport.payload_container_type, ue.label());
    let requested = connection_ind(&class, &message);
    let outcome = match (ue.positioning.subscriber(&class), requested) {
        (Some((subscription, uri)), _) => {
            let container =
                N1MessageContainer::new(class.clone(), RefToBinaryData { content_id: "n1".into() });
            let mut notification = N1MessageNotification::new(container);
            notification.n1_notify_subscription_id = Some(subscription);
            let routing = transport.additional_information.as_ref();
            notification.lcs_correlation_id =
                routing.and_then(|it| String::from_utf8(it.value.to_vec()).ok());
            notification.supi = ue.identity.supi.clone();
            let location = ue.connection.as_ref().map(|connection| connection.location);
            notification.ncgi = location.map(|location| location.ncgi());
            notification.tai = location.map(|location| location.tai.to_sbi());
            notification.guami = Some(ue.guami().sbi.clone());
            let body = Multipart::new(notification).part(
                "n1",
                martlet_sbi::content_type::NAS,
                message.clone(),
            );
            LmfCallbackClient::new(ue.amf.context.callback_peer().about(&supi))
                .n1_message_notify(&uri, body)
                .await
        }
        (None, Some(requested)) => configure_user_plane(ue, requested).await,
        (None, None) => {
            Err(Problem::new(404, "SUBSCRIPTION_NOT_FOUND").detail("no LMF has subscribed"))
        }
    };
    let Err(problem) = outcome else { return Ok(()) };
    metrics::nas_error("payload_container");
    if let Some(suppressed) = martlet_log_limit::line("positioning_transport", ue.label()) {
        tracing::info!(
            supi, gnb = ue.gnb(), class = %class, %problem, suppressed,
            "positioning message not delivered to an LMF"
        );
    }
    return_payload(ue, kind, None, &message, GmmCause::PayloadWasNotForwarded.into()).await
}

/// What the UE requests with a message that needs no subscribed LMF: the setup or the termination
/// of its user plane connection.
fn connection_ind(class: &N1MessageClass, message: &[u8]) -> Option<LcsUpConnectionInd> {
    match (class, *message.first()?) {
        (N1MessageClass::UppCmi, upp_cm::ESTABLISHMENT_REQUEST) => Some(LcsUpConnectionInd::Setup),
        (N1MessageClass::UppCmi, upp_cm::RELEASE_REQUEST) => Some(LcsUpConnectionInd::Termination),
        _ => None,
    }
}

/// Nlmf_Location_UPConfig (TS 23.273, 6.18): the UE requests the setup or the termination of its
/// user plane connection.
async fn configure_user_plane(ue: &Ue, requested: LcsUpConnectionInd) -> Result<(), Problem> {
    let mut config = UpConfig::new(format!(
        "{}/namf-callback/v1/up-status/{}",
        ue.amf.context.api_root(),
        ue.label()
    ));
    config.supi = ue.identity.supi.clone();
    let subscription = ue.registration.subscription.as_ref();
    config.gpsi = subscription.and_then(|it| it.access.gpsis.as_ref()?.first().cloned());
    config.lcs_up_connection_ind = Some(requested);
    let lmf: LmfLocationClient = ue.amf.lmf(&ue.label()).await?;
    lmf.up_config(config).await
}

/// Sends an LMF's message to the UE; `correlation` returns with the UE's answer.
pub(crate) async fn downlink(
    ue: &mut Ue,
    class: &N1MessageClass,
    correlation: Option<&str>,
    message: &Bytes,
) -> Result<(), Stop> {
    let Some(kind) = kind_of(class) else { return Ok(()) };
    let kind = NasPayloadContainerType::from_kind(kind);
    let mut transport = NasDlNasTransport::new(kind, NasPayloadContainer::new(message.to_vec()));
    if let Some(correlation) = correlation {
        transport.set_additional_information(NasAdditionalInformation::new(
            correlation.as_bytes().to_vec(),
        ));
    }
    ue.send_nas(&Nas5gsMessage::new_5gmm(transport)).await
}
