//! PDU session establishment, the AMF's part (TS 23.502, 4.3.2.2.1, steps 1 to 5).
//!
//! ```text
//! UE -> AMF   UL NAS TRANSPORT (PDU SESSION ESTABLISHMENT REQUEST)
//! AMF -> SMF  Nsmf_PDUSession_CreateSMContext
//! SMF -> AMF  N1N2MessageTransfer, see n1_n2_message_transfer
//! ```
use super::pdu_session_resource_release;
use super::user_plane_activation::{N1, part};
use crate::concurrency::Kind;
use crate::metrics::Procedure;
use crate::procedures::connection::dl_nas_transport::{self, Refusal, return_to_ue};
use crate::served::{plmn_to_sbi, slice_from_sbi, slice_to_sbi};
use crate::ue::{Reject, Session, SessionState, SmContext, Stop, Ue};
use bytes::Bytes;
use martlet_nas::identifiers::Slice;
use martlet_nas::{GmmCause, IntegrityAlgorithm, NasUlNasTransport, Plmn};
use martlet_sbi::{Created, Multipart, Problem, content_type, path_segment};
use martlet_sbi_api::common::{AccessType, Dnn, RatType};
use martlet_sbi_api::nsmf_pdusession::{
    Cause, DnnSelectionMode, RequestType, SmContextCreateData, SmContextCreateError,
    SmContextCreatedData, SmfPduSessionClient,
};
use martlet_sbi_api::nudm_sdm::SmfSelectionSubscriptionData;

/// Why no session is established.
enum NotEstablished {
    /// The AMF returns the message to the UE.
    Refused(Refusal),
    /// The SMF sends a reject.
    Rejected(Bytes),
}

impl From<GmmCause> for NotEstablished {
    fn from(cause: GmmCause) -> Self {
        NotEstablished::Refused(cause.into())
    }
}

/// Establishes a session or returns the request.
pub(crate) async fn run(
    ue: &mut Ue,
    psi: u8,
    transport: &NasUlNasTransport,
    message: Bytes,
) -> Result<(), Stop> {
    let procedure = Procedure::start("pdu_session_establishment");
    // An existing session with this identity is released (TS 24.501, 5.4.5.2.5 a 2).
    if let Some(before) = ue.sessions.remove(&psi) {
        let at_gnb = before.state.is_active();
        ue.release_sessions(vec![(psi, before)], Some(Cause::RelDueToDuplicateSessionId)).await;
        if at_gnb {
            pdu_session_resource_release::at_gnb_only(ue, &[psi]).await?;
        }
    }
    let outcome = match ue.acquire_slot(Kind::PduSessionEstablishment).await {
        Ok(()) => establish(ue, psi, transport, &message).await,
        // The request is returned with the back-off time (TS 24.501, 5.4.5.3.1 e).
        Err(Stop::Reject(Reject { cause, back_off, .. })) => {
            Err(NotEstablished::Refused(Refusal { cause, back_off }))
        }
        Err(stop) => {
            procedure.failed(&stop.label());
            return Err(stop);
        }
    };
    ue.release_slot();
    match outcome {
        Ok(session) => {
            tracing::debug!(
                supi = ue.label(), gnb = ue.gnb(), psi, dnn = %session.dnn,
                "SM context created"
            );
            ue.sessions.insert(psi, session);
            ue.publish();
            procedure.succeeded();
            Ok(())
        }
        Err(NotEstablished::Refused(refusal)) => {
            let cause = refusal.cause.as_u8();
            procedure.failed(&format!("cause_{cause}"));
            if let Some(suppressed) = martlet_log_limit::line("refused_by_amf", ue.label()) {
                tracing::info!(
                    supi = ue.label(),
                    gnb = ue.gnb(),
                    psi,
                    cause,
                    suppressed,
                    "PDU session establishment rejected"
                );
            }
            return_to_ue(ue, psi, &message, refusal).await
        }
        Err(NotEstablished::Rejected(answer)) => {
            procedure.failed("rejected_by_smf");
            if let Some(suppressed) = martlet_log_limit::line("rejected_by_smf", ue.label()) {
                tracing::info!(
                    supi = ue.label(),
                    gnb = ue.gnb(),
                    psi,
                    suppressed,
                    "PDU session establishment rejected by the SMF"
                );
            }
            dl_nas_transport::downlink(ue, psi, &answer).await
        }
    }
}

