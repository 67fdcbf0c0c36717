//! The board: its computing power, real or emulated, and its sensors.
use super::super::Rules;
use super::super::links::{Testbed, on_one_cpu};
use super::LENGTH;
use super::cpu_quota::CpuQuota;
use crate::stats::median;
use anyhow::Result;
use clap::ValueEnum;
use martlet_board::Sensors;
use martlet_upf::config::DatapathChoice;
use std::process::Command;
use std::time::Duration;

/// The rate in Mbit/s that the vanilla UPF of the paper's board carries: it loses little at 50, and
/// much at 60.
pub const CARRIED_MBIT: f64 = 55.0;
/// The greatest share of lost packets at a rate that counts as carried.
const MAX_LOSS: f64 = 0.005;

/// The board of the study.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum BoardChoice {
    /// This machine if it is a board (it has a device tree), else an emulated one
    #[default]
    Auto,
    /// This machine, with its sensors
    Real,
    /// A share of a CPU of this machine, with which the kernel path breaks where the paper's does
    Emulated,
}

impl BoardChoice {
    /// Whether the board is this machine.
    pub fn is_real(self) -> bool {
        match self {
            BoardChoice::Auto => crate::machine::board().is_some(),
            BoardChoice::Real => true,
            BoardChoice::Emulated => false,
        }
    }
}

/// Packets per second of a rate in Mbit/s.
pub fn packets(megabits: f64) -> f64 {
    megabits * 1e6 / 8.0 / f64::from(LENGTH)
}

/// Runs a closure with a new testbed, whose threads share `share` of one CPU; `None`: all of it.
pub fn with_share<T: Send>(
    share: Option<f64>,
    datapath: Option<DatapathChoice>,
    sessions: u32,
    act: impl FnOnce(&mut Testbed, Option<&CpuQuota>) -> Result<T> + Send,
) -> Result<T> {
    on_one_cpu(|| {
        // The threads of the datapath are in the group of the thread that starts them, and end
        // before it is removed.
        let quota = share.map(|_| CpuQuota::enter(1.0)).transpose()?;
        let mut testbed = Testbed::new(datapath, Rules::Full, sessions)?;
        // A testbed is made and removed with all of the CPU: the kernel checks programs for a
        // second, which would be half a minute on a share of 4 %.
        let set = |share| quota.as_ref().map_or(Ok(()), |quota| quota.set(share));
        set(share.unwrap_or(1.0))?;
        let result = act(&mut testbed, quota.as_ref());
        set(1.0)?;
        result
    })
}

/// The share of one CPU with which the kernel path carries [`CARRIED_MBIT`]; 1 if it needs more
/// than one CPU.
pub fn calibrate(time: Duration) -> Result<f64> {
    let rate = packets(CARRIED_MBIT);
    with_share(Some(1.0), Some(DatapathChoice::Kernel), 1, |testbed, quota| {
        let Some(quota) = quota else { return Ok(1.0) };
        let carries = |share: f64| -> Result<bool> {
            quota.set(share)?;
            testbed.queued(true, LENGTH, rate, time / 2, || 1)?;
            let rounds = (0..3).map(|_| testbed.queued(true, LENGTH, rate, time, || 1));
            let losses = rounds.map(|round| Ok(round?.loss())).collect::<Result<Vec<f64>>>()?;
            Ok(median(&losses).is_some_and(|loss| loss.value <= MAX_LOSS))
        };
        let (mut low, mut high) = (0.01, 1.0);
        if !carries(high)? {
            return Ok(1.0);
        }
        while high / low > 1.03 {
            let middle = f64::sqrt(low * high);
            if carries(middle)? { high = middle } else { low = middle }
        }
        Ok(high)
    })
}

/// The sensors of a board.
#[derive(Debug)]
pub struct BoardSensors(Sensors);

/// What they show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown {
    pub celsius: f64,
    pub watts: Option<f64>,
    pub megahertz: Option<f64>,
}

impl BoardSensors {
    pub fn of_this_machine() -> BoardSensors {
        BoardSensors(Sensors::at("/"))
    }

    /// A reading; `None` without a sensor of temperature.
    pub fn read(&mut self) -> Option<Shown> {
        let reading = self.0.read();
        let celsius = reading.hottest().or_else(firmware_celsius)?;
        let megahertz = reading.frequency().map(|hertz| hertz / 1e6);
        Some(Shown { celsius, watts: reading.watts(), megahertz })
    }
}

/// What `vcgencmd` prints, on a Raspberry Pi with its tools.
fn firmware(question: &str) -> Option<String> {
    let output = Command::new("vcgencmd").arg(question).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}

fn firmware_celsius() -> Option<f64> {
    celsius_of(&firmware("measure_temp")?)
}

/// The number in `temp=48.3'C`.
fn celsius_of(text: &str) -> Option<f64> {
    text.strip_prefix("temp=")?.split('\'').next()?.parse().ok()
}

/// A sentence on the machine's governor and, on a Raspberry Pi, whether the firmware has throttled
/// it.
pub fn power_state() -> String {
    let governor = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    let governor = governor.map_or("not known".into(), |text| text.trim().to_string());
    let throttled = firmware("get_throttled").unwrap_or_else(|| "no vcgencmd".into());
    format!("CPU frequency governor: {governor}; throttling by the firmware: {throttled}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_temperature_of_the_firmware_is_read() {
        assert_eq!(celsius_of("temp=48.3'C"), Some(48.3));
        assert_eq!(celsius_of("VCHI initialization failed"), None);
    }

    #[test]
    fn rates_are_those_of_the_ues_packets() {
        assert_eq!(packets(8.192), 1000.0);
    }
}
