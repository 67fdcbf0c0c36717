//! Conversion between P4Runtime messages and the model.
use super::messages as m;
use crate::error::{Code, WriteError, refuse};
use crate::model::*;
use martlet_p4c_swx::P4Info;
use martlet_p4c_swx::p4info::{MatchKind, Table};
use std::fmt::{Display, Formatter};

type Result<T> = std::result::Result<T, WriteError>;

/// A number in P4Runtime's form: big-endian, without leading zero bytes.
pub fn to_bytes(value: u64) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(7);
    bytes[first..].to_vec()
}

/// Reads a number of a bit width from P4Runtime's form.
pub fn from_bytes(bytes: &[u8], bits: u32, of: impl Display) -> Result<u64> {
    let significant = &bytes[bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len())..];
    if bytes.is_empty() {
        return refuse(Code::InvalidArgument, format!("{of}: a value needs at least one byte"));
    }
    let value = significant.iter().take(8).fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    if significant.len() > 8 || bits < 64 && value >> bits != 0 {
        return refuse(
            Code::InvalidArgument,
            format!("{of} has {bits} bits: {} bytes with {value:#x} do not fit", bytes.len()),
        );
    }
    Ok(value)
}

/// A field of a table or a parameter of an action; formatted only for errors.
#[derive(Clone, Copy)]
struct Named<'a>(&'a str, &'a str);

impl Display for Named<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

fn table_of(info: &P4Info, id: u32) -> Result<(usize, &Table)> {
    let found = info.tables.iter().enumerate().find(|(_, table)| table.id == id);
    found.ok_or_else(|| WriteError {
        code: Code::NotFound,
        message: format!("the program has no table {id:#010x}"),
    })
}

/// The index of a table in the program.
pub fn table(info: &P4Info, id: u32) -> Result<usize> {
    table_of(info, id).map(|(position, _)| position)
}

/// Reads the key of an entry. Omitted fields match everything, except exact ones.
pub fn key(table: &Table, entry: &m::TableEntry) -> Result<Key> {
    let name = &table.alias;
    for (n, field) in entry.r#match.iter().enumerate() {
        if !table.keys.iter().any(|key| key.id == field.field_id) {
            return refuse(
                Code::InvalidArgument,
                format!("the key of {name} has no field {}", field.field_id),
            );
        }
        if entry.r#match[..n].iter().any(|other| other.field_id == field.field_id) {
            return refuse(
                Code::InvalidArgument,
                format!("{name}: field {} occurs twice", field.field_id),
            );
        }
    }
    let mut fields = Vec::new();
    for described in &table.keys {
        let (of, bits) = (Named(name, &described.name), described.bits);
        let given = entry.r#match.iter().find(|field| field.field_id == described.id);
        let all = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        let field = match (given.map(|field| &field.value), described.kind) {
            (None, MatchKind::Lpm) => FieldMatch::Lpm(0, 0),
            (None, MatchKind::Ternary) => FieldMatch::Ternary(0, 0),
            (None, MatchKind::Range) => FieldMatch::Range(0, all),
            (None, MatchKind::Exact) => {
                return refuse(Code::InvalidArgument, format!("{of} is missing"));
            }
            (Some(Some(m::MatchValue::Exact(exact))), _) => {
                FieldMatch::Exact(from_bytes(&exact.value, bits, of)?)
            }
            (Some(Some(m::MatchValue::Ternary(ternary))), _) => FieldMatch::Ternary(
                from_bytes(&ternary.value, bits, of)?,
                from_bytes(&ternary.mask, bits, of)?,
            ),
            (Some(Some(m::MatchValue::Lpm(lpm))), _) => {
                let Ok(length) = u32::try_from(lpm.prefix_len) else {
                    return refuse(
                        Code::InvalidArgument,
                        format!("{of}: a prefix length of {} is invalid", lpm.prefix_len),
                    );
                };
                FieldMatch::Lpm(from_bytes(&lpm.value, bits, of)?, length)
            }
            (Some(Some(m::MatchValue::Range(range))), _) => FieldMatch::Range(
                from_bytes(&range.low, bits, of)?,
                from_bytes(&range.high, bits, of)?,
            ),
            (Some(None), _) => return refuse(Code::InvalidArgument, format!("{of} has no value")),
        };
        fields.push(field);
    }
    let Ok(priority) = u32::try_from(entry.priority) else {
        return refuse(
            Code::InvalidArgument,
            format!("{name}: the priority {} is negative", entry.priority),
        );
    };
    Ok(Key { fields, priority })
}

