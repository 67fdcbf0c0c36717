//! The encoding of coordinates and uncertainties as integers (TS 23.032, 6).

use crate::estimate::factor_from_confidence;
use crate::{Ellipse, Estimate, GeoPoint};

/// An encoded position, as in LPP's `EllipsoidPointWithUncertaintyEllipse`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointWithUncertaintyEllipse {
    /// Whether the point is south of the equator.
    pub south: bool,
    /// Absolute latitude in steps of 90/2^23 degrees, less than 2^23.
    pub latitude: u32,
    /// Longitude in steps of 360/2^24 degrees, -2^23 to 2^23 - 1.
    pub longitude: i32,
    /// Uncertainty code K of the semi-major axis, 10 (1.1^K - 1) metres, up to 127.
    pub semi_major: u8,
    /// Uncertainty code of the semi-minor axis.
    pub semi_minor: u8,
    /// Orientation of the major axis, clockwise from north, 0 to 179 degrees.
    pub orientation: u8,
    /// Confidence, per cent.
    pub confidence: u8,
}

const LATITUDES: f64 = (1 << 23) as f64;
const LONGITUDES: f64 = (1 << 24) as f64;

/// The smallest uncertainty code of at least this many metres.
pub fn uncertainty_code(metres: f64) -> u8 {
    ((metres.max(0.0) / 10.0 + 1.0).ln() / 1.1f64.ln() - 1e-9).ceil().clamp(0.0, 127.0) as u8
}

/// The uncertainty in metres of a code.
pub fn metres_of_uncertainty(code: u8) -> f64 {
    10.0 * (1.1f64.powi(code.min(127).into()) - 1.0)
}

impl PointWithUncertaintyEllipse {
    /// Encodes an estimate.
    pub fn of(estimate: &Estimate) -> Self {
        let GeoPoint { lat, lon } = estimate.point;
        PointWithUncertaintyEllipse {
            south: lat < 0.0,
            latitude: (lat.abs() / 90.0 * LATITUDES).floor().clamp(0.0, LATITUDES - 1.0) as u32,
            longitude: (lon / 360.0 * LONGITUDES).floor().clamp(-LATITUDES, LATITUDES - 1.0) as i32,
            semi_major: uncertainty_code(estimate.ellipse.semi_major),
            semi_minor: uncertainty_code(estimate.ellipse.semi_minor),
            orientation: estimate.ellipse.orientation.round().rem_euclid(180.0) as u8,
            confidence: Estimate::CONFIDENCE,
        }
    }

    /// Decodes it, with the coordinates in the middle of their steps, and the axes for
    /// [`Estimate::CONFIDENCE`]. Axes in the wrong order are exchanged, so that the semi-major axis
    /// is the uncertainty.
    pub fn estimate(&self) -> Estimate {
        let factor = factor_from_confidence(self.confidence);
        let lat = (f64::from(self.latitude) + 0.5) * 90.0 / LATITUDES;
        let lon = (f64::from(self.longitude) + 0.5) * 360.0 / LONGITUDES;
        let orientation = f64::from(self.orientation.min(179));
        let (major, minor, orientation) = match self.semi_major >= self.semi_minor {
            true => (self.semi_major, self.semi_minor, orientation),
            false => (self.semi_minor, self.semi_major, (orientation + 90.0).rem_euclid(180.0)),
        };
        Estimate {
            point: GeoPoint { lat: if self.south { -lat } else { lat }, lon },
            ellipse: Ellipse {
                semi_major: factor * metres_of_uncertainty(major),
                semi_minor: factor * metres_of_uncertainty(minor),
                orientation,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decoded_point_is_within_a_step_and_its_uncertainty_not_smaller() {
        for (lat, lon) in
            [(54.0924, 12.0991), (-33.8, -70.6), (0.0, 0.0), (89.9999, 179.9999), (-90.0, -180.0)]
        {
            let ellipse = Ellipse { semi_major: 12.3, semi_minor: 4.5, orientation: 33.0 };
            let estimate = Estimate { point: GeoPoint { lat, lon }, ellipse };
            let back = PointWithUncertaintyEllipse::of(&estimate).estimate();
            assert!(
                (back.point.lat - lat).abs() < 1.1e-5 && (back.point.lon - lon).abs() < 2.2e-5,
                "{back:?}"
            );
            assert!(
                (12.3..14.0).contains(&back.ellipse.semi_major)
                    && (4.5..6.0).contains(&back.ellipse.semi_minor)
            );
            assert_eq!(back.ellipse.orientation, 33.0);
        }
        // TS 23.032, 6.2: K = 0 is 0 m, 10 is 15.9 m, 127 is 1,800 km.
        assert_eq!(uncertainty_code(0.0), 0);
        assert!((metres_of_uncertainty(10) - 15.94).abs() < 0.01);
        assert_eq!(
            (uncertainty_code(1e12), uncertainty_code(metres_of_uncertainty(77))),
            (127, 77)
        );
    }

    #[test]
    fn attack_a_ue_reports_its_uncertainty_as_the_minor_axis() {
        let ellipse = Ellipse { semi_major: 200.0, semi_minor: 10.0, orientation: 120.0 };
        let estimate = Estimate { point: GeoPoint { lat: 54.0, lon: 12.0 }, ellipse };
        let coded = PointWithUncertaintyEllipse::of(&estimate);
        let exchanged = PointWithUncertaintyEllipse {
            semi_major: coded.semi_minor,
            semi_minor: coded.semi_major,
            orientation: 30,
            ..coded
        };
        assert_eq!(exchanged.estimate(), coded.estimate());
    }

    #[test]
    fn the_axes_of_another_confidence_become_those_of_95_per_cent() {
        let ellipse = Ellipse { semi_major: 20.0, semi_minor: 10.0, orientation: 0.0 };
        let estimate = Estimate { point: GeoPoint { lat: 54.0, lon: 12.0 }, ellipse };
        let coded = PointWithUncertaintyEllipse::of(&estimate);
        let axis = |confidence| {
            let other = PointWithUncertaintyEllipse { confidence, ..coded };
            other.estimate().ellipse.semi_major / coded.estimate().ellipse.semi_major
        };
        // One standard deviation, and the radius of 68 %.
        assert!((axis(39) - 2.4477).abs() < 0.03, "{}", axis(39));
        assert!((axis(68) - 1.6214).abs() < 0.01, "{}", axis(68));
        assert!(axis(99) < 0.85, "{}", axis(99));
        // The whole distribution, or no information.
        assert_eq!([0, 95, 100, 127].map(axis), [1.0; 4]);
    }
}