async fn establish(
    ue: &Ue,
    psi: u8,
    transport: &NasUlNasTransport,
    message: &Bytes,
) -> Result<Session, NotEstablished> {
    // Null integrity is for emergency services only, which are not supported.
    if ue.security.as_ref().is_none_or(|security| security.integrity == IntegrityAlgorithm::NIA0) {
        return Err(GmmCause::PayloadWasNotForwarded.into());
    }
    if ue.sessions.len() >= ue.amf.config.limits.max_sessions.into() {
        return Err(GmmCause::MaximumNumberOfPduSessionsReached.into());
    }
    let requested = transport.s_nssai.as_ref().map(|slice| slice.parse().as_ref().map(Slice::from));
    let asked = transport.dnn.as_ref().map(|dnn| {
        let plmns = ue.amf.served.plmns.iter().map(|served| served.plmn);
        network_identifier(&dnn.as_string()?, plmns).parse::<Dnn>().ok()
    });
    let (slice, subscribed) = slice(ue, requested, asked.as_ref().and_then(Option::as_ref))?;
    let dnn = dnn(ue, &subscribed, asked)?;
    let smf = ue.amf.smf(&ue.label(), slice_to_sbi(slice), &dnn).await.map_err(|problem| {
        if let Some(suppressed) = martlet_log_limit::line("smf_discovery", ue.label()) {
            tracing::warn!(
                supi = ue.label(), gnb = ue.gnb(), psi, %slice, %dnn, %problem, suppressed,
                "SMF discovery failed"
            );
        }
        NotEstablished::from(GmmCause::PayloadWasNotForwarded)
    })?;
    let root = smf.root().clone();
    let number = ue.amf.tables.next_number();
    let mut data =
        create_data(ue, psi, number, slice, &dnn).ok_or(GmmCause::PayloadWasNotForwarded)?;
    // The session that this one replaces (TS 23.502, 4.3.5.2).
    data.old_pdu_session_id = transport.old_pdu_session_id.as_ref().map(|old| old.pdu_session_id());
    let body = Multipart::new(data).part(N1, content_type::NAS, message.clone());
    let created: Created<Multipart<SmContextCreatedData>> = SmfPduSessionClient::new(smf)
        .post_sm_contexts(body)
        .await
        .map_err(|problem| refused(ue, psi, problem))?;
    let tolerates = |quirk| ue.amf.context.tolerates(quirk, &root.authority);
    let Some(context) = SmContext::from_location(&created.location, &root, tolerates) else {
        tracing::error!(
            supi = ue.label(),
            location = created.location,
            "SM context without a usable location"
        );
        return Err(GmmCause::PayloadWasNotForwarded.into());
    };
    let state = SessionState::Deactivated;
    Ok(Session { number, slice, dnn, context, state, is_unannounced: false })
}

/// The requested slice if it is allowed; without a request, the allowed slice that [`select`]
/// finds.
fn slice(
    ue: &Ue,
    requested: Option<Option<Slice>>,
    dnn: Option<&Dnn>,
) -> Result<(Slice, Slice), NotEstablished> {
    let allowed = &ue.registration.allowed;
    let slice = match requested {
        // A malformed IE is treated as absent (TS 24.501, 7.7.1).
        Some(Some(slice)) => allowed.contains(&slice).then_some(slice),
        _ => ue.registration.subscription.as_ref().and_then(|subscription| {
            let nssai = subscription.access.nssai.iter();
            let default = nssai.flat_map(|nssai| &nssai.default_single_nssais);
            let default: Vec<_> = default.map(slice_from_sbi).collect();
            select(allowed, &default, &subscription.smf_selection, dnn)
        }),
    };
    let slice = slice.ok_or(NotEstablished::from(GmmCause::PayloadWasNotForwarded))?;
    // No roaming: the home network slice is the same.
    Ok((slice, slice))
}

/// The allowed slice of a session whose UE requests none: one with the requested DNN, and of these
/// one that is subscribed as default (TS 23.501, 5.15.5.3; TS 24.501, 5.4.5.2.3).
fn select(
    allowed: &[Slice],
    default: &[Slice],
    data: &SmfSelectionSubscriptionData,
    dnn: Option<&Dnn>,
) -> Option<Slice> {
    let has_dnn = |slice: Slice| match dnn {
        Some(dnn) => is_subscribed(data, slice, dnn),
        None => default_dnn(data, slice).is_some(),
    };
    let order = |slice: &Slice| (!has_dnn(*slice), !default.contains(slice));
    allowed.iter().copied().min_by_key(order)
}

