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
