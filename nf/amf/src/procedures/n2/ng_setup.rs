//! NG setup (TS 38.413, 8.7.1).
//!
//! ```text
//! gNB -> AMF  NG SETUP REQUEST (global RAN node ID, supported TAs)
//! AMF -> gNB  NG SETUP RESPONSE, or NG SETUP FAILURE with the time to wait
//! ```
//!
//! A gNB identity belongs to the association that has it. Another one gets it only after a probe
//! that the first does not answer ([`probe`](crate::n2::probe)).
use crate::Amf;
use crate::metrics::{self, Procedure};
use crate::n2::{Area, Gnb, GnbSetup, Handled, probe};
use crate::served::{
    Tai, plmn_from_ngap, plmn_to_ngap, plmn_to_sbi, slice_from_ngap, slice_to_ngap, tac_from_ngap,
};
use martlet_interop::{N2Quirk, Quirk};
use martlet_log_limit as log_limit;
use martlet_ngap::inbound::{Fault, Received};
use martlet_ngap::ngap::*;
use martlet_ngap::{
    Error, Message, build_ngap, build_ngap_ie, cause, extended_ran_node_name, extract_ngap_ies, ie,
    ran_node_name,
};
use martlet_sbi_api::common::{GNbId, GlobalRanNodeId};
use std::sync::Arc;
use std::time::Duration;

/// Accepts or rejects the gNB.
pub(crate) fn from_gnb(amf: &Arc<Amf>, gnb: &Arc<Gnb>, received: &Received<'_>) -> Handled {
    let procedure = Procedure::start("ng_setup");
    let mut setup = read(&received.pdu).map_err(|error| Fault::of(&received.pdu, &error))?;
    setup.name = node_name(amf, gnb, &received.pdu);
    if let Err(why) = serves(amf, &setup.areas) {
        if let Some(suppressed) = log_limit::line("ng_setup", gnb.address.ip()) {
            tracing::warn!(
                gnb = setup.name.as_deref().unwrap_or(&setup.id),
                cause = cause::text(&why),
                areas = describe(&setup.areas),
                suppressed,
                "NG setup rejected: compare the gNB's PLMN and slices with amf.plmns"
            );
        }
        procedure.failed("refused");
        return Ok(failure(gnb, why, TimeToWait::v10s).into_iter().collect());
    }
    if !setup.areas.iter().any(|area| amf.served.tais.contains(&area.tai))
        && let Some(suppressed) = log_limit::line("tracking_area", gnb.address.ip())
    {
        tracing::warn!(
            gnb = setup.name.as_deref().unwrap_or(&setup.id),
            areas = describe(&setup.areas),
            suppressed,
            "no tracking area of the gNB is served, so its UEs will be rejected; add them to \
             amf.tais"
        );
    }
    let response = response(amf, received).map_err(|error| Fault::of(&received.pdu, &error))?;
    if !amf.config.n2.admits(gnb.address.ip(), &setup.id) {
        let hint = "add the gNB to amf.n2.allow";
        return Ok(refuse(gnb, &setup, procedure, "not_allowed", hint));
    }
    if gnb.setup().is_none() && amf.gnbs.set_up() >= amf.config.limits.max_gnbs {
        let hint = "raise amf.limits.max_gnbs";
        return Ok(refuse(gnb, &setup, procedure, "max_gnbs", hint));
    }
    let Some(owner) = amf.gnbs.other_of(&setup, gnb.number) else {
        return Ok(complete(amf, gnb, setup, procedure, response));
    };
    if !gnb.claim.begin() {
        return Ok(refuse(gnb, &setup, procedure, "repeated", "the first one is still running"));
    }
    let (amf, gnb) = (amf.clone(), gnb.clone());
    martlet_nf::spawn(async move {
        let answer = claim(&amf, &gnb, owner, setup, procedure, response).await;
        gnb.claim.end();
        for message in answer {
            gnb.send(0, &message).await;
        }
    });
    Ok(Vec::new())
}

