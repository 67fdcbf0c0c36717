//! Inlines the blocks that a thin block applies, with the names of their parameters replaced.
use super::externs::{self, Headers, Kind};
use super::verdict::Names;
use super::{Architecture, INPUT, OUTPUT};
use crate::ast::*;
use crate::error::{Position, Result, error};
use std::collections::BTreeMap;

/// The paths that the names of a block stand for.
type Scope = BTreeMap<String, Vec<Name>>;

/// Maximum depth of controls in controls.
const DEEPEST: usize = 8;

pub(super) struct Inliner<'a> {
    architecture: Architecture,
    controls: &'a BTreeMap<String, Control>,
    names: &'a Names,
    headers: Headers,
    /// The metadata parameter of the block that is read.
    meta: String,
    kinds: BTreeMap<String, Kind>,
    instances: Vec<Instance>,
    actions: Vec<Action>,
    tables: Vec<Table>,
    blocks: BTreeMap<String, String>,
    variables: Vec<Field>,
}

fn name(text: &str, at: Position) -> Name {
    Name { text: text.into(), at }
}

/// A parameter of the architecture `swx.p4`.
fn parameter(direction: Option<&str>, of: Type, of_name: &str, at: Position) -> Parameter {
    let direction = direction.map(|text| name(text, at));
    Parameter { annotations: vec![], direction, of, name: name(of_name, at) }
}

fn named(of: &str, at: Position) -> Type {
    Type::Named(name(of, at))
}

fn has_return(statements: &[Statement]) -> Option<Position> {
    statements.iter().find_map(|statement| match statement {
        Statement::Return(at) => Some(*at),
        Statement::If(_, then, otherwise) => has_return(then).or_else(|| has_return(otherwise)),
        _ => None,
    })
}

impl<'a> Inliner<'a> {
    pub fn new(
        architecture: Architecture,
        controls: &'a BTreeMap<String, Control>,
        names: &'a Names,
        headers: Headers,
    ) -> Self {
        Inliner {
            architecture,
            controls,
            names,
            headers,
            meta: String::new(),
            kinds: BTreeMap::new(),
            instances: vec![],
            actions: vec![],
            tables: vec![],
            blocks: BTreeMap::new(),
            variables: vec![],
        }
    }

    /// The variables of all controls: fields of the metadata.
    pub fn into_variables(self) -> Vec<Field> {
        self.variables
    }

    /// The parser that a thin parser applies.
    pub fn parser(&mut self, outer: &Parser, inner: &Parser) -> Result<Parser> {
        let given = &outer.parameters;
        self.meta = given[2].name.text.clone();
        let arguments: Vec<Vec<Name>> = given.iter().map(|p| vec![p.name.clone()]).collect();
        let scope = bind(&inner.name, &inner.parameters, arguments.get(..3).unwrap_or_default())?;
        let at = outer.name.at;
        let parameters = vec![
            parameter(None, named("packet_in", at), &given[0].name.text, at),
            parameter(Some("out"), given[1].of.clone(), &given[1].name.text, at),
            parameter(Some("inout"), given[2].of.clone(), &given[2].name.text, at),
            parameter(Some("in"), named("swx_input_t", at), INPUT, at),
        ];
        let mut states = Vec::new();
        for state in &inner.states {
            let body = self.statements(&state.body, &scope)?;
            let transition = match &state.transition {
                Transition::To(to) => Transition::To(to.clone()),
                Transition::Select(of, cases) => Transition::Select(
                    of.iter().map(|one| self.expression(one, &scope)).collect::<Result<_>>()?,
                    cases.clone(),
                ),
            };
            states.push(State { name: state.name.clone(), body, transition });
        }
        Ok(Parser { name: outer.name.clone(), parameters, instances: vec![], states })
    }

