//! TRP information exchange (TS 38.455, 8.5.6).
use super::messages::{cgi, not_supported};
use crate::gnb::config::Trp;
use crate::gnb::node::Gnb;
use martlet_nrppa::{
    GeographicalCoordinates, Message, NgranHighAccuracyAccessPointPosition, TrpInformation,
    TrpInformationFailure, TrpInformationRequest,
    TrpInformationRequestTrpinformationTypeListTrpreqItem as Requested, TrpInformationResponse,
    TrpInformationResponseTrpinformationListTrprespItem, TrpInformationTypeItem as Kind,
    TrpInformationTypeResponseItem as Item, TrpPositionDefinitionType, TrpPositionDirect,
    TrpPositionDirectAccuracy,
};

/// TRP INFORMATION REQUEST (8.5.6).
pub(super) fn information(gnb: &Gnb, request: &TrpInformationRequest) -> Message {
    let asked = request.trplist.as_ref();
    let trps = gnb.config().trps.iter().filter(|trp| {
        asked.is_none_or(|list| list.iter().any(|it| it.t_rp_id == i64::from(trp.id)))
    });
    let kinds = &request.trpinformation_type_list_trpreq;
    let kinds: Vec<Kind> = kinds
        .iter()
        .filter_map(|it| match it {
            Requested::TrpInformationTypeItem(kind) => Some(*kind),
            Requested::Other(..) => None,
        })
        .collect();
    let trp_list: Vec<_> = trps
        .filter_map(|trp| {
            let list: Vec<Item> = kinds.iter().filter_map(|kind| item(gnb, trp, *kind)).collect();
            let information = TrpInformation {
                t_rp_id: trp.id.into(),
                t_rpinformation_type_response_list: list,
                i_e_extensions: None,
            };
            (!information.t_rpinformation_type_response_list.is_empty()).then_some(
                TrpInformationResponseTrpinformationListTrprespItem {
                    t_rpinformation: information,
                },
            )
        })
        .collect();
    match trp_list.is_empty() {
        true => Message::TrpInformationFailure(
            TrpInformationFailure { cause: not_supported(), criticality_diagnostics: None }.into(),
        ),
        false => Message::TrpInformationResponse(
            TrpInformationResponse {
                trpinformation_list_trpresp: trp_list,
                criticality_diagnostics: None,
            }
            .into(),
        ),
    }
}

fn item(gnb: &Gnb, trp: &Trp, kind: Kind) -> Option<Item> {
    Some(match kind {
        Kind::NrPci => Item::PCiNr(trp.cell.pci),
        Kind::NGRanCgi => Item::CGiNr(cgi(gnb.config().plmn, &trp.cell)),
        Kind::Arfcn => Item::ARfcn(trp.cell.arfcn),
        Kind::GeoCoord => Item::GeographicalCoordinates(coordinates(trp).into()),
        _ => return None,
    })
}

fn coordinates(trp: &Trp) -> GeographicalCoordinates {
    // In steps of 2^-31 of 90 and of 180 degrees (TS 23.032, 6.3).
    let coded = |degrees: f64, max: f64| (degrees / max * 2f64.powi(31)).round() as i32;
    let position = NgranHighAccuracyAccessPointPosition {
        latitude: coded(trp.cell.position.lat, 90.0),
        longitude: coded(trp.cell.position.lon, 180.0),
        horizontal_confidence: 100,
        ..Default::default()
    };
    GeographicalCoordinates {
        t_rpposition_definition_type: TrpPositionDefinitionType::Direct(TrpPositionDirect {
            accuracy: TrpPositionDirectAccuracy::TRphAposition(position),
        }),
        ..Default::default()
    }
}
