//! The states of a parser.
use super::Emitter;
use super::values::number;
use crate::ast::*;
use crate::error::error;
use crate::lower::Result;
use std::collections::{BTreeMap, BTreeSet};

fn targets(state: &State) -> Vec<&str> {
    match &state.transition {
        Transition::To(name) => vec![name.text.as_str()],
        Transition::Select(_, cases) => {
            cases.iter().map(|(_, name, _)| name.text.as_str()).collect()
        }
    }
}

/// The headers that a state extracts.
fn taken(state: &State) -> Vec<&Name> {
    fn of(statement: &Statement) -> Option<&Name> {
        let Statement::Call(Expression::Call(path, arguments, _)) = statement else { return None };
        match (&path[..], &arguments[..]) {
            ([_, method], [Expression::Path(header)]) if method.text == "extract" => header.get(1),
            _ => None,
        }
    }
    state.body.iter().filter_map(of).collect()
}

impl Emitter {
    /// The states in topological order: there are no loops.
    fn in_order(parser: &Parser) -> Vec<&State> {
        let by_name: BTreeMap<&str, &State> =
            parser.states.iter().map(|s| (s.name.text.as_str(), s)).collect();
        fn visit<'a>(name: &str, states: &BTreeMap<&str, &'a State>, order: &mut Vec<&'a State>) {
            let Some(state) = states.get(name) else { return };
            if !order.iter().any(|done| done.name == state.name) {
                targets(state).into_iter().rev().for_each(|target| visit(target, states, order));
                order.push(state);
            }
        }
        let mut order = Vec::new();
        visit("start", &by_name, &mut order);
        order.reverse();
        order
    }

    /// Which headers are extracted together, and in which order; returns the bytes of the longest
    /// path.
    pub(super) fn analyse_states(&mut self, parser: &Parser) -> Result<u32> {
        // By state, over all paths to it: the headers of every path, the headers of any path, and
        // bytes.
        type Paths = (BTreeSet<String>, BTreeSet<String>, u32);
        let mut paths: BTreeMap<String, Paths> = BTreeMap::new();
        paths.insert("start".into(), Default::default());
        let mut longest = 0;
        for state in Self::in_order(parser) {
            let (mut always, mut ever, mut bytes) = paths[&state.name.text].clone();
            for header in taken(state) {
                if ever.contains(&header.text) {
                    return error(
                        header.at,
                        format!("{:?} may have been extracted before this state", header.text),
                    );
                }
                bytes += self.size_of(&header.text);
                self.before.extend(ever.iter().map(|first| (first.clone(), header.text.clone())));
                always.insert(header.text.clone());
                ever.insert(header.text.clone());
                match self.taken.get_mut(&header.text) {
                    Some(with) => with.retain(|one| always.contains(one)),
                    None => drop(self.taken.insert(header.text.clone(), always.clone())),
                }
            }
            longest = longest.max(bytes);
            for target in targets(state) {
                let new = (always.clone(), ever.clone(), bytes);
                match paths.get_mut(target) {
                    Some((all, some, max)) => {
                        all.retain(|one| new.0.contains(one));
                        some.extend(new.1);
                        *max = new.2.max(*max);
                    }
                    None => drop(paths.insert(target.into(), new)),
                }
            }
        }
        Ok(longest)
    }

    pub(super) fn states(&mut self, parser: &Parser) -> Result<()> {
        let mut present: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for state in Self::in_order(parser) {
            self.present = present.remove(&state.name.text).unwrap_or_default();
            self.line(&format!("state_{}:;", state.name.text));
            self.statements(&state.body, "control")?;
            for target in targets(state) {
                match present.get_mut(target) {
                    Some(there) => there.retain(|one| self.present.contains(one)),
                    None => drop(present.insert(target.into(), self.present.clone())),
                }
            }
            let to = |name: &Name| match name.text.as_str() {
                "accept" => "goto control;".to_owned(),
                other => format!("goto state_{other};"),
            };
            match &state.transition {
                Transition::To(name) => self.line(&to(name)),
                Transition::Select(of, cases) => self.cases(of, cases, &to)?,
            }
        }
        Ok(())
    }

    fn cases(
        &mut self,
        of: &[Expression],
        cases: &[(Vec<Match>, Name, crate::Position)],
        to: &dyn Fn(&Name) -> String,
    ) -> Result<()> {
        self.line("{");
        self.depth += 1;
        let mut fields = Vec::new();
        for (n, expression) in of.iter().enumerate() {
            let (value, bits) = match expression {
                Expression::Path(path) => {
                    let (field, bits) = self.lowering.field(path)?;
                    (self.read(&field), bits)
                }
                Expression::Lookahead(_, bits, _) => {
                    self.line(&format!("if (at + {} > end)", bits / 8));
                    self.line("\treturn TRUNCATED;");
                    (format!("get{bits}(at)"), *bits)
                }
                other => return error(other.at(), "a field, or a lookahead, is expected here"),
            };
            self.line(&format!("const {} s{n} = {value};", super::values::of(bits)));
            fields.push((format!("s{n}"), bits));
        }
        for (matches, name, _) in cases {
            let mut tests = Vec::new();
            for (one, (field, bits)) in matches.iter().zip(&fields) {
                let constant = |value: &Expression| self.lowering.names.number(value, Some(*bits));
                match one {
                    Match::Default => {}
                    Match::Value(value) => {
                        tests.push(format!("{field} == {}", number(constant(value)?)))
                    }
                    Match::Masked(value, mask) => {
                        tests.push(Self::masked(field, constant(value)?, constant(mask)?))
                    }
                }
            }
            if !tests.is_empty() {
                let test = tests.join(" && ");
                self.line(&format!("if ({test})"));
                self.line(&format!("\t{}", to(name)));
            } else {
                self.line(&to(name));
                break;
            }
        }
        self.depth -= 1;
        self.line("}");
        Ok(())
    }
}
