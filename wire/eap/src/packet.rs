//! EAP packets of EAP-AKA' (RFC 3748, 4; RFC 4187, 8 and 9; RFC 9048, 3).

/// The method's type (RFC 9048, 3).
pub const TYPE: u8 = 50;
/// The longest packet that NAS carries (TS 24.501, 9.11.2.2).
pub const LONGEST: usize = 1500;

/// Kind of an EAP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// From the AUSF.
    Request,
    /// From the UE.
    Response,
    /// EAP-Success.
    Success,
    /// EAP-Failure.
    Failure,
}

/// The subtype of a packet (RFC 4187, 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Subtype {
    /// AKA-Challenge, request or response.
    Challenge = 1,
    /// AKA-Authentication-Reject: the UE rejects AUTN or the network name.
    AuthenticationReject = 2,
    /// AKA-Synchronization-Failure: the sequence number is not fresh.
    SynchronizationFailure = 4,
    /// AKA-Identity.
    Identity = 5,
    /// AKA-Notification.
    Notification = 12,
    /// AKA-Reauthentication, which 5GS does not use.
    Reauthentication = 13,
    /// AKA-Client-Error: the UE cannot process the request.
    ClientError = 14,
}

impl Subtype {
    fn of(octet: u8) -> Option<Subtype> {
        use Subtype::*;
        let all = [
            Challenge,
            AuthenticationReject,
            SynchronizationFailure,
            Identity,
            Notification,
            Reauthentication,
            ClientError,
        ];
        all.into_iter().find(|subtype| *subtype as u8 == octet)
    }
}

/// An attribute (RFC 4187, 10; RFC 9048, 3.1 and 3.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attribute {
    /// AT_RAND.
    Rand([u8; 16]),
    /// AT_AUTN.
    Autn([u8; 16]),
    /// AT_RES, whole bytes.
    Res(Vec<u8>),
    /// AT_AUTS.
    Auts([u8; 14]),
    /// AT_MAC.
    Mac([u8; 16]),
    /// AT_NOTIFICATION.
    Notification(u16),
    /// AT_CLIENT_ERROR_CODE.
    ClientErrorCode(u16),
    /// AT_KDF_INPUT: the network name.
    KdfInput(Vec<u8>),
    /// AT_KDF. 1 is the only defined function.
    Kdf(u16),
    /// The type of an unknown skippable attribute (128 to 255).
    Skipped(u8),
}

/// A packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Kind.
    pub code: Code,
    /// The identifier, which a response copies from its request.
    pub identifier: u8,
    /// The content; none in EAP-Success and EAP-Failure.
    pub content: Option<Content>,
}

/// The content of a request or response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The subtype.
    pub subtype: Subtype,
    /// The attributes, in order.
    pub attributes: Vec<Attribute>,
}

/// Why bytes are not an EAP-AKA' packet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// The length field does not match, or exceeds the limit.
    #[error("an EAP packet of {0} bytes has another length field")]
    Length(usize),
    /// An unknown EAP code.
    #[error("EAP has no code {0}")]
    Code(u8),
    /// Another method.
    #[error("EAP type {0} is not EAP-AKA'")]
    Type(u8),
    /// An unknown subtype.
    #[error("EAP-AKA' has no subtype {0}")]
    Subtype(u8),
    /// An attribute shorter than its contents.
    #[error("attribute {0} has a wrong length field")]
    Attribute(u8),
    /// An unknown attribute that must not be skipped.
    #[error("attribute {0} is unknown and must not be skipped")]
    Unknown(u8),
}

impl Packet {
    /// A packet of the method.
    pub fn new(code: Code, identifier: u8, subtype: Subtype, attributes: Vec<Attribute>) -> Self {
        Packet { code, identifier, content: Some(Content { subtype, attributes }) }
    }

    /// EAP-Success or EAP-Failure.
    pub fn end(code: Code, identifier: u8) -> Self {
        Packet { code, identifier, content: None }
    }