    /// The control that a thin control applies first. The rest of it translates the verdict.
    pub fn control(&mut self, outer: &Control) -> Result<Control> {
        let given = &outer.parameters;
        self.meta = given[1].name.text.clone();
        let at = outer.name.at;
        let block = outer.apply.first().and_then(|statement| applied(statement, outer));
        let Some((instance, inner, arguments)) = block.and_then(|(instance, arguments)| {
            let inner = self.controls.get(&instance.of.text)?;
            Some((instance, inner, arguments))
        }) else {
            return error(at, "this control has to apply another control first");
        };
        let paths = self.paths(arguments, &Scope::new())?;
        let scope = bind(&inner.name, &inner.parameters, &paths)?;
        let prefix = format!("{}.{}", outer.name.text, instance.name.text);
        let apply = self.block(inner, &scope, &prefix, 0)?;
        // In the order of their declaration, as a reader and a controller see them.
        let mut order = Vec::new();
        self.declared(inner, &prefix, &mut order);
        let blocks = &self.blocks;
        self.instances.sort_by_key(|one| {
            order.iter().position(|prefix| blocks.get(&one.name.text) == Some(prefix))
        });
        Ok(Control {
            name: outer.name.clone(),
            parameters: vec![
                parameter(Some("inout"), given[0].of.clone(), &given[0].name.text, at),
                parameter(Some("inout"), given[1].of.clone(), &given[1].name.text, at),
                parameter(Some("in"), named("swx_input_t", at), INPUT, at),
                parameter(Some("inout"), named("swx_output_t", at), OUTPUT, at),
            ],
            instances: std::mem::take(&mut self.instances),
            variables: vec![],
            blocks: std::mem::take(&mut self.blocks),
            actions: std::mem::take(&mut self.actions),
            tables: std::mem::take(&mut self.tables),
            apply,
        })
    }

    /// The control that a thin deparser applies; checksums before it belong to the architecture.
    pub fn deparser(&mut self, outer: &Control, headers: usize) -> Result<Control> {
        let at = outer.name.at;
        let block = outer.apply.iter().find_map(|statement| applied(statement, outer));
        let (Some((instance, arguments)), Some(packet), Some(headers)) =
            (block, outer.parameters.first(), outer.parameters.get(headers))
        else {
            return error(at, "this deparser has to apply another one");
        };
        let Some(inner) = self.controls.get(&instance.of.text) else {
            return error(instance.of.at, "this is not a control");
        };
        let paths = self.paths(arguments, &Scope::new())?;
        let scope = bind(&inner.name, &inner.parameters, &paths)?;
        let apply = self.statements(&inner.apply, &scope)?;
        let parameters = vec![
            parameter(None, named("packet_out", at), &packet.name.text, at),
            parameter(Some("in"), headers.of.clone(), &headers.name.text, at),
        ];
        Ok(Control {
            name: outer.name.clone(),
            parameters,
            instances: vec![],
            variables: vec![],
            blocks: BTreeMap::new(),
            actions: vec![],
            tables: vec![],
            apply,
        })
    }

    /// The prefixes of a control and of those in it. `block` has bounded their depth.
    fn declared(&self, control: &Control, prefix: &str, order: &mut Vec<String>) {
        order.push(prefix.into());
        for instance in &control.instances {
            if let Some(inner) = self.controls.get(&instance.of.text) {
                self.declared(inner, &format!("{prefix}.{}", instance.name.text), order);
            }
        }
    }

