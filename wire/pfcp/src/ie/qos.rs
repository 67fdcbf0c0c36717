//! Elements of QoS enforcement.
use super::address::Reader;
use crate::{DecodeError, IeValue};

/// Whether packets may pass (8.2.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct GateStatus {
    /// No packets from the UE.
    pub uplink_closed: bool,
    /// No packets to the UE.
    pub downlink_closed: bool,
}

impl IeValue for GateStatus {
    const TYPE: u16 = 25;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let octet = Reader::new(value, Self::TYPE).u8()?;
        // Values 2 and 3 are reserved and decode as closed.
        Ok(GateStatus { uplink_closed: octet >> 2 & 3 != 0, downlink_closed: octet & 3 != 0 })
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.uplink_closed) << 2 | u8::from(self.downlink_closed));
    }
}

macro_rules! bit_rate {
    ($($(#[$meta:meta])* $name:ident = $type:literal;)*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name {
            /// Kilobits (1,000 bits) per second, 40 bits.
            pub uplink: u64,
            /// Kilobits per second, 40 bits.
            pub downlink: u64,
        }
        impl IeValue for $name {
            const TYPE: u16 = $type;
            fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
                let mut reader = Reader::new(value, $type);
                let mut rate =
                    || reader.chunk::<5>().map(|[a, b, c, d,
                    e]| u64::from_be_bytes([0, 0, 0, a, b, c, d, e]));
                Ok($name { uplink: rate()?, downlink: rate()? })
            }
            fn encode(&self, out: &mut Vec<u8>) {
                for rate in [self.uplink, self.downlink] {
                    out.extend(&rate.min((1 << 40) - 1).to_be_bytes()[3..]);
                }
            }
        }
    )*};
}

bit_rate! {
    /// Maximum bit rate (8.2.8).
    Mbr = 26;
    /// Guaranteed bit rate (8.2.9).
    Gbr = 27;
}
