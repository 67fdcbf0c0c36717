//! RPI's language: parses rules into table entries, or reports the position of an error.
//!
//! A rule is a kind, followed by pairs of a word and a value: `decap teid 0x1000 ue 10.60.0.1 via
//! 1`. [`KINDS`] lists them.
use crate::model::{Call, FieldMatch, Key, TableEntry};
use crate::tables::highest_qfi;
use martlet_p4c_swx::{P4Info, p4info};
use std::net::{Ipv4Addr, Ipv6Addr};

pub use crate::kinds::{Absent, Destination, Form, KINDS, Kind, Word};

/// An error in a line, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {message}")]
pub struct RuleError {
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong, and what is valid.
    pub message: String,
}

impl RuleError {
    /// The error, and the line with a marker below the position, for a terminal.
    pub fn shown(&self, line: &str) -> String {
        format!("{}\n  {line}\n  {}^", self.message, " ".repeat(self.column.saturating_sub(1)))
    }
}

/// A word of a line and its column, from 1.
pub fn words(line: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut start = None;
    let code = line.split('#').next().unwrap_or_default();
    for (n, (at, character)) in code.char_indices().chain([(code.len(), ' ')]).enumerate() {
        match (character.is_whitespace(), start) {
            (false, None) => start = Some((n + 1, at)),
            (true, Some((column, from))) => {
                words.push((column, &code[from..at]));
                start = None;
            }
            _ => {}
        }
    }
    words
}

/// A free counter, for rules without one.
pub type FreeCounter<'a> = &'a mut dyn FnMut() -> Option<u64>;

fn wrong<T>(column: usize, message: impl Into<String>) -> Result<T, RuleError> {
    Err(RuleError { column, message: message.into() })
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A value as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Read {
    /// A value as a match: exact unless its form is a prefix or range.
    Match(FieldMatch),
    /// Address and prefix length.
    Wide(u128, u32),
}

/// The two halves of an address or mask.
fn half(bits: u128, high: bool) -> u64 {
    if high { (bits >> 64) as u64 } else { bits as u64 }
}

fn mask6(length: u32) -> u128 {
    u128::MAX.checked_shl(128 - length).unwrap_or(0)
}

/// An IPv6 address, with or without a prefix length.
fn network6(text: &str, absent: u32) -> Option<(u128, u32)> {
    let (address, length) =
        text.split_once('/').map_or((text, Some(absent)), |(a, length)| (a, length.parse().ok()));
    Some((address.parse::<Ipv6Addr>().ok()?.to_bits(), length.filter(|length| *length <= 128)?))
}

fn read(form: Form, text: &str) -> Option<Read> {
    match form {
        Form::Address6 => {
            text.parse::<Ipv6Addr>().ok().map(|address| Read::Wide(address.to_bits(), 128))
        }
        Form::Network6 => network6(text, 128).map(|(bits, length)| Read::Wide(bits, length)),
        // A prefix of a UE: 64 bits.
        Form::Prefix6 => network6(text, 64)
            .filter(|(bits, length)| *length == 64 && half(*bits, false) == 0)
            .map(|(bits, _)| Read::Match(FieldMatch::Exact(half(bits, true)))),
        _ => value(form, text).map(Read::Match),
    }
}

/// Parses a value as a match: exact unless its form is a prefix or range.
fn value(form: Form, text: &str) -> Option<FieldMatch> {
    let exact = |value: Option<u64>| value.map(FieldMatch::Exact);
    match form {
        Form::Number => exact(number(text)),
        Form::Address => {
            exact(text.parse::<Ipv4Addr>().ok().map(|address| address.to_bits().into()))
        }
        Form::Address6 | Form::Network6 | Form::Prefix6 => None,
        Form::Mac => {
            let parts: Vec<&str> = text.split(':').collect();
            let bytes: Option<Vec<u64>> = parts
                .iter()
                .map(|part| (part.len() == 2).then(|| u64::from_str_radix(part, 16).ok()).flatten())
                .collect();
            exact(
                bytes
                    .filter(|bytes| bytes.len() == 6)
                    .map(|bytes| bytes.iter().fold(0, |all, byte| all << 8 | byte)),
            )
        }
        Form::Prefix => {
            let (address, length) = text.split_once('/').unwrap_or((text, "32"));
            let address = u64::from(address.parse::<Ipv4Addr>().ok()?.to_bits());
            let length = length.parse().ok().filter(|length| *length <= 32)?;
            Some(FieldMatch::Lpm(address, length))
        }
        Form::Range => {
            let (low, high) = text.split_once('-').unwrap_or((text, text));
            Some(FieldMatch::Range(number(low)?, number(high)?))
        }
        Form::Protocol => exact(match text {
            "tcp" => Some(6),
            "udp" => Some(17),
            "icmp" => Some(1),
            "icmpv6" => Some(58),
            other => number(other),
        }),
    }
}

/// The kind of this name.
pub fn kind(column: usize, name: &str) -> Result<&'static Kind, RuleError> {
    let names = || KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
    match KINDS.iter().find(|kind| kind.name == name) {
        Some(kind) => Ok(kind),
        None => wrong(column, format!("{name:?} is not a kind of rule: use one of {}", names())),
    }
}

