//! Counts of contexts, sessions and connections, as the functions of a core report them.
use crate::{TestCore, eventually};
use anyhow::Result;
use serde_json::Value;

/// Counts of one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// gNBs with an NG setup at the AMF.
    pub gnbs: u64,
    /// UE contexts at the AMF, also of deregistered UEs whose keys are kept.
    pub contexts: u64,
    /// Registered UEs.
    pub registered: u64,
    /// UEs in CM-CONNECTED.
    pub connected: u64,
    /// PDU sessions at the SMF.
    pub sessions: u64,
    /// UE addresses in use, in all pools.
    pub addresses: u64,
    /// PFCP sessions at the UPF.
    pub user_planes: u64,
    /// Packets buffered at the UPF.
    pub buffered: u64,
}

impl TestCore {
    /// The current counts.
    pub fn counts(&self) -> Counts {
        let (amf, smf, upf) = (self.status("amf"), self.status("smf"), self.status("upf"));
        let number = |value: &Value| value.as_u64().unwrap_or(u64::MAX);
        let sum = |values: &Value, name: &str| match values {
            Value::Array(values) => values.iter().map(|value| number(&value[name])).sum(),
            Value::Object(values) => values.values().map(|value| number(&value[name])).sum(),
            _ => u64::MAX,
        };
        Counts {
            gnbs: amf["gnbs"].as_array().map_or(u64::MAX, |gnbs| gnbs.len() as u64),
            contexts: number(&amf["ues"]["contexts"]),
            registered: number(&amf["ues"]["registered"]),
            connected: number(&amf["ues"]["connected"]),
            sessions: number(&smf["sessions"]),
            addresses: sum(&smf["addresses"], "used"),
            user_planes: number(&upf["sessionCount"]),
            buffered: sum(&upf["sessions"], "bufferedPackets"),
        }
    }

    /// Waits until the counts match.
    ///
    /// # Errors
    /// They do not within 30 s.
    pub async fn until(&self, what: &str, wanted: impl Fn(&Counts) -> bool) -> Result<()> {
        eventually(what, || wanted(&self.counts()).then_some(()), || format!("{:?}", self.counts()))
            .await
    }

    /// Waits until no function has a registration, a connection, a session or an address of a UE.
    /// Contexts of deregistered UEs may remain at the AMF.
    ///
    /// # Errors
    /// Something is left after 30 s.
    pub async fn until_all_released(&self) -> Result<()> {
        let none =
            |counts: &Counts| Counts { gnbs: 0, contexts: 0, ..*counts } == Counts::default();
        self.until("all UE state is released", none).await
    }
}
