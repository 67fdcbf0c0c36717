//! Gives the stored contexts of a former process back to the network function.
use crate::persisted::PersistedContext;
use crate::write_behind::{ContextStore, StoredContexts};
use std::fmt::Display;
use std::time::Instant;

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
            let context = martlet_erased::from_json(&value)?;
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
