//! Shapes of positions (TS 29.572, 6.1.6.2.4 to 6.1.6.2.9; TS 23.032).
use crate::macros::open_enum;
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

open_enum! {
    /// Shapes (TS 29.572, 6.1.6).
    pub enum SupportedGadShapes {
        Point = "POINT",
        PointUncertaintyCircle = "POINT_UNCERTAINTY_CIRCLE",
        PointUncertaintyEllipse = "POINT_UNCERTAINTY_ELLIPSE",
        Polygon = "POLYGON",
        PointAltitude = "POINT_ALTITUDE",
        PointAltitudeUncertainty = "POINT_ALTITUDE_UNCERTAINTY",
        EllipsoidArc = "ELLIPSOID_ARC",
    }
}

/// A point on the Earth (TS 29.572, 6.1.6), WGS 84.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, Compact)]
pub struct GeographicalCoordinates {
    /// Longitude, degrees, east positive
    pub lon: f64,
    /// Latitude, degrees, north positive
    pub lat: f64,
}

/// An ellipse around a point (TS 29.572, 6.1.6).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct UncertaintyEllipse {
    /// Semi-major axis, metres
    pub semi_major: f64,
    /// Semi-minor axis, metres
    pub semi_minor: f64,
    /// Orientation of the major axis, degrees from north to east, 0 to 180
    pub orientation_major: u8,
}

/// A geographic area (TS 29.572, 6.1.6): a point with the uncertainty that its shape defines.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct GeographicArea {
    /// Shape
    pub shape: SupportedGadShapes,
    /// The point; every shape but a polygon has one
    pub point: Option<GeographicalCoordinates>,
    /// Radius of the circle, metres
    pub uncertainty: Option<f64>,
    /// The ellipse
    pub uncertainty_ellipse: Option<UncertaintyEllipse>,
    /// Confidence that the UE is inside, in per cent
    pub confidence: Option<u8>,
    /// Metres above the ellipsoid
    pub altitude: Option<f64>,
    /// Metres that the altitude may be wrong
    pub uncertainty_altitude: Option<f64>,
}

impl GeographicArea {
    /// This ellipse in a shape that the consumer understands: as it is if that is possible or the
    /// consumer names no shape that has a point, else as the circle around it, or as its point.
    pub fn in_one_of(self, supported: Option<&[SupportedGadShapes]>) -> Self {
        let Some(supported) = supported else { return self };
        if supported.contains(&self.shape) {
            return self;
        }
        let radius = self.uncertainty_ellipse.map(|ellipse| ellipse.semi_major);
        let plain = |shape: SupportedGadShapes, uncertainty: Option<f64>| GeographicArea {
            shape,
            point: self.point,
            uncertainty,
            uncertainty_ellipse: None,
            confidence: None,
            altitude: None,
            uncertainty_altitude: None,
        };
        if radius.is_some() && supported.contains(&SupportedGadShapes::PointUncertaintyCircle) {
            return plain(SupportedGadShapes::PointUncertaintyCircle, radius);
        }
        match supported.contains(&SupportedGadShapes::Point) {
            true => plain(SupportedGadShapes::Point, None),
            false => self,
        }
    }

    /// An ellipse around a point.
    pub fn ellipse(
        point: GeographicalCoordinates,
        ellipse: UncertaintyEllipse,
        confidence: u8,
    ) -> Self {
        GeographicArea {
            shape: SupportedGadShapes::PointUncertaintyEllipse,
            point: Some(point),
            uncertainty: None,
            uncertainty_ellipse: Some(ellipse),
            confidence: Some(confidence),
            altitude: None,
            uncertainty_altitude: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SupportedGadShapes::*;
    use super::*;

    #[test]
    fn position_has_a_shape_that_the_consumer_understands() {
        let point = GeographicalCoordinates { lon: 12.1, lat: 54.1 };
        let axes = UncertaintyEllipse { semi_major: 50.0, semi_minor: 20.0, orientation_major: 30 };
        let ellipse = GeographicArea::ellipse(point, axes, 95);
        let shape = |supported: Option<&[SupportedGadShapes]>| {
            let area = ellipse.clone().in_one_of(supported);
            assert_eq!(area.point, Some(point));
            (area.shape, area.uncertainty, area.uncertainty_ellipse.is_some())
        };
        let same = (PointUncertaintyEllipse, None, true);
        assert_eq!(shape(None), same);
        assert_eq!(shape(Some(&[Point, PointUncertaintyEllipse])), same);
        let circle = (PointUncertaintyCircle, Some(50.0), false);
        assert_eq!(shape(Some(&[Point, PointUncertaintyCircle])), circle);
        assert_eq!(shape(Some(&[Polygon, Point])), (Point, None, false));
        assert_eq!(shape(Some(&[Polygon])), same);
    }
}
