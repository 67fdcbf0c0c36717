//! Elements of usage reporting.
use super::address::Reader;
use crate::{DecodeError, IeValue};

/// The measurement method: a bit mask of 1 duration, 2 volume, 4 events (8.2.40).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct MeasurementMethod(pub u8);

impl IeValue for MeasurementMethod {
    const TYPE: u16 = 62;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        Ok(MeasurementMethod(Reader::new(value, Self::TYPE).u8()?))
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.0);
    }
}

macro_rules! triggers {
    ($($(#[$meta:meta])* $name:ident =
        $type:literal { $($(#[$bmeta:meta])* $bit:ident = $value:literal,)* })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(pub u32);
        impl $name {
            $($(#[$bmeta])* pub const $bit: $name = $name($value);)*
            /// Whether these bits are set.
            pub fn has(self, other: $name) -> bool { self.0 & other.0 == other.0 }
        }
        impl std::ops::BitOr for $name {
            type Output = $name;
            fn bitor(self, other: $name) -> $name { $name(self.0 | other.0) }
        }
        impl IeValue for $name {
            const TYPE: u16 = $type;
            fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
                // Releases have two or three octets; the first one holds the low bits here.
                let mut reader = Reader::new(value, $type);
                let (first, second) = (reader.u8()?, reader.u8()?);
                let third = reader.u8().unwrap_or(0);
                Ok($name(u32::from_le_bytes([first, second, third, 0])))
            }
            fn encode(&self, out: &mut Vec<u8>) { out.extend(&self.0.to_le_bytes()[..3]) }
        }
    )*};
}

triggers! {
    /// When usage is reported (8.2.19); bits as the first octet has them, then the second.
    ReportingTriggers = 37 {
        /// Periodically.
        PERIO = 0x01,
        /// At a threshold of volume.
        VOLTH = 0x02,
        /// At a threshold of time.
        TIMTH = 0x04,
        /// When a quota has not been used for its holding time.
        QUHTI = 0x08,
        /// When traffic starts.
        START = 0x10,
        /// When traffic stops.
        STOPT = 0x20,
        /// At a threshold of dropped downlink traffic.
        DROTH = 0x40,
        /// Together with a linked URR.
        LIUSA = 0x80,
        /// When a volume quota is used up.
        VOLQU = 0x0100,
        /// When a time quota is used up.
        TIMQU = 0x0200,
        /// When an envelope closes.
        ENVCL = 0x0400,
        /// When MAC addresses are seen or gone.
        MACAR = 0x0800,
        /// At a threshold of events.
        EVETH = 0x1000,
        /// When an event quota is used up.
        EVEQU = 0x2000,
        /// When a UE joins or leaves a multicast group.
        IPMJL = 0x4000,
        /// When the validity of a quota ends.
        QUVTI = 0x8000,
        /// At the end of a marker.
        REEMR = 0x01_0000,
        /// When the user plane becomes inactive.
        UPINT = 0x02_0000,
    }
    /// Why usage is reported (8.2.41).
    UsageReportTrigger = 63 {
        /// Periodically.
        PERIO = 0x01,
        /// At a threshold of volume.
        VOLTH = 0x02,
        /// At a threshold of time.
        TIMTH = 0x04,
        /// A quota was not used for its holding time.
        QUHTI = 0x08,
        /// Traffic started.
        START = 0x10,
        /// Traffic stopped.
        STOPT = 0x20,
        /// The CP function requested it.
        IMMER = 0x80,
        /// A volume quota is used up.
        VOLQU = 0x0100,
        /// A time quota is used up.
        TIMQU = 0x0200,
        /// A linked URR is reported.
        LIUSA = 0x0400,
        /// The session or the rule ends.
        TERMR = 0x0800,
        /// The Monitoring Time: usage before it.
        MONIT = 0x1000,
        /// At a threshold of events.
        EVETH = 0x8000,
        /// An event quota is used up.
        EVEQU = 0x01_0000,
        /// The UP function ends the session, or the association.
        TEBUR = 0x02_0000,
        /// The validity of a quota ended.
        QUVTI = 0x08_0000,
    }
}

macro_rules! volume {
    ($($(#[$meta:meta])* $name:ident = $type:literal;)*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name {
            /// Octets in all.
            pub total: Option<u64>,
            /// Octets from the UE.
            pub uplink: Option<u64>,
            /// Octets to the UE.
            pub downlink: Option<u64>,
        }
        impl IeValue for $name {
            const TYPE: u16 = $type;
            fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
                let mut reader = Reader::new(value, $type);
                let flags = reader.u8()?;
                let total = (flags & 1 != 0).then(|| reader.u64()).transpose()?;
                let uplink = (flags & 2 != 0).then(|| reader.u64()).transpose()?;
                let downlink = (flags & 4 != 0).then(|| reader.u64()).transpose()?;
                Ok($name { total, uplink, downlink })
            }
            fn encode(&self, out: &mut Vec<u8>) {
                out.push(
                    u8::from(self.total.is_some()) | u8::from(
                    self.uplink.is_some()) << 1 | u8::from(self.downlink.is_some()) << 2);
                for octets in [self.total, self.uplink, self.downlink].into_iter().flatten() {
                    out.extend(octets.to_be_bytes());
                }
            }
        }
    )*};
}

volume! {
    /// Volume after which usage is reported (8.2.12).
    VolumeThreshold = 31;
    /// Volume that may be used (8.2.49).
    VolumeQuota = 73;
    /// The volume threshold after the Monitoring Time (8.2.15).
    SubsequentVolumeThreshold = 34;
    /// The volume quota after the Monitoring Time (8.2.81).
    SubsequentVolumeQuota = 121;
}

/// Volume that was used (8.2.44).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct VolumeMeasurement {
    /// Octets in all, from and to the UE.
    pub octets: [Option<u64>; 3],
    /// Packets in all, from and to the UE.
    pub packets: [Option<u64>; 3],
}

impl IeValue for VolumeMeasurement {
    const TYPE: u16 = 66;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, Self::TYPE);
        let flags = reader.u8()?;
        let mut measured = VolumeMeasurement::default();
        for (n, place) in measured.octets.iter_mut().chain(&mut measured.packets).enumerate() {
            if flags & 1 << n != 0 {
                *place = Some(reader.u64()?);
            }
        }
        Ok(measured)
    }
    fn encode(&self, out: &mut Vec<u8>) {
        let all = self.octets.iter().chain(&self.packets);
        out.push(all.clone().enumerate().map(|(n, v)| u8::from(v.is_some()) << n).sum());
        all.flatten().for_each(|value| out.extend(value.to_be_bytes()));
    }
}
