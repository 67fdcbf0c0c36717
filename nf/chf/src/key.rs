//! The identities of stored accounts and records.
use std::fmt;

/// What is stored: an account, or the record of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// The account of a subscriber.
    Account(String),
    /// The record of a session.
    Record(u64),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Account(supi) => write!(f, "account {supi}"),
            Key::Record(id) => write!(f, "record {id}"),
        }
    }
}

impl Key {
    /// Parses the identity of a stored context.
    pub fn parse(id: &str) -> Option<Key> {
        match id.split_once(' ')? {
            ("account", supi) => Some(Key::Account(supi.into())),
            ("record", number) => number.parse().ok().map(Key::Record),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_parsed_as_they_are_stored() {
        for key in [Key::Account("imsi-001010000000001".into()), Key::Record(7)] {
            assert_eq!(Key::parse(&key.to_string()), Some(key));
        }
        for id in ["chf", "record x", "other 1"] {
            assert_eq!(Key::parse(id), None);
        }
    }
}
