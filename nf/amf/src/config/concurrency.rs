//! Concurrency limits of procedures.
use martlet_config::Finding;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// A fixed number.
    Fixed(usize),
    /// `auto`: adapts to the CPUs and the measured latency.
    Auto,
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Limit::Fixed(limit) => serializer.serialize_u64(*limit as u64),
            Limit::Auto => serializer.serialize_str("auto"),
        }
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Limit;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number of procedures, or auto")
            }
            fn visit_u64<E: serde::de::Error>(self, limit: u64) -> Result<Limit, E> {
                usize::try_from(limit).map(Limit::Fixed).map_err(E::custom)
            }
            fn visit_i64<E: serde::de::Error>(self, limit: i64) -> Result<Limit, E> {
                usize::try_from(limit).map(Limit::Fixed).map_err(E::custom)
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Limit, E> {
                match text {
                    "auto" => Ok(Limit::Auto),
                    other => Err(E::invalid_value(serde::de::Unexpected::Str(other), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// Concurrency limits. Procedures beyond a limit wait; when the queue is full, they are rejected
/// with #22 (congestion).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConcurrencyConfig {
    /// Registrations.
    pub registration: Limit,
    /// Service requests.
    pub service_request: Limit,
    /// PDU session establishments.
    pub pdu_session_establishment: Limit,
    /// Procedures of each kind that may wait.
    pub queue: usize,
    /// Milliseconds that a procedure may wait for its UE before it loses its slot, so that UEs
    /// that do not answer do not block others.
    pub slot_timeout_ms: u32,
}

impl Default for ConcurrencyConfig {
    fn default() -> Self {
        let sixteen = Limit::Fixed(16);
        ConcurrencyConfig {
            registration: sixteen,
            service_request: sixteen,
            pdu_session_establishment: sixteen,
            queue: 1000,
            slot_timeout_ms: 200,
        }
    }
}

impl ConcurrencyConfig {
    pub(super) fn check(&self) -> Vec<Finding> {
        let kinds = [
            ("registration", self.registration),
            ("service_request", self.service_request),
            ("pdu_session_establishment", self.pdu_session_establishment),
        ];
        let wrong =
            |(_, limit): &(&str, Limit)| matches!(limit, Limit::Fixed(0) | Limit::Fixed(100_001..));
        let message = "write 1 to 100000, or auto";
        kinds.into_iter().filter(wrong).map(|(name, _)| Finding::new(name, message)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_or_auto() {
        let read = serde_json::from_str::<ConcurrencyConfig>;
        let config: ConcurrencyConfig = read(r#"{"registration": "auto", "queue": 5}"#).unwrap();
        assert_eq!((config.registration, config.service_request), (Limit::Auto, Limit::Fixed(16)));
        let written = serde_json::to_string(&config).unwrap();
        assert_eq!(read(&written).unwrap(), config);
        assert!(read(r#"{"registration": "automatic"}"#).is_err());
        let zero = read(r#"{"registration": 0}"#).unwrap();
        assert_eq!(zero.check().len(), 1);
    }
}
