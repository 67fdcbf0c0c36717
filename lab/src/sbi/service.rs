//! The service that is called. It echoes the request body.
use bytes::Bytes;
use martlet_sbi::{BodyError, Encoded, Payload, Problem, service};
use martlet_sbi_api::nsmf_pdusession::SmContextRetrievedData;

/// A body of bytes that is not decoded.
pub struct RawBytes(pub Bytes);

impl Payload for RawBytes {
    fn encode(&self) -> Result<Option<Encoded>, BodyError> {
        Ok(Some(Encoded { content_type: "application/octet-stream".into(), bytes: self.0.clone() }))
    }
    fn decode(encoded: Option<Encoded>) -> Result<Self, BodyError> {
        Ok(RawBytes(encoded.map_or_else(Bytes::new, |encoded| encoded.bytes)))
    }
}

service! {
    /// Echoes the body.
    pub Echo / EchoClient / ECHO = "necho" / "v1" {
        /// Echoes an SM context.
        op echo "Echo": POST "/contexts/{id}", path(id), body(SmContextRetrievedData),
            returns(SmContextRetrievedData), errors[];
        /// Echoes bytes.
        op echo_bytes "EchoBytes": POST "/bytes", path(), body(RawBytes), returns(RawBytes),
            errors[];
    }
}

/// The producer.
pub struct Server;

impl Echo for Server {
    async fn echo(
        &self,
        _: &str,
        body: SmContextRetrievedData,
    ) -> Result<SmContextRetrievedData, Problem> {
        Ok(body)
    }
    async fn echo_bytes(&self, body: RawBytes) -> Result<RawBytes, Problem> {
        Ok(body)
    }
}

/// An SM context of 1.7 KB as JSON without spaces.
pub fn body() -> anyhow::Result<SmContextRetrievedData> {
    Ok(serde_json::from_str(include_str!("body.json"))?)
}
