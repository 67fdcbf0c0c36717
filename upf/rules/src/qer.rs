//! QoS enforcement rules (TS 29.244, 5.4).
use super::Direction;
use martlet_pfcp::ie::{self, CreateQer, GateStatus, Mbr, Qfi, UpdateQer};
use std::time::Duration;

/// A bit rate per direction, in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BitRate {
    /// From the UE.
    pub uplink: u64,
    /// To the UE.
    pub downlink: u64,
}

impl BitRate {
    /// The rate in one direction.
    pub fn of(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Uplink => self.uplink,
            Direction::Downlink => self.downlink,
        }
    }
}

impl From<Mbr> for BitRate {
    fn from(ie: Mbr) -> Self {
        // 40 bits, in kilobits per second.
        BitRate { uplink: ie.uplink * 1000, downlink: ie.downlink * 1000 }
    }
}

/// Maximum number of packets in a span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PacketRate {
    /// How many.
    pub packets: u16,
    /// In how long.
    pub span: Duration,
}

/// The spans of the units of time (8.2.63); unknown ones are minutes.
fn packet_rate((unit, packets): (u8, u16)) -> PacketRate {
    const MINUTE: u64 = 60;
    let seconds = match unit {
        1 => 6 * MINUTE,
        2 => 60 * MINUTE,
        3 => 24 * 60 * MINUTE,
        4 => 7 * 24 * 60 * MINUTE,
        _ => MINUTE,
    };
    PacketRate { packets, span: Duration::from_secs(seconds) }
}

/// From and to the UE.
fn packet_rates(ie: ie::PacketRate) -> [Option<PacketRate>; 2] {
    [ie.uplink.map(packet_rate), ie.downlink.map(packet_rate)]
}

/// A QoS flow; 0 is none (TS 24.501, 9.11.4.12).
fn flow(qfi: Qfi) -> Option<u8> {
    Some(qfi.0 & 0x3f).filter(|qfi| *qfi != 0)
}

/// A QoS enforcement rule.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Qer {
    /// QER ID.
    pub id: u32,
    /// Whether packets may pass.
    pub gate: GateStatus,
    /// Maximum bit rate; none is no limit.
    pub mbr: Option<BitRate>,
    /// Guaranteed bit rate; a software datapath provides it by admission control, not by
    /// scheduling.
    pub gbr: Option<BitRate>,
    /// QoS flow with which downlink packets are marked.
    pub qfi: Option<u8>,
    /// Downlink packets carry the reflective QoS indication.
    pub reflective: bool,
    /// Maximum number of packets in a span of time, from and to the UE.
    pub packet_rates: [Option<PacketRate>; 2],
    /// Paging policy indicator of downlink packets, 3 bits.
    pub paging_policy: Option<u8>,
    /// QERs with one correlation identifier, of any session, share their bit rate.
    pub correlation: Option<u32>,
}

impl From<&CreateQer> for Qer {
    fn from(ie: &CreateQer) -> Self {
        Qer {
            id: ie.qer_id.0,
            gate: ie.gate_status,
            mbr: ie.mbr.map(BitRate::from),
            gbr: ie
                .gbr
                .map(|gbr| BitRate { uplink: gbr.uplink * 1000, downlink: gbr.downlink * 1000 }),
            qfi: ie.qfi.and_then(flow),
            reflective: ie.rqi.is_some_and(|rqi| rqi.0 & 1 != 0),
            packet_rates: ie.packet_rate.map(packet_rates).unwrap_or_default(),
            paging_policy: ie.paging_policy.map(|indicator| indicator.0 & 7),
            correlation: ie.correlation_id.map(|id| id.0),
        }
    }
}

impl Qer {
    /// Applies an update; absent IEs leave their fields unchanged.
    pub fn update(&mut self, ie: &UpdateQer) {
        if let Some(gate) = ie.gate_status {
            self.gate = gate;
        }
        if let Some(mbr) = ie.mbr {
            self.mbr = Some(mbr.into());
        }
        if let Some(gbr) = ie.gbr {
            self.gbr = Some(BitRate { uplink: gbr.uplink * 1000, downlink: gbr.downlink * 1000 });
        }
        if let Some(qfi) = ie.qfi {
            self.qfi = flow(qfi);
        }
        if let Some(rqi) = ie.rqi {
            self.reflective = rqi.0 & 1 != 0;
        }
        if let Some(rate) = ie.packet_rate {
            self.packet_rates = packet_rates(rate);
        }
        if let Some(indicator) = ie.paging_policy {
            self.paging_policy = Some(indicator.0 & 7);
        }
        if let Some(id) = ie.correlation_id {
            self.correlation = Some(id.0);
        }
    }

    /// Whether it enforces or marks something that few rules do.
    pub fn is_rare(&self) -> bool {
        self.packet_rates != [None; 2] || self.paging_policy.is_some() || self.correlation.is_some()
    }

    /// Whether the gate of a direction is open.
    pub fn passes(&self, direction: Direction) -> bool {
        match direction {
            Direction::Uplink => !self.gate.uplink_closed,
            Direction::Downlink => !self.gate.downlink_closed,
        }
    }
}