/// Reads an action with its arguments.
pub fn call(info: &P4Info, action: &m::Action) -> Result<Call> {
    let position = info.actions.iter().position(|described| described.id == action.action_id);
    let Some(position) = position else {
        return refuse(
            Code::InvalidArgument,
            format!("the program has no action {:#010x}", action.action_id),
        );
    };
    let described = &info.actions[position];
    let name = &described.alias;
    let mut arguments = Vec::new();
    for parameter in &described.parameters {
        let mut given = action.params.iter().filter(|param| param.param_id == parameter.id);
        let (Some(value), None) = (given.next(), given.next()) else {
            return refuse(
                Code::InvalidArgument,
                format!("{name}.{} has to occur once", parameter.name),
            );
        };
        arguments.push(from_bytes(&value.value, parameter.bits, Named(name, &parameter.name))?);
    }
    if action.params.len() != arguments.len() {
        return refuse(
            Code::InvalidArgument,
            format!("{name} takes {} parameters, not {}", arguments.len(), action.params.len()),
        );
    }
    Ok(Call { action: position, arguments })
}

/// Reads an entry; a deletion may have no action.
pub fn entry(info: &P4Info, entry: &m::TableEntry, deletion: bool) -> Result<TableEntry> {
    let (position, table) = table_of(info, entry.table_id)?;
    if entry.idle_timeout_ns != 0 {
        return refuse(Code::InvalidArgument, format!("{} has no idle timeouts", table.alias));
    }
    let key = key(table, entry)?;
    let call = match entry.action.as_ref().and_then(|action| action.r#type.as_ref()) {
        Some(m::table_action::Type::Action(action)) => call(info, action)?,
        None if deletion => Call { action: 0, arguments: Vec::new() },
        None => {
            return refuse(
                Code::InvalidArgument,
                format!("an entry of {} needs an action", table.alias),
            );
        }
    };
    Ok(TableEntry { table: position, key, call, metadata: entry.metadata.clone() })
}

