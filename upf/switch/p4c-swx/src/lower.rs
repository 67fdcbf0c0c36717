//! Lowering of a program to an SWX pipeline.
use crate::Program;
use crate::architecture::Architecture;
use crate::ast::*;
use crate::code::Code;
use crate::error::{Position, Result, error};
use crate::names::{Fields, Names};
use crate::p4info::{self, Numbers, P4Info};
use crate::spec::{self, Spec};
use std::collections::BTreeMap;

/// The meaning of the first name of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Packet,
    Headers,
    Metadata,
    Input,
    Output,
}

/// The state of lowering.
pub(crate) struct Lowering {
    pub names: Names,
    /// Headers of a packet: name, type.
    pub headers: Vec<(String, String)>,
    /// Widths of lookaheads of the parser: each becomes a header.
    pub ahead: Vec<u32>,
    pub metadata: Fields,
    pub roles: BTreeMap<String, Role>,
    /// Parameters of the current action.
    pub arguments: Fields,
    pub in_action: bool,
    pub counters: Vec<(String, u32)>,
    pub meters: Vec<(String, u32)>,
    /// Moves that assemble a table's key, by table.
    pub shadows: BTreeMap<String, Vec<String>>,
    pub actions: BTreeMap<String, Action>,
    pub tables: Vec<String>,
    pub drops: bool,
    pub code: Code,
    pub temporaries: u32,
}

/// A standard metadata type of the architecture: name of the type, fields.
pub(crate) const INPUT: &[(&str, u32)] = &[("ingress_port", 32)];
pub(crate) const OUTPUT: &[(&str, u32)] = &[("egress_port", 32)];

/// The blocks of a program's package, and the headers of packets to and from the controller.
pub(crate) struct Blocks<'a> {
    pub parser: &'a Parser,
    pub control: &'a Control,
    pub deparser: &'a Control,
    packets: Vec<(String, String)>,
}

pub(crate) fn lower(architecture: Architecture, declarations: &[Declaration]) -> Result<Program> {
    lower_blocks(architecture, declarations).map(|(program, ..)| program)
}

/// What a controller sees of a program.
pub(crate) fn describe(architecture: Architecture, declarations: &[Declaration]) -> Result<P4Info> {
    let (mut lowering, blocks) = begin(declarations)?;
    let (_, info) = lowering.interface(architecture, &blocks)?;
    Ok(info)
}

/// The same, with the state of lowering.
pub(crate) fn lower_blocks(
    architecture: Architecture,
    declarations: &[Declaration],
) -> Result<(Program, Lowering, Blocks<'_>)> {
    let (mut lowering, blocks) = begin(declarations)?;
    let program = lowering.program(architecture, &blocks)?;
    Ok((program, lowering, blocks))
}

fn begin(declarations: &[Declaration]) -> Result<(Lowering, Blocks<'_>)> {
    let mut names = Names::default();
    let mut packages = Vec::new();
    let (mut parsers, mut controls) = (BTreeMap::new(), BTreeMap::new());
    let mut packet_headers = Vec::new();
    for declaration in declarations {
        names.declare(declaration)?;
        match declaration {
            Declaration::Parser(parser) => {
                names.take(&parser.name)?;
                parsers.insert(parser.name.text.clone(), parser);
            }
            Declaration::Control(control) => {
                names.take(&control.name)?;
                controls.insert(control.name.text.clone(), control);
            }
            Declaration::Package(..) => packages.push(declaration),
            Declaration::Header(name, _, annotations) => {
                for annotation in annotations {
                    match (annotation.name.text.as_str(), &annotation.value) {
                        ("controller_header", Some(value)) => {
                            packet_headers.push((name.text.clone(), value.clone()))
                        }
                        _ => {
                            return error(
                                annotation.name.at,
                                "of headers only @controller_header(\"packet_in\") is within the \
                                 subset",
                            );
                        }
                    }
                }
            }
            _ => {}
        }
    }
    let end = Position { line: 1, column: 1 };
    let [Declaration::Package(package, blocks, main)] = packages[..] else {
        return error(
            end,
            "a program has one package: Switch(MyParser(), MyControl(), MyDeparser()) main;",
        );
    };
    if let Some(name) =
        blocks.iter().find(|block| block.arguments.as_ref().is_none_or(|a| !a.is_empty()))
    {
        return error(name.name.at, "a block has empty brackets: MyParser()");
    }
    let [parser, control, deparser] = &blocks[..] else {
        return error(package.at, "Switch needs three blocks: parser, control, deparser");
    };
    let [parser, control, deparser] = [parser, control, deparser].map(|block| &block.name);
    if package.text != "Switch" || main.text != "main" {
        return error(package.at, "the package is Switch(...) main");
    }
    let Some(parser) = parsers.get(&parser.text) else {
        return error(parser.at, "this is not a parser");
    };
    let block = |name: &Name| match controls.get(&name.text) {
        Some(control) => Ok(*control),
        None => error(name.at, "this is not a control"),
    };
    let (control, deparser) = (block(control)?, block(deparser)?);
    if let Some(instance) = parser.instances.first() {
        return error(instance.name.at, "a parser in a parser is not within the subset here");
    }
    if let Some(variable) = control.variables.first().or(deparser.variables.first()) {
        return error(
            variable.name.at,
            "variables are not within the subset: make it a field of the metadata",
        );
    }
    if controls.len() != 2 || parsers.len() != 1 {
        return error(
            package.at,
            "a program has one parser and two controls, all of them in the package",
        );
    }
    let lowering = Lowering {
        names,
        headers: vec![],
        ahead: vec![],
        metadata: vec![],
        roles: BTreeMap::new(),
        arguments: vec![],
        in_action: false,
        counters: vec![],
        meters: vec![],
        shadows: BTreeMap::new(),
        actions: BTreeMap::new(),
        tables: vec![],
        drops: false,
        code: Code::default(),
        temporaries: 0,
    };
    Ok((lowering, Blocks { parser, control, deparser, packets: packet_headers }))
}