    /// Reads a packet.
    ///
    /// # Errors
    /// The bytes are not a packet of EAP-AKA'.
    pub fn decode(bytes: &[u8]) -> Result<Packet, PacketError> {
        let wrong = || PacketError::Length(bytes.len());
        let (head, rest) = bytes.split_first_chunk::<4>().ok_or_else(wrong)?;
        let [code, identifier, high, low] = *head;
        if usize::from(u16::from_be_bytes([high, low])) != bytes.len() || bytes.len() > LONGEST {
            return Err(wrong());
        }
        let code = match code {
            1 => Code::Request,
            2 => Code::Response,
            3 if rest.is_empty() => return Ok(Packet::end(Code::Success, identifier)),
            4 if rest.is_empty() => return Ok(Packet::end(Code::Failure, identifier)),
            3 | 4 => return Err(wrong()),
            other => return Err(PacketError::Code(other)),
        };
        // Type, subtype, and two reserved bytes.
        let (method, mut rest) = rest.split_first_chunk::<4>().ok_or_else(wrong)?;
        if method[0] != TYPE {
            return Err(PacketError::Type(method[0]));
        }
        let subtype = Subtype::of(method[1]).ok_or(PacketError::Subtype(method[1]))?;
        let mut attributes = Vec::new();
        while let [kind, words, ..] = *rest {
            let short = PacketError::Attribute(kind);
            let length = usize::from(words) * 4;
            if length < 4 || length > rest.len() {
                return Err(short);
            }
            let (attribute, others) = rest.split_at(length);
            attributes.push(attribute_of(kind, &attribute[2..])?);
            rest = others;
        }
        match rest {
            [] => Ok(Packet::new(code, identifier, subtype, attributes)),
            _ => Err(wrong()),
        }
    }

    /// The bytes.
    pub fn encode(&self) -> Vec<u8> {
        let code = match self.code {
            Code::Request => 1,
            Code::Response => 2,
            Code::Success => 3,
            Code::Failure => 4,
        };
        let mut bytes = vec![code, self.identifier, 0, 0];
        if let Some(content) = &self.content {
            bytes.extend([TYPE, content.subtype as u8, 0, 0]);
            for attribute in &content.attributes {
                attribute.write(&mut bytes);
            }
        }
        // Encoded packets are far shorter than 64 KB.
        let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        bytes
    }

    /// The attributes; empty in EAP-Success and EAP-Failure.
    pub fn attributes(&self) -> &[Attribute] {
        self.content.as_ref().map_or(&[], |content| &content.attributes)
    }

    /// The subtype; none in EAP-Success and EAP-Failure.
    pub fn subtype(&self) -> Option<Subtype> {
        self.content.as_ref().map(|content| content.subtype)
    }
}

/// `value` is the attribute after its type and length.
fn attribute_of(kind: u8, value: &[u8]) -> Result<Attribute, PacketError> {
    let wrong = || PacketError::Attribute(kind);
    let sixteen = || <[u8; 16]>::try_from(value.get(2..).unwrap_or_default()).map_err(|_| wrong());
    let number = || <[u8; 2]>::try_from(value).map(u16::from_be_bytes).map_err(|_| wrong());
    // A length, the bytes, and padding to four bytes.
    let counted = |unit: usize| {
        let (length, rest) = value.split_first_chunk::<2>().ok_or_else(wrong)?;
        let length = usize::from(u16::from_be_bytes(*length));
        let whole = length % unit == 0 && (length / unit).div_ceil(4) * 4 == rest.len();
        if whole { Ok(rest[..length / unit].to_vec()) } else { Err(wrong()) }
    };
    Ok(match kind {
        1 => Attribute::Rand(sixteen()?),
        2 => Attribute::Autn(sixteen()?),
        3 => {
            let res = counted(8)?;
            // 32 to 128 bits (RFC 4187, 10.8).
            if (4..=16).contains(&res.len()) { Attribute::Res(res) } else { return Err(wrong()) }
        }
        4 => Attribute::Auts(value.try_into().map_err(|_| wrong())?),
        11 => Attribute::Mac(sixteen()?),
        12 => Attribute::Notification(number()?),
        22 => Attribute::ClientErrorCode(number()?),
        23 => Attribute::KdfInput(counted(1)?),
        24 => Attribute::Kdf(number()?),
        128.. => Attribute::Skipped(kind),
        unknown => return Err(PacketError::Unknown(unknown)),
    })
}

