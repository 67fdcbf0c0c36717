//! Statements, conditions and expressions to instructions.
use crate::ast::*;
use crate::error::{Result, error};
use crate::lower::{Lowering, Role};

/// An operand: a field with its width, or a number.
#[derive(Debug, Clone)]
enum Operand {
    Field(String, u32),
    Number,
}

impl Lowering {
    /// Lowers statements; `done` is the target of `return`.
    pub(crate) fn statements(&mut self, statements: &[Statement], done: &str) -> Result<()> {
        for statement in statements {
            match statement {
                Statement::Assign(path, value) => self.assignment(path, value)?,
                Statement::Call(Expression::Call(path, arguments, _)) => {
                    self.call(path, arguments)?
                }
                Statement::Call(other) => return error(other.at(), "a call is expected here"),
                Statement::Return(_) => self.code.jump("jmp", done, String::new()),
                Statement::If(condition, then, otherwise) => {
                    let (no, end) = (self.code.label(), self.code.label());
                    self.unless(condition, &no)?;
                    self.statements(then, done)?;
                    if otherwise.is_empty() {
                        self.code.set_label(no);
                    } else {
                        self.code.jump("jmp", &end, String::new());
                        self.code.set_label(no);
                        self.statements(otherwise, done)?;
                    }
                    self.code.set_label(end);
                }
            }
        }
        Ok(())
    }

    fn writable(&self, path: &[Name]) -> Result<(String, u32)> {
        let (field, bits) = self.field(path)?;
        if field.starts_with("t.") || self.roles.get(&path[0].text) == Some(&Role::Input) {
            return error(path[0].at, format!("{} cannot be written", path[0].text));
        }
        Ok((field, bits))
    }

    fn assignment(&mut self, path: &[Name], value: &Expression) -> Result<()> {
        let (to, bits) = self.writable(path)?;
        if let Expression::Call(called, arguments, behind) = value {
            if !behind.is_empty() {
                return error(called[0].at, "this call does not return a number");
            }
            return self.assigned_call(&to, path, called, arguments);
        }
        self.assign(&to, bits, value)
    }

    /// `x = f(…)`: checksums and meter colours.
    fn assigned_call(
        &mut self,
        to: &str,
        path: &[Name],
        called: &[Name],
        arguments: &[Expression],
    ) -> Result<()> {
        match (called, arguments) {
            ([function], [Expression::Path(header)]) if function.text == "header_checksum" => {
                let [first, name] = &header[..] else {
                    return error(function.at, "header_checksum needs a header");
                };
                if self.roles.get(&first.text) != Some(&Role::Headers) {
                    return error(first.at, "header_checksum needs a header");
                }
                self.header_type(name)?;
                if !to.starts_with(&format!("h.{}.", name.text)) || self.field(path)?.1 != 16 {
                    return error(
                        path[0].at,
                        "assign the checksum of a header to a 16-bit field of the same header",
                    );
                }
                // The old value is in the sum and, complemented, before it, so it cancels out.
                self.code.push(format!("ckadd {to} h.{}", name.text));
                Ok(())
            }
            ([meter, method], [index, bytes])
                if method.text == "execute"
                    && self.meters.iter().any(|(name, _)| *name == meter.text) =>
            {
                if !to.starts_with("m.") {
                    return error(path[0].at, "assign the colour of a meter to metadata");
                }
                let index = self.leaf(index, Some(32))?;
                let bytes = self.field_leaf(bytes)?;
                self.code.push(format!("meter {} {index} {bytes} 0 {to}", meter.text));
                Ok(())
            }
            _ => error(
                called[0].at,
                "this call is not within the subset: header_checksum(header) and \
                 meter.execute(index, bytes) are",
            ),
        }
    }

