//! The externs of the architectures as those of `swx.p4`.
use super::Architecture;
use crate::ast::*;
use crate::error::{Position, Result, error};
use std::collections::BTreeMap;

/// What an instance is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Meter,
    Checksum,
}

impl Kind {
    /// By the type's name in one of the architectures.
    pub fn of(name: &str) -> Option<Kind> {
        match name {
            "Counter" | "counter" => Some(Kind::Counter),
            "Meter" | "meter" => Some(Kind::Meter),
            "InternetChecksum" | "Checksum" => Some(Kind::Checksum),
            _ => None,
        }
    }
}

/// The operand of casts.
pub(super) fn without_casts(expression: &Expression) -> &Expression {
    match expression {
        Expression::Cast(inner, _) => without_casts(inner),
        other => other,
    }
}

/// A counter or meter with its size only: the back ends count packets and bytes, and meter bytes.
pub(super) fn array(instance: &Instance, kind: Kind) -> Result<Instance> {
    let [size, what] = &instance.arguments[..] else {
        return error(instance.name.at, "write the size, and what is counted");
    };
    let counted = match what {
        Expression::Path(path) => path.last().map(|name| name.text.to_uppercase()),
        _ => None,
    };
    let wanted = if kind == Kind::Counter { "PACKETS_AND_BYTES" } else { "BYTES" };
    if counted.as_deref() != Some(wanted) {
        return error(
            what.at(),
            format!("counters are of PACKETS_AND_BYTES, meters of BYTES: write {wanted}"),
        );
    }
    let text = if kind == Kind::Counter { "Counter" } else { "Meter" };
    let of = Name { text: text.into(), at: instance.of.at };
    Ok(Instance { of, arguments: vec![size.clone()], name: instance.name.clone() })
}

/// The number of a meter's colour, as SWX has it: `PNA_MeterColor_t.GREEN` is 0.
pub(super) fn colour(path: &[Name]) -> Option<Expression> {
    let [of, colour] = path else { return None };
    let number = match colour.text.as_str() {
        "GREEN" => 0,
        "YELLOW" => 1,
        "RED" => 2,
        _ => return None,
    };
    of.text.ends_with("MeterColor_t").then_some(Expression::Number(Some(8), number, of.at))
}

/// Whether a variable's type is a meter's colour.
pub(super) fn is_colour(of: &Type) -> bool {
    matches!(of, Type::Named(name) if name.text.ends_with("MeterColor_t"))
}

/// The types that a checksum needs: headers by type, and structs.
pub(super) struct Headers {
    fields: BTreeMap<String, Vec<String>>,
    structs: BTreeMap<String, BTreeMap<String, String>>,
}

impl Headers {
    pub fn of(declarations: &[Declaration]) -> Headers {
        let (mut all, mut structs) = (BTreeMap::new(), BTreeMap::new());
        for declaration in declarations {
            match declaration {
                Declaration::Header(name, fields, _) => {
                    let fields = fields.iter().map(|field| field.name.text.clone()).collect();
                    all.insert(name.text.clone(), fields);
                }
                Declaration::Struct(name, fields) => {
                    let named = |field: &Field| match &field.of {
                        Type::Named(of) => Some((field.name.text.clone(), of.text.clone())),
                        Type::Bit(..) => None,
                    };
                    structs.insert(name.text.clone(), fields.iter().filter_map(named).collect());
                }
                _ => {}
            }
        }
        Headers { fields: all, structs }
    }

    /// The statement for the checksum of a header over all of its other fields.
    pub fn checksum(&self, to: &[Name], over: &[Expression], at: Position) -> Result<Statement> {
        let refused = |why: &str| error(at, why.to_owned());
        let [first, header, field] = to else {
            return refused("assign a checksum to a field of a header");
        };
        // The struct of headers is the only one that has this header.
        let of = self.structs.values().find_map(|fields| fields.get(&header.text));
        let Some(fields) = of.and_then(|of| self.fields.get(of)) else {
            return refused("assign a checksum to a field of a header");
        };
        let wanted: Vec<[&str; 3]> = fields
            .iter()
            .filter(|other| **other != field.text)
            .map(|other| [first.text.as_str(), header.text.as_str(), other.as_str()])
            .collect();
        let given: Vec<Vec<&str>> = over
            .iter()
            .map(|expression| match expression {
                Expression::Path(path) => path.iter().map(|name| name.text.as_str()).collect(),
                _ => vec![],
            })
            .collect();
        if given != wanted {
            return refused(
                "the back ends have the checksum of a whole header only: list all other fields of \
                 it, in their order",
            );
        }
        Ok(header_checksum(to, at))
    }
}

/// The statement for the checksum of a header over all of it, whose own field is 0 meanwhile.
pub(super) fn whole_checksum(
    to: &[Name],
    zeroed: &[Name],
    over: &[Name],
    at: Position,
) -> Result<Statement> {
    let same = |a: &[Name], b: &[Name]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.text == b.text)
    };
    if to.len() != 3 || !same(zeroed, to) || !same(over, &to[..2]) {
        return error(at, "write 0 to the field of the checksum, and add the header of this field");
    }
    Ok(header_checksum(to, at))
}

/// `to = header_checksum(header)` of `swx.p4`, for the header that has the field `to`.
fn header_checksum(to: &[Name], at: Position) -> Statement {
    let call = vec![Name { text: "header_checksum".into(), at }];
    let header = Expression::Path(to[..2].to_vec());
    Statement::Assign(to.to_vec(), Expression::Call(call, vec![header], vec![]))
}

/// A call of a counter or meter with the bytes that it counts: the method and the arguments as
/// `swx.p4` has them. Other architectures than PNA take the length of the frame, which the back
/// ends do not have.
pub(super) fn call(
    architecture: Architecture,
    path: &[Name],
    arguments: &[Expression],
) -> (Vec<Name>, Vec<Expression>) {
    let mut path = path.to_vec();
    if architecture == Architecture::Pna
        && let [_, method] = &mut path[..]
        && method.text == "dpdk_execute"
    {
        method.text = "execute".into();
    }
    (path, arguments.iter().map(|argument| without_casts(argument).clone()).collect())
}
