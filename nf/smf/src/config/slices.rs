//! Slices, and limits of their sessions.
use super::SmfConfig;
use martlet_config::Finding;
use martlet_sbi_api::common::Snssai;
use serde::{Deserialize, Serialize};

/// A slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SliceConfig {
    /// Slice or service type.
    pub sst: u8,
    /// Slice differentiator, 24 bits: six hexadecimal digits.
    #[serde(default, with = "differentiator", skip_serializing_if = "Option::is_none")]
    pub sd: Option<u32>,
}

/// A slice differentiator as everywhere in the configuration: six hexadecimal digits.
mod differentiator {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(sd: &Option<u32>, to: S) -> Result<S::Ok, S::Error> {
        match sd {
            Some(sd) => to.serialize_str(&format!("{sd:06x}")),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
        let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
        match u32::from_str_radix(&text, 16) {
            Ok(sd) if text.len() == 6 => Ok(Some(sd)),
            _ => Err(D::Error::custom(format!(
                "{text:?} is not a slice differentiator: write six hexadecimal digits, such as \
                 \"0000a7\""
            ))),
        }
    }
}

impl SliceConfig {
    /// In the form of the SBI.
    pub fn snssai(&self) -> Snssai {
        Snssai::new(self.sst, self.sd)
    }
}

/// Limit for the number of sessions of a slice, or of a data network in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitConfig {
    /// Slice or service type.
    pub sst: u8,
    /// Slice differentiator, 24 bits: six hexadecimal digits.
    #[serde(default, with = "differentiator", skip_serializing_if = "Option::is_none")]
    pub sd: Option<u32>,
    /// The data network; empty for the whole slice.
    #[serde(default)]
    pub dnn: String,
    /// Maximum number of sessions.
    pub max_sessions: usize,
}

impl LimitConfig {
    /// Whether the limit counts sessions of that slice and data network.
    pub fn applies_to(&self, slice: Snssai, dnn: &str) -> bool {
        Snssai::new(self.sst, self.sd) == slice
            && (self.dnn.is_empty() || self.dnn.eq_ignore_ascii_case(dnn))
    }
}

/// Limits of slices and data networks that are not served.
pub(super) fn check_limits(config: &SmfConfig) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut wrong = |path: String, message: String| findings.push(Finding::new(path, message));
    for (n, limit) in config.limits.iter().enumerate() {
        let slice = Snssai::new(limit.sst, limit.sd);
        if !config.slices.iter().any(|served| served.snssai() == slice) {
            wrong(format!("limits[{n}].sst"), "not a slice of smf.slices: add it there".into());
        }
        if !limit.dnn.is_empty()
            && !config.dnns.iter().any(|dnn| dnn.name.eq_ignore_ascii_case(&limit.dnn))
        {
            wrong(
                format!("limits[{n}].dnn"),
                format!("{} is not among smf.dnns: add it there", limit.dnn),
            );
        }
    }
    findings
}
