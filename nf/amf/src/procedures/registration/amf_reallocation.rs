//! Registration with AMF re-allocation (TS 23.502, 4.2.2.2.3): the NSSF names another AMF set for
//! the UE's slices, which takes the registration.
//!
//! ```text
//! step 7A, direct:
//! initial AMF -> target AMF  N1MessageNotify (registration request, UE context with keys)
//! target AMF  -> SMFs        new serving AMF, if the UE keeps its sessions
//! target AMF  -> gNB         first message with Old AMF (TS 38.413, 8.3.1.2)
//!
//! step 7B, via the (R)AN:
//! initial AMF -> gNB         REROUTE NAS REQUEST
//! gNB -> target AMF          INITIAL UE MESSAGE
//! target AMF -> initial AMF  UEContextTransfer
//! ```
//!
//! Step 7B needs a 5G-GUTI of the initial AMF and a request that its keys verify. A UE that has
//! just been authenticated would not accept a new authentication without integrity protection.
use super::{implicit_deregistration, ue_context_transfer};
use crate::config::is_of_name;
use crate::metrics::Procedure;
use crate::n2::{Connection, Location, downlink};
use crate::served::Tai;
use crate::ue::{Reallocation, ReallocationAnswer, Stop, Ue};
use bytes::Bytes;
use martlet_nas::inbound::{Assurance, Inbound};
use martlet_nas::{
    Nas5gsMessage, Nas5gsSecurityHeaderType, NasCount, NasRegistrationRequest, Plmn,
};
use martlet_sbi::{Multipart, Problem, content_type};
use martlet_sbi_api::common::{AccessType, RefToBinaryData, SecretText};
use martlet_sbi_api::namf_callback::AmfCallbackClient;
use martlet_sbi_api::namf_communication::*;
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscoveryClient, SearchQuery};
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NfType, NotificationType};

const NAS: &str = "nas";
/// The N1 message class of registration requests (TS 29.518, 6.1.6.3.3).
pub(crate) const CLASS: &str = "5GMM";

/// Initial AMF: sends the registration to an AMF of `set`. On success this AMF no longer serves the
/// UE.
pub(crate) async fn run(
    ue: &mut Ue,
    request: &NasRegistrationRequest,
    access: NasCount,
    set: &str,
    via_ran_possible: bool,
) -> Result<(), Stop> {
    let procedure = Procedure::start("amf_reallocation");
    if via_ran_possible && ue.amf.config.reroute_via_ran && reroute_via_ran(ue, access, set).await {
        procedure.succeeded();
        return Ok(());
    }
    match reroute_directly(ue, request, access, set).await {
        Ok(()) => {
            procedure.succeeded();
            tracing::info!(
                supi = ue.label(),
                gnb = ue.gnb(),
                set,
                "registration rerouted to another AMF set"
            );
            // The connection continues with the other AMF: the gNB gets no release.
            drop(ue.enter_cm_idle());
            ue.sessions.clear();
            ue.registration.policy = None;
            implicit_deregistration::remove_registration(ue).await;
            Ok(())
        }
        // No AMF accepted it directly; an AMF of another vendor may not support that.
        Err(_)
            if via_ran_possible
                && !ue.amf.config.reroute_via_ran
                && reroute_via_ran(ue, access, set).await =>
        {
            procedure.succeeded();
            Ok(())
        }
        Err(problem) => {
            procedure.failed(problem.cause());
            tracing::warn!(
                supi = ue.label(), gnb = ue.gnb(), set, %problem,
                "rerouting failed; this AMF serves the UE"
            );
            Err(Stop::Abandoned("not_rerouted"))
        }
    }
}

/// Sends REROUTE NAS REQUEST. The context stays until the target AMF asks for it.
async fn reroute_via_ran(ue: &mut Ue, access: NasCount, set: &str) -> bool {
    let number = set.rsplit('-').next().and_then(|number| u16::from_str_radix(number, 16).ok());
    let (Some(number), Some(connection)) = (number, &ue.connection) else { return false };
    let (Some(nas), Some(whole)) = (ue.initial.nas.clone(), ue.initial.ngap.clone()) else {
        return false;
    };
    // With a UE context in the gNB, the request cannot be rerouted.
    if connection.context_is_set_up
        || !connection.send(downlink::reroute_nas_request(connection, &whole, number)).await
    {
        return false;
    }
    tracing::info!(supi = ue.label(), gnb = ue.gnb(), set, "registration rerouted via the gNB");
    ue.reallocation = Reallocation::SentViaRan { request: nas, uplink: access };
    drop(ue.enter_cm_idle());
    true
}