    /// Declares what is in a control, and returns its statements.
    fn block(
        &mut self,
        control: &Control,
        outer: &Scope,
        prefix: &str,
        depth: usize,
    ) -> Result<Vec<Statement>> {
        if depth == DEEPEST {
            return error(control.name.at, format!("controls are nested deeper than {DEEPEST}"));
        }
        let mut scope = outer.clone();
        for instance in &control.instances {
            if self.controls.contains_key(&instance.of.text) {
                continue;
            }
            let Some(kind) = Kind::of(&instance.of.text) else {
                return error(
                    instance.of.at,
                    format!("{:?} is not within the subset", instance.of.text),
                );
            };
            self.kinds.insert(instance.name.text.clone(), kind);
            if kind != Kind::Checksum {
                self.blocks.insert(instance.name.text.clone(), prefix.into());
                self.instances.push(externs::array(instance, kind)?);
            }
        }
        for variable in &control.variables {
            let at = variable.name.at;
            let of = match externs::is_colour(&variable.of) {
                true => Type::Bit(8, at),
                false => variable.of.clone(),
            };
            self.variables.push(Field { name: variable.name.clone(), of });
            scope.insert(
                variable.name.text.clone(),
                vec![name(&self.meta, at), variable.name.clone()],
            );
        }
        for action in &control.actions {
            let action = self.action(action, &scope)?;
            self.blocks.insert(action.name.text.clone(), prefix.into());
            self.actions.push(action);
        }
        for table in &control.tables {
            self.blocks.insert(table.name.text.clone(), prefix.into());
            let mut table = table.clone();
            for key in &mut table.keys {
                key.field = self.path(&key.field, &scope)?;
            }
            self.tables.push(table);
        }
        let mut statements = Vec::new();
        let mut rest = &control.apply[..];
        while let [first, behind @ ..] = rest {
            if let Some((instance, arguments)) = applied(first, control)
                && self.controls.contains_key(&instance.of.text)
            {
                rest = behind;
                statements.extend(self.nested(instance, arguments, &scope, prefix, depth)?);
                continue;
            }
            let (one, behind) = self.first(rest, &scope, control, prefix, depth)?;
            statements.extend(one);
            rest = behind;
        }
        Ok(statements)
    }

    /// A control that is applied in the middle of another one.
    fn nested(
        &mut self,
        instance: &Instance,
        arguments: &[Expression],
        scope: &Scope,
        prefix: &str,
        depth: usize,
    ) -> Result<Vec<Statement>> {
        let inner = &self.controls[&instance.of.text];
        if let Some(at) = has_return(&inner.apply) {
            return error(at, "return in a control within another one is not within the subset");
        }
        let paths = self.paths(arguments, scope)?;
        let scope = bind(&inner.name, &inner.parameters, &paths)?;
        let prefix = format!("{prefix}.{}", instance.name.text);
        self.block(inner, &scope, &prefix, depth + 1)
    }

    fn action(&self, action: &Action, outer: &Scope) -> Result<Action> {
        let mut scope = outer.clone();
        let mut parameters = Vec::new();
        for parameter in &action.parameters {
            let called = parameter.annotations.iter().find(|a| a.name.text == "name");
            let text = called.and_then(|a| a.value.clone());
            let at = parameter.name.at;
            let new = name(text.as_deref().unwrap_or(&parameter.name.text), at);
            scope.insert(parameter.name.text.clone(), vec![new.clone()]);
            parameters.push(Parameter { name: new, annotations: vec![], ..parameter.clone() });
        }
        let mut body = Vec::new();
        for statement in &action.body {
            body.extend(self.simple(statement, &scope)?);
        }
        Ok(Action { name: action.name.clone(), parameters, body })
    }

    /// Statements that apply no control.
    fn statements(&self, statements: &[Statement], scope: &Scope) -> Result<Vec<Statement>> {
        let mut all = Vec::new();
        for statement in statements {
            match statement {
                Statement::If(condition, then, otherwise) => all.push(Statement::If(
                    self.expression(condition, scope)?,
                    self.statements(then, scope)?,
                    self.statements(otherwise, scope)?,
                )),
                other => all.extend(self.simple(other, scope)?),
            }
        }
        Ok(all)
    }