/// An action as a message.
pub fn action_message(info: &P4Info, call: &Call) -> m::TableAction {
    let described = &info.actions[call.action];
    let params = described
        .parameters
        .iter()
        .zip(&call.arguments)
        .map(|(parameter, value)| m::Param { param_id: parameter.id, value: to_bytes(*value) });
    let action = m::Action { action_id: described.id, params: params.collect() };
    m::TableAction { r#type: Some(m::table_action::Type::Action(action)) }
}

/// An entry as a message.
pub fn entry_message(info: &P4Info, entry: &TableEntry) -> m::TableEntry {
    let table = &info.tables[entry.table];
    let mut fields = Vec::new();
    for (field, described) in entry.key.fields.iter().zip(&table.keys) {
        let all = if described.bits == 64 { u64::MAX } else { (1 << described.bits) - 1 };
        let value = match *field {
            FieldMatch::Exact(value) => m::MatchValue::Exact(m::Exact { value: to_bytes(value) }),
            // Fields that match everything are omitted.
            FieldMatch::Lpm(_, 0) | FieldMatch::Ternary(_, 0) => continue,
            FieldMatch::Range(0, high) if high == all => continue,
            FieldMatch::Lpm(value, length) => {
                m::MatchValue::Lpm(m::Lpm { value: to_bytes(value), prefix_len: length as i32 })
            }
            FieldMatch::Ternary(value, mask) => {
                m::MatchValue::Ternary(m::Ternary { value: to_bytes(value), mask: to_bytes(mask) })
            }
            FieldMatch::Range(low, high) => {
                m::MatchValue::Range(m::Range { low: to_bytes(low), high: to_bytes(high) })
            }
        };
        fields.push(m::FieldMatch { field_id: described.id, value: Some(value) });
    }
    m::TableEntry {
        table_id: table.id,
        r#match: fields,
        action: Some(action_message(info, &entry.call)),
        priority: entry.key.priority as i32,
        metadata: entry.metadata.clone(),
        ..Default::default()
    }
}

/// The P4Info of a program as a message.
pub fn info_message(info: &P4Info, name: &str) -> m::P4Info {
    let preamble = |id: u32, name: &str, alias: &str| {
        Some(m::Preamble { id, name: name.into(), alias: alias.into() })
    };
    let param = |(id, (name, bits)): (u32, (&str, u32))| m::InfoParam {
        id,
        name: name.into(),
        bitwidth: bits as i32,
    };
    let array = |array: &martlet_p4c_swx::p4info::Array, unit| m::InfoArray {
        preamble: preamble(array.id, &array.name, &array.alias),
        spec: Some(m::InfoUnit { unit }),
        size: array.size.into(),
    };
    m::P4Info {
        pkg_info: Some(m::PkgInfo { name: name.into(), arch: info.architecture.clone() }),
        tables: info
            .tables
            .iter()
            .map(|table| m::InfoTable {
                preamble: preamble(table.id, &table.name, &table.alias),
                match_fields: table
                    .keys
                    .iter()
                    .map(|key| m::InfoField {
                        id: key.id,
                        name: key.name.clone(),
                        bitwidth: key.bits as i32,
                        match_type: match key.kind {
                            MatchKind::Exact => 2,
                            MatchKind::Lpm => 3,
                            MatchKind::Ternary => 4,
                            MatchKind::Range => 5,
                        },
                    })
                    .collect(),
                action_refs: table
                    .actions
                    .iter()
                    .map(|(id, default_only, table_only)| m::ActionRef {
                        id: *id,
                        scope: if *default_only { 2 } else { i32::from(*table_only) },
                    })
                    .collect(),
                const_default_action_id: table.constant_default.unwrap_or(0),
                size: table.size.into(),
            })
            .collect(),
        actions: info
            .actions
            .iter()
            .map(|action| m::InfoAction {
                preamble: preamble(action.id, &action.name, &action.alias),
                params: action
                    .parameters
                    .iter()
                    .map(|p| param((p.id, (p.name.as_str(), p.bits))))
                    .collect(),
            })
            .collect(),
        counters: info.counters.iter().map(|counter| array(counter, 3)).collect(),
        meters: info.meters.iter().map(|meter| array(meter, 1)).collect(),
        controller_packet_metadata: info
            .packets
            .iter()
            .map(|packet| m::InfoPacket {
                preamble: preamble(packet.id, &packet.name, &packet.name),
                metadata: (1..)
                    .zip(packet.fields.iter().map(|(name, bits)| (name.as_str(), *bits)))
                    .map(param)
                    .collect(),
            })
            .collect(),
        // The program has none.
        digests: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_shortest_form_and_a_checked_width() {
        assert_eq!(to_bytes(0), [0]);
        assert_eq!(to_bytes(0x0a3c_0001), [10, 60, 0, 1]);
        assert_eq!(from_bytes(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 7], 8, "x").unwrap(), 7);
        assert!(from_bytes(&[1, 0], 8, "x").is_err());
        assert!(from_bytes(&[], 8, "x").is_err());
        assert!(from_bytes(&[1; 9], 64, "x").is_err());
    }
}
