//! The header of a message (TS 29.244, 7.2.2).
use crate::DecodeError;

/// Session endpoint identifier, sequence number and message type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Message type.
    pub message_type: u8,
    /// Session endpoint identifier of the receiver; only session messages have one.
    pub seid: Option<u64>,
    /// Sequence number, 24 bits.
    pub sequence: u32,
    /// Message priority, 4 bits, where there is one.
    pub priority: Option<u8>,
}

impl Header {
    /// Decodes a header; returns the bytes of the message's elements too.
    pub fn decode(bytes: &[u8]) -> Result<(Header, &[u8]), DecodeError> {
        let ([flags, message_type, l1, l2], rest) =
            bytes.split_first_chunk::<4>().ok_or(DecodeError::Truncated)?;
        if flags >> 5 != 1 {
            return Err(DecodeError::Version(flags >> 5));
        }
        let length = usize::from(u16::from_be_bytes([*l1, *l2]));
        let mut rest = rest.get(..length).ok_or(DecodeError::Truncated)?;
        let mut seid = None;
        if flags & 0x01 != 0 {
            let (bytes, after) = rest.split_first_chunk::<8>().ok_or(DecodeError::Truncated)?;
            seid = Some(u64::from_be_bytes(*bytes));
            rest = after;
        }
        let ([s1, s2, s3, last], body) =
            rest.split_first_chunk::<4>().ok_or(DecodeError::Truncated)?;
        let sequence = u32::from_be_bytes([0, *s1, *s2, *s3]);
        let priority = (flags & 0x02 != 0).then_some(last >> 4);
        Ok((Header { message_type: *message_type, seid, sequence, priority }, body))
    }

    /// Writes the header and, after it, the body that `write` appends.
    pub fn encode(&self, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        out.push(0x20 | u8::from(self.seid.is_some()) | u8::from(self.priority.is_some()) << 1);
        out.push(self.message_type);
        out.extend([0, 0]);
        if let Some(seid) = self.seid {
            out.extend(seid.to_be_bytes());
        }
        let [_, s1, s2, s3] = self.sequence.to_be_bytes();
        out.extend([s1, s2, s3, self.priority.unwrap_or(0) << 4]);
        write(&mut out);
        // Encoded messages are far shorter than the field's limit.
        let length = u16::try_from(out.len() - 4).unwrap_or(u16::MAX);
        out[2..4].copy_from_slice(&length.to_be_bytes());
        out
    }
}
