//! What is wrong with a transfer, and the cause that its receiver answers with.

use oxirush_ngap::aper;
use oxirush_ngap::ngap::{Cause, CauseProtocol};
use oxirush_ngap::{Decode, Deviation};

/// A transfer that was not read, or not written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TransferError {
    /// The bytes are not the transfer in aligned PER (TS 38.413, 10.2).
    #[error("the bytes are no {transfer}: {reason}")]
    Syntax {
        /// The ASN.1 name of the transfer.
        transfer: &'static str,
        /// What the decoder met.
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
    /// A value that is well formed and cannot be meant (TS 38.413, 10.4), as an address of 17 bits.
    #[error("{what}")]
    Semantic {
        /// What cannot be meant.
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

/// The error of the first deviation for which a receiver gives up on the transfer; the others are
/// passed over, as TS 38.413, 10.3.4.2 has it for the criticality "ignore". "Notify" is passed over
/// too: a transfer has nowhere to notify in.
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

/// What an information element of the transfer that does not decode, or is missing, is for the
/// receiver.
pub(super) fn ie_error<T: aper::AsnType>(error: oxirush_ngap::Error) -> TransferError {
    match Deviation::of(&error).and_then(|deviation| deviation.cause()) {
        Some(cause @ CauseProtocol::abstract_syntax_error_reject) => {
            TransferError::Abstract { transfer: T::NAME, what: error.to_string(), cause }
        }
        _ => TransferError::Syntax { transfer: T::NAME, reason: error.to_string() },
    }
}
