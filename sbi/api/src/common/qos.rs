//! Quality of service (TS 29.571, 5.5).
use crate::common::BitRate;
use crate::macros::open_enum;
use martlet_sbi::Compact;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

open_enum! {
    /// Pre-emption capability: whether a flow may take resources of another (TS 29.571, 5.5).
    pub enum PreemptionCapability {
        NotPreempt = "NOT_PREEMPT",
        MayPreempt = "MAY_PREEMPT",
    }
}

open_enum! {
    /// Pre-emption vulnerability: whether a flow's resources may be taken (TS 29.571, 5.5).
    pub enum PreemptionVulnerability {
        NotPreemptable = "NOT_PREEMPTABLE",
        Preemptable = "PREEMPTABLE",
    }
}

open_enum! {
    /// Whether reflective QoS applies (TS 29.571, 5.5, `ReflectiveQoSAttribute`).
    pub enum ReflectiveQosAttribute {
        Rqos = "RQOS",
        NoRqos = "NO_RQOS",
    }
}

open_enum! {
    /// Notification control: whether the RAN reports that a bit rate cannot be guaranteed (TS
    /// 29.571, 5.5).
    pub enum NotificationControl {
        Requested = "REQUESTED",
        NotRequested = "NOT_REQUESTED",
    }
}

open_enum! {
    /// Whether a flow has a guaranteed bit rate (TS 29.571, 5.5).
    pub enum QosResourceType {
        NonGbr = "NON_GBR",
        NonCriticalGbr = "NON_CRITICAL_GBR",
        CriticalGbr = "CRITICAL_GBR",
    }
}

/// Allocation and retention priority (TS 29.571, 5.5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct Arp {
    /// 1 (highest) to 15
    pub priority_level: u8,
    /// Pre-emption capability
    pub preempt_cap: PreemptionCapability,
    /// Pre-emption vulnerability
    pub preempt_vuln: PreemptionVulnerability,
}

/// Aggregate maximum bit rate (TS 29.571, 5.5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct Ambr {
    /// Uplink
    pub uplink: BitRate,
    /// Downlink
    pub downlink: BitRate,
}

/// Characteristics of a 5QI that is signalled (TS 29.571, 5.5).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct Dynamic5Qi {
    /// Whether the bit rate is guaranteed
    pub resource_type: QosResourceType,
    /// 1 (highest) to 127
    pub priority_level: u8,
    /// Milliseconds
    pub packet_delay_budget: u32,
    /// Scalar and exponent, such as `3E-6`
    pub packet_err_rate: String,
    /// Averaging window in milliseconds
    pub aver_window: Option<u32>,
    /// Octets
    pub max_data_burst_vol: Option<u32>,
    /// Octets, above 4095
    pub ext_max_data_burst_vol: Option<u32>,
}

impl Dynamic5Qi {
    /// A value with the mandatory members only.
    pub fn new(
        resource_type: QosResourceType,
        priority_level: u8,
        packet_delay_budget: u32,
        packet_err_rate: String,
    ) -> Self {
        Dynamic5Qi {
            resource_type,
            priority_level,
            packet_delay_budget,
            packet_err_rate,
            aver_window: None,
            max_data_burst_vol: None,
            ext_max_data_burst_vol: None,
        }
    }
}

/// Deviations from a 5QI's standard characteristics (TS 29.571, 5.5).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct NonDynamic5Qi {
    /// 1 (highest) to 127
    pub priority_level: Option<u8>,
    /// Averaging window in milliseconds
    pub aver_window: Option<u32>,
    /// Octets
    pub max_data_burst_vol: Option<u32>,
    /// Octets, above 4095
    pub ext_max_data_burst_vol: Option<u32>,
}

/// QoS of a PDU session's default flow, as subscribed (TS 29.571, 5.4).
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Compact)]
#[serde(rename_all = "camelCase")]
pub struct SubscribedDefaultQos {
    /// 5QI
    #[serde(rename = "5qi")]
    pub five_qi: u8,
    /// Allocation and retention priority
    pub arp: Arp,
    /// Priority of the 5QI, 1 (highest) to 127
    pub priority_level: Option<u8>,
}

impl SubscribedDefaultQos {
    /// A value with the mandatory members only.
    pub fn new(five_qi: u8, arp: Arp) -> Self {
        SubscribedDefaultQos { five_qi, arp, priority_level: None }
    }
}
