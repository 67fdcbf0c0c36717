//! PDU session resource release (TS 38.413, 8.2.2, 9.3.4.12, 9.3.4.21).

use oxirush_ngap::ngap::{
    Cause, PDUSessionResourceReleaseCommandTransfer, PDUSessionResourceReleaseResponseTransfer,
};

use super::TransferError;
use super::error::{read, write};

/// PDU Session Resource Release Command Transfer, SMF to gNB (TS 38.413, 9.3.4.12).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseCommand {
    /// Why the session's resources are released.
    pub cause: Cause,
}

impl ReleaseCommand {
    /// A release for this cause.
    pub fn new(cause: Cause) -> Self {
        Self { cause }
    }

    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        write(&PDUSessionResourceReleaseCommandTransfer::new(self.cause.clone(), None))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let transfer: PDUSessionResourceReleaseCommandTransfer = read(bytes)?;
        Ok(Self { cause: transfer.cause })
    }
}

/// PDU Session Resource Release Response Transfer, gNB to SMF (TS 38.413, 9.3.4.21): an
/// acknowledgement without content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReleaseResponse;

impl ReleaseResponse {
    /// Encodes the transfer.
    pub fn encode(&self) -> Result<Vec<u8>, TransferError> {
        write(&PDUSessionResourceReleaseResponseTransfer::new(None))
    }

    /// Decodes a transfer.
    pub fn decode(bytes: &[u8]) -> Result<Self, TransferError> {
        let _: PDUSessionResourceReleaseResponseTransfer = read(bytes)?;
        Ok(Self)
    }
}