/// Parses a rule from its kind on. A deletion needs only the key.
pub fn parse(
    info: &P4Info,
    given: &[(usize, &str)],
    end: usize,
    deletion: bool,
    free: FreeCounter<'_>,
) -> Result<TableEntry, RuleError> {
    let Some(((column, name), pairs)) = given.split_first() else {
        return wrong(end, "the kind of rule is missing: decap, encap, hop and so on");
    };
    let kind = kind(*column, name)?;
    let table = info.table(kind.table).expect("a table of the program");
    let action = info.action(kind.action).expect("an action of the program");
    let mut found: Vec<(&Word, usize, Read)> = Vec::new();
    for pair in pairs.chunks(2) {
        let (column, text) = pair[0];
        let Some(word) = kind.words.iter().find(|word| word.word == text) else {
            let known: Vec<&str> = kind.words.iter().map(|word| word.word).collect();
            return wrong(
                column,
                format!("{} has no word {text:?}: use one of {}", kind.name, known.join(", ")),
            );
        };
        if found.iter().any(|(other, ..)| other.word == word.word) {
            return wrong(column, format!("{text} occurs twice"));
        }
        let Some((at, written)) = pair.get(1) else {
            return wrong(end, format!("{text} needs a value, such as {}", word.form.example()));
        };
        let Some(read) = read(word.form, written) else {
            return wrong(
                *at,
                format!(
                    "{written:?} is not a value of {text}: write one such as {}",
                    word.form.example()
                ),
            );
        };
        check_width(info, table, action, word, *at, &read)?;
        found.push((word, *at, read));
    }
    let mut of = |word: &'static str| -> Result<Option<Read>, RuleError> {
        let exact = |value| Ok(Some(Read::Match(FieldMatch::Exact(value))));
        let Some(described) = kind.words.iter().find(|other| other.word == word) else {
            return Ok(None);
        };
        if let Some((.., read)) = found.iter().find(|(other, ..)| other.word == word) {
            return Ok(Some(*read));
        }
        match described.absent {
            _ if deletion
                && matches!(
                    described.destination,
                    Destination::Argument(_) | Destination::Halves(..)
                ) =>
            {
                exact(0)
            }
            Absent::Is(value) => exact(value),
            Absent::Anything => Ok(None),
            Absent::FreeCounter => match free() {
                Some(counter) => exact(counter),
                None => wrong(end, "no counter is free: specify one, or delete rules"),
            },
            Absent::Required => wrong(
                end,
                format!("{} needs {word}, such as {word} {}", kind.name, described.form.example()),
            ),
        }
    };
    let mut fields = Vec::new();
    for described in &info.tables[table].keys {
        let word = kind.words.iter().find(|word| match word.destination {
            Destination::Key(name) => name == described.name,
            Destination::KeyHalves(high, low) => high == described.name || low == described.name,
            _ => false,
        });
        let read = match word {
            Some(word) => of(word.word)?,
            None => None,
        };
        fields.push(match (read, word.map(|word| word.destination)) {
            (Some(Read::Wide(bits, length)), Some(Destination::KeyHalves(name, _))) => {
                let high = name == described.name;
                FieldMatch::Ternary(half(bits, high), half(mask6(length), high))
            }
            (Some(Read::Match(read)), _) => fitting(described, Some(read)),
            _ => fitting(described, None),
        });
    }
    let mut arguments = Vec::new();
    for parameter in &info.actions[action].parameters {
        let word = kind.words.iter().find(|word| match word.destination {
            Destination::Argument(name) => name == parameter.name,
            Destination::Halves(high, low) => high == parameter.name || low == parameter.name,
            _ => false,
        });
        let read = match word {
            Some(word) => of(word.word)?,
            None => None,
        };
        arguments.push(match (read, word.map(|word| word.destination)) {
            (Some(Read::Wide(bits, _)), Some(Destination::Halves(name, _))) => {
                half(bits, name == parameter.name)
            }
            (Some(Read::Match(FieldMatch::Exact(value))), _) => value,
            _ => 0,
        });
    }
    let priority = match kind.words.iter().find(|word| word.destination == Destination::Priority) {
        Some(word) => match of(word.word)? {
            Some(Read::Match(FieldMatch::Exact(value))) => value as u32,
            _ => 0,
        },
        None => 0,
    };
    Ok(TableEntry {
        table,
        key: Key { fields, priority },
        call: Call { action, arguments },
        metadata: Vec::new(),
    })
}

