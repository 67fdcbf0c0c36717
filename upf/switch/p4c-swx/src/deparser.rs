//! Lowering of a deparser: the emitted headers.
use crate::ast::*;
use crate::error::{Result, error};
use crate::lower::{Lowering, Role};

impl Lowering {
    pub(crate) fn deparser(&mut self, deparser: &Control) -> Result<()> {
        if !(deparser.actions.is_empty()
            && deparser.tables.is_empty()
            && deparser.instances.is_empty())
        {
            return error(deparser.name.at, "a deparser may only emit headers");
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
                            if path.len() == 2
                                && self.roles.get(&path[0].text) == Some(&Role::Headers) =>
                        {
                            self.header_type(&path[1])?;
                            self.code.push(format!("emit h.{}", path[1].text));
                        }
                        _ => return error(path[0].at, "emit needs one header"),
                    }
                }
                Statement::Call(other) => {
                    return error(other.at(), "a deparser may only emit headers");
                }
                Statement::Assign(path, _) => {
                    return error(path[0].at, "a deparser may only emit headers");
                }
                Statement::If(condition, ..) => {
                    return error(
                        condition.at(),
                        "a deparser emits valid headers only: write no condition",
                    );
                }
                Statement::Return(at) => {
                    return error(*at, "a deparser may only emit headers");
                }
            }
        }
        Ok(())
    }
}
