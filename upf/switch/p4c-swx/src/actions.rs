//! Actions.
use crate::ast::*;
use crate::code::Code;
use crate::error::error;
use crate::lower::{Lowering, Result};
use crate::names::Fields;
use crate::p4info::{self, Numbers, P4Info};
use crate::spec::{self, Spec};

impl Lowering {
    pub(crate) fn actions(
        &mut self,
        control: &Control,
        spec: &mut Spec,
        info: &mut P4Info,
        numbers: &mut Numbers,
    ) -> Result<()> {
        let no_action = Action {
            name: Name { text: "NoAction".into(), at: control.name.at },
            parameters: vec![],
            body: vec![],
        };
        for action in std::iter::once(&no_action).chain(&control.actions) {
            self.names.take(&action.name)?;
            let mut arguments = Fields::new();
            let mut parameters = Vec::new();
            for parameter in &action.parameters {
                if let Some(direction) = &parameter.direction {
                    return error(
                        direction.at,
                        "parameters of actions come from the controller: write no direction",
                    );
                }
                if self.roles.contains_key(&parameter.name.text)
                    || arguments.iter().any(|(name, _)| *name == parameter.name.text)
                {
                    return error(
                        parameter.name.at,
                        format!("{:?} is already declared", parameter.name.text),
                    );
                }
                let (name, bits) = (parameter.name.text.clone(), self.names.bits(&parameter.of)?);
                let type_name = match &parameter.of {
                    Type::Named(of) => Some(of.text.clone()),
                    Type::Bit(..) => None,
                };
                arguments.push((name.clone(), bits));
                let id = arguments.len() as u32;
                parameters.push(p4info::Parameter { id, name, bits, type_name });
            }
            self.arguments = arguments.clone();
            self.in_action = true;
            self.code = Code::default();
            let done = self.code.label();
            self.statements(&action.body, &done)?;
            self.code.set_label(done);
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
            let name = if alias == "NoAction" { alias.clone() } else { control.full_name(&alias) };
            let id = numbers.of(p4info::ACTION, &name);
            info.actions.push(p4info::Action { id, name, alias: alias.clone(), parameters });
            self.actions.insert(alias, action.clone());
        }
        Ok(())
    }

    /// Emits prefetches of the counters that an action indexes, well before they are incremented:
    /// with many rules they are not cached.
    pub(crate) fn prefetch(&mut self, action: &Action, apply: &[Statement]) -> Result<()> {
        let mut counted = Vec::new();
        counts(apply, &mut counted);
        for statement in &action.body {
            let Statement::Assign(path, _) = statement else { continue };
            let (field, _) = self.field(path)?;
            for (counter, index) in &counted {
                // Drop counters are rarely incremented; the last counter is that of all packets.
                if self.field(index).is_ok_and(|(of, _)| of == field)
                    && counted.last().is_some_and(|(last, _)| last == counter)
                {
                    self.code.push(format!("regprefetch {counter}_packets {field}"));
                    self.code.push(format!("regprefetch {counter}_bytes {field}"));
                    break;
                }
            }
        }
        Ok(())
    }
}

/// The counters that statements increment, and their index fields.
fn counts(statements: &[Statement], to: &mut Vec<(String, Vec<Name>)>) {
    for statement in statements {
        match statement {
            Statement::Call(Expression::Call(path, arguments, _)) => {
                if let ([counter, method], [Expression::Path(index), _]) =
                    (&path[..], &arguments[..])
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
