//! P4Info: the interface of a program for controllers.
use std::fmt::Write;

/// Everything that a controller can address.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct P4Info {
    /// The architecture: `pna`, `psa`, `v1model`, `tna`, or `swx`.
    pub architecture: String,
    /// Tables.
    pub tables: Vec<Table>,
    /// Actions.
    pub actions: Vec<Action>,
    /// Counters.
    pub counters: Vec<Array>,
    /// Meters.
    pub meters: Vec<Array>,
    /// Headers of packets to and from the controller.
    pub packets: Vec<PacketMetadata>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// The ID.
    pub id: u32,
    /// The full name, such as `Upf.gtp_decap`.
    pub name: String,
    /// The short name.
    pub alias: String,
    /// Key fields, numbered from 1.
    pub keys: Vec<Key>,
    /// Actions: ID, whether only as the default, and whether only in entries.
    pub actions: Vec<(u32, bool, bool)>,
    /// The default action, if it cannot be changed.
    pub constant_default: Option<u32>,
    /// Maximum number of entries.
    pub size: u32,
}

/// A field of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Number in the table.
    pub id: u32,
    /// Name.
    pub name: String,
    /// Width in bits.
    pub bits: u32,
    /// Match kind.
    pub kind: MatchKind,
}

/// The match kind of a key field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchKind {
    /// Exact value.
    Exact,
    /// Prefix.
    Lpm,
    /// Value and mask.
    Ternary,
    /// Range with both ends.
    Range,
}

impl MatchKind {
    /// The names in P4 and in P4Info.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            MatchKind::Exact => ("exact", "EXACT"),
            MatchKind::Lpm => ("lpm", "LPM"),
            MatchKind::Ternary => ("ternary", "TERNARY"),
            MatchKind::Range => ("range", "RANGE"),
        }
    }
}

/// An action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// The ID.
    pub id: u32,
    /// The full name.
    pub name: String,
    /// The short name.
    pub alias: String,
    /// Parameters, numbered from 1.
    pub parameters: Vec<Parameter>,
}

/// A parameter of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Number in the action.
    pub id: u32,
    /// Name.
    pub name: String,
    /// Width in bits.
    pub bits: u32,
    /// The name of the type, if it has one.
    pub type_name: Option<String>,
}

/// An array of counters or meters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// The ID.
    pub id: u32,
    /// The full name.
    pub name: String,
    /// The short name; counters are the registers `NAME_packets` and `NAME_bytes`.
    pub alias: String,
    /// Number of elements.
    pub size: u32,
}

/// A header of packets to or from the controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketMetadata {
    /// The ID.
    pub id: u32,
    /// `packet_in` or `packet_out`.
    pub name: String,
    /// Fields, numbered from 1: name and width.
    pub fields: Vec<(String, u32)>,
}

/// The ID prefixes of P4Runtime (specification, 6.3).
pub(crate) const ACTION: u32 = 0x01;
pub(crate) const TABLE: u32 = 0x02;
pub(crate) const CONTROLLER_HEADER: u32 = 0x04;
pub(crate) const COUNTER: u32 = 0x12;
pub(crate) const METER: u32 = 0x14;

/// Assigns each name of a kind an ID that depends only on the name, unless two names collide.
#[derive(Debug, Default)]
pub(crate) struct Numbers(std::collections::BTreeSet<u32>);

impl Numbers {
    pub(crate) fn of(&mut self, kind: u32, name: &str) -> u32 {
        let hash = name
            .bytes()
            .fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let mut number = (kind << 24) | (hash & 0x00ff_ffff);
        while !self.0.insert(number) {
            number = (kind << 24) | (number.wrapping_add(1) & 0x00ff_ffff);
        }
        number
    }
}

impl P4Info {
    /// The index of the table with an alias.
    pub fn table(&self, alias: &str) -> Option<usize> {
        self.tables.iter().position(|table| table.alias == alias)
    }

    /// The index of the action with an alias.
    pub fn action(&self, alias: &str) -> Option<usize> {
        self.actions.iter().position(|action| action.alias == alias)
    }

    /// The text form of the message `p4.config.v1.P4Info`, which controllers load.
    pub fn to_text(&self, program: &str) -> String {
        let mut text =
            format!("pkg_info {{\n  name: {program:?}\n  arch: {:?}\n}}\n", self.architecture);
        self.write(&mut text).expect("writing to a string cannot fail");
        text
    }

    fn write(&self, text: &mut String) -> std::fmt::Result {
        for table in &self.tables {
            writeln!(text, "tables {{\n{}", preamble(table.id, &table.name, &table.alias))?;
            for key in &table.keys {
                let (id, name, bits, kind) = (key.id, &key.name, key.bits, key.kind.names().1);
                writeln!(
                    text,
                    "  match_fields {{\n    id: {id}\n    name: {name:?}\n    \
                     bitwidth: {bits}\n    match_type: {kind}\n  }}"
                )?;
            }
            for (id, default_only, table_only) in &table.actions {
                let scope = match (default_only, table_only) {
                    (true, _) => "\n    scope: DEFAULT_ONLY",
                    (_, true) => "\n    scope: TABLE_ONLY",
                    _ => "",
                };
                writeln!(text, "  action_refs {{\n    id: {id}{scope}\n  }}")?;
            }
            if let Some(id) = table.constant_default {
                writeln!(text, "  const_default_action_id: {id}")?;
            }
            writeln!(text, "  size: {}\n}}", table.size)?;
        }
        for action in &self.actions {
            writeln!(text, "actions {{\n{}", preamble(action.id, &action.name, &action.alias))?;
            for Parameter { id, name, bits, .. } in &action.parameters {
                writeln!(
                    text,
                    "  params {{\n    id: {id}\n    name: {name:?}\n    bitwidth: {bits}\n  }}"
                )?;
            }
            writeln!(text, "}}")?;
        }
        for (kind, arrays, unit) in
            [("counters", &self.counters, "BOTH"), ("meters", &self.meters, "BYTES")]
        {
            for array in arrays {
                let head = preamble(array.id, &array.name, &array.alias);
                writeln!(
                    text,
                    "{kind} {{\n{head}\n  spec {{\n    unit: {unit}\n  }}\n  size: {}\n}}",
                    array.size
                )?;
            }
        }
        for packet in &self.packets {
            writeln!(
                text,
                "controller_packet_metadata {{\n{}",
                preamble(packet.id, &packet.name, &packet.name)
            )?;
            for (id, (name, bits)) in (1..).zip(&packet.fields) {
                writeln!(
                    text,
                    "  metadata {{\n    id: {id}\n    name: {name:?}\n    bitwidth: {bits}\n  }}"
                )?;
            }
            writeln!(text, "}}")?;
        }
        Ok(())
    }
}

fn preamble(id: u32, name: &str, alias: &str) -> String {
    format!("  preamble {{\n    id: {id}\n    name: {name:?}\n    alias: {alias:?}\n  }}")
}