/// The position of an error that the switch reported: the value that it names, else the rule's key.
pub fn error_position(given: &[(usize, &str)], message: &str) -> usize {
    let Some(((first, name), pairs)) = given.split_first() else { return 1 };
    let Some(kind) = KINDS.iter().find(|kind| kind.name == *name) else { return *first };
    // "action.parameter has …", "table.field: …"
    let named = message
        .split([' ', ':'])
        .next()
        .and_then(|text| text.split_once('.'))
        .map(|(_, name)| name);
    let is_named = |word: &Word| match word.destination {
        Destination::Key(name) | Destination::Argument(name) => named == Some(name),
        Destination::Halves(high, low) | Destination::KeyHalves(high, low) => {
            named == Some(high) || named == Some(low)
        }
        Destination::Priority => message.contains("priority"),
    };
    let is_key =
        |word: &Word| matches!(word.destination, Destination::Key(_) | Destination::KeyHalves(..));
    let of = |wanted: &dyn Fn(&Word) -> bool| {
        let pair = pairs
            .chunks(2)
            .find(|pair| kind.words.iter().any(|word| word.word == pair[0].1 && wanted(word)))?;
        pair.get(1).map(|(column, _)| *column)
    };
    of(&is_named).or_else(|| of(&is_key)).unwrap_or(*first)
}

fn check_width(
    info: &P4Info,
    table: usize,
    action: usize,
    word: &Word,
    column: usize,
    read: &Read,
) -> Result<(), RuleError> {
    let read = match read {
        Read::Match(read) => read,
        Read::Wide(bits, length) if bits & !mask6(*length) != 0 => {
            let proper = Ipv6Addr::from_bits(bits & mask6(*length));
            return wrong(
                column,
                format!("the address has bits behind its prefix: write {proper}/{length}"),
            );
        }
        Read::Wide(..) => return Ok(()),
    };
    let bits = match word.destination {
        Destination::Key(name) => {
            info.tables[table].keys.iter().find(|key| key.name == name).map(|key| key.bits)
        }
        Destination::Argument(name) => {
            info.actions[action].parameters.iter().find(|p| p.name == name).map(|p| p.bits)
        }
        Destination::Halves(..) | Destination::KeyHalves(..) => None,
        Destination::Priority => Some(24),
    };
    let bits = bits.unwrap_or(64);
    let max = match word.destination {
        Destination::Argument("qfi") => Some(("a QFI", highest_qfi(&info.actions[action]))),
        Destination::Argument("counter") => {
            info.counters.first().map(|of| ("a counter", u64::from(of.size) - 1))
        }
        Destination::Argument("meter") => {
            info.meters.first().map(|of| ("a meter", u64::from(of.size) - 1))
        }
        _ => None,
    };
    if let (Read::Match(FieldMatch::Exact(value)), Some((what, max))) = (Read::Match(*read), max)
        && value > max
    {
        return wrong(column, format!("{what} has to be a number from 0 to {max}, not {value}"));
    }
    let largest = match *read {
        FieldMatch::Exact(value) | FieldMatch::Lpm(value, _) | FieldMatch::Ternary(value, _) => {
            value
        }
        FieldMatch::Range(low, high) if low > high => {
            return wrong(column, format!("the range from {low} to {high} is empty"));
        }
        FieldMatch::Range(_, high) => high,
    };
    if let FieldMatch::Lpm(value, length) = *read
        && length < 32
        && value & (0xffff_ffff >> length) != 0
    {
        let proper = Ipv4Addr::from_bits((value & !(0xffff_ffff >> length)) as u32);
        return wrong(
            column,
            format!("the address has bits behind its prefix: write {proper}/{length}"),
        );
    }
    match bits < 64 && largest >> bits != 0 {
        true => wrong(column, format!("{} has {bits} bits: {largest} does not fit", word.word)),
        false => Ok(()),
    }
}