/// The network identifier of a DNN, which a UE may send with the operator identifier of a served
/// network (TS 23.003, 9A and 9.1). A DNN of another network stays as it is: there is no roaming.
fn network_identifier(dnn: &str, mut plmns: impl Iterator<Item = Plmn>) -> &str {
    let identifier = plmns.find_map(|plmn| {
        let operator = format!(".mnc{:0>3}.mcc{}.gprs", plmn.mnc(), plmn.mcc());
        let at = dnn.len().checked_sub(operator.len())?;
        let (network, of_operator) = dnn.split_at_checked(at)?;
        of_operator.eq_ignore_ascii_case(&operator).then_some(network)
    });
    identifier.unwrap_or(dnn)
}

/// The requested DNN if it is subscribed in the slice, else the default one (TS 23.501, 5.6.1).
fn dnn(ue: &Ue, slice: &Slice, asked: Option<Option<Dnn>>) -> Result<Dnn, NotEstablished> {
    let unknown = NotEstablished::from(GmmCause::DnnNotSupportedOrNotSubscribedInTheSlice);
    let Some(subscription) = &ue.registration.subscription else { return Err(unknown) };
    let chosen = match asked {
        None => default_dnn(&subscription.smf_selection, *slice),
        Some(asked) => asked.filter(|dnn| is_subscribed(&subscription.smf_selection, *slice, dnn)),
    };
    chosen.ok_or(unknown)
}

fn infos(
    data: &SmfSelectionSubscriptionData,
    slice: Slice,
) -> impl Iterator<Item = &martlet_sbi_api::nudm_sdm::DnnInfo> {
    let of_slice = data.subscribed_snssai_infos.iter().flatten();
    let of_slice =
        of_slice.filter(move |(key, _)| key.parse().is_ok_and(|key| slice_from_sbi(&key) == slice));
    of_slice.flat_map(|(_, info)| &info.dnn_infos).filter(|info| info.dnn_barred != Some(true))
}

fn is_subscribed(data: &SmfSelectionSubscriptionData, slice: Slice, dnn: &Dnn) -> bool {
    infos(data, slice).any(|info| info.dnn.as_str() == "*" || info.dnn.eq_ignore_ascii_case(dnn))
}

fn default_dnn(data: &SmfSelectionSubscriptionData, slice: Slice) -> Option<Dnn> {
    let named: Vec<_> = infos(data, slice).filter(|info| info.dnn.as_str() != "*").collect();
    let default =
        named.iter().find(|info| info.default_dnn_indicator == Some(true)).or(named.first());
    default.map(|info| info.dnn.clone())
}

/// The Nsmf_PDUSession_CreateSMContext request; `None` without SUPI or connection.
fn create_data(
    ue: &Ue,
    psi: u8,
    number: u64,
    slice: Slice,
    dnn: &Dnn,
) -> Option<SmContextCreateData> {
    let (supi, connection) = (ue.identity.supi.clone()?, ue.connection.as_ref()?);
    let root = ue.amf.context.api_root();
    let segment = path_segment(&supi);
    let mut data = SmContextCreateData::new(
        ue.amf.instance_id.clone(),
        plmn_to_sbi(ue.guami().plmn).into(),
        AccessType::ThreeGppAccess,
        format!("{root}/namf-callback/v1/sm-context-status/{segment}/{psi}/{number}"),
    );
    data.supi = Some(supi);
    data.pei = ue.identity.pei.clone();
    data.gpsi = ue
        .registration
        .subscription
        .as_ref()
        .and_then(|s| s.access.gpsis.as_ref()?.first().cloned());
    data.pdu_session_id = Some(psi);
    data.dnn = Some(dnn.clone());
    data.s_nssai = Some(slice_to_sbi(slice));
    data.guami = Some(ue.guami().sbi.clone());
    data.request_type = Some(RequestType::InitialRequest);
    data.n1_sm_msg = part(N1);
    data.rat_type = Some(RatType::Nr);
    data.ue_location = Some(connection.location.to_sbi());
    data.ue_time_zone = ue.amf.config.network_name.time_zone.clone();
    data.sel_mode = Some(DnnSelectionMode::Verified);
    Some(data)
}

