//! GNSS: the UE reports the position of its own receiver (TS 38.305, 8.1).
use super::transaction::{Transactions, positioning_failed};
use martlet_lcs_position::{Estimate, PointWithUncertaintyEllipse};
use martlet_lpp::{
    AGnssRequestLocationInformation, BitString, Body, CommonIEsRequestLocationInformation,
    EllipsoidPointWithUncertaintyEllipseLatitudeSign, GnssIdBitmap, GnssPositioningInstructions,
    LocationCoordinateTypes, LocationCoordinates, LocationInformationType,
    RequestLocationInformationR9IEs,
};
use martlet_sbi::Problem;

/// `gps` of `GNSS-ID-Bitmap` (TS 37.355, 6.5.2.13).
const GPS: usize = 0;

/// Requests the position from the UE.
pub(crate) async fn gnss(lpp: &mut Transactions) -> Result<Estimate, Problem> {
    let common = CommonIEsRequestLocationInformation {
        location_information_type: LocationInformationType::LocationEstimateRequired,
        qos: Some(lpp.qos()),
        location_coordinate_types: Some(LocationCoordinateTypes {
            ellipsoid_point_with_uncertainty_ellipse: true,
            ..Default::default()
        }),
        ..Default::default()
    };
    let instructions = GnssPositioningInstructions {
        gnss_methods: GnssIdBitmap { gnss_ids: BitString::from_ones(1, &[GPS]) },
        ..Default::default()
    };
    let request = RequestLocationInformationR9IEs {
        common_ies_request_location_information: Some(common.into()),
        a_gnss_request_location_information: Some(AGnssRequestLocationInformation {
            gnss_positioning_instructions: instructions,
        }),
        ..Default::default()
    };
    let answer = lpp.request(Body::RequestLocationInformation(request.into())).await?;
    let Body::ProvideLocationInformation(provided) = answer else {
        return Err(positioning_failed(
            "unexpected answer of the UE to RequestLocationInformation",
        ));
    };
    let estimate =
        provided.common_ies_provide_location_information.and_then(|it| it.location_estimate);
    let Some(LocationCoordinates::EllipsoidPointWithUncertaintyEllipse(point)) = estimate else {
        return Err(positioning_failed("the UE's answer has no position"));
    };
    let encoded = PointWithUncertaintyEllipse {
        south: point.latitude_sign == EllipsoidPointWithUncertaintyEllipseLatitudeSign::South,
        latitude: point.degrees_latitude,
        longitude: point.degrees_longitude,
        semi_major: point.uncertainty_semi_major,
        semi_minor: point.uncertainty_semi_minor,
        orientation: point.orientation_major_axis,
        confidence: point.confidence,
    };
    Ok(encoded.estimate())
}
