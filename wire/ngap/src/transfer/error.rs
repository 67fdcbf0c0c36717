//! Faults of transfers, and the receiver's cause for each.

use oxirush_ngap::aper;
use oxirush_ngap::ngap::{Cause, CauseProtocol};
use oxirush_ngap::{Decode, Deviation};

/// A transfer that does not decode or encode.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TransferError {
    /// The bytes are not the transfer in aligned PER (TS 38.413, 10.2).
    #[error("the bytes are not a {transfer}: {reason}")]
    Syntax {
        /// The ASN.1 name of the transfer.
        transfer: &'static str,
        /// The decoder's error.
        reason: String,
    },
    /// An information element is missing, repeated, or not comprehended and of the criticality
    /// "reject" (TS 38.413, 10.3.4 to 10.3.6).
    #[error("{transfer}: {what}")]
    Abstract {
        /// The ASN.1 name of the transfer.
        transfer: &'static str,
        /// What deviates.
        what: String,
        /// The cause for the answer.
        cause: CauseProtocol,
    },
    /// A well-formed value without a meaning (TS 38.413, 10.4), such as an address of 17 bits.
    #[error("{what}")]
    Semantic {
        /// Which value it is.
        what: String,
    },
    /// A value to be sent does not fit its field.
    #[error("this {transfer} cannot be encoded: {reason}; check the values it was built with")]
    Encode {
        /// The ASN.1 name of the transfer.
        transfer: &'static str,
        /// Which value does not fit.
        reason: String,
    },
}

impl TransferError {
    /// The cause with which the receiver of the transfer refuses the PDU session (TS 38.413, 10).
    pub fn cause(&self) -> Cause {
        Cause::protocol(match self {
            Self::Syntax { .. } => CauseProtocol::transfer_syntax_error,
            Self::Abstract { cause, .. } => *cause,
            Self::Semantic { .. } => CauseProtocol::semantic_error,
            Self::Encode { .. } => CauseProtocol::unspecified,
        })
    }

    pub(super) fn semantic(what: impl Into<String>) -> Self {
        Self::Semantic { what: what.into() }
    }
}

/// `bytes` as the ASN.1 type `T`; bytes left over after the value are an error too.
pub(super) fn read<'a, T: Decode<'a> + aper::AsnType>(bytes: &'a [u8]) -> Result<T, TransferError> {
    if bytes.is_empty() {
        return Err(TransferError::Syntax {
            transfer: T::NAME,
            reason: "there are no bytes".into(),
        });
    }
    aper::decode(bytes)
        .map_err(|error| TransferError::Syntax { transfer: T::NAME, reason: error.to_string() })
}

/// `value` in aligned PER.
pub(super) fn write<T: oxirush_ngap::Encode + aper::AsnType>(
    value: &T,
) -> Result<Vec<u8>, TransferError> {
    aper::encode(value).map_err(|error| refused::<T>(&error))
}

/// The error of a value of `T` that does not encode.
pub(super) fn refused<T: aper::AsnType>(error: &oxirush_ngap::Error) -> TransferError {
    TransferError::Encode { transfer: T::NAME, reason: error.to_string() }
}

/// The error of the first deviation that makes the receiver reject the transfer. The others are
/// skipped, as TS 38.413, 10.3.4.2 has it for the criticality "ignore". "Notify" is skipped too,
/// since a transfer cannot carry a notification.
pub(super) fn check(transfer: &'static str, deviations: &[Deviation]) -> Result<(), TransferError> {
    for deviation in deviations {
        match deviation.cause() {
            None | Some(CauseProtocol::abstract_syntax_error_ignore_and_notify) => {}
            Some(cause) => {
                return Err(TransferError::Abstract {
                    transfer,
                    what: deviation.to_string(),
                    cause,
                });
            }
        }
    }
    Ok(())
}

/// The fault of an information element that is missing or does not decode.
pub(super) fn ie_error<T: aper::AsnType>(error: oxirush_ngap::Error) -> TransferError {
    match Deviation::of(&error).and_then(|deviation| deviation.cause()) {
        Some(cause @ CauseProtocol::abstract_syntax_error_reject) => {
            TransferError::Abstract { transfer: T::NAME, what: error.to_string(), cause }
        }
        _ => TransferError::Syntax { transfer: T::NAME, reason: error.to_string() },
    }
}