impl Attribute {
    fn write(&self, to: &mut Vec<u8>) {
        let mut put = |kind: u8, value: &[&[u8]]| {
            let length: usize = 2 + value.iter().map(|part| part.len()).sum::<usize>();
            // Encoded attributes are shorter than 1,000 bytes.
            to.extend([kind, u8::try_from(length.div_ceil(4)).unwrap_or(u8::MAX)]);
            value.iter().for_each(|part| to.extend_from_slice(part));
            to.resize(to.len() + length.div_ceil(4) * 4 - length, 0);
        };
        let number = |value: usize| u16::try_from(value).unwrap_or(u16::MAX).to_be_bytes();
        match self {
            Attribute::Rand(rand) => put(1, &[&[0, 0], rand]),
            Attribute::Autn(autn) => put(2, &[&[0, 0], autn]),
            Attribute::Res(res) => put(3, &[&number(res.len() * 8), res]),
            Attribute::Auts(auts) => put(4, &[auts]),
            Attribute::Mac(mac) => put(11, &[&[0, 0], mac]),
            Attribute::Notification(code) => put(12, &[&code.to_be_bytes()]),
            Attribute::ClientErrorCode(code) => put(22, &[&code.to_be_bytes()]),
            Attribute::KdfInput(name) => put(23, &[&number(name.len()), name]),
            Attribute::Kdf(kdf) => put(24, &[&kdf.to_be_bytes()]),
            Attribute::Skipped(kind) => put(*kind, &[&[0, 0]]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_have_their_octets() {
        let response = Packet::new(
            Code::Response,
            0x93,
            Subtype::Challenge,
            vec![Attribute::Res(vec![1, 2, 3, 4, 5, 6, 7, 8]), Attribute::Mac([0xaa; 16])],
        );
        let bytes = hex::decode(format!(
            "0293002832010000030300400102030405060708{}{}",
            "0b050000",
            "aa".repeat(16)
        ));
        assert_eq!(response.encode(), bytes.unwrap());
        assert_eq!(Packet::decode(&response.encode()), Ok(response));
        let selection =
            Packet::new(Code::Response, 0x93, Subtype::Challenge, vec![Attribute::Kdf(1)]);
        assert_eq!(hex::encode(selection.encode()), "0293000c3201000018010001");
        assert_eq!(hex::encode(Packet::end(Code::Success, 7).encode()), "03070004");
    }

    #[test]
    fn malformed_packets_are_rejected_with_a_reason() {
        let refused = |text: &str| Packet::decode(&hex::decode(text).unwrap()).unwrap_err();
        assert_eq!(refused("0293"), PacketError::Length(2));
        assert_eq!(refused("02930009320100"), PacketError::Length(7));
        assert_eq!(refused("05930004"), PacketError::Code(5));
        assert_eq!(refused("0293000817010000"), PacketError::Type(0x17));
        assert_eq!(refused("0293000832630000"), PacketError::Subtype(0x63));
        assert_eq!(refused("0293000c3201000018020001"), PacketError::Attribute(24));
        assert_eq!(refused("0293000c3201000063010000"), PacketError::Unknown(0x63));
        assert_eq!(refused("0293000c3201000018000001"), PacketError::Attribute(24));
        let skipped = Packet::decode(&hex::decode("0293000c3201000087010000").unwrap()).unwrap();
        assert_eq!(skipped.attributes(), [Attribute::Skipped(135)]);
    }
}