    /// The first statement of a list, and what follows it. A checksum is several statements.
    fn first<'s>(
        &mut self,
        statements: &'s [Statement],
        scope: &Scope,
        control: &Control,
        prefix: &str,
        depth: usize,
    ) -> Result<(Vec<Statement>, &'s [Statement])> {
        let [first, behind @ ..] = statements else { return Ok((vec![], statements)) };
        match first {
            Statement::Call(Expression::Call(path, ..))
                if path.len() == 2 && self.kinds.get(&path[0].text) == Some(&Kind::Checksum) =>
            {
                self.checksum(statements, scope)
            }
            Statement::If(condition, then, otherwise) => {
                let condition = self.expression(condition, scope)?;
                let mut branches = [Vec::new(), Vec::new()];
                for (branch, mut rest) in branches.iter_mut().zip([&then[..], &otherwise[..]]) {
                    while let [one, behind @ ..] = rest {
                        if let Some((instance, arguments)) = applied(one, control)
                            && self.controls.contains_key(&instance.of.text)
                        {
                            branch.extend(self.nested(instance, arguments, scope, prefix, depth)?);
                            rest = behind;
                            continue;
                        }
                        let (done, behind) = self.first(rest, scope, control, prefix, depth)?;
                        branch.extend(done);
                        rest = behind;
                    }
                }
                let [then, otherwise] = branches;
                Ok((vec![Statement::If(condition, then, otherwise)], behind))
            }
            other => Ok((self.simple(other, scope)?.into_iter().collect(), behind)),
        }
    }

    /// `checksum.clear(); checksum.add({ … }); hdr.ipv4.checksum = checksum.get();`, or of the
    /// whole header `checksum.clear(); hdr.ipv4.checksum = 0; checksum.add(hdr.ipv4); …`.
    fn checksum<'s>(
        &self,
        statements: &'s [Statement],
        scope: &Scope,
    ) -> Result<(Vec<Statement>, &'s [Statement])> {
        let method = |path: &[Name]| path.last().map(|name| name.text.clone()).unwrap_or_default();
        let at = match &statements[0] {
            Statement::Call(call) => call.at(),
            _ => Position { line: 1, column: 1 },
        };
        if let [
            Statement::Call(Expression::Call(clear, ..)),
            Statement::Call(Expression::Call(add, fields, _)),
            Statement::Assign(to, Expression::Call(get, ..)),
            behind @ ..,
        ] = statements
            && [method(clear), method(add), method(get)] == ["clear", "add", "get"]
            && let [Expression::Tuple(fields, _)] = &fields[..]
        {
            let to = self.path(to, scope)?;
            let over: Vec<Expression> =
                fields.iter().map(|field| self.expression(field, scope)).collect::<Result<_>>()?;
            return Ok((vec![self.headers.checksum(&to, &over, at)?], behind));
        }
        if let [
            Statement::Call(Expression::Call(clear, ..)),
            Statement::Assign(zeroed, Expression::Number(_, 0, _)),
            Statement::Call(Expression::Call(add, header, _)),
            Statement::Assign(to, Expression::Call(get, ..)),
            behind @ ..,
        ] = statements
            && [method(clear), method(add), method(get)] == ["clear", "add", "get"]
            && let [Expression::Path(header)] = &header[..]
        {
            let (zeroed, header) = (self.path(zeroed, scope)?, self.path(header, scope)?);
            let to = self.path(to, scope)?;
            return Ok((vec![externs::whole_checksum(&to, &zeroed, &header, at)?], behind));
        }
        error(at, "write checksum.clear(); checksum.add({ … }); hdr.h.field = checksum.get();")
    }

    /// A statement without others in it. What the architecture does itself disappears.
    fn simple(&self, statement: &Statement, scope: &Scope) -> Result<Option<Statement>> {
        Ok(Some(match statement {
            Statement::Return(at) => Statement::Return(*at),
            Statement::Call(call) => Statement::Call(self.expression(call, scope)?),
            Statement::Assign(path, value) => {
                if let Some(drops) = self.verdict(path, value, scope)? {
                    return Ok(drops.then(|| {
                        let call = vec![name("drop_packet", path[0].at)];
                        Statement::Call(Expression::Call(call, vec![], vec![]))
                    }));
                }
                Statement::Assign(self.path(path, scope)?, self.expression(value, scope)?)
            }
            Statement::If(condition, ..) => {
                return error(condition.at(), "if is not within the subset here");
            }
        }))
    }

    /// Whether this assignment drops the packet (`true`), or clears the verdict (`false`).
    fn verdict(&self, path: &[Name], value: &Expression, scope: &Scope) -> Result<Option<bool>> {
        let path = replaced(path, scope);
        if !matches!(&path[..], [first, field]
            if first.text == self.meta && field.text == self.names.drop)
        {
            return Ok(None);
        }
        match value {
            Expression::Number(_, 0, _) => Ok(Some(false)),
            Expression::Number(_, 1, _) => Ok(Some(true)),
            other => error(other.at(), "write 1 to drop the packet, 0 not to"),
        }
    }

    fn expression(&self, expression: &Expression, scope: &Scope) -> Result<Expression> {
        Ok(match expression {
            Expression::Path(path) => match externs::colour(path) {
                Some(number) => number,
                None => Expression::Path(self.path(path, scope)?),
            },
            Expression::Call(path, arguments, behind) => {
                let (path, arguments) = match path.first().and_then(|n| self.kinds.get(&n.text)) {
                    Some(_) => externs::call(self.architecture, path, arguments),
                    None => (self.path(path, scope)?, arguments.clone()),
                };
                let arguments = arguments
                    .iter()
                    .map(|one| self.expression(one, scope))
                    .collect::<Result<_>>()?;
                Expression::Call(path, arguments, behind.clone())
            }
            Expression::Lookahead(packet, bits, at) => {
                let packet = self.path(std::slice::from_ref(packet), scope)?;
                Expression::Lookahead(packet[0].clone(), *bits, *at)
            }
            Expression::Not(inner, at) => {
                Expression::Not(self.expression(inner, scope)?.into(), *at)
            }
            Expression::Cast(inner, at) => {
                Expression::Cast(self.expression(inner, scope)?.into(), *at)
            }
            Expression::Tuple(items, at) => Expression::Tuple(
                items.iter().map(|item| self.expression(item, scope)).collect::<Result<_>>()?,
                *at,
            ),
            Expression::Binary(operator, left, right, at) => Expression::Binary(
                *operator,
                self.expression(left, scope)?.into(),
                self.expression(right, scope)?.into(),
                *at,
            ),
            Expression::Number(..) | Expression::Boolean(..) => expression.clone(),
        })
    }

    /// A path with the names of the outermost block.
    fn path(&self, path: &[Name], scope: &Scope) -> Result<Vec<Name>> {
        let path = replaced(path, scope);
        let [first, field] = &path[..] else { return Ok(path) };
        if first.text != self.meta || !self.names.is_reserved(&field.text) {
            return Ok(path);
        }
        let at = first.at;
        if field.text == self.names.ingress_port {
            Ok(vec![name(INPUT, at), name("ingress_port", at)])
        } else if field.text == self.names.egress_port {
            Ok(vec![name(OUTPUT, at), name("egress_port", at)])
        } else {
            error(at, "the verdict can only be assigned")
        }
    }

    fn paths(&self, arguments: &[Expression], scope: &Scope) -> Result<Vec<Vec<Name>>> {
        arguments
            .iter()
            .map(|argument| match argument {
                Expression::Path(path) => self.path(path, scope),
                other => error(other.at(), "headers or metadata are expected here"),
            })
            .collect()
    }
}