/// Converts a written value to the match kind of the table.
fn fitting(described: &p4info::Key, read: Option<FieldMatch>) -> FieldMatch {
    let all = if described.bits == 64 { u64::MAX } else { (1 << described.bits) - 1 };
    match (read, described.kind) {
        (Some(FieldMatch::Exact(value)), p4info::MatchKind::Ternary) => {
            FieldMatch::Ternary(value, all)
        }
        (Some(FieldMatch::Exact(value)), p4info::MatchKind::Lpm) => {
            FieldMatch::Lpm(value, described.bits)
        }
        (Some(FieldMatch::Exact(value)), p4info::MatchKind::Range) => {
            FieldMatch::Range(value, value)
        }
        // A prefix is a mask, too.
        (Some(FieldMatch::Lpm(value, length)), p4info::MatchKind::Ternary) => {
            FieldMatch::Ternary(value, all & !(all >> length))
        }
        (Some(read), _) => read,
        (None, p4info::MatchKind::Lpm) => FieldMatch::Lpm(0, 0),
        (None, p4info::MatchKind::Ternary) => FieldMatch::Ternary(0, 0),
        (None, p4info::MatchKind::Range) => FieldMatch::Range(0, all),
        (None, p4info::MatchKind::Exact) => FieldMatch::Exact(0),
    }
}

/// An entry in RPI's language; `None` for entries that are not rules, such as the switch's ports.
pub fn show(info: &P4Info, entry: &TableEntry) -> Option<String> {
    let table = &info.tables[entry.table];
    let action = &info.actions[entry.call.action];
    let kind =
        KINDS.iter().find(|kind| kind.table == table.alias && kind.action == action.alias)?;
    let mut text = String::from(kind.name);
    for word in kind.words {
        let of_key =
            |name| table.keys.iter().position(|key| key.name == name).map(|n| entry.key.fields[n]);
        let of_action = |name| {
            action.parameters.iter().position(|p| p.name == name).map(|n| entry.call.arguments[n])
        };
        let wide = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
        let read = match word.destination {
            Destination::Key(name) => Read::Match(of_word(word.form, of_key(name)?)?),
            Destination::Argument(name) => Read::Match(FieldMatch::Exact(of_action(name)?)),
            Destination::Halves(high, low) => {
                Read::Wide(wide(of_action(high)?, of_action(low)?), 128)
            }
            Destination::KeyHalves(high, low) => {
                let (FieldMatch::Ternary(high, high_mask), FieldMatch::Ternary(low, low_mask)) =
                    (of_key(high)?, of_key(low)?)
                else {
                    return None;
                };
                let length = wide(high_mask, low_mask).leading_ones();
                // Masks that are not prefixes have no written form.
                if wide(high_mask, low_mask) != mask6(length) {
                    return None;
                }
                Read::Wide(wide(high, low), length)
            }
            Destination::Priority => Read::Match(FieldMatch::Exact(entry.key.priority.into())),
        };
        let all = matches!(
            read,
            Read::Wide(_, 0)
                | Read::Match(
                    FieldMatch::Lpm(_, 0)
                        | FieldMatch::Ternary(_, 0)
                        | FieldMatch::Range(0, 0xffff)
                )
        );
        let usual = matches!((word.absent, read),
            (Absent::Is(value), Read::Match(FieldMatch::Exact(own))) if value == own);
        if all && word.absent == Absent::Anything || usual && word.word != "priority" {
            continue;
        }
        let value = match read {
            Read::Match(read) => written(word, read),
            Read::Wide(bits, 128) => Ipv6Addr::from_bits(bits).to_string(),
            Read::Wide(bits, length) => format!("{}/{length}", Ipv6Addr::from_bits(bits)),
        };
        text.push_str(&format!(" {} {value}", word.word));
    }
    Some(text)
}