/// The result after an error of the SMF: the SMF's own reject, if present.
fn refused(ue: &Ue, psi: u8, mut problem: Problem) -> NotEstablished {
    if let Some(suppressed) = martlet_log_limit::line("sm_context", ue.label()) {
        tracing::info!(
            supi = ue.label(), gnb = ue.gnb(), psi, %problem, suppressed,
            "SM context creation failed"
        );
    }
    let answer = SmContextCreateError::from_problem(&mut problem).and_then(|error| {
        error.json.n1_sm_msg.as_ref().and_then(|part| error.find(&part.content_id)).cloned()
    });
    if let Some(answer) = answer {
        return NotEstablished::Rejected(answer);
    }
    let back_off = problem.retry_after.or(Some(ue.amf.config.limits.back_off_s));
    match problem.cause() {
        "DNN_NOT_SUPPORTED" | "DNN_DENIED" => {
            GmmCause::DnnNotSupportedOrNotSubscribedInTheSlice.into()
        }
        "DNN_CONGESTION" => {
            NotEstablished::Refused(Refusal { cause: GmmCause::Congestion, back_off })
        }
        "INSUFFICIENT_RESOURCES_SLICE_DNN" => NotEstablished::Refused(Refusal {
            cause: GmmCause::InsufficientResourcesForSpecificSliceAndDnn,
            back_off,
        }),
        "INSUFFICIENT_RESOURCES_SLICE" | "S_NSSAI_CONGESTION" => NotEstablished::Refused(Refusal {
            cause: GmmCause::InsufficientResourcesForSpecificSlice,
            back_off,
        }),
        _ => GmmCause::PayloadWasNotForwarded.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(json: &str) -> SmfSelectionSubscriptionData {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn without_a_requested_slice_the_dnn_selects_one() {
        let data = data(
            r#"{"subscribedSnssaiInfos": {
                "1": {"dnnInfos": [{"dnn": "internet"}]},
                "2": {"dnnInfos": [{"dnn": "ims"}, {"dnn": "internet"}]},
                "3": {"dnnInfos": [{"dnn": "ims"}]}
            }}"#,
        );
        let [one, two, three] = [1, 2, 3].map(Slice::of_type);
        let select = |allowed: &[Slice], dnn: Option<&str>| {
            let dnn = dnn.map(|text| text.parse::<Dnn>().unwrap());
            select(allowed, &[one], &data, dnn.as_ref())
        };
        assert_eq!(select(&[one, two, three], Some("IMS")), Some(two));
        assert_eq!(select(&[two, one], Some("internet")), Some(one));
        assert_eq!(select(&[three, two], Some("internet")), Some(two));
        assert_eq!(select(&[two, one], None), Some(one));
        // The default slice, in which the DNN is rejected.
        assert_eq!(select(&[two, one], Some("other")), Some(one));
        assert_eq!(select(&[], None), None);
    }

    #[test]
    fn the_operator_identifier_of_a_served_network_is_removed_from_a_dnn() {
        let plmns = [("001", "01"), ("310", "410")].map(|(mcc, mnc)| Plmn::new(mcc, mnc).unwrap());
        for (dnn, expected) in [
            ("internet.mnc001.mcc001.gprs", "internet"),
            ("a.b.MNC410.MCC310.GPRS", "a.b"),
            ("internet.mnc002.mcc001.gprs", "internet.mnc002.mcc001.gprs"),
            ("internet", "internet"),
            ("", ""),
        ] {
            assert_eq!(network_identifier(dnn, plmns.into_iter()), expected);
        }
    }

    #[test]
    fn a_dnn_must_be_subscribed_in_the_slice() {
        let data = data(
            r#"{"subscribedSnssaiInfos": {
                "1": {"dnnInfos": [
                    {"dnn": "ims"},
                    {"dnn": "internet", "defaultDnnIndicator": true},
                    {"dnn": "x", "dnnBarred": true}
                ]},
                "1-000001": {"dnnInfos": [{"dnn": "*"}]}
            }}"#,
        );
        let (one, other) = (Slice::of_type(1), Slice { sst: 1, sd: Some([0, 0, 1]) });
        let dnn = |text: &str| text.parse::<Dnn>().unwrap();
        assert_eq!(default_dnn(&data, one), Some(dnn("internet")));
        assert_eq!(default_dnn(&data, other), None);
        assert!(is_subscribed(&data, one, &dnn("Internet")));
        assert!(!is_subscribed(&data, one, &dnn("x")) && !is_subscribed(&data, one, &dnn("y")));
        assert!(is_subscribed(&data, other, &dnn("anything")));
        assert!(!is_subscribed(&data, Slice::of_type(2), &dnn("internet")));
    }
}
