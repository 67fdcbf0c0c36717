//! A simulated board: a first-order thermal model behind the files that Linux would have.
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;

/// A simulated board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BoardConfig {
    /// °C of the room.
    pub room: f64,
    /// °C of the board when idle.
    pub idle: f64,
    /// Watts when idle.
    pub idle_watts: f64,
    /// Watts at full load.
    pub full_watts: f64,
    /// Seconds in which 63 % of a change of temperature are done.
    pub time_constant_s: f64,
    /// °C from which the CPU throttles itself; it goes on until it is 5 K cooler.
    pub throttle: f64,
    /// Hertz, and hertz while it throttles.
    pub hertz: [f64; 2],
    /// The sensor's steps in kelvin; 0: none.
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

/// The board at a moment.
#[derive(Debug, Clone)]
pub struct SimulatedBoard {
    config: BoardConfig,
    temperature: f64,
    throttled: bool,
    load: f64,
    /// Seconds that it throttled.
    pub throttled_s: f64,
    /// Processor time, busy and all, in hundredths of a second.
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

    /// What it can do of what it could: less than 1 while it throttles.
    pub fn capacity(&self) -> f64 {
        let [full, slow] = self.config.hertz;
        if self.throttled { slow / full } else { 1.0 }
    }

    /// Lets time pass under a demand: 1 is all that it can do when it does not throttle. Gives the
    /// load that it had, 0 to 1.
    pub fn pass(&mut self, seconds: f64, demand: f64) -> f64 {
        let demand = demand.max(0.0);
        self.load = (demand / self.capacity()).min(1.0);
        let resistance = (self.config.idle - self.config.room) / self.config.idle_watts;
        let end = self.config.room + resistance * self.watts();
        let stays = (-seconds / self.config.time_constant_s).exp();
        self.temperature = end + (self.temperature - end) * stays;
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

    /// Watts at the load that it had last. A slower CPU draws less for the same share of its time.
    pub fn watts(&self) -> f64 {
        self.config.idle_watts
            + (self.config.full_watts - self.config.idle_watts) * self.load * self.capacity()
    }

    /// °C as they are.
    pub fn temperature(&self) -> f64 {
        self.temperature
    }

    /// °C as its sensor says.
    pub fn sensor(&self) -> f64 {
        let step = self.config.step;
        if step > 0.0 { (self.temperature / step).round() * step } else { self.temperature }
    }

    /// Whether it throttles.
    pub fn is_throttled(&self) -> bool {
        self.throttled
    }

    /// Writes what its sensors say, where [`Sensors`](crate::Sensors) read it.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn write(&self, root: &Path) -> io::Result<()> {
        let write = |path: &str, text: String| {
            let path = root.join(path);
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            // Who reads meanwhile reads the one or the other.
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
    fn it_is_the_board_of_the_paper() {
        let mut board = SimulatedBoard::new(BoardConfig::default());
        board.pass(3600.0, 0.0);
        assert!((board.temperature() - 50.0).abs() < 0.01 && (board.watts() - 2.0).abs() < 0.01);
        let mut seconds = 0;
        while !board.is_throttled() {
            board.pass(1.0, 1.0);
            seconds += 1;
            assert!(
                seconds < 1000,
                "full load has to bring it to 80 °C, and it is at {}",
                board.temperature()
            );
        }
        assert!((board.sensor() - 80.0).abs() < 0.5);
        // Slower, it stays below, and does less than it is asked for.
        assert_eq!(board.pass(1.0, 1.0), 1.0);
        assert!(board.watts() < 5.0 && board.capacity() == 0.4);
    }

    #[test]
    fn its_files_are_read_as_a_boards() {
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
