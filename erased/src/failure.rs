//! An error that passes between the reader and a type.
use serde::de::{Error, Expected, Unexpected};
use std::fmt;

/// An error in a type. One pointer, since most functions of a type return one.
#[derive(Debug)]
pub struct Failure(Box<Kind>);

/// The errors for which the reader has a kind of its own, and those that are none of the type.
#[derive(Debug, thiserror::Error)]
enum Kind {
    /// The reader returned an error with this text.
    #[error("{0}")]
    Reader(String),
    #[error("a value was read twice, or not at all")]
    NoValue,
    #[error("{0}")]
    Custom(String),
    #[error("invalid type: {0}, expected {1}")]
    InvalidType(String, String),
    #[error("invalid value: {0}, expected {1}")]
    InvalidValue(String, String),
    #[error("invalid length {0}, expected {1}")]
    InvalidLength(usize, String),
    #[error("unknown variant `{0}`, expected one of {known}", known = .1.join(", "))]
    UnknownVariant(String, &'static [&'static str]),
    #[error("unknown field `{0}`, expected one of {known}", known = .1.join(", "))]
    UnknownField(String, &'static [&'static str]),
    #[error("missing field `{0}`")]
    MissingField(&'static str),
}

impl Failure {
    /// An error of the reader.
    #[cold]
    pub fn of_reader(error: &impl Error) -> Failure {
        Failure::new(Kind::Reader(error.to_string()))
    }

    /// A deserializer or a visitor was used twice, or not at all.
    #[cold]
    #[inline(never)]
    pub fn no_value() -> Failure {
        Failure::new(Kind::NoValue)
    }

    /// Whether it is an error of the reader.
    pub fn is_of_reader(&self) -> bool {
        matches!(*self.0, Kind::Reader(_))
    }

    /// The error of the reader that a failure of a type becomes.
    #[cold]
    pub fn into_error<E: Error>(self) -> E {
        match *self.0 {
            Kind::Reader(text) | Kind::Custom(text) => E::custom(text),
            Kind::NoValue => E::custom(Kind::NoValue),
            Kind::InvalidType(unexpected, expected) => {
                E::invalid_type(Unexpected::Other(&unexpected), &expected.as_str())
            }
            Kind::InvalidValue(unexpected, expected) => {
                E::invalid_value(Unexpected::Other(&unexpected), &expected.as_str())
            }
            Kind::InvalidLength(length, expected) => E::invalid_length(length, &expected.as_str()),
            Kind::UnknownVariant(variant, known) => E::unknown_variant(&variant, known),
            Kind::UnknownField(field, known) => E::unknown_field(&field, known),
            Kind::MissingField(field) => E::missing_field(field),
        }
    }

    #[cold]
    #[inline(never)]
    fn new(kind: Kind) -> Failure {
        Failure(Box::new(kind))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failure {}

impl Error for Failure {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Failure::new(Kind::Custom(message.to_string()))
    }

    #[cold]
    #[inline(never)]
    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let (unexpected, expected) = (unexpected.to_string(), expected.to_string());
        Failure::new(Kind::InvalidType(unexpected, expected))
    }

    #[cold]
    #[inline(never)]
    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let (unexpected, expected) = (unexpected.to_string(), expected.to_string());
        Failure::new(Kind::InvalidValue(unexpected, expected))
    }

    #[cold]
    #[inline(never)]
    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Failure::new(Kind::InvalidLength(length, expected.to_string()))
    }

    #[cold]
    #[inline(never)]
    fn unknown_variant(variant: &str, known: &'static [&'static str]) -> Self {
        Failure::new(Kind::UnknownVariant(variant.into(), known))
    }

    #[cold]
    #[inline(never)]
    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        Failure::new(Kind::UnknownField(field.into(), known))
    }

    #[cold]
    #[inline(never)]
    fn missing_field(field: &'static str) -> Self {
        Failure::new(Kind::MissingField(field))
    }

    #[cold]
    #[inline(never)]
    fn duplicate_field(field: &'static str) -> Self {
        Failure::custom(format_args!("duplicate field `{field}`"))
    }
}
