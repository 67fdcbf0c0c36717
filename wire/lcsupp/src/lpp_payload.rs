//! LPP messages in the payload of a transport message: each preceded by its length in two bytes.

use crate::error::check;
use crate::message::LARGEST_PAYLOAD;
use crate::{DecodeError, EncodeError};

/// Size in bytes of the largest LPP message that fits a payload.
pub const LARGEST_LPP_MESSAGE: usize = LARGEST_PAYLOAD - 2;

/// The LPP messages of a payload.
///
/// # Errors
/// A length is wrong or 0, or the payload ends inside a message. Then use none of its
/// messages.
pub fn lpp_messages(payload: &[u8]) -> Result<impl Iterator<Item = &[u8]>, DecodeError> {
    let mut rest = payload;
    while !rest.is_empty() {
        (_, rest) = first(rest)?;
    }
    let mut rest = payload;
    Ok(std::iter::from_fn(move || {
        let (message, behind) = first(rest).ok()?;
        rest = behind;
        Some(message)
    }))
}

fn first(payload: &[u8]) -> Result<(&[u8], &[u8]), DecodeError> {
    let (length, rest) = payload.split_first_chunk::<2>().ok_or(DecodeError::Truncated)?;
    let length = usize::from(u16::from_be_bytes(*length));
    if length == 0 {
        return Err(DecodeError::Length { element: "an LPP message", length });
    }
    rest.split_at_checked(length).ok_or(DecodeError::Truncated)
}

/// Appends an LPP message to a payload. On an error the payload is unchanged.
///
/// # Errors
/// The message is empty, or the payload would be too large with it.
pub fn push_lpp_message(payload: &mut Vec<u8>, message: &[u8]) -> Result<(), EncodeError> {
    check("an LPP message", message.len(), 1, LARGEST_PAYLOAD.saturating_sub(payload.len() + 2))?;
    // Checked above to fit.
    payload.extend((message.len() as u16).to_be_bytes());
    payload.extend_from_slice(message);
    Ok(())
}
