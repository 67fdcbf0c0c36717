//! The recorded signalling of a UE: selects its messages among those that the functions recorded,
//! and writes them as a file for Wireshark.
use crate::problem::Failure;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

/// Messages of all UEs that one recording examines.
const MAX_ITEMS: usize = 20_000;
/// Messages of a UE in the result.
const MAX_MESSAGES: usize = 2000;

/// A recorded message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Microseconds since 1970.
    pub us: u64,
    /// `NAS`, `NGAP`, `SBI` or `PFCP`.
    pub protocol: String,
    /// Sender.
    pub from: String,
    /// Receiver.
    pub to: String,
    /// Name.
    pub name: String,
    /// The message as Wireshark reads it ("exported PDU"), in Base64. Keys are zeros.
    pub exported: String,
    /// What it belongs to.
    #[serde(default, skip_serializing)]
    identities: Vec<String>,
}

enum Item {
    Message(Message),
    /// Identities of the same UE.
    Same(Vec<String>),
}

/// Messages that were read from the processes of the core.
#[derive(Default)]
pub struct Recording {
    /// Number of the last entry by process.
    next: HashMap<u64, u64>,
    items: Vec<Item>,
    missed: u64,
}

/// An identity that another UE may have later: the RAN UE NGAP ID.
fn is_reused(identity: &str) -> bool {
    identity.starts_with("ran-ue:")
}

fn is_supi(identity: &str) -> bool {
    ["imsi-", "nai-"].iter().any(|prefix| identity.starts_with(prefix))
}

impl Recording {
    /// The number after which the entries of a process are to be read.
    pub fn after(&self, process: u64) -> u64 {
        self.next.get(&process).copied().unwrap_or(0)
    }

    /// Sets where the entries of a process begin.
    pub fn begin(&mut self, process: u64, last: u64) {
        self.next.insert(process, last);
    }

    /// Adds the entries of an answer. Returns whether there may be more.
    pub fn add(&mut self, answer: &Value) -> bool {
        let process = answer["process"].as_u64().unwrap_or(0);
        let entries = answer["entries"].as_array().map_or(&[][..], Vec::as_slice);
        self.next.insert(process, answer["next"].as_u64().unwrap_or(0));
        self.missed += answer["missed"].as_u64().unwrap_or(0);
        for entry in entries {
            if self.items.len() >= MAX_ITEMS {
                self.missed += 1;
                continue;
            }
            let item = match &entry["same"] {
                Value::Array(same) => Some(Item::Same(
                    same.iter().filter_map(|one| one.as_str().map(str::to_string)).collect(),
                )),
                _ => serde_json::from_value(entry.clone()).ok().map(Item::Message),
            };
            self.items.extend(item);
        }
        !entries.is_empty()
    }

    /// Entries that were not read in time.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// All identities of a UE.
    fn identities<'a>(&'a self, supi: &'a str) -> HashSet<&'a str> {
        let group = |item: &'a Item| -> Vec<&'a str> {
            let all = match item {
                Item::Same(same) => same,
                Item::Message(message) => &message.identities,
            };
            let lasting: Vec<&str> =
                all.iter().map(String::as_str).filter(|one| !is_reused(one)).collect();
            let supis = lasting.iter().filter(|one| is_supi(one)).count();
            // Identities of several UEs in one body do not belong to one UE.
            if supis > 1 { Vec::new() } else { lasting }
        };
        let mut groups: Vec<Vec<&str>> = self.items.iter().map(group).collect();
        groups.retain(|group| group.len() > 1);
        let mut known = HashSet::from([supi]);
        loop {
            let before = known.len();
            groups.retain(|group| {
                let is_of_ue = group.iter().any(|one| known.contains(one));
                if is_of_ue {
                    known.extend(group);
                }
                !is_of_ue
            });
            if known.len() == before {
                return known;
            }
        }
    }

    /// Whether the UE is the first one that is known to have an identity after an item.
    fn is_next_of(&self, known: &HashSet<&str>, after: usize, identity: &str) -> bool {
        let later = self.items.iter().skip(after).filter_map(|item| match item {
            Item::Same(same) if same.iter().any(|one| one == identity) => Some(same),
            _ => None,
        });
        later.take(1).any(|same| same.iter().any(|one| known.contains(one.as_str())))
    }

