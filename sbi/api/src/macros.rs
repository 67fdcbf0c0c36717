//! Macros for kinds of types of 3GPP's OpenAPI files that Rust does not have.

/// An enumeration that later releases may extend (`anyOf` of an enumeration and a string): unknown
/// values are preserved.
macro_rules! open_enum {
    ($(#[$meta:meta])* pub enum $name:ident { $($variant:ident = $text:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, martlet_sbi::Compact)]
        pub enum $name {
            $(#[doc = concat!("`", $text, "`.")] $variant,)*
            /// A value of a later release.
            Other(String),
        }
        impl $name {
            /// The value on the wire.
            pub fn as_str(&self) -> &str {
                match self { $($name::$variant => $text,)* $name::Other(text) => text }
            }
        }
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text { $($text => $name::$variant,)* other =>
                    $name::Other(other.to_string()) }
            }
        }
        impl std::str::FromStr for $name {
            type Err = std::convert::Infallible;
            fn from_str(text: &str) -> Result<Self, Self::Err> { Ok(text.into()) }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str()) }
        }
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok,
                S::Error> { to.serialize_str(self.as_str()) }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::text::read(from, |text| Ok::<_, std::convert::Infallible>(text.into()))
            }
        }
        impl martlet_sbi::QueryValue for $name {
            fn to_text(&self) -> String { self.as_str().to_string() }
            fn from_text(text: &str) -> Option<Self> { Some(text.into()) }
        }
    };
}

/// An enumeration that is complete: another value is an error.
macro_rules! closed_enum {
    ($(#[$meta:meta])* pub enum $name:ident { $($variant:ident = $text:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize,
            serde::Deserialize, martlet_sbi::Compact)]
        pub enum $name {
            $(#[doc = concat!("`", $text, "`.")] #[serde(rename = $text)] $variant,)*
        }
        impl $name {
            /// The value on the wire.
            pub fn as_str(&self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }
        impl std::str::FromStr for $name {
            type Err = crate::common::NotValid;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text { $($text => Ok($name::$variant),)* _ =>
                    Err(crate::common::NotValid::new(stringify!($name), text)) }
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str()) }
        }
        impl martlet_sbi::QueryValue for $name {
            fn to_text(&self) -> String { self.as_str().to_string() }
            fn from_text(text: &str) -> Option<Self> { text.parse().ok() }
        }
    };
}

/// Text of up to 24 bytes without heap memory, which fits most identities.
pub(crate) use compact_str::CompactString;

/// A string whose form is checked when it is decoded.
macro_rules! checked_string {
    ($(#[$meta:meta])* pub struct $name:ident, $check:expr) => {
        $crate::macros::checked_string! { $(#[$meta])* pub struct $name, $check, |text| text }
    };
    // With a normal form, so that equal values are equal text.
    ($(#[$meta:meta])* pub struct $name:ident, $check:expr, $normal:expr) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name($crate::macros::CompactString);
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok,
                S::Error> { to.serialize_str(&self.0) }
        }
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::text::read(from, $name::checked)
            }
        }
        impl martlet_sbi::Compact for $name {
            fn write(&self, out: &mut Vec<u8>) { martlet_sbi::compact::write_text(&self.0, out) }
            fn read(from: &mut martlet_sbi::compact::Reader<'_>) -> Result<Self,
                martlet_sbi::compact::Error> {
                $name::checked(from.text()?).map_err(martlet_sbi::compact::Error::invalid)
            }
        }
        impl $name {
            /// The text as it travels.
            pub fn as_str(&self) -> &str { &self.0 }

            fn checked(text: &str) -> Result<Self, crate::common::NotValid> {
                let check: fn(&str) -> bool = $check;
                let normal: fn($crate::macros::CompactString) -> $crate::macros::CompactString =
                    $normal;
                if check(text) { Ok($name(normal(text.into()))) } else {
                    Err(crate::common::NotValid::new(stringify!($name), text)) }
            }
        }
        impl TryFrom<String> for $name {
            type Error = crate::common::NotValid;
            fn try_from(text: String) -> Result<Self, Self::Error> { $name::checked(&text) }
        }
        impl From<$name> for String {
            fn from(value: $name) -> String { value.0.into() }
        }
        impl std::str::FromStr for $name {
            type Err = crate::common::NotValid;
            fn from_str(text: &str) -> Result<Self, Self::Err> { $name::checked(text) }
        }
        impl std::ops::Deref for $name {
            type Target = str;
            fn deref(&self) -> &str { &self.0 }
        }
        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str { &self.0 }
        }
        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str { &self.0 }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0) }
        }
        impl martlet_sbi::QueryValue for $name {
            fn to_text(&self) -> String { self.0.to_string() }
            fn from_text(text: &str) -> Option<Self> { text.parse().ok() }
        }
    };
}

/// Declares types that are sent as `application/3gppHal+json` (TS 29.501, 4.7).
macro_rules! hal_payload {
    ($($type:ty),+) => {
        martlet_sbi::json_payload!(in "application/3gppHal+json": $($type),+);
    };
}

pub(crate) use {checked_string, closed_enum, hal_payload, open_enum};