    /// Assigns an expression to a field.
    fn assign(&mut self, to: &str, bits: u32, value: &Expression) -> Result<()> {
        let Expression::Binary(operator, left, right, at) = value else {
            // A field of another width is truncated or zero-extended; a number has to fit.
            let from = match value {
                Expression::Path(path) if self.field(path).is_ok() => self.field(path)?.0,
                number => self.names.number(number, Some(bits))?.to_string(),
            };
            if from != to {
                self.code.push(format!("mov {to} {from}"));
            }
            return Ok(());
        };
        let instruction = match operator {
            Binary::Add => "add",
            Binary::Subtract => "sub",
            Binary::And => "and",
            Binary::Or => "or",
            Binary::Xor => "xor",
            _ => return error(*at, "a condition is not a number"),
        };
        let right = match &**right {
            compound @ Expression::Binary(..) => {
                let temporary = self.temporary(bits);
                self.assign(&temporary, bits, compound)?;
                temporary
            }
            leaf => {
                let operand = self.leaf(leaf, Some(bits))?;
                let begins_with_it = matches!(&**left,
                    Expression::Path(path) if self.field(path).is_ok_and(|(f, _)| f == to));
                if operand == to && !begins_with_it {
                    let temporary = self.temporary(bits);
                    self.code.push(format!("mov {temporary} {operand}"));
                    temporary
                } else {
                    operand
                }
            }
        };
        if to.starts_with("t.")
            || right.starts_with("t.")
                && !to.starts_with("m.")
                && matches!(instruction, "add" | "sub")
        {
            return error(
                *at,
                "SWX has no sum of a header and a parameter: put the parameter into metadata first",
            );
        }
        self.assign(to, bits, left)?;
        self.code.push(format!("{instruction} {to} {right}"));
        Ok(())
    }

    fn operand(&self, expression: &Expression) -> Result<Operand> {
        match expression {
            Expression::Path(path)
                if !(path.len() == 1 && self.names.constants.contains_key(&path[0].text)) =>
            {
                self.field(path).map(|(field, bits)| Operand::Field(field, bits))
            }
            Expression::Number(..) | Expression::Path(_) => Ok(Operand::Number),
            other => error(other.at(), "a field or a number is expected here"),
        }
    }

    /// A field or number of this width.
    fn leaf(&self, expression: &Expression, bits: Option<u32>) -> Result<String> {
        match self.operand(expression)? {
            Operand::Field(field, own) => match bits {
                Some(bits) if bits != own => {
                    error(expression.at(), format!("this has {own} bits where {bits} are expected"))
                }
                _ => Ok(field),
            },
            Operand::Number => self.names.number(expression, bits).map(|number| number.to_string()),
        }
    }

    fn field_leaf(&self, expression: &Expression) -> Result<String> {
        match self.operand(expression)? {
            Operand::Field(field, _) => Ok(field),
            Operand::Number => error(expression.at(), "a field is expected here"),
        }
    }

    fn call(&mut self, path: &[Name], arguments: &[Expression]) -> Result<()> {
        if let Some((header, method)) = self.header_of(path) {
            self.header_type(header)?;
            let instruction = match method.text.as_str() {
                "setValid" => "validate",
                "setInvalid" => "invalidate",
                other => {
                    return error(
                        method.at,
                        format!("{other:?} of a header is not within the subset here"),
                    );
                }
            };
            self.code.push(format!("{instruction} h.{}", header.text));
            return Ok(());
        }
        match (path, arguments) {
            ([packet, method], [Expression::Path(header)])
                if self.roles.get(&packet.text) == Some(&Role::Packet)
                    && method.text == "extract" =>
            {
                match &header[..] {
                    [first, name] if self.roles.get(&first.text) == Some(&Role::Headers) => {
                        self.header_type(name)?;
                        self.code.push(format!("extract h.{}", name.text));
                        Ok(())
                    }
                    _ => error(packet.at, "extract needs one header"),
                }
            }
            ([function], []) if function.text == "drop_packet" => {
                self.drops = true;
                self.code.push("mov m.drop 1".into());
                Ok(())
            }
            ([table, method], []) if method.text == "apply" => self.apply(table),
            ([counter, method], [index, bytes]) if method.text == "count" => {
                if !self.counters.iter().any(|(name, _)| *name == counter.text) {
                    return error(
                        counter.at,
                        format!("counter {:?} is not declared", counter.text),
                    );
                }
                let (index, bytes) = (self.leaf(index, Some(32))?, self.field_leaf(bytes)?);
                self.code.push(format!("regadd {}_packets {index} 1", counter.text));
                self.code.push(format!("regadd {}_bytes {index} {bytes}", counter.text));
                Ok(())
            }
            ([action], []) if !self.in_action && self.actions.contains_key(&action.text) => {
                let body = self.actions[&action.text].clone();
                if !body.parameters.is_empty() {
                    return error(
                        action.at,
                        format!(
                            "the action {:?} has parameters, which only a table can supply",
                            action.text
                        ),
                    );
                }
                let end = self.code.label();
                self.statements(&body.body, &end)?;
                self.code.set_label(end);
                Ok(())
            }
            _ => {
                let written: Vec<&str> = path.iter().map(|name| name.text.as_str()).collect();
                error(
                    path[0].at,
                    format!(
                        "unknown call {}(…) with {} arguments",
                        written.join("."),
                        arguments.len()
                    ),
                )
            }
        }
    }

