//! A downlink message that is encoded once and sent to any number of gNBs.
use crate::metrics;
use bytes::Bytes;
use martlet_ngap::Error;
use martlet_ngap::ngap::NGAP_PDU;

/// An encoded NGAP message. Clones share the bytes.
#[derive(Debug, Clone)]
pub(crate) struct Encoded {
    /// The ASN.1 procedure name, for the log.
    pub(super) name: &'static str,
    pub(super) bytes: Bytes,
}

impl Encoded {
    /// Encodes the message. A failure is counted, and the caller logs it.
    pub fn of(pdu: &NGAP_PDU) -> Result<Self, Error> {
        let name = pdu.procedure_name();
        #[cfg(test)]
        super::counted::ENCODED.with_borrow_mut(|all| all.push(name));
        match pdu.encode() {
            Ok(bytes) => Ok(Encoded { name, bytes: bytes.into() }),
            Err(error) => {
                metrics::ngap_error("not_encodable");
                Err(error)
            }
        }
    }

    /// The encoded message.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}
