//! NG setup (TS 38.413, 8.7.1).
//!
//! ```text
//! gNB -> AMF  NG SETUP REQUEST (global RAN node ID, supported TAs)
//! AMF -> gNB  NG SETUP RESPONSE, or NG SETUP FAILURE with the time to wait
//! ```
use crate::Amf;
use crate::metrics::Procedure;
use crate::n2::{Area, Gnb, GnbSetup, Handled};
use crate::served::{
    Tai, plmn_from_ngap, plmn_to_ngap, plmn_to_sbi, slice_from_ngap, slice_to_ngap, tac_from_ngap,
};
use martlet_ngap::inbound::{Fault, Received};
use martlet_ngap::ngap::*;
use martlet_ngap::{Error, Message, build_ngap, build_ngap_ie, cause, extract_ngap_ies};
use martlet_sbi_api::common::{GNbId, GlobalRanNodeId};
use std::sync::Arc;

/// Accepts or rejects the gNB.
pub(crate) fn from_gnb(amf: &Arc<Amf>, gnb: &Arc<Gnb>, received: &Received<'_>) -> Handled {
    let procedure = Procedure::start("ng_setup");
    let setup = read(&received.pdu).map_err(|error| Fault::of(&received.pdu, &error))?;
    if let Err(why) = serves(amf, &setup.areas) {
        tracing::warn!(
            gnb = setup.name.as_deref().unwrap_or(&setup.id),
            cause = cause::text(&why),
            areas = describe(&setup.areas),
            "NG setup rejected: compare the gNB's PLMN and slices with amf.plmns"
        );
        procedure.failed("refused");
        return Ok(failure(why).into_iter().collect());
    }
    if !setup.areas.iter().any(|area| amf.served.tais.contains(&area.tai)) {
        tracing::warn!(
            gnb = setup.name.as_deref().unwrap_or(&setup.id),
            areas = describe(&setup.areas),
            "no tracking area of the gNB is served, so its UEs will be rejected; add them to \
             amf.tais"
        );
    }
    let response = response(amf, received).map_err(|error| Fault::of(&received.pdu, &error))?;
    if let Some(other) = amf.gnbs.other_of(&setup.id, gnb.number) {
        tracing::info!(gnb = setup.id, "gNB has a new association; the old one is aborted");
        other.abort();
        amf.tables.drop_gnb(other.number);
    }
    let areas = describe(&setup.areas);
    if gnb.set_up(Some(setup)).is_some() {
        // A repeated NG setup clears the previous state (8.7.1.1).
        amf.tables.drop_gnb(gnb.number);
    }
    tracing::info!(gnb = gnb.label(), address = %gnb.address, areas, "NG setup completed");
    procedure.succeeded();
    Ok(vec![response])
}

fn read(pdu: &NGAPPDU<'_>) -> Result<GnbSetup, Error> {
    extract_ngap_ies!(pdu, NGSetupRequest,
        req node: GlobalRANNodeID = GlobalRANNodeID(node) => node,
        lax name: String = RANNodeName(name) => name.0.into_owned(),
        req areas: SupportedTAList = SupportedTAList(areas) => areas,
    );
    let (id, global) = identity(&node);
    Ok(GnbSetup { id, name, global, areas: read_areas(&areas) })
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
            RelativeAMFCapacity(RelativeAMFCapacity(amf.config.relative_capacity))
        )?,
        build_ngap_ie!(NGSetupResponse, PLMNSupportList(PLMNSupportList(plmns.collect())))?,
    ];
    if let Some(diagnostics) = received.diagnostics() {
        ies.push(build_ngap_ie!(NGSetupResponse, CriticalityDiagnostics(diagnostics))?);
    }
    NGAP_PDU::of_message(&NGSetupResponse::new(ProtocolIEContainer(ies)), Response::CRITICALITY)
}

fn failure(why: Cause) -> Result<NGAP_PDU, Error> {
    build_ngap!(
        UnsuccessfulOutcome,
        NGSetup,
        NGSetupFailure,
        Cause(why),
        TimeToWait(TimeToWait::v10s)
    )
}
