//! TRP information exchange (TS 38.455, 8.5.6): the positions of the gNBs' transmission and
//! reception points.
use super::trp_table::Trp;
use super::{QUEUE, Received};
use crate::user_plane::Supi;
use crate::{Shared, metrics};
use martlet_lcs_position::GeoPoint;
use martlet_nrppa::{
    GeographicalCoordinates, Message, NgRanAccessPointPosition,
    NgRanAccessPointPositionLatitudeSign, TrpInformation, TrpInformationRequest,
    TrpInformationRequestTrpinformationTypeListTrpreqItem as Asked, TrpInformationTypeItem as Kind,
    TrpInformationTypeResponseItem as Item, TrpPositionDefinitionType, TrpPositionDirectAccuracy,
};
use martlet_sbi::Problem;
use martlet_sbi_api::common::GlobalRanNodeId;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum number of TRPs of a gNB. A message may have 65,535, which the LMF would keep and compare
/// for each position.
const MAX_TRPS: usize = 1024;

impl Shared {
    /// The TRPs of all gNBs of the UE's AMF. Requests them at most once a minute, also if gNBs do
    /// not answer or have no TRP at the UE's cell, and every five seconds while the AMF fails.
    pub(super) async fn trps(self: &Arc<Self>, ue: &Supi) -> Result<Arc<[Trp]>, Problem> {
        let (amf, table) = (self.serving_amf_id(ue), &self.nrppa.trps);
        if let Some(trps) = table.valid(Instant::now(), &amf) {
            return Ok(trps);
        }
        let _requesting = table.requesting.lock().await;
        if let Some(trps) = table.valid(Instant::now(), &amf) {
            return Ok(trps);
        }
        match self.request_trps(ue).await {
            Ok(received) => {
                let trps: Arc<[Trp]> = received.into();
                table.insert(Instant::now(), amf, trps.clone());
                Ok(trps)
            }
            Err(problem) => {
                table.insert_failed(Instant::now(), amf);
                Err(problem)
            }
        }
    }

    /// Requests the TRPs of all gNBs of the UE's AMF.
    async fn request_trps(self: &Arc<Self>, ue: &Supi) -> Result<Vec<Trp>, Problem> {
        let kinds = [Kind::NrPci, Kind::NGRanCgi, Kind::GeoCoord];
        let request = TrpInformationRequest {
            trplist: None,
            trpinformation_type_list_trpreq: kinds.map(Asked::TrpInformationTypeItem).into(),
        };
        let message = Message::TrpInformationRequest(request.into());
        // Only the AMF knows how many gNBs there are.
        let limit = Duration::from_millis(self.config.trp_information_timeout_ms.into());
        let received = self.request_from_gnbs(ue, None, message, QUEUE, limit).await?;
        let trps: Vec<Trp> =
            received.into_iter().flat_map(|received| self.trps_of(received)).collect();
        tracing::info!(trps = trps.len(), "TRP information received");
        Ok(trps)
    }

    fn trps_of(&self, received: Received) -> Vec<Trp> {
        let (Some(gnb), Message::TrpInformationResponse(response)) =
            (received.gnb, received.message)
        else {
            return Vec::new();
        };
        let list = limited(&gnb, response.trpinformation_list_trpresp).into_iter();
        let trps = list.filter_map(|it| self.trp(&gnb, &it.t_rpinformation));
        trps.filter(|trp| {
            let is_own = is_cell_of(&gnb, trp.cell);
            if !is_own {
                metrics::rejected("nrppa_other_cell");
                if let Some(suppressed) = martlet_log_limit::line("nrppa_other_cell", &gnb) {
                    let cell = format!("{:09x}", trp.cell);
                    tracing::warn!(
                        ?gnb,
                        trp = trp.id,
                        cell,
                        suppressed,
                        "TRP ignored: its cell is not one of the gNB that reported it"
                    );
                }
            }
            is_own
        })
        .collect()
    }

    /// A TRP with all needed information. A configured position precedes the reported one.
    fn trp(&self, gnb: &GlobalRanNodeId, information: &TrpInformation) -> Option<Trp> {
        let (mut pci, mut cell, mut position) = (None, None, None);
        for item in &information.t_rpinformation_type_response_list {
            match item {
                Item::PCiNr(value) => pci = Some(*value),
                Item::CGiNr(cgi) => cell = cgi.n_rcell_identifier.number(),
                Item::GeographicalCoordinates(it) => position = position_of(it),
                _ => {}
            }
        }
        let configured =
            self.config.cells.iter().find(|it| it.identity() == cell).map(|it| it.position);
        let position = configured.or(position).filter(GeoPoint::is_valid)?;
        Some(Trp { gnb: gnb.clone(), id: information.t_rp_id, pci: pci?, cell: cell?, position })
    }
}