impl Lowering {
    /// Tables, actions and arrays: of the pipeline, and for controllers. Leaves the names of the
    /// control's parameters.
    fn interface(
        &mut self,
        architecture: Architecture,
        blocks: &Blocks<'_>,
    ) -> Result<(Spec, P4Info)> {
        use Role::*;
        self.signature(
            &blocks.control.name,
            &blocks.control.parameters,
            &[
                ("inout", Headers),
                ("inout", Metadata),
                ("swx_input_t", Input),
                ("swx_output_t", Output),
            ],
        )?;
        let mut spec = Spec::default();
        let mut info = P4Info { architecture: architecture.name().into(), ..P4Info::default() };
        let mut numbers = Numbers::default();
        self.instances(blocks.control, &mut info, &mut numbers)?;
        self.actions(blocks.control, &mut spec, &mut info, &mut numbers)?;
        self.tables(blocks.control, &mut spec, &mut info, &mut numbers)?;
        for (header, name) in &blocks.packets {
            let fields = self.names.headers[header].clone();
            info.packets.push(p4info::PacketMetadata {
                id: numbers.of(p4info::CONTROLLER_HEADER, name),
                name: name.clone(),
                fields,
            });
        }
        Ok((spec, info))
    }

    fn program(&mut self, architecture: Architecture, blocks: &Blocks<'_>) -> Result<Program> {
        use Role::*;
        let Blocks { parser, control, deparser, .. } = blocks;
        self.signature(
            &parser.name,
            &parser.parameters,
            &[("packet_in", Packet), ("out", Headers), ("inout", Metadata), ("swx_input_t", Input)],
        )?;
        let roles = std::mem::take(&mut self.roles);
        let (mut spec, info) = self.interface(architecture, blocks)?;

        // The pipeline, from ingress to egress.
        self.in_action = false;
        self.arguments.clear();
        self.code = Code::default();
        self.code.push("rx m.ingress_port".into());
        if self.drops {
            // SWX does not clear the metadata between packets.
            self.code.push("mov m.drop 0".into());
        }
        let control_roles = std::mem::replace(&mut self.roles, roles);
        self.parser(parser)?;
        self.roles = control_roles;
        let done = self.code.label();
        self.statements(&control.apply, &done)?;
        self.code.set_label(done);
        self.signature(
            &deparser.name,
            &deparser.parameters,
            &[("packet_out", Packet), ("in", Headers)],
        )?;
        let dropped = self.code.label();
        if self.drops {
            self.code.jump("jmpneq", &dropped, "m.drop 0".into());
        }
        self.deparser(deparser)?;
        self.code.push("tx m.egress_port".into());
        if self.drops {
            self.code.set_label(dropped);
            self.code.push("drop".into());
        }
        spec.apply = std::mem::take(&mut self.code).finish_in_regions();

        for (_, of) in &self.headers {
            if !spec.structs.iter().any(|s| s.name == *of) {
                spec.structs.push(spec::Struct {
                    name: of.clone(),
                    fields: self.names.headers[of].clone(),
                });
            }
        }
        spec.headers = self.headers.clone();
        for bits in &self.ahead {
            let of = format!("ahead{bits}_h");
            spec.structs
                .push(spec::Struct { name: of.clone(), fields: vec![("value".into(), *bits)] });
            spec.headers.push((format!("ahead{bits}"), of));
        }
        let mut fields: Fields =
            INPUT.iter().chain(OUTPUT).map(|(name, bits)| ((*name).into(), *bits)).collect();
        if self.drops {
            fields.push(("drop".into(), 8));
        }
        fields.extend(self.metadata.iter().cloned());
        spec.structs.push(spec::Struct { name: "metadata_of_packets".into(), fields });
        spec.metadata = "metadata_of_packets".into();
        for (name, size) in &self.counters {
            spec.registers.push((format!("{name}_packets"), *size));
            spec.registers.push((format!("{name}_bytes"), *size));
        }
        spec.meters = self.meters.clone();
        Ok(Program { spec, info })
    }
}
