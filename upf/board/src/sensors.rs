//! Sensors of a board from `/proc` and `/sys` below a root folder. Missing sensors are omitted.
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Sensors below a root folder.
#[derive(Debug)]
pub struct Sensors {
    root: PathBuf,
    /// Busy and total CPU time at the last reading.
    jiffies: Option<(u64, u64)>,
    /// Energy counters at the last reading, in microjoules.
    energy: Vec<(String, u64)>,
    at: Instant,
}

/// A reading of all sensors.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// CPU utilisation since the last reading, 0 to 1.
    pub cpu: Option<f64>,
    /// Total and available memory in bytes.
    pub memory: Option<(u64, u64)>,
    /// Temperatures in °C, by sensor name.
    pub temperatures: Vec<(String, f64)>,
    /// Frequencies of the CPUs in hertz, by CPU name.
    pub frequencies: Vec<(String, f64)>,
    /// Power in watts, by sensor name.
    pub power: Vec<(String, f64)>,
}

impl Reading {
    /// The highest temperature, which determines throttling.
    pub fn hottest(&self) -> Option<f64> {
        self.temperatures.iter().map(|(_, celsius)| *celsius).max_by(f64::total_cmp)
    }

    /// The lowest frequency of all CPUs.
    pub fn frequency(&self) -> Option<f64> {
        self.frequencies.iter().map(|(_, hertz)| *hertz).min_by(f64::total_cmp)
    }

    /// The sum of all power sensors in watts.
    pub fn watts(&self) -> Option<f64> {
        (!self.power.is_empty()).then(|| self.power.iter().map(|(_, watts)| watts).sum())
    }

    /// Share of the memory in use.
    pub fn memory_used(&self) -> Option<f64> {
        let (all, available) = self.memory?;
        (all > 0).then(|| 1.0 - available as f64 / all as f64)
    }
}

fn text(path: impl AsRef<Path>) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_string())
}

fn number(path: impl AsRef<Path>) -> Option<f64> {
    text(path)?.parse().ok()
}

/// Folders in `parent` with this prefix and a number, in the order of the number.
fn folders(parent: &Path, start: &str) -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .filter(|(name, _)| {
            name.strip_prefix(start)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
        .collect();
    found.sort_by_key(|(name, _)| name[start.len()..].parse::<u32>().unwrap_or(u32::MAX));
    found
}

impl Sensors {
    /// Sensors below a root folder; `/` for those of the machine.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Sensors { root: root.into(), jiffies: None, energy: Vec::new(), at: Instant::now() }
    }

    /// The root folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Reads all sensors. CPU utilisation and power from energy counters are available from the
    /// second reading on.
    pub fn read(&mut self) -> Reading {
        let now = Instant::now();
        let seconds = now.duration_since(self.at).as_secs_f64();
        self.at = now;
        let mut reading = Reading { cpu: self.cpu(), memory: self.memory(), ..Reading::default() };
        let sys = self.root.join("sys");
        for (zone, folder) in folders(&sys.join("class/thermal"), "thermal_zone") {
            if let Some(celsius) =
                number(folder.join("temp")).map(|milli| milli / 1000.0).filter(|t| is_possible(*t))
            {
                reading.temperatures.push((text(folder.join("type")).unwrap_or(zone), celsius));
            }
        }
        for (monitor, folder) in folders(&sys.join("class/hwmon"), "hwmon") {
            let name = text(folder.join("name")).unwrap_or(monitor);
            for (n, scale) in (1..=8).map(|n| (n, 1e-6)) {
                if let Some(micro) = number(folder.join(format!("power{n}_input"))) {
                    reading.power.push((format!("{name}-{n}"), micro * scale));
                }
                let celsius =
                    number(folder.join(format!("temp{n}_input"))).map(|milli| milli / 1000.0);
                if let Some(celsius) = celsius.filter(|t| is_possible(*t)) {
                    reading.temperatures.push((format!("{name}-{n}"), celsius));
                }
            }
        }
        for (name, folder) in folders(&sys.join("devices/system/cpu"), "cpu") {
            if let Some(kilo) = number(folder.join("cpufreq/scaling_cur_freq")) {
                reading.frequencies.push((name, kilo * 1000.0));
            }
        }
        self.counted_energy(&sys.join("class/powercap"), seconds, &mut reading);
        reading
    }

    fn counted_energy(&mut self, folder: &Path, seconds: f64, reading: &mut Reading) {
        let mut energy = Vec::new();
        // Only packages: their subzones are included in them.
        for (zone, folder) in
            folders(folder, "intel-rapl:").into_iter().filter(|(zone, _)| !zone[11..].contains(':'))
        {
            let Some(micro) =
                text(folder.join("energy_uj")).and_then(|text| text.parse::<u64>().ok())
            else {
                continue;
            };
            let name = text(folder.join("name")).unwrap_or(zone);
            let before = self.energy.iter().find(|(known, _)| *known == name);
            // A counter that restarted has no difference.
            if let Some(spent) =
                before.and_then(|(_, before)| micro.checked_sub(*before)).filter(|_| seconds > 0.0)
            {
                reading.power.push((name.clone(), spent as f64 / 1e6 / seconds));
            }
            energy.push((name, micro));
        }
        self.energy = energy;
    }

    fn cpu(&mut self) -> Option<f64> {
        let stat = text(self.root.join("proc/stat"))?;
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let times: Vec<u64> =
            line.split_whitespace().take(8).filter_map(|n| n.parse().ok()).collect();
        let all: u64 = times.iter().sum();
        // Idle time and I/O wait.
        let idle = times.get(3)? + times.get(4).unwrap_or(&0);
        let (busy, before) = (all.saturating_sub(idle), self.jiffies);
        self.jiffies = Some((busy, all));
        let (busy_before, all_before) = before?;
        let passed = all.checked_sub(all_before).filter(|passed| *passed > 0)?;
        Some((busy.saturating_sub(busy_before) as f64 / passed as f64).clamp(0.0, 1.0))
    }

    fn memory(&self) -> Option<(u64, u64)> {
        let all = text(self.root.join("proc/meminfo"))?;
        let field = |name: &str| {
            let line = all.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilo| kilo * 1024)
        };
        Some((field("MemTotal")?, field("MemAvailable")?))
    }
}

