//! What a network function implements for the stored form of its contexts.
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The stored form of a context: a UE of the AMF, a PDU session of the SMF. It is JSON, and the
/// names of its fields stay as they are, so that databases of earlier versions can be read.
pub trait PersistedContext: Serialize + DeserializeOwned {
    /// What one context is called in log lines, such as `UE`.
    const KIND: &'static str;

    /// The SUPI of the context, for log lines.
    fn supi(&self) -> &str;
}

/// The bytes of a context; `None`, with a log line, when it cannot be encoded.
pub(crate) fn encode<C: PersistedContext>(context: &C) -> Option<Vec<u8>> {
    let failed = |error: &serde_json::Error| {
        tracing::error!(supi = context.supi(), kind = C::KIND, %error, "context not stored");
    };
    serde_json::to_vec(context).inspect_err(failed).ok()
}