    fn apply(&mut self, table: &Name) -> Result<()> {
        if self.in_action {
            return error(table.at, "an action cannot apply tables");
        }
        if !self.tables.contains(&table.text) {
            return error(table.at, format!("table {:?} is not declared", table.text));
        }
        for line in self.shadows.get(&table.text).cloned().unwrap_or_default() {
            self.code.push(line);
        }
        self.code.push(format!("table {}", table.text));
        Ok(())
    }

    /// Jumps to `no` unless the condition holds.
    fn unless(&mut self, condition: &Expression, no: &str) -> Result<()> {
        self.branch(condition, no, false)
    }

    /// Jumps to a label if the condition equals a value; continues otherwise.
    fn branch(&mut self, condition: &Expression, label: &str, when: bool) -> Result<()> {
        match condition {
            Expression::Boolean(value, _) => {
                if *value == when {
                    self.code.jump("jmp", label, String::new());
                }
                Ok(())
            }
            Expression::Not(inner, _) => self.branch(inner, label, !when),
            Expression::Binary(operator @ (Binary::Both | Binary::Either), left, right, _) => {
                if (*operator == Binary::Both) == when {
                    // Both have to hold: the first false one decides.
                    let past = self.code.label();
                    self.branch(left, &past, !when)?;
                    self.branch(right, label, when)?;
                    self.code.set_label(past);
                } else {
                    self.branch(left, label, when)?;
                    self.branch(right, label, when)?;
                }
                Ok(())
            }
            Expression::Binary(operator, left, right, _) => {
                self.comparison(*operator, left, right, label, when)
            }
            Expression::Call(path, arguments, behind) if arguments.is_empty() => {
                if let Some((header, method)) = self.header_of(path)
                    && method.text == "isValid"
                    && behind.is_empty()
                {
                    self.header_type(header)?;
                    self.code.jump(
                        if when { "jmpv" } else { "jmpnv" },
                        label,
                        format!("h.{}", header.text),
                    );
                    return Ok(());
                }
                let ([table, method], [outcome]) = (&path[..], &behind[..]) else {
                    return error(condition.at(), "a condition is expected here");
                };
                let hit = match (method.text.as_str(), outcome.text.as_str()) {
                    ("apply", "hit") => true,
                    ("apply", "miss") => false,
                    _ => return error(outcome.at, "write .apply().hit or .apply().miss"),
                };
                self.apply(table)?;
                self.code.jump(if hit == when { "jmph" } else { "jmpnh" }, label, String::new());
                Ok(())
            }
            other => error(other.at(), "a condition is expected here"),
        }
    }

    fn comparison(
        &mut self,
        operator: Binary,
        left: &Expression,
        right: &Expression,
        label: &str,
        when: bool,
    ) -> Result<()> {
        use Binary::*;
        let (mut operator, mut left, mut right) = (operator, left, right);
        if matches!(self.operand(left), Ok(Operand::Number)) {
            (left, right) = (right, left);
            operator = match operator {
                Less => Greater,
                Greater => Less,
                AtMost => AtLeast,
                AtLeast => AtMost,
                same => same,
            };
        }
        let Operand::Field(a, bits) = self.operand(left)? else {
            return error(left.at(), "one side of a comparison has to be a field");
        };
        let b = self.leaf(right, Some(bits))?;
        if !when {
            operator = match operator {
                Equal => Unequal,
                Unequal => Equal,
                Less => AtLeast,
                Greater => AtMost,
                AtMost => Greater,
                AtLeast => Less,
                _ => return error(left.at(), "a condition is expected here"),
            };
        }
        let instructions: &[&'static str] = match operator {
            Equal => &["jmpeq"],
            Unequal => &["jmpneq"],
            Less => &["jmplt"],
            Greater => &["jmpgt"],
            AtMost => &["jmplt", "jmpeq"],
            AtLeast => &["jmpgt", "jmpeq"],
            _ => return error(left.at(), "a condition is expected here"),
        };
        for instruction in instructions {
            self.code.jump(instruction, label, format!("{a} {b}"));
        }
        Ok(())
    }
}
