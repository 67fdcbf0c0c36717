//! The states of a parser to instructions.
use crate::ast::*;
use crate::error::{Position, Result, error};
use crate::lower::{Lowering, Role};
use std::collections::BTreeMap;

impl Lowering {
    pub(crate) fn parser(&mut self, parser: &Parser) -> Result<()> {
        let mut states = BTreeMap::new();
        for state in &parser.states {
            if matches!(state.name.text.as_str(), "accept" | "reject")
                || states.insert(state.name.text.clone(), (state, self.code.label())).is_some()
            {
                return error(
                    state.name.at,
                    format!("the state {:?} is already declared", state.name.text),
                );
            }
        }
        if !states.contains_key("start") {
            return error(parser.name.at, "the parser has no state start");
        }
        let accept = self.code.label();
        // Each state once, followed by its successors; loops are refused.
        let mut order: Vec<&State> = Vec::new();
        let mut path = Vec::new();
        visit("start", &states, &mut path, &mut order)?;
        order.reverse();
        if let Some(unreached) =
            parser.states.iter().find(|state| !order.iter().any(|o| o.name == state.name))
        {
            return error(
                unreached.name.at,
                format!("the state {:?} is unreachable", unreached.name.text),
            );
        }
        for state in order {
            self.code.set_label(states[&state.name.text].1.clone());
            self.statements(&state.body, &accept)?;
            let to = |name: &Name| {
                if name.text == "accept" { accept.clone() } else { states[&name.text].1.clone() }
            };
            match &state.transition {
                Transition::To(name) => self.code.jump("jmp", &to(name), String::new()),
                Transition::Select(of, cases) => self.select(of, cases, &to, &accept)?,
            }
        }
        self.code.set_label(accept);
        Ok(())
    }

    pub(crate) fn select(
        &mut self,
        of: &[Expression],
        cases: &[(Vec<Match>, Name, Position)],
        to: &dyn Fn(&Name) -> String,
        accept: &str,
    ) -> Result<()> {
        let mut fields = Vec::new();
        for expression in of {
            fields.push(match expression {
                Expression::Path(path) => self.field(path)?,
                Expression::Lookahead(packet, bits, at) => self.lookahead(packet, *bits, *at)?,
                other => return error(other.at(), "a field, or a lookahead, is expected here"),
            });
        }
        let mut decided = false;
        for (matches, name, at) in cases {
            if decided {
                return error(*at, "this case is unreachable: an earlier one matches everything");
            }
            let everything = matches!(matches[..], [Match::Default]);
            if matches.len() != fields.len() && !everything {
                return error(
                    *at,
                    format!(
                        "{} values are expected here, one for each field of select",
                        fields.len()
                    ),
                );
            }
            let next = self.code.label();
            let mut tests = Vec::new();
            for (a_match, (field, bits)) in matches.iter().zip(&fields) {
                match a_match {
                    Match::Default => {}
                    Match::Value(value) => {
                        tests.push(format!("{field} {}", self.names.number(value, Some(*bits))?))
                    }
                    Match::Masked(value, mask) => {
                        let (value, mask) = (
                            self.names.number(value, Some(*bits))?,
                            self.names.number(mask, Some(*bits))?,
                        );
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
            self.code.set_label(next);
        }
        if !decided {
            // P4_16 rejects packets here, so programs have to specify the native path explicitly.
            let at = of[0].at();
            return error(
                at,
                "this select has no default: write one for packets that match no case",
            );
        }
        self.code.jump("jmp", accept, String::new());
        Ok(())
    }
}

impl Lowering {
    /// Lookahead: a header of its own that is never emitted.
    fn lookahead(&mut self, packet: &Name, bits: u32, at: Position) -> Result<(String, u32)> {
        if self.roles.get(&packet.text) != Some(&Role::Packet) {
            return error(packet.at, "lookahead applies to the packet only");
        }
        self.names.bits(&Type::Bit(bits, at))?;
        if self.headers.iter().any(|(name, _)| *name == format!("ahead{bits}")) {
            return error(
                at,
                format!(
                    "ahead{bits} is the name of what is looked ahead at: name that header \
                     otherwise"
                ),
            );
        }
        if !self.ahead.contains(&bits) {
            self.ahead.push(bits);
        }
        self.code.push(format!("lookahead h.ahead{bits}"));
        Ok((format!("h.ahead{bits}.value"), bits))
    }
}

/// Orders states topologically (in reverse).
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
                    "reject is not within the subset: accept, and let the control drop what it \
                     does not want",
                );
            }
            other if !states.contains_key(other) => {
                return error(target.at, format!("state {other:?} is not declared"));
            }
            other if path.iter().any(|on_the_way| on_the_way == other) => {
                return error(
                    target.at,
                    format!(
                        "the state {other:?} leads back to itself, which is not within the subset"
                    ),
                );
            }
            other => visit(other, states, path, order)?,
        }
    }
    path.pop();
    order.push(state);
    Ok(())
}
