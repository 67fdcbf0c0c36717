//! Places on the Earth, and a plane on which they are metres apart.

use serde::{Deserialize, Serialize};

/// Mean radius of the Earth, metres.
const RADIUS: f64 = 6_371_008.8;

/// A place, WGS 84.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Latitude, degrees, north positive.
    pub lat: f64,
    /// Longitude, degrees, east positive.
    pub lon: f64,
}

impl Place {
    /// Whether it is one.
    pub fn is_valid(&self) -> bool {
        (-90.0..=90.0).contains(&self.lat) && (-180.0..=180.0).contains(&self.lon)
    }

    /// Metres to another place, for distances up to some tens of kilometres.
    pub fn distance(&self, other: &Place) -> f64 {
        Plane::at(*self).offset(other).length()
    }
}

/// Metres east and north of the middle of a plane.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Offset {
    /// Metres east.
    pub east: f64,
    /// Metres north.
    pub north: f64,
}

impl Offset {
    /// Metres from the middle.
    pub fn length(&self) -> f64 {
        self.east.hypot(self.north)
    }

    /// Metres to another one.
    pub fn distance(&self, other: &Offset) -> f64 {
        Offset { east: self.east - other.east, north: self.north - other.north }.length()
    }
}

/// A plane that touches the Earth at its middle. Some tens of kilometres around it, it is the Earth
/// to a few centimetres in a hundred metres.
#[derive(Debug, Clone, Copy)]
pub struct Plane {
    middle: Place,
}

impl Plane {
    /// Around a place.
    pub fn at(middle: Place) -> Self {
        Plane { middle }
    }

    /// Where a place is on it.
    pub fn offset(&self, place: &Place) -> Offset {
        // The shorter way around the Earth.
        let lon = (place.lon - self.middle.lon + 540.0).rem_euclid(360.0) - 180.0;
        Offset {
            east: lon.to_radians() * RADIUS * self.middle.lat.to_radians().cos(),
            north: (place.lat - self.middle.lat).to_radians() * RADIUS,
        }
    }

    /// Which place that is.
    pub fn place(&self, offset: &Offset) -> Place {
        let lat = self.middle.lat + (offset.north / RADIUS).to_degrees();
        let lon = self.middle.lon
            + (offset.east / (RADIUS * self.middle.lat.to_radians().cos())).to_degrees();
        Place { lat: lat.clamp(-90.0, 90.0), lon: (lon + 540.0).rem_euclid(360.0) - 180.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_offsets_belong_together() {
        let rostock = Place { lat: 54.0924, lon: 12.0991 };
        let plane = Plane::at(rostock);
        for (east, north) in [(0.0, 0.0), (500.0, -1200.0), (-30_000.0, 10_000.0)] {
            let there = plane.place(&Offset { east, north });
            let back = plane.offset(&there);
            assert!((back.east - east).abs() < 1e-6 && (back.north - north).abs() < 1e-6);
        }
        // A degree of latitude is 111.2 km; of longitude less by the cosine.
        assert!(
            (plane.offset(&Place { lat: 55.0924, lon: 12.0991 }).north - 111_195.0).abs() < 10.0
        );
        assert!((rostock.distance(&Place { lat: 54.0924, lon: 12.1991 }) - 6522.0).abs() < 5.0);
        // Across the date line.
        let west =
            Plane::at(Place { lat: 0.0, lon: 179.999 }).offset(&Place { lat: 0.0, lon: -179.999 });
        assert!((west.east - 222.4).abs() < 0.1, "{west:?}");
    }
}
