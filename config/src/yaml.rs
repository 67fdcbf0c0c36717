//! The YAML reader, which the program has once.
use martlet_erased::Seed;
use serde::de::{DeserializeOwned, DeserializeSeed};

/// Reads a YAML document into `T`.
///
/// # Errors
/// The text is not YAML, or does not fit `T`.
pub fn from_yaml<T: DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    martlet_erased::read(|seed| read(text, seed))
}

fn read<'de>(text: &'de str, seed: Seed<'_, 'de>) -> Result<(), serde_saphyr::Error> {
    serde_saphyr::with_deserializer_from_str(text, |from| seed.deserialize(from))
}
