//! TRP information exchange (TS 38.455, 8.5.6): where gNBs have their transmission and reception
//! points.
use super::{Heard, WAITING};
use crate::Shared;
use martlet_lcs_position::GeoPoint;
use martlet_nrppa::{
    GeographicalCoordinates, Message, NgRanAccessPointPosition,
    NgRanAccessPointPositionLatitudeSign, TrpInformation, TrpInformationRequest,
    TrpInformationRequestTrpinformationTypeListTrpreqItem as Asked, TrpInformationTypeItem as Kind,
    TrpInformationTypeResponseItem as Told, TrpPositionDefinitionType, TrpPositionDirectAccuracy,
};
use martlet_sbi::Problem;
use martlet_sbi_api::common::{GlobalRanNodeId, Ncgi};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long what gNBs have told is taken to be so.
const FRESH: Duration = Duration::from_secs(60);

/// A transmission and reception point.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trp {
    /// Whose.
    pub gnb: GlobalRanNodeId,
    /// TRP ID there.
    pub id: i64,
    /// Physical cell identity.
    pub pci: u16,
    /// NR cell identity.
    pub cell: u64,
    /// Where it is.
    pub position: GeoPoint,
}

/// What gNBs have told, and when.
#[derive(Default)]
pub(crate) struct Trps(Mutex<Option<(Instant, Arc<[Trp]>)>>);

impl Trps {
    fn known(&self) -> MutexGuard<'_, Option<(Instant, Arc<[Trp]>)>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// How many are known.
    pub(crate) fn count(&self) -> usize {
        self.known().as_ref().map_or(0, |(_, trps)| trps.len())
    }
}

impl Shared {
    /// The points of all gNBs, asked again where what is known is old, or lacks the UE's cell.
    pub(super) async fn trps(
        self: &Arc<Self>,
        serving: Option<&Ncgi>,
    ) -> Result<Arc<[Trp]>, Problem> {
        let serving =
            serving.and_then(|ncgi| u64::from_str_radix(ncgi.nr_cell_id.as_ref(), 16).ok());
        let known = self.nrppa.trps.known().clone();
        if let Some((at, trps)) = known
            && at.elapsed() < FRESH
            && serving.is_none_or(|cell| trps.iter().any(|trp| trp.cell == cell))
        {
            return Ok(trps);
        }
        let kinds = [Kind::NrPci, Kind::NGRanCgi, Kind::GeoCoord];
        let request = TrpInformationRequest {
            trplist: None,
            trpinformation_type_list_trpreq: kinds.map(Asked::TrpInformationTypeItem).into(),
        };
        let message = Message::TrpInformationRequest(request.into());
        // How many gNBs there are, only the AMF knows.
        let limit = Duration::from_millis(self.config.gnbs_ms.into());
        let heard = self.ask_gnbs(None, message, WAITING, limit).await?;
        let trps: Arc<[Trp]> = heard.into_iter().flat_map(|heard| self.told(heard)).collect();
        tracing::info!(trps = trps.len(), "gNBs have told where they send and receive");
        *self.nrppa.trps.known() = Some((Instant::now(), trps.clone()));
        Ok(trps)
    }

    fn told(&self, heard: Heard) -> Vec<Trp> {
        let (Some(gnb), Message::TrpInformationResponse(response)) = (heard.gnb, heard.message)
        else {
            return Vec::new();
        };
        let list = response.trpinformation_list_trpresp.into_iter();
        list.filter_map(|it| self.trp(&gnb, &it.t_rpinformation)).collect()
    }

    /// A point of which enough is known. Where its cell is configured, that is where it is.
    fn trp(&self, gnb: &GlobalRanNodeId, told: &TrpInformation) -> Option<Trp> {
        let (mut pci, mut cell, mut position) = (None, None, None);
        for item in &told.t_rpinformation_type_response_list {
            match item {
                Told::PCiNr(value) => pci = Some(*value),
                Told::CGiNr(cgi) => cell = cgi.n_rcell_identifier.number(),
                Told::GeographicalCoordinates(it) => position = position_of(it),
                _ => {}
            }
        }
        let configured =
            self.config.cells.iter().find(|it| it.identity() == cell).map(|it| it.position);
        let position = configured.or(position).filter(GeoPoint::is_valid)?;
        Some(Trp { gnb: gnb.clone(), id: told.t_rp_id, pci: pci?, cell: cell?, position })
    }
}

/// Where coordinates are (TS 23.032, 6).
fn position_of(coordinates: &GeographicalCoordinates) -> Option<GeoPoint> {
    let TrpPositionDefinitionType::Direct(direct) = &coordinates.t_rpposition_definition_type
    else {
        return None;
    };
    match &direct.accuracy {
        TrpPositionDirectAccuracy::TRphAposition(it) => {
            let degrees = |value: i32, most: f64| f64::from(value) * most / 2f64.powi(31);
            Some(GeoPoint { lat: degrees(it.latitude, 90.0), lon: degrees(it.longitude, 180.0) })
        }
        TrpPositionDirectAccuracy::TRpPosition(it) => Some(coarse(it)),
        TrpPositionDirectAccuracy::ChoiceExtension(_) => None,
    }
}

/// In steps of 90/2^23 and 360/2^24 degrees; the middle of them.
fn coarse(position: &NgRanAccessPointPosition) -> GeoPoint {
    let lat = (f64::from(position.latitude) + 0.5) * 90.0 / 2f64.powi(23);
    let south = position.latitude_sign == NgRanAccessPointPositionLatitudeSign::South;
    GeoPoint {
        lat: if south { -lat } else { lat },
        lon: (f64::from(position.longitude) + 0.5) * 360.0 / 2f64.powi(24),
    }
}
