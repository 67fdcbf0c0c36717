//! Values that travel as text, read without a copy of the text in between.
use serde::de::{self, Deserializer, Visitor};
use std::fmt::{self, Display};
use std::marker::PhantomData;

/// Decodes a value from the next text, borrowed or owned.
///
/// # Errors
/// The next value is not a text, or `make` rejects it.
pub(crate) fn read<'de, D, T, E>(from: D, make: fn(&str) -> Result<T, E>) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    E: Display,
{
    from.deserialize_str(Text { make, value: PhantomData })
}

struct Text<T, E> {
    make: fn(&str) -> Result<T, E>,
    value: PhantomData<T>,
}

impl<T, E: Display> Visitor<'_> for Text<T, E> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<F: de::Error>(self, text: &str) -> Result<T, F> {
        (self.make)(text).map_err(F::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_from_wherever_it_lies() {
        let number = |text: &str| text.parse::<u8>();
        let mut borrowed = serde_json::Deserializer::from_str("\"7\"");
        assert_eq!(read(&mut borrowed, number).ok(), Some(7));
        assert_eq!(read(serde_json::json!("8"), number).ok(), Some(8));
        let mut escaped = serde_json::Deserializer::from_reader(&b"\"\\u0039\""[..]);
        assert_eq!(read(&mut escaped, number).ok(), Some(9));
        assert!(read(serde_json::json!(8), number).is_err());
        assert!(
            read(serde_json::json!("x"), number).unwrap_err().to_string().contains("invalid digit")
        );
    }
}