/// Sensors that are not connected report arbitrary values.
fn is_possible(celsius: f64) -> bool {
    (-100.0..200.0).contains(&celsius) && celsius != 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_contain_the_sensors_of_the_board() {
        let root = std::env::temp_dir().join(format!("martlet-sensors-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let mut sensors = Sensors::at(&root);
        assert_eq!(sensors.read(), Reading::default(), "a board without sensors");
        write("proc/stat", "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 2 3\n");
        write(
            "proc/meminfo",
            "MemTotal:        1000 kB\nMemFree:  1 kB\nMemAvailable:     250 kB\n",
        );
        write("sys/class/thermal/thermal_zone0/type", "cpu-thermal\n");
        write("sys/class/thermal/thermal_zone0/temp", "51608\n");
        write("sys/class/thermal/thermal_zone10/temp", "-273000\n");
        write("sys/class/hwmon/hwmon1/name", "pmic\n");
        write("sys/class/hwmon/hwmon1/power1_input", "2500000\n");
        write("sys/class/hwmon/hwmon1/temp2_input", "47000\n");
        write("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1500000\n");
        write("sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "600000\n");
        write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
        write("sys/class/powercap/intel-rapl:0/energy_uj", "1000000\n");
        let first = sensors.read();
        assert_eq!(first.cpu, None, "the first reading has no difference");
        assert_eq!(first.memory_used(), Some(0.75));
        assert_eq!(
            first.temperatures,
            [("cpu-thermal".to_string(), 51.608), ("pmic-2".to_string(), 47.0)]
        );
        assert_eq!(
            (first.hottest(), first.frequency(), first.watts()),
            (Some(51.608), Some(6e8), Some(2.5))
        );
        write("proc/stat", "cpu  125 0 150 725 100 0 0 0 0 0\n");
        write("sys/class/powercap/intel-rapl:0/energy_uj", "9000000\n");
        std::thread::sleep(std::time::Duration::from_millis(20));
        let second = sensors.read();
        assert_eq!(second.cpu, Some(0.75));
        assert_eq!(second.power[1].0, "package-0");
        assert!((1.0..=400.0).contains(&second.power[1].1), "8 J within a moment: {second:?}");
        fs::remove_dir_all(root).unwrap();
    }
}
