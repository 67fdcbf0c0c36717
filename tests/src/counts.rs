//! What is alive in a core, as its functions tell it.
use crate::TestCore;
use anyhow::{Result, bail};
use serde_json::Value;
use std::time::{Duration, Instant};

/// How long the functions may take until they agree, on a machine that has other things to do, and
/// with a timer of NAS in between (TS 24.501, table 10.3.2: 16 s).
const PATIENCE: Duration = Duration::from_secs(30);

/// What is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// gNBs that are set up at the AMF.
    pub gnbs: u64,
    /// UE contexts at the AMF, those of deregistered UEs whose keys it keeps among them.
    pub contexts: u64,
    /// UEs registered.
    pub registered: u64,
    /// UEs with an N2 connection.
    pub connected: u64,
    /// PDU sessions at the SMF.
    pub sessions: u64,
    /// Addresses in use, of all pools.
    pub addresses: u64,
    /// Sessions at the UPF.
    pub user_planes: u64,
    /// Packets that wait at the UPF.
    pub buffered: u64,
}

impl TestCore {
    /// What is alive now.
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

    /// Waits until the core has what is wanted; procedures go on beside the test.
    ///
    /// # Errors
    /// It has not in half a minute.
    pub async fn until(&self, what: &str, wanted: impl Fn(&Counts) -> bool) -> Result<()> {
        eventually(what, || wanted(&self.counts()).then_some(()), || format!("{:?}", self.counts()))
            .await
    }

    /// Waits until nothing is left of any UE, in any function.
    ///
    /// # Errors
    /// Something still is, after half a minute.
    pub async fn until_nothing_is_left(&self) -> Result<()> {
        let none =
            |counts: &Counts| Counts { gnbs: 0, contexts: 0, ..*counts } == Counts::default();
        self.until("nothing is left of any UE", none).await
    }
}

/// Waits until a condition holds; `else_tell` says how things are where it does not in half a
/// minute.
///
/// # Errors
/// It does not.
pub async fn eventually<T>(
    what: &str,
    mut holds: impl FnMut() -> Option<T>,
    else_tell: impl Fn() -> String,
) -> Result<T> {
    let started = Instant::now();
    loop {
        if let Some(value) = holds() {
            return Ok(value);
        }
        if started.elapsed() > PATIENCE {
            bail!("{what}: this was due in {PATIENCE:?}, and did not come: {}", else_tell());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
