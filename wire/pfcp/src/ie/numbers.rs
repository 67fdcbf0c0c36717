//! Elements that are one number.
use crate::{DecodeError, IeValue};
use std::borrow::Cow;

macro_rules! number {
    ($($(#[$meta:meta])* $name:ident = $type:literal: $int:ty;)*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub struct $name(pub $int);
        impl IeValue for $name {
            const TYPE: u16 = $type;
            fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
                let bytes = value.first_chunk().ok_or(DecodeError::Length($type))?;
                Ok($name(<$int>::from_be_bytes(*bytes)))
            }
            fn encode(&self, out: &mut Vec<u8>) { out.extend(self.0.to_be_bytes()) }
        }
    )*};
}

number! {
    /// Identifies a PDR in its session (8.2.36).
    PdrId = 56: u16;
    /// The precedence of a PDR: the lowest value matches first (8.2.11).
    Precedence = 29: u32;
    /// Identifies a FAR (8.2.74); the highest bit is set where the UP function allocated it.
    FarId = 108: u32;
    /// Identifies a QER (8.2.75).
    QerId = 109: u32;
    /// Identifies a URR (8.2.54).
    UrrId = 81: u32;
    /// Identifies a BAR (8.2.57).
    BarId = 88: u8;
    /// QoS flow identifier, 6 bits (8.2.89).
    Qfi = 124: u8;
    /// Reflective QoS indication in bit 1 (8.2.88).
    Rqi = 123: u8;
    /// QERs with one correlation identifier share their bit rate (8.2.10).
    QerCorrelationId = 28: u32;
    /// Seconds since 1900 at which the node started (8.2.65).
    RecoveryTimeStamp = 96: u32;
    /// Seconds without traffic after which inactivity is reported (8.2.83).
    UserPlaneInactivityTimer = 117: u32;
    /// 1 IPv4, 2 IPv6, 3 IPv4v6, 4 non-IP, 5 Ethernet (8.2.79).
    PdnType = 113: u8;
    /// Downlink data notification delay in multiples of 50 ms (8.2.28).
    DownlinkDataNotificationDelay = 46: u8;
    /// Packets to buffer for a session, as a hint (8.2.100).
    SuggestedBufferingPacketsCount = 140: u8;
    /// Flags of a session modification (8.2.34): 1 DROBU (drop buffered packets), 2 SNDEM (send end
    /// markers), 4 QAURR.
    PfcpSmReqFlags = 49: u8;
    /// Flags of a session establishment (8.2.136): 1 RESTI (a session from before a restart of the
    /// UP function).
    PfcpSeReqFlags = 186: u8;
    /// Flags of an association setup's response (8.2.134): 1 PSREI (sessions are retained).
    PfcpAsRspFlags = 184: u8;
    /// Flags of a session report's response: 1 DROBU (8.2.35).
    PfcpSrRspFlags = 50: u8;
    /// Sequence number of a usage report (8.2.71).
    UrSeqn = 104: u32;
    /// Sequence number of load or overload control (8.2.31).
    SequenceNumber = 52: u32;
    /// Per cent (8.2.32).
    Metric = 53: u8;
    /// Time span: unit in the high 3 bits, value in the low 5 (8.2.33).
    Timer = 55: u8;
    /// Seconds (8.2.13).
    TimeThreshold = 32: u32;
    /// Seconds (8.2.50).
    TimeQuota = 74: u32;
    /// Seconds (8.2.42).
    MeasurementPeriod = 64: u32;
    /// Seconds (8.2.45).
    DurationMeasurement = 67: u32;
    /// Seconds since 1900 (8.2.52).
    StartTime = 75: u32;
    /// Seconds since 1900 (8.2.53).
    EndTime = 76: u32;
    /// Type of the offending element (8.2.22).
    OffendingIe = 40: u16;
    /// Flags of an association's release (8.2.77): 1 SARR (the UP function requests it), 2 URSS (it
    /// has reported all usage).
    AssociationReleaseRequest = 111: u8;
    /// Time span until an association's release, as [`Timer`] (8.2.78).
    GracefulReleasePeriod = 112: u8;
    /// Flags of an association's update: 1 PARPS (the CP function is about to release it; 8.2.112).
    PfcpAuReqFlags = 162: u8;
    /// Flags of overload control: 1 AOCI (for the node, not only its address; 8.2.76).
    OciFlags = 110: u8;
    /// What a node reports: 1 user plane path failure (8.2.69).
    NodeReportType = 101: u8;
    /// Seconds since 1900 at which usage is split into before and after (8.2.14).
    MonitoringTime = 33: u32;
    /// Seconds: the time threshold after the Monitoring Time (8.2.16).
    SubsequentTimeThreshold = 35: u32;
    /// Seconds: the time quota after the Monitoring Time (8.2.82).
    SubsequentTimeQuota = 122: u32;
    /// Seconds without traffic after which the measurement of time stops (8.2.17).
    InactivityDetectionTime = 36: u32;
    /// Seconds without traffic after which a quota no longer holds (8.2.48).
    QuotaHoldingTime = 71: u32;
    /// Seconds for which a quota is valid (8.2.126).
    QuotaValidityTime = 181: u32;
    /// A URR with whose reports this one is reported, too (8.2.55).
    LinkedUrrId = 82: u32;
    /// Flags of a measurement (8.2.68): 1 MBQE, 2 INAM (inactive), 4 RADI, 8 ISTM, 16 MNOP.
    MeasurementInformation = 100: u8;
    /// Number of events that may occur (8.2.112).
    EventQuota = 148: u32;
    /// Number of events after which they are reported (8.2.113).
    EventThreshold = 149: u32;
    /// The event quota after the Monitoring Time (8.2.107).
    SubsequentEventQuota = 150: u32;
    /// The event threshold after the Monitoring Time (8.2.108).
    SubsequentEventThreshold = 151: u32;
    /// Seconds since 1900 at which an event occurred (8.2.114).
    EventTimeStamp = 156: u32;
    /// Seconds since 1900 (8.2.46).
    TimeOfFirstPacket = 69: u32;
    /// Seconds since 1900 (8.2.47).
    TimeOfLastPacket = 70: u32;
    /// The part of a usage report (8.2.61): 1 before the Monitoring Time, 2 after it.
    UsageInformation = 90: u8;
    /// Paging policy indicator of a QER, 3 bits (8.2.116).
    PagingPolicyIndicator = 158: u8;
    /// Identifies a traffic endpoint in its session (8.2.92).
    TrafficEndpointId = 131: u8;
}

