//! Session management data as they are answered (TS 29.503, 6.1.6).
use super::{ExtendedSmSubsData, SessionManagementSubscriptionData};
use martlet_sbi::Compact;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Session management data of a subscriber, by slice (TS 29.503, 6.1.6).
#[derive(Debug, Clone, PartialEq, Serialize, Compact)]
#[serde(untagged)]
pub enum SmSubsData {
    /// All of it.
    Individual(Vec<SessionManagementSubscriptionData>),
    /// With IDs of shared data.
    Extended(ExtendedSmSubsData),
}

impl<'de> Deserialize<'de> for SmSubsData {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either)
    }
}

/// Reads the form that is there, so that an error is that of the wrong member.
struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = SmSubsData;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("session management data: an array, or an object with shared data")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, of: A) -> Result<SmSubsData, A::Error> {
        Deserialize::deserialize(SeqAccessDeserializer::new(of)).map(SmSubsData::Individual)
    }

    fn visit_map<A: MapAccess<'de>>(self, of: A) -> Result<SmSubsData, A::Error> {
        Deserialize::deserialize(MapAccessDeserializer::new(of)).map(SmSubsData::Extended)
    }

    /// An empty array of a Go program.
    fn visit_unit<E: serde::de::Error>(self) -> Result<SmSubsData, E> {
        Ok(SmSubsData::Individual(Vec::new()))
    }
}

impl SmSubsData {
    /// The subscriber's individual data.
    pub fn individual(&self) -> &[SessionManagementSubscriptionData] {
        match self {
            SmSubsData::Individual(data) => data,
            SmSubsData::Extended(data) => {
                data.individual_sm_subs_data.as_deref().unwrap_or_default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_wrong_member_and_null_is_empty() {
        let read = |text: &str| serde_json::from_str::<SmSubsData>(text);
        assert_eq!(read("null").unwrap(), SmSubsData::Individual(vec![]));
        let one = r#"[{"singleNssai":{"sst":1},"dnnConfigurations":null}]"#;
        assert_eq!(read(one).unwrap().individual().len(), 1);
        let error = read(r#"[{"singleNssai":{"sst":"x"}}]"#).unwrap_err().to_string();
        assert!(error.contains("invalid type: string \"x\""), "{error}");
        let shared = r#"{"sharedSmSubsDataIds":["1"]}"#;
        assert!(matches!(read(shared).unwrap(), SmSubsData::Extended(_)));
    }

    #[test]
    fn an_identity_that_is_not_readable_is_dropped() {
        use crate::nudm_sdm::{AccessAndMobilitySubscriptionData, SmfSelectionSubscriptionData};
        let data = r#"{"gpsis":["msisdn-","",7,"msisdn-491700000000",null],"internalGroupIds":["x"],
            "nssai":{"defaultSingleNssais":[{"sst":1}],"singleNssais":null}}"#;
        let read: AccessAndMobilitySubscriptionData = serde_json::from_str(data).unwrap();
        let gpsis: Vec<String> = read.gpsis.unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(gpsis, ["msisdn-", "msisdn-491700000000"]);
        assert_eq!(read.internal_group_ids, Some(vec![]));
        let data = r#"{"subscribedSnssaiInfos":{"01":{"dnnInfos":null}}}"#;
        let read: SmfSelectionSubscriptionData = serde_json::from_str(data).unwrap();
        assert_eq!(read.subscribed_snssai_infos.unwrap()["01"].dnn_infos, []);
    }
}
