//! The service that is called: what goes in comes out.
use bytes::Bytes;
use martlet_sbi::{Encoded, Payload, Problem, service};
use martlet_sbi_api::nsmf_pdusession::SmContextRetrievedData;

/// Octets that nobody looks into.
pub struct Octets(pub Bytes);

impl Payload for Octets {
    fn encode(&self) -> Result<Option<Encoded>, Problem> {
        Ok(Some(Encoded { content_type: "application/octet-stream".into(), bytes: self.0.clone() }))
    }
    fn decode(encoded: Option<Encoded>) -> Result<Self, Problem> {
        Ok(Octets(encoded.map_or_else(Bytes::new, |encoded| encoded.bytes)))
    }
}

service! {
    /// Gives back what it gets.
    pub Mirror / MirrorClient / MIRROR = "nmirror" / "v1" {
        /// Gives back an SM context.
        op mirror "Mirror": POST "/contexts/{id}", path(id), body(SmContextRetrievedData),
            returns(SmContextRetrievedData), errors[];
        /// Gives back octets.
        op mirror_octets "MirrorOctets": POST "/octets", path(), body(Octets), returns(Octets), errors[];
    }
}

/// The producer.
pub struct Server;

impl Mirror for Server {
    async fn mirror(
        &self,
        _: &str,
        body: SmContextRetrievedData,
    ) -> Result<SmContextRetrievedData, Problem> {
        Ok(body)
    }
    async fn mirror_octets(&self, body: Octets) -> Result<Octets, Problem> {
        Ok(body)
    }
}

/// An SM context of 1.7 KB as JSON without spaces.
pub fn body() -> anyhow::Result<SmContextRetrievedData> {
    Ok(serde_json::from_str(include_str!("body.json"))?)
}
