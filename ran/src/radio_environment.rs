//! The radio environment of a UE: its position, and the cells that it receives there.
use martlet_lcs_position::{GeoPoint, METRES_PER_TC, Offset, PathLoss, TangentPlane, rsrp_of_dbm};
use martlet_security::Plmn;
use std::time::{Duration, Instant};

/// A cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// NR cell identity, 36 bits.
    pub identity: u64,
    /// Physical cell identity, 0 to 1007.
    pub pci: u16,
    /// NR-ARFCN of its SSB.
    pub arfcn: u32,
    /// Position of its antenna.
    pub position: GeoPoint,
}

/// The track of a UE, the cells along it, and the errors of measurements.
#[derive(Debug, Clone)]
pub struct RadioEnvironment {
    /// PLMN of the cells.
    pub plmn: Plmn,
    /// The cells. The strongest one serves the UE.
    pub cells: Vec<Cell>,
    /// Path loss of their signals.
    pub path_loss: PathLoss,
    /// Positions of the UE and their times since the start. It moves evenly between them and stays
    /// at the last one.
    pub track: Vec<(Duration, GeoPoint)>,
    /// When the track started.
    pub started: Instant,
    /// Random seed of measurement errors (`path_loss.deviation_db`).
    pub seed: u64,
    /// Standard deviation of the GNSS receiver, metres; `None` without a receiver.
    pub gnss_deviation_m: Option<f64>,
    /// Whether the UE measures positioning reference signals (DL-TDOA).
    pub dl_tdoa: bool,
    /// Whether the UE supports multi-RTT.
    pub multi_rtt: bool,
    /// Standard deviation of measured distances, metres.
    pub timing_deviation_m: f64,
}

impl RadioEnvironment {
    /// A stationary UE that measures without errors.
    pub fn at(position: GeoPoint, plmn: Plmn, cells: Vec<Cell>, path_loss: PathLoss) -> Self {
        let path_loss = PathLoss { deviation_db: 0.0, ..path_loss };
        RadioEnvironment {
            plmn,
            cells,
            path_loss,
            track: vec![(Duration::ZERO, position)],
            started: Instant::now(),
            seed: 1,
            gnss_deviation_m: None,
            dl_tdoa: false,
            multi_rtt: false,
            timing_deviation_m: 0.0,
        }
    }

    /// The position of the UE.
    pub fn position(&self, now: Instant) -> Option<GeoPoint> {
        let since = now.saturating_duration_since(self.started);
        let next = self.track.iter().position(|(at, _)| *at > since);
        match next {
            None => self.track.last().map(|(_, position)| *position),
            Some(0) => self.track.first().map(|(_, position)| *position),
            Some(next) => {
                let ((from, here), (until, there)) = (self.track[next - 1], self.track[next]);
                let share = (since - from).as_secs_f64() / (until - from).as_secs_f64().max(1e-9);
                let plane = TangentPlane::at(here);
                let mut offset = plane.offset(&there);
                offset.east *= share;
                offset.north *= share;
                Some(plane.point(&offset))
            }
        }
    }

    /// Received cells with their reported SS-RSRP, strongest first.
    pub fn measure(&self, now: Instant) -> Vec<(Cell, u8)> {
        let Some(position) = self.position(now) else { return Vec::new() };
        let mut received: Vec<(Cell, f64)> = self
            .cells
            .iter()
            .map(|cell| {
                (
                    *cell,
                    self.path_loss.dbm(cell.position.distance(&position))
                        + self.noise(cell.identity, now),
                )
            })
            .collect();
        received.sort_by(|a, b| b.1.total_cmp(&a.1));
        received
            .into_iter()
            .map(|(cell, dbm)| (cell, rsrp_of_dbm(dbm)))
            .filter(|(_, rsrp)| *rsrp > 0)
            .collect()
    }

    /// Received cells with their measured distance, metres.
    pub fn distances(&self, now: Instant) -> Vec<(Cell, f64)> {
        let Some(position) = self.position(now) else { return Vec::new() };
        let distance = |cell: Cell| {
            let error = self.timing_deviation_m * self.normal(TIMING ^ cell.identity, now);
            (cell, (cell.position.distance(&position) + error).max(0.0))
        };
        self.measure(now).into_iter().map(|(cell, _)| distance(cell)).collect()
    }

    /// UE Rx-Tx time difference of each received cell, in metres: its distance plus the UE's timing
    /// advance (TS 38.215, 5.1.30).
    pub fn round_trips_of_ue(&self, now: Instant) -> Vec<(Cell, f64)> {
        let advance = self.timing_advance();
        self.distances(now).into_iter().map(|(cell, metres)| (cell, metres + advance)).collect()
    }