    /// The messages of a UE in order of time.
    pub fn of_ue(&self, supi: &str) -> Vec<&Message> {
        let known = self.identities(supi);
        let of_ue = |(at, item): (usize, &'_ Item)| match item {
            Item::Message(message) => message.identities.iter().any(|one| match is_reused(one) {
                true => self.is_next_of(&known, at, one),
                false => known.contains(one.as_str()),
            }),
            Item::Same(_) => false,
        };
        let items = self.items.iter().enumerate();
        let mut messages: Vec<&Message> = items
            .filter(|(at, item)| of_ue((*at, item)))
            .filter_map(|(_, item)| match item {
                Item::Message(message) => Some(message),
                Item::Same(_) => None,
            })
            .take(MAX_MESSAGES)
            .collect();
        messages.sort_by_key(|message| message.us);
        messages
    }
}

/// A pcapng file of messages.
///
/// # Errors
/// A message is not one that a function recorded.
pub fn pcapng(messages: &[Message]) -> Result<Vec<u8>, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::unavailable(error.to_string());
    let mut writer = PcapNgWriter::new(Vec::new()).map_err(|error| failed(&error))?;
    let name = InterfaceDescriptionOption::IfName(Cow::Borrowed("martlet"));
    let interface = InterfaceDescriptionBlock {
        linktype: DataLink::WIRESHARK_UPPER_PDU,
        snaplen: 0,
        // Timestamps are in nanoseconds.
        options: vec![name, InterfaceDescriptionOption::IfTsResol(9)],
    };
    writer.write_pcapng_block(interface).map_err(|error| failed(&error))?;
    for message in messages {
        let data = BASE64_STANDARD.decode(&message.exported).map_err(|error| failed(&error))?;
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_micros(message.us),
            original_len: data.len() as u32,
            data: Cow::Owned(data),
            options: vec![],
        };
        writer.write_pcapng_block(block).map_err(|error| failed(&error))?;
    }
    Ok(writer.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(us: u64, name: &str, identities: &[&str]) -> Value {
        json!({"us": us, "protocol": "NGAP", "from": "a", "to": "b", "name": name,
            "identities": identities, "exported": "AAAA"})
    }

    fn recording(entries: Vec<Value>) -> Recording {
        let mut recording = Recording::default();
        let answer = json!({"process": 7, "next": 9, "missed": 0, "entries": entries});
        assert!(recording.add(&answer));
        assert_eq!(recording.after(7), 9);
        recording
    }

    fn names(recording: &Recording, supi: &str) -> Vec<String> {
        recording.of_ue(supi).iter().map(|message| message.name.clone()).collect()
    }

    #[test]
    fn messages_are_of_the_ue_whose_identities_they_share() {
        let recording = recording(vec![
            message(2, "initial", &["ran-ue:1/5"]),
            json!({"same": ["suci-1", "amf-ue:7", "ran-ue:1/5"]}),
            message(1, "setup", &["amf-ue:7"]),
            message(3, "of another", &["amf-ue:8", "imsi-2"]),
            json!({"same": ["imsi-1", "suci-1", "amf-ue:7"]}),
            json!({"same": ["imsi-1", "cp:3"]}),
            message(4, "establishment", &["cp:3"]),
            message(5, "response", &["cp:3", "up:x/9"]),
            message(6, "modification", &["up:x/9"]),
            message(7, "of both", &["imsi-1", "imsi-2"]),
        ]);
        let own = ["setup", "initial", "establishment", "response", "modification", "of both"];
        assert_eq!(names(&recording, "imsi-1"), own);
        assert_eq!(names(&recording, "imsi-2"), ["of another", "of both"]);
        assert!(names(&recording, "imsi-3").is_empty());
    }

    #[test]
    fn an_identity_that_a_gnb_uses_again_is_of_the_next_ue() {
        let recording = recording(vec![
            message(1, "first", &["ran-ue:1/5"]),
            json!({"same": ["imsi-1", "amf-ue:7", "ran-ue:1/5"]}),
            message(2, "second", &["ran-ue:1/5"]),
            json!({"same": ["imsi-2", "amf-ue:8", "ran-ue:1/5"]}),
        ]);
        assert_eq!(names(&recording, "imsi-1"), ["first"]);
        assert_eq!(names(&recording, "imsi-2"), ["second"]);
    }
}
