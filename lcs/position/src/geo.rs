//! Points on the Earth, and a local plane with metric coordinates.

use serde::{Deserialize, Serialize};

/// Mean radius of the Earth, metres.
const RADIUS: f64 = 6_371_008.8;

/// A point on the Earth, WGS 84.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GeoPoint {
    /// Latitude, degrees, north positive.
    pub lat: f64,
    /// Longitude, degrees, east positive.
    pub lon: f64,
}

impl GeoPoint {
    /// Whether latitude and longitude are in range.
    pub fn is_valid(&self) -> bool {
        (-90.0..=90.0).contains(&self.lat) && (-180.0..=180.0).contains(&self.lon)
    }

    /// Distance to another point in metres. Accurate up to some tens of kilometres.
    pub fn distance(&self, other: &GeoPoint) -> f64 {
        TangentPlane::at(*self).offset(other).length()
    }
}

/// Coordinates on a [`TangentPlane`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Offset {
    /// Metres east of the origin.
    pub east: f64,
    /// Metres north of the origin.
    pub north: f64,
}

impl Offset {
    /// Distance from the origin, metres.
    pub fn length(&self) -> f64 {
        self.east.hypot(self.north)
    }

    /// Distance to another offset, metres.
    pub fn distance(&self, other: &Offset) -> f64 {
        Offset { east: self.east - other.east, north: self.north - other.north }.length()
    }
}

/// A plane that touches the Earth at its origin. Within some tens of kilometres its distances are
/// right to a few centimetres per hundred metres.
#[derive(Debug, Clone, Copy)]
pub struct TangentPlane {
    origin: GeoPoint,
}

impl TangentPlane {
    /// With this origin.
    pub fn at(origin: GeoPoint) -> Self {
        TangentPlane { origin }
    }

    /// The coordinates of a point.
    pub fn offset(&self, point: &GeoPoint) -> Offset {
        // The shorter way around the Earth.
        let lon = (point.lon - self.origin.lon + 540.0).rem_euclid(360.0) - 180.0;
        Offset {
            east: lon.to_radians() * RADIUS * self.origin.lat.to_radians().cos(),
            north: (point.lat - self.origin.lat).to_radians() * RADIUS,
        }
    }

    /// The point at these coordinates.
    pub fn point(&self, offset: &Offset) -> GeoPoint {
        let lat = self.origin.lat + (offset.north / RADIUS).to_degrees();
        let lon = self.origin.lon
            + (offset.east / (RADIUS * self.origin.lat.to_radians().cos())).to_degrees();
        GeoPoint { lat: lat.clamp(-90.0, 90.0), lon: (lon + 540.0).rem_euclid(360.0) - 180.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_convert_to_points_and_back() {
        let rostock = GeoPoint { lat: 54.0924, lon: 12.0991 };
        let plane = TangentPlane::at(rostock);
        for (east, north) in [(0.0, 0.0), (500.0, -1200.0), (-30_000.0, 10_000.0)] {
            let there = plane.point(&Offset { east, north });
            let back = plane.offset(&there);
            assert!((back.east - east).abs() < 1e-6 && (back.north - north).abs() < 1e-6);
        }
        // A degree of latitude is 111.2 km; one of longitude is shorter by the cosine.
        assert!(
            (plane.offset(&GeoPoint { lat: 55.0924, lon: 12.0991 }).north - 111_195.0).abs() < 10.0
        );
        assert!((rostock.distance(&GeoPoint { lat: 54.0924, lon: 12.1991 }) - 6522.0).abs() < 5.0);
        // Across the date line.
        let west = TangentPlane::at(GeoPoint { lat: 0.0, lon: 179.999 })
            .offset(&GeoPoint { lat: 0.0, lon: -179.999 });
        assert!((west.east - 222.4).abs() < 0.1, "{west:?}");
    }
}
