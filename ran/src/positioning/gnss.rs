//! GNSS in UE-based or standalone mode (TS 37.355, 6.5.2).
use crate::radio_environment::RadioEnvironment;
use martlet_lcs_position::{Ellipse, Estimate, PointWithUncertaintyEllipse};
use martlet_lpp::*;
use std::time::Instant;

/// Radius of the circle of 95 % confidence, in standard deviations.
const CIRCLE: f64 = 2.4477;

/// Capabilities of the receiver.
pub(super) fn capabilities() -> AGnssProvideCapabilities {
    let gps = GnssSupportElement {
        gnss_id: GnssId { gnss_id: GnssIdGnssId::Gps },
        // Standalone, UE-based (TS 37.355, 6.4.1).
        agnss_modes: PositioningModes { pos_modes: BitString::from_ones(3, &[0, 1]) },
        // L1 C/A.
        gnss_signals: GnssSignalIDs {
            gnss_signal_ids: BitString::from_ones(8, &[0]),
            ..Default::default()
        },
        ..Default::default()
    };
    AGnssProvideCapabilities { gnss_support_list: Some(vec![gps]), ..Default::default() }
}

/// Location estimate and GNSS information of the receiver.
pub(super) fn locate(
    environment: &RadioEnvironment,
    now: Instant,
) -> Option<(LocationCoordinates, AGnssProvideLocationInformation)> {
    let deviation = environment.gnss_deviation_m?;
    let point = environment.gnss_position(now)?;
    let radius = CIRCLE * deviation.max(0.1);
    let ellipse = Ellipse { semi_major: radius, semi_minor: radius, orientation: 0.0 };
    let coded = PointWithUncertaintyEllipse::of(&Estimate { point, ellipse });
    let sign = match coded.south {
        true => EllipsoidPointWithUncertaintyEllipseLatitudeSign::South,
        false => EllipsoidPointWithUncertaintyEllipseLatitudeSign::North,
    };
    let point = LocationCoordinates::EllipsoidPointWithUncertaintyEllipse(
        EllipsoidPointWithUncertaintyEllipse {
            latitude_sign: sign,
            degrees_latitude: coded.latitude,
            degrees_longitude: coded.longitude,
            uncertainty_semi_major: coded.semi_major,
            uncertainty_semi_minor: coded.semi_minor,
            orientation_major_axis: coded.orientation,
            confidence: coded.confidence,
        },
    );
    let information = GnssLocationInformation {
        measurement_reference_time: MeasurementReferenceTime {
            gnss_tod_msec: (environment.milliseconds(now) % 3_600_000) as u32,
            gnss_time_id: GnssId { gnss_id: GnssIdGnssId::Gps },
            ..Default::default()
        },
        agnss_list: GnssIdBitmap { gnss_ids: BitString::from_ones(1, &[0]) },
        ..Default::default()
    };
    let provided = AGnssProvideLocationInformation {
        gnss_location_information: Some(information.into()),
        ..Default::default()
    };
    Some((point, provided))
}