    /// gNB Rx-Tx time difference at each cell, in metres: its distance less the UE's timing advance
    /// (TS 38.215, 5.2.3). The sum of both differences is twice the distance.
    pub fn round_trips_of_gnb(&self, now: Instant) -> Vec<(Cell, f64)> {
        let Some(position) = self.position(now) else { return Vec::new() };
        let advance = self.timing_advance();
        let measured = |cell: Cell| {
            let error = self.timing_deviation_m * self.normal(UPLINK ^ cell.identity, now);
            (cell, cell.position.distance(&position) + error - advance)
        };
        // The cells that the UE receives also receive the UE.
        self.measure(now).into_iter().map(|(cell, _)| measured(cell)).collect()
    }

    /// The timing advance at the start of the track, in metres and steps of 16 · 64 T_c / 2 (TS
    /// 38.213, 4.2, at 30 kHz).
    fn timing_advance(&self) -> f64 {
        let step = 512.0 * METRES_PER_TC;
        let Some((_, position)) = self.track.first() else { return 0.0 };
        let nearest =
            self.cells.iter().map(|cell| cell.position.distance(position)).min_by(f64::total_cmp);
        (nearest.unwrap_or_default() / step).round() * step
    }

    /// The position according to the GNSS receiver.
    pub fn gnss_position(&self, now: Instant) -> Option<GeoPoint> {
        let (position, deviation) = (self.position(now)?, self.gnss_deviation_m?);
        let (east, north) =
            (deviation * self.normal(GNSS, now), deviation * self.normal(GNSS + 1, now));
        Some(TangentPlane::at(position).point(&Offset { east, north }))
    }

    /// Milliseconds since the track started.
    pub fn milliseconds(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.started).as_millis() as u64
    }

    fn noise(&self, cell: u64, now: Instant) -> f64 {
        match self.path_loss.deviation_db {
            0.0 => 0.0,
            deviation => deviation * self.normal(cell, now),
        }
    }

    /// A normal deviate for a quantity and a tenth of a second, from the seed.
    fn normal(&self, quantity: u64, now: Instant) -> f64 {
        let tick = self.milliseconds(now) / 100;
        let mut state = self.seed ^ quantity.rotate_left(24) ^ tick.rotate_left(48);
        let mut uniform = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed ^ mixed >> 31) >> 11) as f64 / (1u64 << 53) as f64
        };
        // The sum of twelve uniform deviates is nearly normal.
        (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    }
}

/// Random quantities besides the received power of each cell.
const TIMING: u64 = 1 << 60;
const GNSS: u64 = 1 << 61;
const UPLINK: u64 = 1 << 62;

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(deviation_db: f64) -> RadioEnvironment {
        let position = GeoPoint { lat: 54.0, lon: 12.0 };
        let plane = TangentPlane::at(position);
        let cell = |n: u64, east, north| Cell {
            identity: n,
            pci: n as u16,
            arfcn: 640_000,
            position: plane.point(&martlet_lcs_position::Offset { east, north }),
        };
        let cells = vec![cell(1, 300.0, 0.0), cell(2, 50.0, 0.0), cell(3, 0.0, 200.0)];
        let mut it = RadioEnvironment::at(
            position,
            Plmn::new("001", "01").unwrap(),
            cells,
            PathLoss::default(),
        );
        it.path_loss.deviation_db = deviation_db;
        it
    }

    #[test]
    fn a_ue_moves_along_its_track() {
        let mut it = environment(0.0);
        let plane = TangentPlane::at(it.track[0].1);
        it.track.push((
            Duration::from_secs(10),
            plane.point(&martlet_lcs_position::Offset { east: 100.0, north: 0.0 }),
        ));
        let east = |seconds| {
            plane
                .offset(&it.position(it.started + Duration::from_millis(seconds)).unwrap())
                .east
                .round()
        };
        assert_eq!([0, 2500, 5000, 10_000, 99_000].map(east), [0.0, 25.0, 50.0, 100.0, 100.0]);
    }

    #[test]
    fn the_nearest_cell_is_the_strongest_and_errors_are_reproducible() {
        let it = environment(0.0);
        let received = it.measure(it.started);
        assert_eq!(received.iter().map(|(cell, _)| cell.identity).collect::<Vec<_>>(), [2, 3, 1]);
        assert!(received[0].1 > received[1].1 && received[1].1 > received[2].1);
        let noisy = environment(4.0);
        let rsrp = |at: u64| {
            noisy
                .measure(noisy.started + Duration::from_millis(at))
                .iter()
                .map(|(_, it)| *it)
                .sum::<u8>()
        };
        assert_eq!(rsrp(10), rsrp(20));
        assert!((0..20).map(|n| rsrp(n * 100)).collect::<std::collections::HashSet<_>>().len() > 5);
    }
}