/// A key as its word writes it: an address under a mask as a prefix. `None` for other masks, which
/// have no written form.
fn of_word(form: Form, key: FieldMatch) -> Option<FieldMatch> {
    match (form, key) {
        (Form::Prefix, FieldMatch::Ternary(value, mask)) => {
            let length = (mask as u32).leading_ones();
            let is_prefix = mask == u64::from(u32::MAX) & !(u64::from(u32::MAX) >> length);
            is_prefix.then_some(FieldMatch::Lpm(value, length))
        }
        (_, key) => Some(key),
    }
}

fn written(word: &Word, read: FieldMatch) -> String {
    let address = |value: u64| Ipv4Addr::from_bits(value as u32);
    match (word.form, read) {
        (Form::Address, FieldMatch::Exact(value)) => address(value).to_string(),
        (Form::Prefix6, FieldMatch::Exact(high)) => {
            format!("{}/64", Ipv6Addr::from_bits(u128::from(high) << 64))
        }
        (Form::Mac, FieldMatch::Exact(value)) => value.to_be_bytes()[2..]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<Vec<_>>()
            .join(":"),
        (_, FieldMatch::Lpm(value, length)) => format!("{}/{length}", address(value)),
        (_, FieldMatch::Range(low, high)) if low == high => low.to_string(),
        (_, FieldMatch::Range(low, high)) => format!("{low}-{high}"),
        (Form::Protocol, FieldMatch::Exact(value) | FieldMatch::Ternary(value, _)) => match value {
            6 => "tcp".into(),
            17 => "udp".into(),
            1 => "icmp".into(),
            58 => "icmpv6".into(),
            other => other.to_string(),
        },
        (_, FieldMatch::Exact(value) | FieldMatch::Ternary(value, _)) if word.word == "teid" => {
            format!("{value:#x}")
        }
        (_, FieldMatch::Exact(value) | FieldMatch::Ternary(value, _)) => value.to_string(),
    }
}

