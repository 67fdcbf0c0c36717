//! The layout of tables in memory that BPF programs and user space share.
use super::values;
use crate::Program;
use crate::ast;
use crate::error::error;
use crate::lower::Result;
use crate::p4info::MatchKind;

/// Maximum words of a ternary key.
const MAX_WORDS: u32 = 3;

/// The memory layout of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// By table of the program.
    pub tables: Vec<TableLayout>,
    /// By action: the offsets of its parameters. The action number is the first four bytes.
    pub actions: Vec<Vec<Location>>,
}

/// A number in memory, in host byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// Offset in bytes.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
}

/// A table. Each of its arrays has two copies, one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableLayout {
    /// Key lines in a copy, four keys each.
    pub lines: u32,
    /// Maximum entries; a copy has one more slot, since slot 0 has the default action.
    pub slots: u32,
    /// Size of a slot in bytes.
    pub value: u32,
    /// 64-bit words of a ternary key; 0 where the key is exact, which has one word.
    pub words: u32,
    /// By field of the key: its word, and its shift there.
    pub fields: Vec<(u32, u32)>,
}

impl TableLayout {
    /// The words of a key, for its values or its masks.
    pub fn pack(&self, of: &[u64]) -> Vec<u64> {
        let mut words = vec![0; self.words.max(1) as usize];
        for (value, (word, shift)) in of.iter().zip(&self.fields) {
            words[*word as usize] |= value << shift;
        }
        words
    }
}

impl Layout {
    pub(super) fn of(program: &Program, written: &[ast::Table]) -> Result<Layout> {
        let info = &program.info;
        let actions: Vec<Vec<Location>> = info
            .actions
            .iter()
            .map(|action| {
                let mut offset = 4;
                let location = |parameter: &crate::p4info::Parameter| {
                    let bytes = values::bytes(parameter.bits);
                    let location = Location { offset: u32::next_multiple_of(offset, bytes), bytes };
                    offset = location.offset + bytes;
                    location
                };
                action.parameters.iter().map(location).collect()
            })
            .collect();
        let mut tables = Vec::new();
        for (table, written) in info.tables.iter().zip(written) {
            let uses = |id: &u32| {
                info.actions.iter().position(|action| action.id == *id).expect("an action")
            };
            let end =
                |n: usize| actions[n].last().map_or(4, |location| location.offset + location.bytes);
            let longest = table.actions.iter().map(|(id, ..)| end(uses(id))).max().unwrap_or(4);
            // No slot crosses a cache line.
            let value = if longest > 32 {
                longest.next_multiple_of(64)
            } else {
                longest.next_power_of_two().max(8)
            };
            let exact = table.keys.iter().all(|key| key.kind == MatchKind::Exact);
            // Each field goes into the first word with room, from the top.
            let (mut fields, mut filled): (Vec<(u32, u32)>, Vec<u32>) = (Vec::new(), vec![0]);
            for key in &table.keys {
                let word =
                    filled.iter().position(|bits| bits + key.bits <= 64).unwrap_or_else(|| {
                        filled.push(0);
                        filled.len() - 1
                    });
                filled[word] += key.bits;
                fields.push((word as u32, 64 - filled[word]));
            }
            let words = filled.len() as u32;
            let name = &written.name;
            if exact && words > 1 {
                return error(name.at, format!("the key of {:?} has more than 64 bits", name.text));
            }
            if words > MAX_WORDS {
                return error(
                    name.at,
                    format!(
                        "the key of {:?} needs more than {MAX_WORDS} words of 64 bits",
                        name.text
                    ),
                );
            }
            if !exact && matches!(table.keys[0].kind, MatchKind::Range | MatchKind::Lpm) {
                let message = "the first field of a key under masks is exact or ternary: entries \
                               are found by it";
                return error(written.keys[0].kind.at, message);
            }
            // At most four fifths full.
            let lines = (table.size * 5 / 4).div_ceil(4).max(4);
            tables.push(TableLayout {
                lines,
                slots: table.size,
                value,
                words: if exact { 0 } else { words },
                fields,
            });
        }
        Ok(Layout { tables, actions })
    }
}