/// The first TRPs of a gNB's list.
fn limited<T>(gnb: &GlobalRanNodeId, mut list: Vec<T>) -> Vec<T> {
    if list.len() > MAX_TRPS {
        metrics::rejected("nrppa_too_many_trps");
        if let Some(suppressed) = martlet_log_limit::line("nrppa_too_many_trps", gnb) {
            tracing::warn!(
                ?gnb,
                trps = list.len(),
                used = MAX_TRPS,
                suppressed,
                "TRPs ignored: the gNB reports too many"
            );
        }
        list.truncate(MAX_TRPS);
    }
    list
}

/// Whether a cell belongs to a gNB: the gNB's identity is the first bits of the identities of its
/// cells (TS 38.413, 9.3.1.7). Its network may be another one: a shared gNB has cells of several.
fn is_cell_of(gnb: &GlobalRanNodeId, cell: u64) -> bool {
    let id = gnb.g_nb_id.as_ref().filter(|id| (22..=32).contains(&id.bit_length));
    id.is_some_and(|id| {
        u64::from_str_radix(&id.gnb_value, 16) == Ok(cell >> (36 - u32::from(id.bit_length)))
    })
}

/// Decodes coordinates (TS 23.032, 6).
fn position_of(coordinates: &GeographicalCoordinates) -> Option<GeoPoint> {
    let TrpPositionDefinitionType::Direct(direct) = &coordinates.t_rpposition_definition_type
    else {
        return None;
    };
    match &direct.accuracy {
        TrpPositionDirectAccuracy::TRphAposition(it) => {
            let degrees = |value: i32, max: f64| f64::from(value) * max / 2f64.powi(31);
            Some(GeoPoint { lat: degrees(it.latitude, 90.0), lon: degrees(it.longitude, 180.0) })
        }
        TrpPositionDirectAccuracy::TRpPosition(it) => Some(decode_position(it)),
        TrpPositionDirectAccuracy::ChoiceExtension(_) => None,
    }
}

/// Decodes coordinates in steps of 90/2^23 and 360/2^24 degrees, to the middle of a step.
fn decode_position(position: &NgRanAccessPointPosition) -> GeoPoint {
    let lat = (f64::from(position.latitude) + 0.5) * 90.0 / 2f64.powi(23);
    let south = position.latitude_sign == NgRanAccessPointPositionLatitudeSign::South;
    GeoPoint {
        lat: if south { -lat } else { lat },
        lon: (f64::from(position.longitude) + 0.5) * 360.0 / 2f64.powi(24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi_api::common::{GNbId, PlmnId};

    #[test]
    fn attack_a_gnb_reports_many_trps() {
        let gnb = GlobalRanNodeId::new(PlmnId::new("001", "01").unwrap());
        assert_eq!(limited(&gnb, (0..65_535_i64).collect()), (0..1024).collect::<Vec<i64>>());
        assert_eq!(limited(&gnb, vec![7]), [7]);
    }

    #[test]
    fn attack_a_gnb_reports_a_trp_at_the_cell_of_another() {
        let gnb = |bit_length, value: &str| {
            let id = GNbId { bit_length, gnb_value: value.into() };
            let plmn = PlmnId::new("001", "01").unwrap();
            GlobalRanNodeId { g_nb_id: Some(id), ..GlobalRanNodeId::new(plmn) }
        };
        assert!(is_cell_of(&gnb(24, "000001"), 0x0_0000_1001));
        assert!(is_cell_of(&gnb(24, "000001"), 0x0_0000_1fff));
        assert!(!is_cell_of(&gnb(24, "000001"), 0x0_0000_2001));
        // Identities of 22 and 32 bits.
        assert!(is_cell_of(&gnb(22, "000001"), 0x0_0000_4001));
        assert!(!is_cell_of(&gnb(22, "000001"), 0x0_0000_1001));
        assert!(is_cell_of(&gnb(32, "abcdef01"), 0xa_bcde_f012));
        // What is no identity of a gNB.
        assert!(!is_cell_of(&gnb(40, "000001"), 0x0_0000_1001));
        assert!(!is_cell_of(&gnb(0, "000000"), 0x0_0000_1001));
        assert!(!is_cell_of(&gnb(24, "gnb"), 0x0_0000_1001));
        let other = GlobalRanNodeId::new(PlmnId::new("001", "01").unwrap());
        assert!(!is_cell_of(&other, 0));
    }
}
