//! Traced packets with the rules that they matched.
use super::packet;
use crate::counters::DropReason;
use martlet_upf_rules::Session;
use serde_json::{Value, json};

/// Filter of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TraceRequest {
    /// Also packets that are forwarded.
    pub forwarded: bool,
}

/// A packet and its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traced {
    /// Nanoseconds since the machine started.
    pub time: u64,
    /// Why it was dropped; none if it was forwarded.
    pub drop: Option<DropReason>,
    /// Our SEID of its session, where it met one.
    pub seid: Option<u64>,
    /// The PDR that it met.
    pub pdr: Option<u16>,
    /// Input interface.
    pub ifindex: u32,
    /// Bytes of the frame.
    pub length: u32,
    /// The first of them.
    pub frame: Vec<u8>,
}

/// Packets traced since the last call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceBatch {
    /// Packets, ordered per CPU.
    pub packets: Vec<Traced>,
    /// Packets lost because the buffer was full.
    pub missed: u64,
}

impl Traced {
    /// As JSON with its rules. `session` is the matched session.
    pub fn describe(&self, session: Option<&Session>) -> Value {
        let pdr = self.pdr.and_then(|id| session?.pdrs.get(&id));
        let hex: String = self.frame.iter().map(|byte| format!("{byte:02x}")).collect();
        json!({
            "time": self.time,
            "verdict": if self.drop.is_some() { "dropped" } else { "forwarded" },
            "reason": self.drop.map(DropReason::name),
            "why": self.drop.map(|reason| why(reason, session, self.pdr)),
            "seid": self.seid.map(|seid| format!("{seid:#018x}")),
            "pdr": self.pdr,
            "far": pdr.map(|pdr| pdr.far),
            "qers": pdr.map(|pdr| &pdr.qers),
            "urrs": pdr.map(|pdr| &pdr.urrs),
            "ifindex": self.ifindex,
            "length": self.length,
            "packet": packet::summary(&self.frame, self.length),
            "bytes": hex,
        })
    }
}

/// Explains a drop reason with the rule that caused it.
fn why(reason: DropReason, session: Option<&Session>, pdr: Option<u16>) -> String {
    let found = pdr.and_then(|id| session?.pdrs.get(&id));
    let list = |ids: &[u32]| ids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    match (reason, found) {
        (DropReason::Action, Some(pdr)) => format!("FAR {} drops it", pdr.far),
        (DropReason::Gate, Some(pdr)) => {
            let closed = pdr.qers.iter().filter(|id| {
                session.and_then(|s| s.qers.get(id)).is_some_and(|qer| !qer.passes(pdr.direction()))
            });
            format!("the gate of QER {} is closed", list(&closed.copied().collect::<Vec<u32>>()))
        }
        (DropReason::Rate, Some(pdr)) => {
            let rated = pdr
                .qers
                .iter()
                .filter(|id| session.and_then(|s| s.qers.get(id)).is_some_and(|q| q.mbr.is_some()));
            format!(
                "beyond the maximum bit rate of QER {}",
                list(&rated.copied().collect::<Vec<u32>>())
            )
        }
        (DropReason::Quota, Some(pdr)) => format!("a quota of URR {} is used up", list(&pdr.urrs)),
        (DropReason::BufferFull, Some(pdr)) => {
            format!("FAR {} buffers it, and the buffer is full", pdr.far)
        }
        _ => reason.explanation().into(),
    }
}