/// The instance of a statement `instance.apply(…)`, and the arguments.
fn applied<'s>(
    statement: &'s Statement,
    control: &'s Control,
) -> Option<(&'s Instance, &'s [Expression])> {
    let Statement::Call(Expression::Call(path, arguments, _)) = statement else { return None };
    let [instance, method] = &path[..] else { return None };
    let of = control.instances.iter().find(|one| one.name.text == instance.text)?;
    (method.text == "apply").then_some((of, &arguments[..]))
}

/// Parameters with the arguments that they stand for.
fn bind(block: &Name, parameters: &[Parameter], arguments: &[Vec<Name>]) -> Result<Scope> {
    if parameters.len() != arguments.len() {
        return error(
            block.at,
            format!("{} has {} parameters, not {}", block.text, parameters.len(), arguments.len()),
        );
    }
    Ok(parameters.iter().map(|p| p.name.text.clone()).zip(arguments.iter().cloned()).collect())
}

/// A path with its first name replaced.
fn replaced(path: &[Name], scope: &Scope) -> Vec<Name> {
    let Some(new) = path.first().and_then(|first| scope.get(&first.text)) else {
        return path.to_vec();
    };
    let at = path[0].at;
    new.iter().map(|part| name(&part.text, at)).chain(path[1..].iter().cloned()).collect()
}
