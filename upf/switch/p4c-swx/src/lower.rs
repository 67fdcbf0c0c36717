//! A program to a pipeline of SWX.
use crate::Program;
use crate::ast::*;
use crate::code::Code;
use crate::error::{CompileError, Position, error};
use crate::names::{Fields, Names};
use crate::p4info::{self, MatchKind, Numbers, P4Info};
use crate::spec::{self, Spec};
use std::collections::BTreeMap;

pub(crate) type Result<T> = std::result::Result<T, CompileError>;

/// What the first name of a path stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Packet,
    Headers,
    Metadata,
    Input,
    Output,
}

/// All that is known while a program is lowered.
pub(crate) struct Lowering {
    pub names: Names,
    /// Headers of a packet: name, type.
    pub headers: Vec<(String, String)>,
    pub metadata: Fields,
    pub roles: BTreeMap<String, Role>,
    /// Parameters of the action at work.
    pub arguments: Fields,
    pub in_action: bool,
    pub counters: Vec<(String, u32)>,
    pub meters: Vec<(String, u32)>,
    /// Moves that put a table's key together, by table.
    pub shadows: BTreeMap<String, Vec<String>>,
    pub actions: BTreeMap<String, Action>,
    pub tables: Vec<String>,
    pub drops: bool,
    pub code: Code,
    temporaries: u32,
}

/// A standard metadata type of the architecture: name of the type, fields.
const INPUT: &[(&str, u32)] = &[("ingress_port", 32)];
const OUTPUT: &[(&str, u32)] = &[("egress_port", 32)];

/// Largest table, counter or meter array.
const LARGEST: u64 = 1 << 22;