/// Text (8.2.4, 8.2.6): not empty.
macro_rules! text {
    ($($(#[$meta:meta])* $name:ident = $type:literal;)*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub struct $name(pub Vec<u8>);
        impl $name {
            /// From text.
            pub fn new(text: &str) -> Self { $name(text.as_bytes().to_vec()) }
            /// As text; invalid UTF-8 is replaced.
            pub fn text(&self) -> Cow<'_, str> { String::from_utf8_lossy(&self.0) }
        }
        impl IeValue for $name {
            const TYPE: u16 = $type;
            fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
                if value.is_empty() { Err(DecodeError::Length($type)) } else {
                    Ok($name(value.to_vec())) }
            }
            fn encode(&self, out: &mut Vec<u8>) { out.extend(&self.0) }
        }
    )*};
}

text! {
    /// The network that an address or tunnel belongs to (8.2.4).
    NetworkInstance = 22;
    /// An application that the UP function detects (8.2.6).
    ApplicationId = 24;
    /// Predefined rules of the UP function (8.2.72).
    ActivatePredefinedRules = 106;
    /// Predefined rules that no longer apply (8.2.73).
    DeactivatePredefinedRules = 107;
}

impl NetworkInstance {
    /// From text, in labels: each after its length, as in a DNN (TS 23.003, 9.1).
    pub fn in_labels(text: &str) -> Self {
        let mut value = Vec::with_capacity(text.len() + 1);
        for label in text.split('.') {
            let label = label.as_bytes().get(..63).unwrap_or(label.as_bytes());
            value.push(label.len() as u8);
            value.extend(label);
        }
        NetworkInstance(value)
    }

    /// The name, which is the same as text and in labels.
    pub fn name(&self) -> Cow<'_, [u8]> {
        let mut labels: Vec<&[u8]> = Vec::new();
        let mut rest = self.0.as_slice();
        while let Some((length, after)) = rest.split_first() {
            match after.split_at_checked(usize::from(*length)) {
                Some((label, after)) if (1..=63).contains(length) => {
                    labels.push(label);
                    rest = after;
                }
                _ => return Cow::Borrowed(&self.0),
            }
        }
        Cow::Owned(labels.join(&b'.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_instance_has_one_name_as_text_and_in_labels() {
        for text in ["internet", "ims.mnc001.mcc001.gprs", "a"] {
            let labels = NetworkInstance::in_labels(text);
            assert_eq!(labels.0.len(), text.len() + 1);
            assert_eq!(labels.name(), text.as_bytes());
            assert_eq!(NetworkInstance::new(text).name(), text.as_bytes());
        }
        // As Open5GS, free5GC and UPG-VPP write it.
        assert_eq!(NetworkInstance(b"\x08internet".to_vec()).name(), &b"internet"[..]);
        for text in [&b"\x08inter"[..], b"\x00", b"\x08internet\x00", b"access.oai.org"] {
            assert_eq!(NetworkInstance(text.to_vec()).name(), text);
        }
    }
}
