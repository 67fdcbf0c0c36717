//! What a network function implements for the stored form of its contexts.
use crate::write_behind::{ContextStore, StoredContexts};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Display;
use std::time::Instant;

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

/// Why one context was not restored.
#[derive(Debug, thiserror::Error)]
enum RestoreError {
    #[error("its identity is not a number")]
    Identity,
    #[error("its value does not decode: {0}")]
    Value(#[from] serde_json::Error),
    #[error("{0}")]
    Function(String),
}

/// Gives stored contexts back to the NF with `restore`. A context that the NF refuses is logged and
/// removed from the store.
pub fn restore<C: PersistedContext, E: Display>(
    store: &ContextStore,
    stored: StoredContexts,
    mut restore: impl FnMut(u64, C) -> Result<(), E>,
) {
    let (started, total, mut restored) = (Instant::now(), stored.len(), 0);
    for (id, value) in stored {
        let outcome = (|| {
            let number = id.parse().map_err(|_| RestoreError::Identity)?;
            let context = serde_json::from_slice(&value)?;
            restore(number, context).map_err(|error| RestoreError::Function(error.to_string()))
        })();
        match outcome {
            Ok(()) => restored += 1,
            Err(error) => {
                tracing::warn!(id, kind = C::KIND, %error, "context not restored");
                store.remove(id);
            }
        }
    }
    if total > 0 {
        let ms = started.elapsed().as_millis() as u64;
        tracing::info!(kind = C::KIND, restored, total, ms, "contexts restored");
    }
}