pub(crate) fn lower(declarations: &[Declaration]) -> Result<Program> {
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
                        ("controller_header", Some(value)) => packet_headers.push((name.text.clone(), value.clone())),
                        _ => {
                            return error(
                                annotation.name.at,
                                "of headers only @controller_header(\"packet_in\") is within the subset",
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
        return error(end, "a program has one package: Switch(MyParser(), MyControl(), MyDeparser()) main;");
    };
    let [parser, control, deparser] = &blocks[..] else {
        return error(package.at, "Switch takes three blocks: parser, control, deparser");
    };
    if package.text != "Switch" || main.text != "main" {
        return error(package.at, "the package is Switch(...) main");
    }
    let Some(parser) = parsers.get(&parser.text) else { return error(parser.at, "this is no parser") };
    let block = |name: &Name| match controls.get(&name.text) {
        Some(control) => Ok(*control),
        None => error(name.at, "this is no control"),
    };
    let (control, deparser) = (block(control)?, block(deparser)?);
    if controls.len() != 2 || parsers.len() != 1 {
        return error(package.at, "a program has one parser and two controls, all of them in the package");
    }
    let mut lowering = Lowering {
        names,
        headers: vec![],
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
    lowering.program(parser, control, deparser, &packet_headers)
}

impl Lowering {
    fn program(
        &mut self,
        parser: &Parser,
        control: &Control,
        deparser: &Control,
        packets: &[(String, String)],
    ) -> Result<Program> {
        use Role::*;
        self.signature(
            &parser.name,
            &parser.parameters,
            &[("packet_in", Packet), ("out", Headers), ("inout", Metadata), ("swx_input_t", Input)],
        )?;
        let roles = std::mem::take(&mut self.roles);
        self.signature(
            &control.name,
            &control.parameters,
            &[("inout", Headers), ("inout", Metadata), ("swx_input_t", Input), ("swx_output_t", Output)],
        )?;
        let mut spec = Spec::default();
        let mut info = P4Info::default();
        let mut numbers = Numbers::default();
        self.instances(control, &mut info, &mut numbers)?;
        self.actions(control, &mut spec, &mut info, &mut numbers)?;
        self.tables(control, &mut spec, &mut info, &mut numbers)?;

        // The pipeline, from the packet's arrival to its leaving.
        self.in_action = false;
        self.arguments.clear();
        self.code = Code::default();
        self.code.push("rx m.ingress_port".into());
        if self.drops {
            // SWX leaves in the metadata what the packet before had there.
            self.code.push("mov m.drop 0".into());
        }
        let control_roles = std::mem::replace(&mut self.roles, roles);
        self.parser(parser)?;
        self.roles = control_roles;
        let done = self.code.label();
        self.statements(&control.apply, &done)?;
        self.code.place(done);
        self.signature(&deparser.name, &deparser.parameters, &[("packet_out", Packet), ("in", Headers)])?;
        let dropped = self.code.label();
        if self.drops {
            self.code.jump("jmpneq", &dropped, "m.drop 0".into());
        }
        self.deparser(deparser)?;
        self.code.push("tx m.egress_port".into());
        if self.drops {
            self.code.place(dropped);
            self.code.push("drop".into());
        }
        spec.apply = std::mem::take(&mut self.code).finish_in_regions();

        for (_, of) in &self.headers {
            if !spec.structs.iter().any(|s| s.name == *of) {
                spec.structs.push(spec::Struct { name: of.clone(), fields: self.names.headers[of].clone() });
            }
        }
        spec.headers = self.headers.clone();
        let mut fields: Fields = INPUT.iter().chain(OUTPUT).map(|(name, bits)| ((*name).into(), *bits)).collect();
        if self.drops {
            fields.push(("drop".into(), 8));
        }
        fields.extend(self.metadata.iter().cloned());
        spec.structs.push(spec::Struct { name: "metadata_of_packets".into(), fields });
        spec.metadata = "metadata_of_packets".into();
        for (name, size) in &self.counters {
            spec.registers.push((format!("{name}_packets"), *size));
            spec.registers.push((format!("{name}_octets"), *size));
        }
        spec.meters = self.meters.clone();
        for (header, name) in packets {
            let fields = self.names.headers[header].clone();
            info.packets.push(p4info::PacketMetadata {
                id: numbers.of(p4info::PACKET, name),
                name: name.clone(),
                fields,
            });
        }
        Ok(Program { spec, info })
    }

    /// Checks the parameters of a block, and what the first names of paths in it stand for. What is asked of a parameter
    /// is its type where the architecture gives it, else its direction.
    fn signature(&mut self, block: &Name, parameters: &[Parameter], wanted: &[(&str, Role)]) -> Result<()> {
        if parameters.len() != wanted.len() {
            return error(block.at, format!("{} takes {} parameters: {wanted:?}", block.text, wanted.len()));
        }
        self.roles.clear();
        for (parameter, (asked, role)) in parameters.iter().zip(wanted) {
            let name = &parameter.name;
            let Type::Named(of) = &parameter.of else {
                return error(name.at, "this parameter is of a type with a name");
            };
            match role {
                Role::Headers => self.take_headers(of)?,
                Role::Metadata => self.take_metadata(of)?,
                _ if of.text != *asked => return error(of.at, format!("this parameter is of the type {asked}")),
                _ => {}
            }
            let direction = match role {
                Role::Headers | Role::Metadata => Some(*asked),
                Role::Input => Some("in"),
                Role::Output => Some("inout"),
                Role::Packet => None,
            };
            if parameter.direction.as_ref().map(|d| d.text.as_str()) != direction {
                return error(name.at, format!("the direction of this parameter is {:?}", direction.unwrap_or("none")));
            }
            if self.roles.insert(name.text.clone(), *role).is_some() {
                return error(name.at, "two parameters have this name");
            }
        }
        Ok(())
    }

    fn take_headers(&mut self, of: &Name) -> Result<()> {
        let Some(fields) = self.names.structs.get(&of.text) else {
            return error(of.at, format!("{:?} is no struct", of.text));
        };
        let mut headers = Vec::new();
        for field in fields {
            match &field.of {
                Type::Named(header) if self.names.headers.contains_key(&header.text) => {
                    headers.push((field.name.text.clone(), header.text.clone()));
                }
                _ => return error(field.name.at, "a struct of headers has headers alone"),
            }
        }
        if !self.headers.is_empty() && self.headers != headers {
            return error(of.at, "parser, control and deparser take the same headers");
        }
        self.headers = headers;
        Ok(())
    }

    fn take_metadata(&mut self, of: &Name) -> Result<()> {
        let Some(fields) = self.names.structs.get(&of.text) else {
            return error(of.at, format!("{:?} is no struct", of.text));
        };
        let metadata = self.names.fields(fields)?;
        for (taken, _) in INPUT.iter().chain(OUTPUT).chain(&[("drop", 8)]) {
            if let Some(field) = fields.iter().find(|field| field.name.text == *taken) {
                return error(field.name.at, format!("{taken:?} is a name of the architecture: choose another"));
            }
        }
        if !self.metadata.is_empty() && !self.metadata.starts_with(&metadata) {
            return error(of.at, "parser and control take the same metadata");
        }
        if self.metadata.is_empty() {
            self.metadata = metadata;
        }
        Ok(())
    }

    fn instances(&mut self, control: &Control, info: &mut P4Info, numbers: &mut Numbers) -> Result<()> {
        for instance in &control.instances {
            self.names.take(&instance.name)?;
            let Some(size) = instance.arguments.first() else {
                return error(instance.name.at, "write how many: Counter<bit<32>>(1024) name;");
            };
            let size = self.size(size)?;
            if let Some(more) = instance.arguments.get(1) {
                return error(
                    more.at(),
                    "counters count packets and octets, meters count octets: write the size alone",
                );
            }
            let alias = instance.name.text.clone();
            let name = format!("{}.{alias}", control.name.text);
            let entry = (alias.clone(), size);
            match instance.of.text.as_str() {
                "Counter" => {
                    info.counters.push(p4info::Array { id: numbers.of(p4info::COUNTER, &name), name, alias, size });
                    self.counters.push(entry);
                }
                "Meter" => {
                    info.meters.push(p4info::Array { id: numbers.of(p4info::METER, &name), name, alias, size });
                    self.meters.push(entry);
                }
                other => {
                    return error(instance.of.at, format!("{other:?} is not within the subset: Counter and Meter are"));
                }
            }
        }
        Ok(())
    }

    fn size(&self, size: &Expression) -> Result<u32> {
        match self.names.number(size, None)? {
            0 => error(size.at(), "a size is at least 1"),
            size_ if size_ > LARGEST => {
                error(size.at(), format!("{size_} is more than {LARGEST}, the most there may be"))
            }
            size_ => Ok(size_ as u32),
        }
    }

    fn actions(&mut self, control: &Control, spec: &mut Spec, info: &mut P4Info, numbers: &mut Numbers) -> Result<()> {
        let no_action =
            Action { name: Name { text: "NoAction".into(), at: control.name.at }, parameters: vec![], body: vec![] };
        for action in std::iter::once(&no_action).chain(&control.actions) {
            self.names.take(&action.name)?;
            let mut arguments = Fields::new();
            let mut parameters = Vec::new();
            for parameter in &action.parameters {
                if let Some(direction) = &parameter.direction {
                    return error(
                        direction.at,
                        "parameters of actions come from the controller, and have no direction",
                    );
                }
                if self.roles.contains_key(&parameter.name.text)
                    || arguments.iter().any(|(name, _)| *name == parameter.name.text)
                {
                    return error(parameter.name.at, format!("{:?} is already declared", parameter.name.text));
                }
                let (name, bits) = (parameter.name.text.clone(), self.names.bits(&parameter.of)?);
                let type_name = match &parameter.of {
                    Type::Named(of) => Some(of.text.clone()),
                    Type::Bit(..) => None,
                };
                arguments.push((name.clone(), bits));
                parameters.push(p4info::Parameter { name, bits, type_name });
            }
            self.arguments = arguments.clone();
            self.in_action = true;
            self.code = Code::default();
            let done = self.code.label();
            self.statements(&action.body, &done)?;
            self.code.place(done);
            self.prefetch(action, &control.apply)?;
            self.code.push("return".into());
            let alias = action.name.text.clone();
            let instructions = std::mem::take(&mut self.code).finish();
            let of = format!("arguments_of_{alias}");
            if !arguments.is_empty() {
                spec.structs.push(spec::Struct { name: of.clone(), fields: arguments.clone() });
            }
            let named = (!arguments.is_empty()).then_some(of);
            spec.actions.push(spec::Action { name: alias.clone(), arguments: named, instructions });
            let name = if alias == "NoAction" { alias.clone() } else { format!("{}.{alias}", control.name.text) };
            let id = numbers.of(p4info::ACTION, &name);
            info.actions.push(p4info::Action { id, name, alias: alias.clone(), parameters });
            self.actions.insert(alias, action.clone());
        }
        Ok(())
    }

    /// Has the processor fetch the counters whose index an action gives, long before they are counted up: with many rules
    /// they are in no cache.
    fn prefetch(&mut self, action: &Action, apply: &[Statement]) -> Result<()> {
        let mut counted = Vec::new();
        counts(apply, &mut counted);
        for statement in &action.body {
            let Statement::Assign(path, _) = statement else { continue };
            let (field, _) = self.field(path)?;
            for (counter, index) in &counted {
                // What is dropped is counted seldom; the counter that is counted last is that of all packets.
                if self.field(index).is_ok_and(|(of, _)| of == field)
                    && counted.last().is_some_and(|(last, _)| last == counter)
                {
                    self.code.push(format!("regprefetch {counter}_packets {field}"));
                    self.code.push(format!("regprefetch {counter}_octets {field}"));
                    break;
                }
            }
        }
        Ok(())
    }

    fn tables(&mut self, control: &Control, spec: &mut Spec, info: &mut P4Info, numbers: &mut Numbers) -> Result<()> {
        self.arguments.clear();
        for table in &control.tables {
            self.names.take(&table.name)?;
            self.tables.push(table.name.text.clone());
            let alias = table.name.text.clone();
            let (keys, described) = self.keys(table)?;
            let Some((size, _)) = &table.size else {
                return error(table.name.at, format!("the table {alias:?} has no size"));
            };
            let size = self.size(size)?;
            let Some((default, constant_default)) = &table.default else {
                return error(table.name.at, format!("the table {alias:?} has no default_action"));
            };
            let mut actions = Vec::new();
            let mut references = Vec::new();
            for reference in &table.actions {
                let name = &reference.name;
                let Some(action) = info.actions.iter().find(|action| action.alias == name.text) else {
                    return error(name.at, format!("{:?} is no action", name.text));
                };
                if actions.iter().any(|(taken, _)| *taken == name.text) {
                    return error(name.at, format!("{:?} is listed twice", name.text));
                }
                let mut scope = spec::Scope::Everywhere;
                for annotation in &reference.annotations {
                    scope = match annotation.name.text.as_str() {
                        "tableonly" => spec::Scope::TableOnly,
                        "defaultonly" => spec::Scope::DefaultOnly,
                        other => return error(annotation.name.at, format!("@{other} is not within the subset here")),
                    };
                }
                actions.push((name.text.clone(), scope));
                references.push((action.id, scope == spec::Scope::DefaultOnly, scope == spec::Scope::TableOnly));
            }
            let listed = actions.iter().find(|(name, _)| *name == default.text);
            let Some((_, scope)) = listed else {
                return error(default.at, format!("{:?} is not among the actions of the table", default.text));
            };
            if *scope == spec::Scope::TableOnly || !self.actions[&default.text].parameters.is_empty() {
                return error(
                    default.at,
                    format!(
                        "{:?} cannot be the default action: it has parameters, or is for entries alone",
                        default.text
                    ),
                );
            }
            let default_id = info.actions.iter().find(|action| action.alias == default.text).map(|action| action.id);
            spec.tables.push(spec::Table {
                name: alias.clone(),
                keys,
                actions,
                default_action: default.text.clone(),
                constant_default: *constant_default,
                size,
            });
            let name = format!("{}.{alias}", control.name.text);
            info.tables.push(p4info::Table {
                id: numbers.of(p4info::TABLE, &name),
                name,
                alias,
                keys: described,
                actions: references,
                constant_default: default_id.filter(|_| *constant_default),
                size,
            });
        }
        Ok(())
    }

    /// The fields of a table's key for SWX, which wants them in one struct and one after the other, and for controllers.
    #[allow(clippy::type_complexity)]
    fn keys(&mut self, table: &Table) -> Result<(Vec<(String, spec::Match)>, Vec<p4info::Key>)> {
        let mut described: Vec<p4info::Key> = Vec::new();
        let mut fields = Vec::new();
        for (id, key) in (1..).zip(&table.keys) {
            let (field, bits) = self.field(&key.field)?;
            let kind = match key.kind.text.as_str() {
                "exact" => MatchKind::Exact,
                "lpm" => MatchKind::Lpm,
                "ternary" => MatchKind::Ternary,
                "range" => MatchKind::Range,
                other => {
                    return error(
                        key.kind.at,
                        format!("{other:?} is no way to match: exact, lpm, ternary and range are"),
                    );
                }
            };
            let written: Vec<&str> = key.field.iter().map(|name| name.text.as_str()).collect();
            let mut name = written.join(".");
            for annotation in &key.annotations {
                match (annotation.name.text.as_str(), &annotation.value) {
                    ("name", Some(value)) => name = value.clone(),
                    _ => return error(annotation.name.at, "of keys only @name(\"...\") is within the subset"),
                }
            }
            if described.iter().any(|other| other.name == name) {
                return error(key.field[0].at, format!("two keys are named {name:?}"));
            }
            described.push(p4info::Key { id, name, bits, kind });
            fields.push((field, bits));
        }
        if fields.is_empty() {
            return error(table.name.at, format!("the table {:?} has no key", table.name.text));
        }
        let kind = match described.iter().all(|key| key.kind == MatchKind::Exact) {
            true => spec::Match::Exact,
            false => spec::Match::Wildcard,
        };
        if fields.len() > 1 && !self.adjacent(&fields) {
            let mut moves = Vec::new();
            for (n, (field, bits)) in fields.iter_mut().enumerate() {
                let shadow = format!("{}_key{n}", table.name.text);
                self.metadata.push((shadow.clone(), *bits));
                moves.push(format!("mov m.{shadow} {field}"));
                *field = format!("m.{shadow}");
            }
            self.shadows.insert(table.name.text.clone(), moves);
        }
        Ok((fields.into_iter().map(|(field, _)| (field, kind)).collect(), described))
    }

    /// Whether fields are in one struct, one after the other.
    fn adjacent(&self, fields: &[(String, u32)]) -> bool {
        let Some((of, first)) = fields[0].0.rsplit_once('.') else { return false };
        let all: Vec<&str> = match of.strip_prefix("h.") {
            Some(header) => {
                let Some((_, of)) = self.headers.iter().find(|(name, _)| name == header) else { return false };
                self.names.headers[of].iter().map(|(name, _)| name.as_str()).collect()
            }
            None => self.metadata.iter().map(|(name, _)| name.as_str()).collect(),
        };
        let Some(start) = all.iter().position(|name| *name == first) else { return false };
        fields
            .iter()
            .enumerate()
            .all(|(n, (field, _))| all.get(start + n).is_some_and(|name| *field == format!("{of}.{name}")))
    }

    /// A field that numbers are kept in, for scratch.
    pub fn temporary(&mut self, bits: u32) -> String {
        self.temporaries += 1;
        let name = format!("temporary{}", self.temporaries);
        self.metadata.push((name.clone(), bits));
        format!("m.{name}")
    }

    /// The field that a path names, in SWX's terms, and its width.
    pub fn field(&self, path: &[Name]) -> Result<(String, u32)> {
        let first = &path[0];
        let unknown = |name: &Name| error(name.at, format!("{:?} is not known here", name.text));
        if let [only] = path
            && let Some((name, bits)) = self.arguments.iter().find(|(name, _)| *name == only.text)
        {
            return Ok((format!("t.{name}"), *bits));
        }
        let Some(role) = self.roles.get(&first.text) else { return unknown(first) };
        let found = |fields: &[(&str, u32)], name: &Name| match fields.iter().find(|(field, _)| *field == name.text) {
            Some((field, bits)) => Ok((format!("m.{field}"), *bits)),
            None => unknown(name),
        };
        match (role, &path[1..]) {
            (Role::Headers, [header, field]) => {
                let of = self.header_type(header)?;
                match self.names.headers[of].iter().find(|(name, _)| *name == field.text) {
                    Some((name, bits)) => Ok((format!("h.{}.{name}", header.text), *bits)),
                    None => error(field.at, format!("the header {:?} has no field {:?}", header.text, field.text)),
                }
            }
            (Role::Metadata, [field]) => match self.metadata.iter().find(|(name, _)| *name == field.text) {
                Some((name, bits)) => Ok((format!("m.{name}"), *bits)),
                None => unknown(field),
            },
            (Role::Input, [field]) => found(INPUT, field),
            (Role::Output, [field]) => found(OUTPUT, field),
            _ => error(first.at, "a field is expected here"),
        }
    }

    pub fn header_type(&self, header: &Name) -> Result<&str> {
        match self.headers.iter().find(|(name, _)| *name == header.text) {
            Some((_, of)) => Ok(of),
            None => error(header.at, format!("there is no header {:?}", header.text)),
        }
    }

    /// The header that a path such as `hdr.ipv4` names, with the method behind it.
    pub fn header_of<'a>(&self, path: &'a [Name]) -> Option<(&'a Name, &'a Name)> {
        match path {
            [first, header, method] if self.roles.get(&first.text) == Some(&Role::Headers) => Some((header, method)),
            _ => None,
        }
    }

    fn parser(&mut self, parser: &Parser) -> Result<()> {
        let mut states = BTreeMap::new();
        for state in &parser.states {
            if matches!(state.name.text.as_str(), "accept" | "reject")
                || states.insert(state.name.text.clone(), (state, self.code.label())).is_some()
            {
                return error(state.name.at, format!("the state {:?} is already declared", state.name.text));
            }
        }
        if !states.contains_key("start") {
            return error(parser.name.at, "the parser has no state start");
        }
        let accept = self.code.label();
        // Each state once, what it leads to behind it; a way that comes back to itself is refused.
        let mut order: Vec<&State> = Vec::new();
        let mut path = Vec::new();
        visit("start", &states, &mut path, &mut order)?;
        order.reverse();
        if let Some(unreached) = parser.states.iter().find(|state| !order.iter().any(|o| o.name == state.name)) {
            return error(unreached.name.at, format!("no transition leads to the state {:?}", unreached.name.text));
        }
        for state in order {
            self.code.place(states[&state.name.text].1.clone());
            self.statements(&state.body, &accept)?;
            let to = |name: &Name| if name.text == "accept" { accept.clone() } else { states[&name.text].1.clone() };
            match &state.transition {
                Transition::To(name) => self.code.jump("jmp", &to(name), String::new()),
                Transition::Select(of, cases) => self.select(of, cases, &to, &accept)?,
            }
        }
        self.code.place(accept);
        Ok(())
    }

    fn select(
        &mut self,
        of: &[Expression],
        cases: &[(Vec<Match>, Name, Position)],
        to: &dyn Fn(&Name) -> String,
        accept: &str,
    ) -> Result<()> {
        let mut fields = Vec::new();
        for expression in of {
            let Expression::Path(path) = expression else { return error(expression.at(), "a field is expected here") };
            fields.push(self.field(path)?);
        }
        let mut decided = false;
        for (matches, name, at) in cases {
            if decided {
                return error(*at, "nothing comes to this case: one before it takes everything");
            }
            let everything = matches!(matches[..], [Match::Default]);
            if matches.len() != fields.len() && !everything {
                return error(*at, format!("{} values are expected here, one for each field of select", fields.len()));
            }
            let next = self.code.label();
            let mut tests = Vec::new();
            for (a_match, (field, bits)) in matches.iter().zip(&fields) {
                match a_match {
                    Match::Default => {}
                    Match::Value(value) => tests.push(format!("{field} {}", self.names.number(value, Some(*bits))?)),
                    Match::Masked(value, mask) => {
                        let (value, mask) =
                            (self.names.number(value, Some(*bits))?, self.names.number(mask, Some(*bits))?);
                        let temporary = self.temporary(*bits);
                        self.code.push(format!("mov {temporary} {field}"));
                        self.code.push(format!("and {temporary} {mask}"));
                        tests.push(format!("{temporary} {}", value & mask));
                    }
                }
            }
            let target = to(name);
            match tests.pop() {
                None => {
                    self.code.jump("jmp", &target, String::new());
                    decided = true;
                }
                Some(last) => {
                    tests.into_iter().for_each(|test| self.code.jump("jmpneq", &next, test));
                    self.code.jump("jmpeq", &target, last);
                }
            }
            self.code.place(next);
        }
        if !decided {
            // P4_16 rejects here; a packet that no rule is for goes to the native path, so programs say it.
            let at = of[0].at();
            return error(at, "this select has no default: write one, for what comes to none of the cases");
        }
        self.code.jump("jmp", accept, String::new());
        Ok(())
    }

    fn deparser(&mut self, deparser: &Control) -> Result<()> {
        if !(deparser.actions.is_empty() && deparser.tables.is_empty() && deparser.instances.is_empty()) {
            return error(deparser.name.at, "a deparser emits headers, and nothing else");
        }
        for statement in &deparser.apply {
            match statement {
                Statement::Call(Expression::Call(path, arguments, _))
                    if path.len() == 2
                        && path[1].text == "emit"
                        && self.roles.get(&path[0].text) == Some(&Role::Packet) =>
                {
                    match &arguments[..] {
                        [Expression::Path(path)]
                            if path.len() == 2 && self.roles.get(&path[0].text) == Some(&Role::Headers) =>
                        {
                            self.header_type(&path[1])?;
                            self.code.push(format!("emit h.{}", path[1].text));
                        }
                        _ => return error(path[0].at, "emit takes one header"),
                    }
                }
                Statement::Call(other) => return error(other.at(), "a deparser emits headers, and nothing else"),
                Statement::Assign(path, _) => return error(path[0].at, "a deparser emits headers, and nothing else"),
                Statement::If(condition, ..) => {
                    return error(condition.at(), "a deparser emits the headers that are valid: write no condition");
                }
                Statement::Return(at) => return error(*at, "a deparser emits headers, and nothing else"),
            }
        }
        Ok(())
    }
}

/// Orders states such that each comes before those that it leads to (in reverse).
fn visit<'a>(
    name: &str,
    states: &BTreeMap<String, (&'a State, String)>,
    path: &mut Vec<String>,
    order: &mut Vec<&'a State>,
) -> Result<()> {
    let state = states[name].0;
    if order.iter().any(|done| done.name == state.name) {
        return Ok(());
    }
    path.push(name.into());
    let targets: Vec<&Name> = match &state.transition {
        Transition::To(name) => vec![name],
        Transition::Select(_, cases) => cases.iter().map(|(_, name, _)| name).collect(),
    };
    for target in targets.iter().rev() {
        match target.text.as_str() {
            "accept" => {}
            "reject" => {
                return error(
                    target.at,
                    "reject is not within the subset: accept, and let the control drop what it does not want",
                );
            }
            other if !states.contains_key(other) => return error(target.at, format!("there is no state {other:?}")),
            other if path.iter().any(|on_the_way| on_the_way == other) => {
                return error(
                    target.at,
                    format!("the state {other:?} leads back to itself, which is not within the subset"),
                );
            }
            other => visit(other, states, path, order)?,
        }
    }
    path.pop();
    order.push(state);
    Ok(())
}

/// The counters that statements count up, and the fields that say which.
fn counts(statements: &[Statement], to: &mut Vec<(String, Vec<Name>)>) {
    for statement in statements {
        match statement {
            Statement::Call(Expression::Call(path, arguments, _)) => {
                if let ([counter, method], [Expression::Path(index), _]) = (&path[..], &arguments[..])
                    && method.text == "count"
                {
                    to.push((counter.text.clone(), index.clone()));
                }
            }
            Statement::If(_, then, otherwise) => {
                counts(then, to);
                counts(otherwise, to);
            }
            _ => {}
        }
    }
}