async fn reroute_directly(
    ue: &Ue,
    request: &NasRegistrationRequest,
    access: NasCount,
    set: &str,
) -> Result<(), Problem> {
    let none = || {
        Problem::new(504, "TARGET_NF_NOT_REACHABLE")
            .detail(format!("no AMF of the set {set} accepts registrations"))
    };
    let [_, _, region, number] = set.split('-').collect::<Vec<_>>()[..] else { return Err(none()) };
    let query = SearchQuery {
        target_nf_type: Some(NfType::Amf),
        requester_nf_type: Some(NfType::Amf),
        requester_nf_instance_id: Some(ue.amf.instance_id.clone()),
        amf_region_id: Some(region.into()),
        amf_set_id: Some(number.into()),
        ..Default::default()
    };
    let found = NfDiscoveryClient::new(ue.amf.context.nrf()).search_nf_instances(query).await?;
    let uris: Vec<String> = found.nf_instances.iter().filter_map(takes_registrations).collect();
    let nas = Nas5gsMessage::new_5gmm(request.clone()).encode();
    let nas: Bytes = nas.map_err(|error| Problem::system_failure(error.to_string()))?.into();
    let data = notification(ue, access)
        .ok_or_else(|| Problem::system_failure("the UE context has no connection or no keys"))?;
    let amf = AmfCallbackClient::new(ue.amf.context.callback_peer().about(&ue.label()));
    let mut last = none();
    for uri in uris {
        // The message has the UE's keys: it goes to a registered function only.
        if let Err(problem) = ue.amf.context.check_callback(&uri).await {
            last = problem;
            continue;
        }
        let body = Multipart::new(data.clone()).part(NAS, content_type::NAS, nas.clone());
        match amf.n1_message_notify(&uri, body).await {
            Ok(()) => return Ok(()),
            Err(problem) => last = problem,
        }
    }
    Err(last)
}

/// The callback URI for registration requests of an AMF (TS 29.518, 5.2.2.3.5).
fn takes_registrations(profile: &NfProfile) -> Option<String> {
    let mut all = profile.default_notification_subscriptions.iter().flatten();
    let found = all.find(|own| {
        own.notification_type == NotificationType::N1Messages
            && own.n1_message_class.as_deref() == Some(CLASS)
    });
    found.map(|own| own.callback_uri.clone())
}

/// The UE context with the current keys.
fn notification(ue: &Ue, access: NasCount) -> Option<N1MessageNotification> {
    let (connection, security) = (ue.connection.as_ref()?, ue.security.as_ref()?);
    let key_amf =
        KeyAmf { key_type: KeyAmfType::Kamf, key_val: SecretText(hex::encode(security.k_amf())) };
    let keys = SeafData::new(NgKsi { tsc: ScType::Native, ksi: security.ngksi }, key_amf);
    let mut mm = ue_context_transfer::mm_context(ue);
    mm.allowed_nssai = None;
    // The next COUNT to use. K_gNB derives from the previous one.
    mm.nas_uplink_count = Some(access.get() + 1);
    mm.nas_downlink_count = security.downlink();
    mm.nas_security_mode = Some(security.mode());
    let context = UeContext {
        supi: ue.identity.supi.clone(),
        pei: ue.identity.pei.clone(),
        seaf_data: Some(keys),
        mm_context_list: Some(vec![mm]),
        session_context_list: ue_context_transfer::session_contexts(ue),
        ..Default::default()
    };
    let container = N1MessageContainer::new(
        N1MessageClass::FiveGMm,
        RefToBinaryData { content_id: NAS.into() },
    );
    let mut data = N1MessageNotification::new(container);
    data.registration_ctxt_container = Some(RegistrationContextContainer {
        ue_context: context,
        local_time_zone: None,
        an_type: AccessType::ThreeGppAccess,
        an_n2_ap_id: connection.ran_id,
        ran_node_id: connection.gnb.setup()?.global.clone(),
        initial_amf_name: name(ue),
        user_location: connection.location.to_sbi(),
        rrc_est_cause: None,
        ue_context_request: Some(true),
        allowed_nssai: None,
        configured_nssai: None,
        rejected_nssai_in_plmn: None,
        rejected_nssai_in_ta: None,
    });
    Some(data)
}

