//! Which headers a control may have made valid or invalid when a packet leaves, and therefore what
//! has to move.
use super::Emitter;
use crate::ast::*;
use std::collections::{BTreeMap, BTreeSet};

/// Headers whose validity may have changed since the packet arrived.
pub(super) type Changes = BTreeMap<String, bool>;
type Ways = BTreeSet<Changes>;

impl Emitter {
    /// All possible changes at the end.
    pub(super) fn changes(&self, apply: &[Statement]) -> Ways {
        let mut ends = Ways::new();
        let at_end = self.after(apply, Ways::from([Changes::new()]), &mut ends);
        ends.extend(at_end);
        ends
    }

    /// States after statements; `ends` collects those that return.
    fn after(&self, statements: &[Statement], mut ways: Ways, ends: &mut Ways) -> Ways {
        for statement in statements {
            match statement {
                Statement::Assign(..) => {}
                Statement::Return(_) => {
                    ends.append(&mut ways);
                    return ways;
                }
                Statement::Call(Expression::Call(path, ..)) => ways = self.called(path, ways),
                Statement::Call(_) => {}
                Statement::If(condition, then, otherwise) => {
                    ways = self.looked_at(condition, ways);
                    let mut both = self.after(then, ways.clone(), ends);
                    both.extend(self.after(otherwise, ways, ends));
                    ways = both;
                }
            }
        }
        ways
    }

    fn called(&self, path: &[Name], ways: Ways) -> Ways {
        match path {
            [_, header, method] if matches!(method.text.as_str(), "setValid" | "setInvalid") => {
                let valid = method.text == "setValid";
                let change = |mut way: Changes| {
                    match valid == self.taken.contains_key(&header.text) {
                        true => drop(way.remove(&header.text)),
                        false => drop(way.insert(header.text.clone(), valid)),
                    }
                    way
                };
                ways.into_iter().map(change).collect()
            }
            [table, method] if method.text == "apply" => self.applied(&table.text, ways),
            [action] => self.acted(&action.text, ways),
            _ => ways,
        }
    }

    fn applied(&self, table: &str, ways: Ways) -> Ways {
        let Some(table) = self.tables.get(table) else { return ways };
        let mut all = Ways::new();
        for action in &table.actions {
            all.extend(self.acted(&action.name.text, ways.clone()));
        }
        all
    }

    fn acted(&self, action: &str, ways: Ways) -> Ways {
        let Some(action) = self.lowering.actions.get(action) else { return ways };
        let mut returned = Ways::new();
        let mut all = self.after(&action.body, ways, &mut returned);
        all.extend(returned);
        all
    }

    fn looked_at(&self, condition: &Expression, ways: Ways) -> Ways {
        match condition {
            Expression::Not(inner, _) => self.looked_at(inner, ways),
            Expression::Binary(Binary::Both | Binary::Either, left, right, _) => {
                let mut ways = self.looked_at(left, ways);
                // The right side may not be evaluated.
                ways.extend(self.looked_at(right, ways.clone()));
                ways
            }
            Expression::Call(path, _, behind) if !behind.is_empty() => self.called(path, ways),
            _ => ways,
        }
    }

    /// Whether an unchanged header may have to move, because a later one (in `order` from `place`
    /// on) has changed.
    pub(super) fn may_move(&self, ways: &Ways, order: &[(String, bool)], place: usize) -> bool {
        let header = &order[place].0;
        let with = |later: &String| self.before.contains(&(header.clone(), later.clone()));
        ways.iter().filter(|way| !way.contains_key(header)).any(|way| {
            order[place + 1..].iter().any(|(later, emitted)| match self.taken.contains_key(later) {
                false => way.contains_key(later),
                true => with(later) && (!emitted || way.contains_key(later)),
            })
        })
    }
}
