//! What a block exchanges with the architecture: the ingress and egress ports, and the verdict.
use super::Architecture;
use super::externs::without_casts;
use crate::ast::*;
use crate::error::{Position, error};
use crate::lower::Result;
use std::collections::BTreeMap;

/// The fields of the metadata that a program exchanges with its architecture.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    pub ingress_port: String,
    pub egress_port: String,
    pub drop: String,
}

impl Names {
    /// Whether a field of the metadata belongs to the architecture.
    pub fn is_reserved(&self, field: &str) -> bool {
        [&self.ingress_port, &self.egress_port, &self.drop].iter().any(|name| **name == *field)
    }
}

fn texts(path: &[Name]) -> Vec<&str> {
    path.iter().map(|name| name.text.as_str()).collect()
}

/// The field in `meta.field`, where `meta` is this parameter.
fn field<'a>(expression: &'a Expression, of: &str) -> Option<&'a str> {
    match without_casts(expression) {
        Expression::Path(path) => match texts(path)[..] {
            [first, field] if first == of => Some(field),
            _ => None,
        },
        _ => None,
    }
}

fn parameter(parameters: &[Parameter], number: usize, at: Position) -> Result<&str> {
    match parameters.get(number) {
        Some(parameter) => Ok(&parameter.name.text),
        None => error(at, "this block has fewer parameters than the architecture gives it"),
    }
}

/// The verdict's fields, from the control that translates them:
///
/// ```p4
/// upf.apply(hdr, meta);
/// if (meta.drop != 0) { drop_packet(); } else { send_to_port((PortId_t) meta.egress_port); }
/// ```
pub(super) fn of(architecture: Architecture, control: &Control) -> Result<Names> {
    let meta = parameter(&control.parameters, 1, control.name.at)?;
    for statement in &control.apply {
        let Statement::If(Expression::Binary(Binary::Unequal, left, right, _), then, otherwise) =
            statement
        else {
            continue;
        };
        let (Some(drop), Expression::Number(_, 0, _)) = (field(left, meta), &**right) else {
            continue;
        };
        let ([dropped], [sent]) = (&then[..], &otherwise[..]) else { continue };
        let drops = match (architecture, dropped) {
            (_, Statement::Call(Expression::Call(path, ..))) => matches!(
                (architecture, &texts(path)[..]),
                (Architecture::Pna, ["drop_packet"])
                    | (Architecture::Psa, ["ingress_drop"])
                    | (Architecture::V1model, ["mark_to_drop"])
            ),
            (Architecture::Tna, Statement::Assign(path, _)) => {
                path.last().is_some_and(|name| name.text == "drop_ctl")
            }
            _ => false,
        };
        let port = match (architecture, sent) {
            (
                Architecture::Pna | Architecture::Psa,
                Statement::Call(Expression::Call(path, arguments, _)),
            ) if texts(path) == ["send_to_port"] => arguments.last(),
            (Architecture::V1model, Statement::Assign(path, value))
                if path.last().is_some_and(|name| name.text == "egress_spec") =>
            {
                Some(value)
            }
            (Architecture::Tna, Statement::Assign(path, value))
                if path.last().is_some_and(|name| name.text == "ucast_egress_port") =>
            {
                Some(value)
            }
            _ => None,
        };
        if let (true, Some(egress_port)) = (drops, port.and_then(|port| field(port, meta))) {
            return Ok(Names {
                drop: drop.into(),
                egress_port: egress_port.into(),
                ..Names::default()
            });
        }
    }
    error(
        control.name.at,
        format!(
            "the control {} has to translate the verdict: if (meta.drop != 0) drop the packet, \
             else send it to meta.egress_port",
            control.name.text
        ),
    )
}

/// The field that gets the ingress port, and the parser that is applied.
///
/// ```p4
/// meta.ingress_port = (PortIdUint_t) istd.input_port;
/// upf.apply(packet, hdr, meta);
/// transition accept;
/// ```
pub(super) fn of_parser<'a>(
    architecture: Architecture,
    parser: &Parser,
    parsers: &'a BTreeMap<String, Parser>,
) -> Result<(String, &'a Parser)> {
    let refused = || {
        error(
            parser.name.at,
            format!(
                "the parser {} has to store the ingress port in the metadata and to apply another \
                 parser",
                parser.name.text
            ),
        )
    };
    let meta = parameter(&parser.parameters, 2, parser.name.at)?;
    let input = parameter(&parser.parameters, 3, parser.name.at)?;
    let [State { body, transition: Transition::To(to), .. }] = &parser.states[..] else {
        return refused();
    };
    if to.text != "accept" {
        return refused();
    }
    let (mut port, mut inner) = (None, None);
    for statement in body {
        match statement {
            Statement::Assign(path, value)
                if texts(path).len() == 2
                    && path[0].text == meta
                    && field(value, input)
                        .is_some_and(|field| matches!(field, "input_port" | "ingress_port")) =>
            {
                port = Some(path[1].text.clone());
            }
            Statement::Call(Expression::Call(path, ..)) => match texts(path)[..] {
                [instance, "apply"] => {
                    let of = parser.instances.iter().find(|i| i.name.text == instance);
                    inner = of.and_then(|of| parsers.get(&of.of.text));
                }
                // The intrinsic header and the port metadata of a Tofino.
                [_, "extract" | "advance"] if architecture == Architecture::Tna => {}
                _ => return refused(),
            },
            _ => return refused(),
        }
    }
    match (port, inner) {
        (Some(port), Some(inner)) => Ok((port, inner)),
        _ => refused(),
    }
}