/// The AMF name as a domain name (TS 23.003, 28.3.2.5); the configured name may be any text.
fn name(ue: &Ue) -> String {
    let (own, id, plmn) = (&ue.amf.config.name, ue.guami().id, ue.guami().plmn);
    match own.contains('.') {
        true => own.clone(),
        false => format!(
            "pt{:02x}.set{:03x}.region{:02x}.amf.5gc.mnc{:0>3}.mcc{}.3gppnetwork.org",
            id.pointer(),
            id.set(),
            id.region(),
            plmn.mnc(),
            plmn.mcc()
        ),
    }
}

/// Target side of step 7A: takes the context from the initial AMF. Returns the registration request
/// to run, or `None` if it was rejected.
pub(crate) async fn accept(
    ue: &mut Ue,
    body: Multipart<N1MessageNotification>,
    answer: ReallocationAnswer,
) -> Option<Inbound> {
    let procedure = Procedure::start("amf_reallocation");
    let outcome = take_context(ue, &body);
    let inbound = match outcome {
        Ok(inbound) => inbound,
        Err(problem) => {
            procedure.failed(problem.cause());
            tracing::warn!(%problem, "registration from another AMF rejected");
            drop(ue.enter_cm_idle());
            (ue.security, ue.identity.supi) = (None, None);
            let _ = answer.send(Err(problem));
            return None;
        }
    };
    if answer.send(Ok(())).is_err() {
        // The initial AMF has timed out and continues itself.
        drop(ue.enter_cm_idle());
        ue.security = None;
        procedure.failed("timed_out");
        return None;
    }
    procedure.succeeded();
    ue.replace_previous_context().await;
    tracing::info!(supi = ue.label(), gnb = ue.gnb(), "registration received from another AMF");
    ue.reallocation = Reallocation::ReceivedFromAmf;
    Some(inbound)
}

fn take_context(ue: &mut Ue, body: &Multipart<N1MessageNotification>) -> Result<Inbound, Problem> {
    let wrong = |what: &str| Problem::new(403, "UNSPECIFIED").detail(what.to_string());
    let Some(data) = body.json.registration_ctxt_container.clone() else {
        return Err(wrong("no registration context"));
    };
    let nas = body.find(&body.json.n1_message_container.n1_message_content.content_id);
    let message = nas
        .and_then(|nas| Nas5gsMessage::decode(nas).ok())
        .ok_or_else(|| wrong("no NAS message"))?;
    let node = &data.ran_node_id;
    let id = node.g_nb_id.as_ref().map(|id| format!("{}-{}", node.plmn_id, id.gnb_value));
    let gnb = id
        .and_then(|id| ue.amf.gnbs.of_node(&id, node))
        .ok_or_else(|| wrong("the gNB has no association with this AMF"))?;
    let nr = data.user_location.nr_location.as_ref().ok_or_else(|| wrong("no NR location"))?;
    let plmn = |id: &martlet_sbi_api::common::PlmnId| Plmn::new(id.mcc(), id.mnc());
    let (Ok(of_area), Ok(cell_plmn)) = (plmn(&nr.tai.plmn_id), plmn(&nr.ncgi.plmn_id)) else {
        return Err(wrong("invalid PLMN"));
    };
    let location = Location {
        tai: Tai { plmn: of_area, tac: nr.tai.tac.to_u32() },
        cell_plmn,
        cell: nr.ncgi.nr_cell_id.to_u64(),
    };
    let next = data.ue_context.mm_context_list.iter().flatten().find_map(|mm| mm.nas_uplink_count);
    let count = next
        .and_then(|next| NasCount::new(next.checked_sub(1)?).ok())
        .ok_or_else(|| wrong("no NAS COUNT"))?;
    ue_context_transfer::take_for_handover(ue, data.ue_context)
        .map_err(|error| wrong(&error.to_string()))?;
    let ids = ue.amf.tables.connect(gnb.number, data.an_n2_ap_id, &ue.handle);
    let mut connection = Connection::new(ue.amf.clone(), gnb, ids, data.an_n2_ap_id, location);
    // Over the SBI, it may be any text.
    let name = data.initial_amf_name.chars();
    connection.old_amf = Some(name.map(|it| if is_of_name(it) { it } else { '-' }).collect());
    ue.enter_cm_connected(connection);
    ue.secure_exchange();
    ue.idle = None;
    let header = Nas5gsSecurityHeaderType::IntegrityProtectedAndCiphered;
    Ok(Inbound { message, assurance: Assurance::Verified { header, count }, cleartext: None })
}
