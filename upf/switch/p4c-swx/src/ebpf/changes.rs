//! Which headers a control may have made valid or invalid when a packet leaves, and therefore what
//! has to move.
use super::Emitter;
use crate::ast::*;
use std::collections::{BTreeMap, BTreeSet};

/// Headers whose validity may have changed since the packet arrived.
pub(super) type Changes = BTreeMap<String, bool>;
type Outcomes = BTreeSet<Changes>;

impl Emitter {
    /// All possible changes at the end.
    pub(super) fn changes(&self, apply: &[Statement]) -> Outcomes {
        let mut ends = Outcomes::new();
        let at_end = self.after(apply, Outcomes::from([Changes::new()]), &mut ends);
        ends.extend(at_end);
        ends
    }

    /// States after statements; `ends` collects those that return.
    fn after(
        &self,
        statements: &[Statement],
        mut outcomes: Outcomes,
        ends: &mut Outcomes,
    ) -> Outcomes {
        for statement in statements {
            match statement {
                Statement::Assign(..) => {}
                Statement::Return(_) => {
                    ends.append(&mut outcomes);
                    return outcomes;
                }
                Statement::Call(Expression::Call(path, ..)) => {
                    outcomes = self.called(path, outcomes)
                }
                Statement::Call(_) => {}
                Statement::If(condition, then, otherwise) => {
                    outcomes = self.evaluated(condition, outcomes);
                    let mut both = self.after(then, outcomes.clone(), ends);
                    both.extend(self.after(otherwise, outcomes, ends));
                    outcomes = both;
                }
            }
        }
        outcomes
    }

    fn called(&self, path: &[Name], outcomes: Outcomes) -> Outcomes {
        match path {
            [_, header, method] if matches!(method.text.as_str(), "setValid" | "setInvalid") => {
                let valid = method.text == "setValid";
                let change = |mut outcome: Changes| {
                    match valid == self.taken.contains_key(&header.text) {
                        true => drop(outcome.remove(&header.text)),
                        false => drop(outcome.insert(header.text.clone(), valid)),
                    }
                    outcome
                };
                outcomes.into_iter().map(change).collect()
            }
            [table, method] if method.text == "apply" => self.applied(&table.text, outcomes),
            [action] => self.acted(&action.text, outcomes),
            _ => outcomes,
        }
    }

    fn applied(&self, table: &str, outcomes: Outcomes) -> Outcomes {
        let Some(table) = self.tables.get(table) else { return outcomes };
        let mut all = Outcomes::new();
        for action in &table.actions {
            all.extend(self.acted(&action.name.text, outcomes.clone()));
        }
        all
    }

    fn acted(&self, action: &str, outcomes: Outcomes) -> Outcomes {
        let Some(action) = self.lowering.actions.get(action) else { return outcomes };
        let mut returned = Outcomes::new();
        let mut all = self.after(&action.body, outcomes, &mut returned);
        all.extend(returned);
        all
    }

    fn evaluated(&self, condition: &Expression, outcomes: Outcomes) -> Outcomes {
        match condition {
            Expression::Not(inner, _) => self.evaluated(inner, outcomes),
            Expression::Binary(Binary::Both | Binary::Either, left, right, _) => {
                let mut outcomes = self.evaluated(left, outcomes);
                // The right side may not be evaluated.
                outcomes.extend(self.evaluated(right, outcomes.clone()));
                outcomes
            }
            Expression::Call(path, _, behind) if !behind.is_empty() => self.called(path, outcomes),
            _ => outcomes,
        }
    }

    /// Whether an unchanged header may have to move, because a later one (in `order` from
    /// `position` on) has changed.
    pub(super) fn may_move(
        &self,
        outcomes: &Outcomes,
        order: &[(String, bool)],
        position: usize,
    ) -> bool {
        let header = &order[position].0;
        let with = |later: &String| self.before.contains(&(header.clone(), later.clone()));
        outcomes.iter().filter(|outcome| !outcome.contains_key(header)).any(|outcome| {
            order[position + 1..].iter().any(|(later, emitted)| {
                match self.taken.contains_key(later) {
                    false => outcome.contains_key(later),
                    true => with(later) && (!emitted || outcome.contains_key(later)),
                }
            })
        })
    }
}
