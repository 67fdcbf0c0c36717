//! A simulated board: a first-order thermal model that writes the sensor files of Linux.
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;

/// Properties of a simulated board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BoardConfig {
    /// Ambient temperature in °C.
    pub room: f64,
    /// Temperature of the idle board in °C.
    pub idle: f64,
    /// Watts when idle.
    pub idle_watts: f64,
    /// Watts at full load.
    pub full_watts: f64,
    /// Thermal time constant in seconds.
    pub time_constant_s: f64,
    /// Temperature in °C at which the CPU throttles; throttling ends 5 K below.
    pub throttle: f64,
    /// CPU frequency in hertz, normal and throttled.
    pub hertz: [f64; 2],
    /// Resolution of the temperature sensor in kelvin; 0: unlimited.
    pub step: f64,
}

impl Default for BoardConfig {
    fn default() -> Self {
        BoardConfig {
            room: 27.0,
            idle: 50.0,
            idle_watts: 2.0,
            full_watts: 5.0,
            time_constant_s: 150.0,
            throttle: 80.0,
            hertz: [1.5e9, 0.6e9],
            step: 0.487,
        }
    }
}

/// The state of a simulated board.
#[derive(Debug, Clone)]
pub struct SimulatedBoard {
    config: BoardConfig,
    temperature: f64,
    throttled: bool,
    load: f64,
    /// Seconds spent throttled.
    pub throttled_s: f64,
    /// CPU time, busy and total, in hundredths of a second.
    jiffies: [f64; 2],
}

impl SimulatedBoard {
    /// An idle board.
    pub fn new(config: BoardConfig) -> Self {
        let temperature = config.idle;
        SimulatedBoard {
            config,
            temperature,
            throttled: false,
            load: 0.0,
            throttled_s: 0.0,
            jiffies: [0.0; 2],
        }
    }

    /// Relative capacity: less than 1 while throttled.
    pub fn capacity(&self) -> f64 {
        let [full, slow] = self.config.hertz;
        if self.throttled { slow / full } else { 1.0 }
    }

    /// Advances time under a demand, where 1 is the capacity of the unthrottled board. Returns the
    /// CPU utilisation, 0 to 1.
    pub fn pass(&mut self, seconds: f64, demand: f64) -> f64 {
        let demand = demand.max(0.0);
        self.load = (demand / self.capacity()).min(1.0);
        let resistance = (self.config.idle - self.config.room) / self.config.idle_watts;
        let end = self.config.room + resistance * self.watts();
        let remaining = (-seconds / self.config.time_constant_s).exp();
        self.temperature = end + (self.temperature - end) * remaining;
        if self.temperature >= self.config.throttle {
            self.throttled = true;
        } else if self.temperature < self.config.throttle - 5.0 {
            self.throttled = false;
        }
        if self.throttled {
            self.throttled_s += seconds;
        }
        self.jiffies[0] += self.load * seconds * 100.0;
        self.jiffies[1] += seconds * 100.0;
        self.load
    }

    /// Power in watts at the last load. A slower CPU draws less power at the same utilisation.
    pub fn watts(&self) -> f64 {
        self.config.idle_watts
            + (self.config.full_watts - self.config.idle_watts) * self.load * self.capacity()
    }

    /// The temperature in °C.
    pub fn temperature(&self) -> f64 {
        self.temperature
    }

    /// The temperature in °C as the sensor reports it.
    pub fn sensor(&self) -> f64 {
        let step = self.config.step;
        if step > 0.0 { (self.temperature / step).round() * step } else { self.temperature }
    }

    /// Whether the CPU is throttled.
    pub fn is_throttled(&self) -> bool {
        self.throttled
    }

    /// Writes the files that [`Sensors`](crate::Sensors) reads.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, root: &Path) -> io::Result<()> {
        let write = |path: &str, text: String| {
            let path = root.join(path);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            // Renamed atomically: a concurrent reader gets the old file or the new one.
            let next = path.with_extension("next");
            fs::write(&next, text)?;
            fs::rename(next, path)
        };
        let [busy, all] = self.jiffies.map(|jiffies| jiffies as u64);
        write("proc/stat", format!("cpu  {busy} 0 0 {} 0 0 0 0 0 0\n", all - busy.min(all)))?;
        write("proc/meminfo", "MemTotal: 8000000 kB\nMemAvailable: 7000000 kB\n".into())?;
        write("sys/class/thermal/thermal_zone0/type", "cpu-thermal\n".into())?;
        write("sys/class/thermal/thermal_zone0/temp", format!("{:.0}\n", self.sensor() * 1000.0))?;
        write("sys/class/hwmon/hwmon0/name", "simulated\n".into())?;
        write("sys/class/hwmon/hwmon0/power1_input", format!("{:.0}\n", self.watts() * 1e6))?;
        let kilohertz = self.config.hertz[0] * self.capacity() / 1000.0;
        write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", format!("{kilohertz:.0}\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sensors;

    #[test]
    fn the_default_board_matches_the_paper() {
        let mut board = SimulatedBoard::new(BoardConfig::default());
        board.pass(3600.0, 0.0);
        assert!((board.temperature() - 50.0).abs() < 0.01 && (board.watts() - 2.0).abs() < 0.01);
        let mut seconds = 0;
        while !board.is_throttled() {
            board.pass(1.0, 1.0);
            seconds += 1;
            assert!(
                seconds < 1000,
                "full load has to reach 80 °C; the board is at {}",
                board.temperature()
            );
        }
        assert!((board.sensor() - 80.0).abs() < 0.5);
        // Throttled, it stays below the limit and does less work than demanded.
        assert_eq!(board.pass(1.0, 1.0), 1.0);
        assert!(board.watts() < 5.0 && board.capacity() == 0.4);
    }

    #[test]
    fn its_files_are_read_as_sensors() {
        let root = std::env::temp_dir().join(format!("martlet-board-{}", std::process::id()));
        let mut board = SimulatedBoard::new(BoardConfig::default());
        let mut sensors = Sensors::at(&root);
        board.write(&root).unwrap();
        sensors.read();
        board.pass(10.0, 0.5);
        board.write(&root).unwrap();
        let reading = sensors.read();
        assert_eq!(reading.cpu, Some(0.5));
        assert!((reading.hottest().unwrap() - board.sensor()).abs() < 0.001);
        assert_eq!((reading.watts(), reading.frequency()), (Some(3.5), Some(1.5e9)));
        fs::remove_dir_all(root).unwrap();
    }
}
