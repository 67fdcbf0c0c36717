//! QoS enforcement rules (TS 29.244, 5.4).
use super::Direction;
use martlet_pfcp::ie::{CreateQer, GateStatus, Mbr, UpdateQer};

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

/// A QoS enforcement rule.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
            qfi: ie.qfi.map(|qfi| qfi.0 & 0x3f),
            reflective: ie.rqi.is_some_and(|rqi| rqi.0 & 1 != 0),
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
            self.qfi = Some(qfi.0 & 0x3f);
        }
        if let Some(rqi) = ie.rqi {
            self.reflective = rqi.0 & 1 != 0;
        }
    }

    /// Whether the gate of a direction is open.
    pub fn passes(&self, direction: Direction) -> bool {
        match direction {
            Direction::Uplink => !self.gate.uplink_closed,
            Direction::Downlink => !self.gate.downlink_closed,
        }
    }
}
