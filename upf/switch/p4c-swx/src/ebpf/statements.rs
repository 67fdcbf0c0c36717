//! Statements.
use super::Emitter;
use super::values::number;
use crate::ast::*;
use crate::error::{Result, error};

impl Emitter {
    /// Writes statements; `done` is the target of `return`.
    pub(super) fn statements(&mut self, statements: &[Statement], done: &str) -> Result<()> {
        let mut rest = statements;
        while let [statement, behind @ ..] = rest {
            rest = behind;
            match statement {
                Statement::Assign(path, value) => self.assignment(path, value)?,
                Statement::Call(Expression::Call(path, arguments, _)) => {
                    // Equal code at several positions is emitted once.
                    if let ([table, method], [Statement::Return(_), ..]) = (&path[..], behind)
                        && method.text == "apply"
                        && done == "deparse"
                        && self.tables.contains_key(&table.text)
                    {
                        self.ends.insert(table.text.clone());
                        self.line(&format!("goto end_{};", table.text));
                        return Ok(());
                    }
                    self.call(path, arguments)?;
                }
                Statement::Call(other) => return error(other.at(), "a call is expected here"),
                Statement::Return(_) => {
                    self.line(&format!("goto {done};"));
                    return Ok(());
                }
                Statement::If(condition, then, otherwise) => {
                    let test = self.condition(condition)?;
                    self.line(&format!("if ({test}) {{"));
                    let present = self.present.clone();
                    self.assume(condition);
                    self.inner(then, done)?;
                    self.present.clone_from(&present);
                    if !otherwise.is_empty() {
                        self.line("} else {");
                        self.inner(otherwise, done)?;
                        self.present = present;
                    }
                    self.line("}");
                }
            }
        }
        Ok(())
    }

    fn inner(&mut self, statements: &[Statement], done: &str) -> Result<()> {
        self.depth += 1;
        let outcome = self.statements(statements, done);
        self.depth -= 1;
        outcome
    }

    fn assignment(&mut self, path: &[Name], value: &Expression) -> Result<()> {
        let (to, bits) = self.lowering.field(path)?;
        let value = match value {
            Expression::Call(called, arguments, _) => match (&called[..], &arguments[..]) {
                ([_], [Expression::Path(header)]) => self.checksum(&header[1].text, &path[2].text),
                ([meter, _], [index, bytes]) => {
                    let (index, bytes) = (self.value(index, 32)?, self.value(bytes, 64)?);
                    format!("meter_{}({index}, {bytes})", meter.text)
                }
                _ => return error(called[0].at, "unknown call"),
            },
            other => self.value(other, bits)?,
        };
        let line = self.write(&to, &value);
        self.line(&line);
        Ok(())
    }

    /// The checksum of a header without its checksum field (RFC 1071).
    fn checksum(&self, header: &str, but: &str) -> String {
        let mut terms = Vec::new();
        let mut offset = 0;
        for (field, bits) in self.fields_of(header) {
            let (bytes, first) = (bits / 8, offset);
            offset += bytes;
            if field == but {
                continue;
            }
            let value = self.read(&format!("h.{header}.{field}"));
            for n in (0..bytes).rev() {
                // Bytes at even offsets are the high ones.
                let position = first + bytes - 1 - n;
                let pair = position % 2 == 0 && n > 0;
                let after_pair = position % 2 == 1 && position > first;
                if pair {
                    terms.push(format!("((u64){value} >> {} & 0xffff)", 8 * (n - 1)));
                } else if !after_pair {
                    let shift = if position % 2 == 0 { " << 8" } else { "" };
                    terms.push(format!("(((u64){value} >> {} & 0xff){shift})", 8 * n));
                }
            }
        }
        format!("internet_checksum({})", terms.join(" + "))
    }

    fn call(&mut self, path: &[Name], arguments: &[Expression]) -> Result<()> {
        match (path, arguments) {
            ([_, header, method], []) => {
                let valid = u32::from(method.text == "setValid");
                match self.taken.contains_key(&header.text) {
                    true => self.line(&format!("removed_{} = 1;", header.text)),
                    false => self.line(&format!("v_{} = {valid};", header.text)),
                }
            }
            ([_, method], [Expression::Path(header)]) if method.text == "extract" => {
                self.extract(&header[1].text)
            }
            ([function], []) if function.text == "drop_packet" => self.line("m_drop = 1;"),
            ([table, method], []) if method.text == "apply" => self.apply_alone(&table.text)?,
            ([counter, method], [index, bytes]) if method.text == "count" => {
                let (index, bytes) = (self.value(index, 32)?, self.value(bytes, 64)?);
                self.line(&format!("count_{}({index}, {bytes});", counter.text));
            }
            ([action], []) => self.action(&action.text)?,
            _ => return error(path[0].at, "unknown call"),
        }
        Ok(())
    }

    /// A table whose result is not used.
    pub(super) fn apply_alone(&mut self, table: &str) -> Result<()> {
        self.line("{");
        self.depth += 1;
        self.line("int hit;");
        self.apply(table)?;
        self.line("(void)hit;");
        self.depth -= 1;
        self.line("}");
        Ok(())
    }

    /// The body of an action.
    pub(super) fn action(&mut self, name: &str) -> Result<()> {
        let action = self.lowering.actions[name].clone();
        if action.body.is_empty() {
            return Ok(());
        }
        let fields =
            self.program.info.actions.iter().find(|of| of.alias == name).expect("an action");
        let arguments = fields.parameters.iter().map(|of| (of.name.clone(), of.bits)).collect();
        let outside = std::mem::replace(&mut self.lowering.arguments, arguments);
        let done = self.label("action");
        self.statements(&action.body, &done)?;
        if self.text.contains(&format!("goto {done};")) {
            self.line(&format!("{done}:;"));
        }
        self.lowering.arguments = outside;
        Ok(())
    }

    pub(super) fn extract(&mut self, header: &str) {
        let size = self.size_of(header);
        self.line(&format!("if (at + {size} > end)"));
        self.line("\treturn TRUNCATED;");
        self.line(&format!("h_{header} = at;"));
        self.line(&format!("at += {size};"));
        self.present.insert(header.into());
    }

    /// A value with a mask, in a select.
    pub(super) fn masked(field: &str, value: u64, mask: u64) -> String {
        format!("({field} & {}) == {}", number(mask), number(value & mask))
    }
}
