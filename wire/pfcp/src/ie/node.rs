//! Elements of nodes and associations.
use super::address::Reader;
use crate::{DecodeError, IeValue};

/// The cause: whether a request was accepted, and why not (8.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cause(pub u8);

#[allow(missing_docs)]
impl Cause {
    pub const ACCEPTED: Cause = Cause(1);
    pub const REJECTED: Cause = Cause(64);
    pub const SESSION_CONTEXT_NOT_FOUND: Cause = Cause(65);
    pub const MANDATORY_IE_MISSING: Cause = Cause(66);
    pub const CONDITIONAL_IE_MISSING: Cause = Cause(67);
    pub const INVALID_LENGTH: Cause = Cause(68);
    pub const MANDATORY_IE_INCORRECT: Cause = Cause(69);
    pub const INVALID_FORWARDING_POLICY: Cause = Cause(70);
    pub const INVALID_FTEID_ALLOCATION_OPTION: Cause = Cause(71);
    pub const NO_ESTABLISHED_ASSOCIATION: Cause = Cause(72);
    pub const RULE_CREATION_FAILURE: Cause = Cause(73);
    pub const PFCP_ENTITY_IN_CONGESTION: Cause = Cause(74);
    pub const NO_RESOURCES_AVAILABLE: Cause = Cause(75);
    pub const SERVICE_NOT_SUPPORTED: Cause = Cause(76);
    pub const SYSTEM_FAILURE: Cause = Cause(77);
    pub const ALL_DYNAMIC_ADDRESSES_ARE_OCCUPIED: Cause = Cause(79);

    /// Whether the request was accepted, if only in part.
    pub fn is_accepted(self) -> bool {
        self.0 < 64
    }
}

impl IeValue for Cause {
    const TYPE: u16 = 19;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        Ok(Cause(Reader::new(value, Self::TYPE).u8()?))
    }
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.0);
    }
}

macro_rules! features {
    ($($(#[$meta:meta])* $name:ident = $type:literal,
        $min:literal { $($(#[$bmeta:meta])* $bit:ident = $value:literal,)* })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(pub u64);
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
                if value.is_empty() { return Err(DecodeError::Length($type)); }
                Ok($name(
                    value.iter().take(8).enumerate().map(|(n,
                    octet)| u64::from(*octet) << (8 * n)).sum()))
            }
            fn encode(&self, out: &mut Vec<u8>) {
                let bytes = self.0.to_le_bytes();
                let used = 8 - self.0.leading_zeros() as usize / 8;
                out.extend(&bytes[..used.max($min)]);
            }
        }
    )*};
}

features! {
    /// UP function features; octet 5 in the lowest bits (8.2.25).
    UpFunctionFeatures = 43, 2 {
        /// Supports downlink buffering at the CP function.
        BUCP = 0x01,
        /// Supports the downlink data notification delay.
        DDND = 0x02,
        /// Allocates F-TEIDs.
        FTUP = 0x10,
        /// Supports PFD management.
        PFDM = 0x20,
        /// Redirects traffic.
        TREU = 0x80,
        /// Sends end markers.
        EMPU = 0x01_00,
        /// Supports PDI optimisation.
        PDIU = 0x02_00,
        /// Routes networks behind UEs.
        FRRT = 0x20_00,
        /// Takes PFD Contents with several values of one property.
        PFDE = 0x40_00,
        /// Supports usage reports before an association release.
        EPFAR = 0x80_00,
        /// Allocates UE addresses.
        UEIP = 0x04_00_00,
        /// Reports when the validity of a quota ends.
        VTIME = 0x04_00_00_00,
    }
    /// CP function features (8.2.58).
    CpFunctionFeatures = 89, 1 {
        /// Load control.
        LOAD = 0x01,
        /// Overload control.
        OVRL = 0x02,
        /// Supports usage reports before an association release.
        EPFAR = 0x04,
    }
}

/// A rule that could not be created or changed (8.2.80).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailedRuleId {
    /// A PDR.
    Pdr(u16),
    /// A FAR.
    Far(u32),
    /// A QER.
    Qer(u32),
    /// A URR.
    Urr(u32),
    /// A BAR.
    Bar(u8),
}

impl IeValue for FailedRuleId {
    const TYPE: u16 = 114;
    fn decode(value: &[u8], _: usize) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(value, Self::TYPE);
        Ok(match reader.u8()? & 0x1f {
            0 => FailedRuleId::Pdr(reader.u16()?),
            1 => FailedRuleId::Far(reader.u32()?),
            2 => FailedRuleId::Qer(reader.u32()?),
            3 => FailedRuleId::Urr(reader.u32()?),
            4 => FailedRuleId::Bar(reader.u8()?),
            _ => return Err(DecodeError::Incorrect(Self::TYPE)),
        })
    }
    fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            FailedRuleId::Pdr(id) => {
                out.push(0);
                out.extend(id.to_be_bytes());
            }
            FailedRuleId::Bar(id) => out.extend([4, id]),
            FailedRuleId::Far(id) | FailedRuleId::Qer(id) | FailedRuleId::Urr(id) => {
                out.push(match self {
                    FailedRuleId::Far(_) => 1,
                    FailedRuleId::Qer(_) => 2,
                    _ => 3,
                });
                out.extend(id.to_be_bytes());
            }
        }
    }
}