/// The counter that an entry counts with, if it has one.
pub fn counter(info: &P4Info, entry: &TableEntry) -> Option<u64> {
    let action = &info.actions[entry.call.action];
    let n = action.parameters.iter().position(|parameter| parameter.name == "counter")?;
    entry.call.arguments.get(n).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info() -> P4Info {
        martlet_p4c_swx::compile(crate::UPF).expect("our program").info
    }

    fn read(line: &str) -> Result<TableEntry, RuleError> {
        let mut next = 41;
        let mut free = || {
            next += 1;
            Some(next)
        };
        parse(&info(), &words(line), line.chars().count() + 1, false, &mut free)
    }

    #[test]
    fn rules_are_parsed_and_formatted_alike() {
        for line in [
            "decap teid 0x1000 ue 10.60.0.1 via 1 counter 7 meter 9 qfi 5",
            "decap teid 0x1000 ue 10.60.0.1 via 1 counter 7 gnb 192.168.70.2",
            "decap-filtered teid 0x1 ue 10.60.0.1 session 4",
            "encap ue 10.60.0.1 teid 0x2000 from 192.168.70.1 to 192.168.70.2 qfi 9 via 2 counter \
             8",
            "encap6 ue 10.60.0.1 teid 0x2000 peer 3 qfi 9 via 2 counter 8",
            "decap-v6 teid 0x1000 prefix 2001:db8:45::/64 ue 10.60.0.1 via 1 via-v6 2 counter 7 \
             meter 9 qfi 5",
            "decap-v6 teid 0x1000 prefix 2001:db8:45::/64 via 1 via-v6 1 counter 7",
            "decap-filtered-v6 teid 0x1 prefix 2001:db8:45::/64 session 4",
            "encap-v6 prefix 2001:db8:45::/64 teid 0x2000 from 192.168.70.1 to 192.168.70.2 qfi 9 \
             via 2 counter 8",
            "encap6-v6 prefix 2001:db8:45::/64 teid 0x2000 peer 3 qfi 9 via 2 counter 8",
            "encap-filtered-v6 prefix 2001:db8:45::/64 session 4",
            "application-v6 application 3 session 4 remote 2001:db8::/32 ports 80-90 protocol tcp \
             qfi 9 priority 5",
            "application-v6 application 3 session 4 remote 2001:db8::1 protocol icmpv6 priority 5",
            "application-v6 application 3 session 4 priority 5",
            "uplink-v6 session 4 application 3 via 1 via-v6 2 counter 9",
            "peer6 number 3 from fd70::1 to 2001:db8::2",
            "downlink6 session 4 application 3 teid 0x2000 peer 3 qfi 9 via 2 counter 9",
            "hop number 1 source 02:00:00:00:00:01 destination 02:00:00:00:00:02 port 1",
            "application application 3 session 4 remote 10.0.0.0/8 ports 80-90 protocol tcp qfi 9 \
             priority 5",
            "uplink session 4 application 3 via 1 counter 9",
            "downlink-closed session 4 application 3 counter 10",
        ] {
            let entry = read(line).unwrap_or_else(|error| panic!("{}", error.shown(line)));
            assert_eq!(show(&info(), &entry).as_deref(), Some(line));
        }
    }

    /// A prefix of an address in a ternary key is a mask. Other masks have no written form.
    #[test]
    fn prefixes_are_masks() {
        for (prefix, value, mask) in [
            ("10.0.0.0/8", 0x0a00_0000, 0xff00_0000),
            ("10.1.2.3", 0x0a01_0203, 0xffff_ffff),
            ("0.0.0.0/0", 0, 0),
        ] {
            let entry = read(&format!("application application 1 session 4 remote {prefix}"));
            let entry = entry.unwrap();
            assert_eq!(entry.key.fields[1], FieldMatch::Ternary(value, mask), "{prefix}");
        }
        let mut entry = read("application application 1 session 4 remote 10.0.0.0/8").unwrap();
        entry.key.fields[1] = FieldMatch::Ternary(0x0a00_0001, 0xff00_0001);
        assert_eq!(show(&info(), &entry), None);
    }

    #[test]
    fn omitted_words_have_defaults() {
        let entry = read("decap teid 1 ue 10.60.0.1 via 1").unwrap();
        assert_eq!(entry.call.arguments, [0x0a3c_0001, 42, 0, 1, 0, 0]);
    }

    #[test]
    fn errors_have_their_position() {
        for (line, column, part) in [
            ("tunnel teid 1", 1, "not a kind of rule"),
            ("decap teid x ue 10.60.0.1 via 1", 12, "not a value of teid"),
            ("decap teid 0x100000000 ue 10.60.0.1 via 1", 12, "32 bits"),
            ("decap teid 1 ue 10.60.0 via 1", 17, "not a value of ue"),
            ("decap teid 1 ue 10.60.0.1", 26, "needs via"),
            ("decap teid 1 teid 2", 14, "twice"),
            ("decap teid 1 colour 2", 14, "has no word \"colour\""),
            ("decap teid", 11, "needs a value"),
            ("peer6 number 1 from 10.0.0.1 to fd70::2", 21, "not a value of from"),
            ("encap6 ue 10.60.0.1 teid 1 peer fd70::1 qfi 9 via 1", 33, "not a value of peer"),
            (
                "encap ue 10.60.0.1 teid 1 from 1.1.1.1 to 2.2.2.2 qfi 256 via 1",
                55,
                "from 0 to 127",
            ),
            ("decap teid 1 ue 10.60.0.1 via 1 qfi 64", 37, "from 0 to 63"),
            ("application application 1 remote 10.1.0.0/8", 34, "write 10.0.0.0/8"),
            ("application-v6 application 1 remote 2001:db8::1/32", 37, "write 2001:db8::/32"),
            ("encap-filtered-v6 prefix 2001:db8::1 session 1", 26, "not a value of prefix"),
            ("encap-filtered-v6 prefix 2001:db8::/48 session 1", 26, "not a value of prefix"),
            ("application application 1 ports 90-80", 33, "empty"),
            (
                "hop number 1 source 02:00:00:00:00 destination 02:00:00:00:00:02 port 1",
                21,
                "not a value of source",
            ),
        ] {
            let error = read(line).expect_err(line);
            assert_eq!(error.column, column, "{line}: {error}");
            assert!(error.message.contains(part), "{line}: {error}");
        }
    }
}