/// Another association has the identity. It keeps it while it answers a probe; otherwise the gNB
/// was restarted, and the old association ends.
async fn claim(
    amf: &Arc<Amf>,
    gnb: &Arc<Gnb>,
    owner: Arc<Gnb>,
    setup: GnbSetup,
    procedure: Procedure,
    response: NGAP_PDU,
) -> Vec<NGAP_PDU> {
    let limit = amf.config.n2.probe_timeout();
    let answers = probe::answers(&owner, &amf.config.name, limit).await;
    let owners = amf.gnbs.other_of(&setup, gnb.number);
    // Meanwhile a third association may have got the identity.
    let taken = owners.as_ref().is_some_and(|now| answers || now.number != owner.number);
    if taken {
        let hint = "another association with this gNB identity answers";
        return refuse(gnb, &setup, procedure, "identity_in_use", hint);
    }
    if let Some(old) = owners {
        if let Some(suppressed) = log_limit::line("new_association", gnb.address.ip()) {
            tracing::info!(
                gnb = setup.id, old = %old.address, address = %gnb.address, suppressed,
                "gNB has a new association; the old one does not answer and is aborted"
            );
        }
        old.abort();
        amf.gnbs.apply_setup(&old, None);
        amf.tables.drop_gnb(old.number);
    }
    if !amf.gnbs.has(gnb.number) {
        // The new association has ended meanwhile.
        procedure.failed("association_lost");
        return Vec::new();
    }
    complete(amf, gnb, setup, procedure, response)
}

fn complete(
    amf: &Amf,
    gnb: &Arc<Gnb>,
    setup: GnbSetup,
    procedure: Procedure,
    response: NGAP_PDU,
) -> Vec<NGAP_PDU> {
    let areas = describe(&setup.areas);
    if amf.gnbs.apply_setup(gnb, Some(setup)).is_some() {
        // A repeated NG setup clears the previous state (8.7.1.1).
        amf.tables.drop_gnb(gnb.number);
    }
    if let Some(suppressed) = log_limit::line("ng_setup_completed", gnb.address.ip()) {
        tracing::info!(
            gnb = gnb.label(), address = %gnb.address, areas, suppressed,
            "NG setup completed"
        );
    }
    procedure.succeeded();
    vec![response]
}

/// NG SETUP FAILURE for a gNB that may not have this identity, or for which there is no room.
fn refuse(
    gnb: &Gnb,
    setup: &GnbSetup,
    procedure: Procedure,
    reason: &'static str,
    hint: &str,
) -> Vec<NGAP_PDU> {
    metrics::association_refused(reason);
    if let Some(suppressed) = log_limit::line(reason, gnb.address.ip()) {
        tracing::warn!(
            id = setup.id, name = setup.name, address = %gnb.address, reason, suppressed,
            "NG setup rejected: {hint}"
        );
    }
    procedure.failed(reason);
    let (cause, wait) = match reason {
        "max_gnbs" => (CauseMisc::control_processing_overload, TimeToWait::v10s),
        "not_allowed" => (CauseMisc::om_intervention, TimeToWait::v60s),
        _ => (CauseMisc::unspecified, TimeToWait::v1s),
    };
    failure(gnb, Cause::misc(cause), wait).into_iter().collect()
}

fn read(pdu: &NGAPPDU<'_>) -> Result<GnbSetup, Error> {
    extract_ngap_ies!(pdu, NGSetupRequest,
        req node: GlobalRANNodeID = GlobalRANNodeID(node) => node,
        req areas: SupportedTAList = SupportedTAList(areas) => areas,
    );
    let (id, global) = identity(&node);
    Ok(GnbSetup { id, name: None, global, areas: read_areas(&areas) })
}

/// The RAN node name of a message, the extended one if it has it; `None` without a name, or with
/// one that is not valid.
pub(crate) fn node_name(amf: &Amf, gnb: &Gnb, pdu: &NGAPPDU<'_>) -> Option<String> {
    if let Some(name) = extended_ran_node_name(pdu) {
        return Some(name);
    }
    match pdu.ie::<ie::RANNodeName>()? {
        Ok(name) => Some(name.0.into_owned()),
        Err(_) if amf.config.n2.strict => None,
        Err(_) => {
            let name = ran_node_name(pdu)?;
            N2Quirk::NodeName.met("amf", gnb.address.ip());
            Some(name)
        }
    }
}

/// The identity of a RAN node as text and for the SBI.
pub(crate) fn identity(node: &GlobalRANNodeID) -> (String, GlobalRanNodeId) {
    let plmn = |plmn: &PLMNIdentity| plmn_from_ngap(plmn).map(plmn_to_sbi);
    let unknown = || GlobalRanNodeId::new("00101".parse().expect("a PLMN"));
    match node {
        GlobalRANNodeID::globalGNB_ID(id) => {
            let GNBID::gNB_ID(bits) = &id.gnb_id else { return ("unknown".into(), unknown()) };
            let Some(plmn) = plmn(&id.plmn_identity) else { return ("unknown".into(), unknown()) };
            let text = format!("{:0width$x}", bits.value(), width = bits.len().div_ceil(4));
            let mut global = GlobalRanNodeId::new(plmn.clone());
            // 22 to 32 bits.
            global.g_nb_id = Some(GNbId { bit_length: bits.len() as u8, gnb_value: text.clone() });
            (format!("{plmn}-{text}"), global)
        }
        other => (format!("{other:?}"), unknown()),
    }
}

