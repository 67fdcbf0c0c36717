//! Programs for published architectures as the one that the back ends know.
//!
//! The back ends compile `Switch(parser, control, deparser)` of `swx.p4`. This pass makes such a
//! program of one for PNA, PSA, v1model or TNA whose blocks are thin: the parser stores the ingress
//! port and applies one parser, the control applies one control and translates its verdict, and the
//! deparser applies one deparser. Controls inside these are inlined.
mod externs;
mod inline;
mod verdict;

use crate::ast::*;
use crate::error::{Position, error};
use crate::lower::Result;
use externs::Headers;
use inline::Inliner;
use std::collections::BTreeMap;

/// What a program is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// This crate's own, `swx.p4`.
    Swx,
    /// The Portable NIC Architecture, as p4c's DPDK back end has it.
    Pna,
    /// The Portable Switch Architecture.
    Psa,
    /// The architecture of BMv2's simple_switch.
    V1model,
    /// The Tofino Native Architecture.
    Tna,
}

impl Architecture {
    /// The name in P4Info.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::Swx => "swx",
            Architecture::Pna => "pna",
            Architecture::Psa => "psa",
            Architecture::V1model => "v1model",
            Architecture::Tna => "tna",
        }
    }

    /// Where the headers are among the parameters of a deparser.
    fn headers_of_deparser(self) -> usize {
        if self == Architecture::Psa { 4 } else { 1 }
    }
}

/// The names of a package's blocks: parser, control, deparser.
type Blocks = [Name; 3];

/// Names that the program reserves between the architecture and its blocks.
pub(crate) const INPUT: &str = "architecture_input";
pub(crate) const OUTPUT: &str = "architecture_output";

/// The architecture of a program, and its declarations for the back ends.
pub(crate) fn normalise(
    declarations: Vec<Declaration>,
) -> Result<(Architecture, Vec<Declaration>)> {
    let Some((architecture, blocks)) = package(&declarations)? else {
        return Ok((Architecture::Swx, declarations));
    };
    let mut parsers = BTreeMap::new();
    let mut controls = BTreeMap::new();
    let mut types = Vec::new();
    for declaration in declarations {
        match declaration {
            Declaration::Parser(parser) => drop(parsers.insert(parser.name.text.clone(), parser)),
            Declaration::Control(control) => {
                drop(controls.insert(control.name.text.clone(), control))
            }
            Declaration::Package(..) => {}
            other => types.push(other),
        }
    }
    let [parser, control, deparser] = &blocks;
    let Some(outer_parser) = parsers.get(&parser.text) else {
        return error(parser.at, "this is not a parser");
    };
    let found = |name: &Name| match controls.get(&name.text) {
        Some(control) => Ok(control),
        None => error(name.at, "this is not a control"),
    };
    let (outer_control, outer_deparser) = (found(control)?, found(deparser)?);

    let verdict = verdict::of(architecture, outer_control)?;
    let (port, inner_parser) = verdict::of_parser(architecture, outer_parser, &parsers)?;
    let names = verdict::Names { ingress_port: port, ..verdict };
    let metadata = named_type(&outer_control.parameters, 1, outer_control.name.at)?;
    let mut inliner = Inliner::new(architecture, &controls, &names, Headers::of(&types));
    let parser = inliner.parser(outer_parser, inner_parser)?;
    let control = inliner.control(outer_control)?;
    let deparser = inliner.deparser(outer_deparser, architecture.headers_of_deparser())?;
    let variables = inliner.into_variables();

    for declaration in &mut types {
        if let Declaration::Struct(name, fields) = declaration
            && name.text == metadata.text
        {
            fields.retain(|field| !names.is_reserved(&field.name.text));
            fields.extend(variables.iter().cloned());
        }
    }
    let block = |name: &Name| PackageArgument { name: name.clone(), arguments: Some(vec![]) };
    let at = control.name.at;
    let arguments = vec![block(&parser.name), block(&control.name), block(&deparser.name)];
    types.push(Declaration::Parser(parser));
    types.push(Declaration::Control(control));
    types.push(Declaration::Control(deparser));
    let name = |text: &str| Name { text: text.into(), at };
    types.push(Declaration::Package(name("Switch"), arguments, name("main")));
    Ok((architecture, types))
}

/// The type of a parameter.
fn named_type(parameters: &[Parameter], number: usize, at: Position) -> Result<Name> {
    match parameters.get(number) {
        Some(Parameter { of: Type::Named(name), .. }) => Ok(name.clone()),
        Some(parameter) => error(parameter.name.at, "this parameter needs a named type"),
        None => error(at, "this block has fewer parameters than the architecture gives it"),
    }
}

/// The architecture by the package `main`; `None` for this crate's own, or if there is none.
fn package(declarations: &[Declaration]) -> Result<Option<(Architecture, Blocks)>> {
    let mut packages: BTreeMap<&str, (&Name, &[PackageArgument])> = BTreeMap::new();
    for declaration in declarations {
        if let Declaration::Package(of, arguments, name) = declaration {
            packages.insert(&name.text, (of, arguments));
        }
    }
    let Some((of, arguments)) = packages.get("main").copied() else { return Ok(None) };
    // An argument is a package of its own, by its name or in place.
    let inner = |argument: &PackageArgument| match &argument.arguments {
        Some(arguments) => arguments.clone(),
        None => packages.get(argument.name.text.as_str()).map_or(vec![], |(_, a)| a.to_vec()),
    };
    let (architecture, blocks, chosen) = match (of.text.as_str(), arguments) {
        ("PNA_NIC", [_, _, _, _]) => (Architecture::Pna, arguments.to_vec(), [0, 2, 3]),
        ("V1Switch", [_, _, _, _, _, _]) => (Architecture::V1model, arguments.to_vec(), [0, 2, 5]),
        ("PSA_Switch", [ingress, _, _, _]) => (Architecture::Psa, inner(ingress), [0, 1, 2]),
        ("Switch", [pipeline]) => (Architecture::Tna, inner(pipeline), [0, 1, 2]),
        _ => return Ok(None),
    };
    let block = |number: usize| match blocks.get(number) {
        Some(PackageArgument { name, arguments: Some(_) }) => Ok(name.clone()),
        _ => error(of.at, format!("{} needs a parser, a control and a deparser here", of.text)),
    };
    let [a, b, c] = chosen;
    Ok(Some((architecture, [block(a)?, block(b)?, block(c)?])))
}
