//! Configuration keys of earlier releases, and what replaces them.
//!
//! [`read`](crate::read()) refuses a file that holds one of them and names the new key, so that no
//! value is lost in silence. Whoever renames a key adds a row to the table of its section.
use crate::{Finding, Lines};

/// An old path and the new one. In a path, `[]` stands for the index of a list item and `*` for the
/// key of a map entry; both paths hold the same number of them, in the same order. An empty new
/// path means that the key was removed; the third column says what to do instead.
type Row = (&'static str, &'static str, &'static str);

/// One table for each section, so that changes to different sections do not meet in one place.
const TABLES: &[&[Row]] =
    &[NETWORK, SBI, FABRIC, OAM, NRF, UDR, UDM, AUSF, PCF, NSSF, CHF, UPF, SMF, LMF, AMF, SCENARIO];

const NETWORK: &[Row] = &[];

const SBI: &[Row] = &[("sbi.elsewhere", "sbi.external", "")];

const FABRIC: &[Row] = &[
    ("fabric.together", "fabric.share_cpu", ""),
    ("fabric.sizes.classes[].octets", "fabric.sizes.classes[].bytes", ""),
    ("fabric.process.ways", "fabric.process.routes", ""),
    ("fabric.process.absent_ms", "fabric.process.negative_route_ms", ""),
];

const OAM: &[Row] = &[
    (
        "oam.bind",
        "",
        "commands use oam.socket; write oam.listen: ADDRESS:PORT if monitoring needs TCP",
    ),
    ("oam.history.keep", "oam.history.enabled", ""),
    ("oam.traces.gather_ms", "oam.traces.export_interval_ms", ""),
];

const NRF: &[Row] = &[("nrf.lenient", "nrf.interop", "")];

const UDR: &[Row] = &[("udr.gather_ms", "udr.flush_interval_ms", "")];

const UDM: &[Row] = &[];

const AUSF: &[Row] = &[];

const PCF: &[Row] = &[("pcf.ue_requests.most", "pcf.ue_requests.max_flows", "")];

const NSSF: &[Row] = &[];

const CHF: &[Row] = &[
    ("chf.state.keep", "chf.context_store.enabled", ""),
    ("chf.state.place", "chf.context_store.database", ""),
    ("chf.state.key_file", "chf.context_store.key_file", ""),
    ("chf.state.interval_ms", "chf.context_store.flush_interval_ms", ""),
    ("chf.state.lease_ms", "chf.context_store.lease_ms", ""),
];

const UPF: &[Row] = &[
    ("upf.n4.names_hold_s", "upf.n4.dns_min_hold_s", ""),
    ("upf.n4.release_s", "upf.n4.graceful_release_s", ""),
    ("upf.n6.exits", "upf.n6.network_instances", ""),
    ("upf.n6.exits[]", "upf.n6.network_instances[]", ""),
    ("upf.kernel.complaints_per_second", "upf.kernel.error_indications_per_second", ""),
    ("upf.xdp.complaints_per_second", "upf.xdp.error_indications_per_second", ""),
    ("upf.governor.least_rate", "upf.governor.min_rate", ""),
    ("upf.board.simulated.batching_spares", "upf.board.simulated.batching_saving", ""),
];

const SMF: &[Row] = &[
    ("smf.state.keep", "smf.context_store.enabled", ""),
    ("smf.state.place", "smf.context_store.database", ""),
    ("smf.state.key_file", "smf.context_store.key_file", ""),
    ("smf.state.interval_ms", "smf.context_store.flush_interval_ms", ""),
    ("smf.state.lease_ms", "smf.context_store.lease_ms", ""),
    ("smf.set.watch_ms", "smf.set.health_check_ms", ""),
];

const LMF: &[Row] = &[
    ("lmf.lpp_ms", "lmf.lpp_timeout_ms", ""),
    ("lmf.connect_ms", "lmf.connect_timeout_ms", ""),
    ("lmf.nrppa_ms", "lmf.nrppa_timeout_ms", ""),
    ("lmf.gnbs_ms", "lmf.trp_information_timeout_ms", ""),
    ("lmf.user_plane.early_octets", "lmf.user_plane.early_bytes", ""),
];

const AMF: &[Row] = &[
    ("amf.state.keep", "amf.context_store.enabled", ""),
    ("amf.state.place", "amf.context_store.database", ""),
    ("amf.state.key_file", "amf.context_store.key_file", ""),
    ("amf.state.interval_ms", "amf.context_store.flush_interval_ms", ""),
    ("amf.state.lease_ms", "amf.context_store.lease_ms", ""),
    ("amf.concurrency.patience_ms", "amf.concurrency.slot_timeout_ms", ""),
    ("amf.reroute_by_gnb", "amf.reroute_via_ran", ""),
];

/// Scenario files of `martlet ran`, not the configuration of a core.
const SCENARIO: &[Row] = &[
    ("ues[].positioning.rouse_ms", "ues[].positioning.keep_alive_ms", ""),
    ("steps[].gnb_vanishes", "steps[].gnb_abort", ""),
    ("steps[].repeat.steps[].gnb_vanishes", "steps[].repeat.steps[].gnb_abort", ""),
];

/// The old keys that a file holds, by line.
pub(crate) fn renamed_keys(lines: &Lines) -> Vec<Finding> {
    find(TABLES, lines)
}

fn find(tables: &[&[Row]], lines: &Lines) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, line) in lines.iter() {
        for (old, new, note) in tables.iter().flat_map(|rows| rows.iter()) {
            if let Some(wildcards) = match_path(old, path) {
                let message = match new.is_empty() {
                    true => format!("this key is gone: {note}"),
                    false => format!("this key is now {}", fill(new, &wildcards)),
                };
                found.push((line, Finding::new(path, message)));
            }
        }
    }
    found.sort_by(|(a, x), (b, y)| (a, &x.path).cmp(&(b, &y.path)));
    found.into_iter().map(|(_, finding)| finding).collect()
}