/// The supported tracking areas; those with an invalid PLMN are skipped.
pub(crate) fn read_areas(list: &SupportedTAList) -> Vec<Area> {
    let of_item = |item: &SupportedTAItem| {
        let tac = tac_from_ngap(&item.tac);
        let of_plmn = move |broadcast: &BroadcastPLMNItem| {
            let plmn = plmn_from_ngap(&broadcast.plmn_identity)?;
            let slices = broadcast
                .tai_slice_support_list
                .0
                .iter()
                .map(|item| slice_from_ngap(&item.s_nssai));
            Some(Area { tai: Tai { plmn, tac }, slices: slices.collect() })
        };
        item.broadcast_plmn_list.0.iter().filter_map(of_plmn).collect::<Vec<_>>()
    };
    list.0.iter().flat_map(of_item).collect()
}

/// Checks that AMF and gNB share a PLMN with a common slice.
pub(crate) fn serves(amf: &Amf, areas: &[Area]) -> Result<(), Cause> {
    let common: Vec<_> =
        areas.iter().filter_map(|area| Some((area, amf.served.plmn(area.tai.plmn)?))).collect();
    if common.is_empty() {
        return Err(Cause::misc(CauseMisc::unknown_PLMN_or_SNPN));
    }
    let has_slice =
        common.iter().any(|(area, served)| area.slices.iter().any(|s| served.slices.contains(s)));
    if has_slice {
        Ok(())
    } else {
        Err(Cause::radioNetwork(CauseRadioNetwork::slice_not_supported))
    }
}

/// Areas in logs: `00101/1 [1, 1-000001]`.
fn describe(areas: &[Area]) -> String {
    let text = |area: &Area| {
        let slices: Vec<_> = area.slices.iter().map(ToString::to_string).collect();
        format!(
            "{}{}/{} [{}]",
            area.tai.plmn.mcc(),
            area.tai.plmn.mnc(),
            area.tai.tac,
            slices.join(", ")
        )
    };
    areas.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn response(amf: &Amf, received: &Received<'_>) -> Result<NGAP_PDU, Error> {
    type Response<'a> = NGSetupResponse<'a>;
    let mut guamis = Vec::new();
    for guami in &amf.served.guamis {
        guamis.push(ServedGUAMIItem::new(guami.to_ngap()?, None, None));
    }
    let plmns = amf.served.plmns.iter().map(|served| {
        let slices = served
            .slices
            .iter()
            .map(|slice| SliceSupportItem::new(slice_to_ngap(*slice), None))
            .collect();
        PLMNSupportItem::new(plmn_to_ngap(served.plmn), SliceSupportList(slices), None)
    });
    let mut ies = vec![
        build_ngap_ie!(NGSetupResponse, AMFName(amf.config.name.as_str()))?,
        build_ngap_ie!(NGSetupResponse, ServedGUAMIList(ServedGUAMIList(guamis)))?,
        build_ngap_ie!(
            NGSetupResponse,
            RelativeAMFCapacity(RelativeAMFCapacity(amf.relative_capacity()))
        )?,
        build_ngap_ie!(NGSetupResponse, PLMNSupportList(PLMNSupportList(plmns.collect())))?,
    ];
    if let Some(diagnostics) = received.diagnostics() {
        ies.push(build_ngap_ie!(NGSetupResponse, CriticalityDiagnostics(diagnostics))?);
    }
    NGAP_PDU::of_message(&NGSetupResponse::new(ProtocolIEContainer(ies)), Response::CRITICALITY)
}

fn failure(gnb: &Gnb, why: Cause, wait: TimeToWait) -> Result<NGAP_PDU, Error> {
    gnb.claim.wait(Duration::from_secs(match wait {
        TimeToWait::v1s => 1,
        TimeToWait::v10s => 10,
        _ => 60,
    }));
    build_ngap!(UnsuccessfulOutcome, NGSetup, NGSetupFailure, Cause(why), TimeToWait(wait))
}