/// What stands at each wildcard of a pattern, where the path matches it.
fn match_path<'p>(pattern: &str, path: &'p str) -> Option<Vec<&'p str>> {
    let (mut patterns, mut segments) = (pattern.split(['.', '[']), path.split(['.', '[']));
    let mut wildcards = Vec::new();
    loop {
        match (patterns.next(), segments.next()) {
            (None, None) => return Some(wildcards),
            (Some("]"), Some(index)) if index.ends_with(']') => wildcards.push(index),
            (Some("*"), Some(key)) => wildcards.push(key),
            (Some(expected), Some(segment)) if expected == segment => {}
            _ => return None,
        }
    }
}

/// The new path with the indices and keys of the old one.
fn fill(new: &str, wildcards: &[&str]) -> String {
    let mut wildcards = wildcards.iter();
    let mut filled = String::new();
    for part in new.split_inclusive(['.', '[']) {
        let name = part.trim_end_matches(['.', '[']);
        match name == "]" || name == "*" {
            true => filled.push_str(wildcards.next().unwrap_or(&name)),
            false => filled.push_str(name),
        }
        filled.push_str(&part[name.len()..]);
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &[Row] = &[
        ("udr.gather_ms", "udr.flush_interval_ms", ""),
        ("smf.upfs[].place", "smf.upfs[].address", ""),
        ("sbi.*.news", "sbi.*.events", ""),
        ("amf.wish", "", "requests are always accepted; delete the line"),
    ];

    fn messages(text: &str) -> Vec<String> {
        let found = find(&[ROWS], &Lines::read(text));
        found.into_iter().map(|finding| format!("{}: {}", finding.path, finding.message)).collect()
    }

    #[test]
    fn every_old_key_is_reported_with_the_new_one_in_line_order() {
        let text = "amf:\n  wish: 1\nudr:\n  gather_ms: 2\n";
        assert_eq!(
            messages(text),
            [
                "amf.wish: this key is gone: requests are always accepted; delete the line",
                "udr.gather_ms: this key is now udr.flush_interval_ms",
            ]
        );
    }

    #[test]
    fn the_new_path_keeps_list_indices_and_map_keys() {
        let text =
            "smf:\n  upfs:\n    - { n4: a }\n    - { place: b }\nsbi: { amf: { news: 1 } }\n";
        assert_eq!(
            messages(text),
            [
                "smf.upfs[1].place: this key is now smf.upfs[1].address",
                "sbi.amf.news: this key is now sbi.amf.events",
            ]
        );
    }

    #[test]
    fn a_key_of_the_same_name_in_another_section_is_not_reported() {
        assert!(
            messages("udm: { gather_ms: 1 }\ngather_ms: 2\nudr: { a: { gather_ms: 3 } }\n")
                .is_empty()
        );
    }

    #[test]
    fn every_row_has_a_new_path_with_the_same_wildcards_or_a_note() {
        let wildcards = |path: &str| {
            path.split(['.', '['])
                .filter(|part| ["]", "*"].contains(part))
                .map(String::from)
                .collect::<Vec<_>>()
        };
        for (old, new, note) in TABLES.iter().flat_map(|rows| rows.iter()) {
            match new.is_empty() {
                true => assert!(!note.is_empty(), "{old}: a removed key needs a note"),
                false => assert_eq!(wildcards(old), wildcards(new), "{old}"),
            }
        }
    }
}
