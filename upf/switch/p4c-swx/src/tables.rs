//! Tables and their keys.
use crate::ast::*;
use crate::error::{Result, error};
use crate::lower::Lowering;
use crate::p4info::{self, MatchKind, Numbers, P4Info};
use crate::spec::{self, Spec};

impl Lowering {
    pub(crate) fn tables(
        &mut self,
        control: &Control,
        spec: &mut Spec,
        info: &mut P4Info,
        numbers: &mut Numbers,
    ) -> Result<()> {
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
                let Some(action) = info.actions.iter().find(|action| action.alias == name.text)
                else {
                    return error(name.at, format!("{:?} is not an action", name.text));
                };
                if actions.iter().any(|(taken, _)| *taken == name.text) {
                    return error(name.at, format!("{:?} is listed twice", name.text));
                }
                let mut scope = spec::Scope::Everywhere;
                for annotation in &reference.annotations {
                    scope = match annotation.name.text.as_str() {
                        "tableonly" => spec::Scope::TableOnly,
                        "defaultonly" => spec::Scope::DefaultOnly,
                        other => {
                            return error(
                                annotation.name.at,
                                format!("@{other} is not within the subset here"),
                            );
                        }
                    };
                }
                actions.push((name.text.clone(), scope));
                references.push((
                    action.id,
                    scope == spec::Scope::DefaultOnly,
                    scope == spec::Scope::TableOnly,
                ));
            }
            let listed = actions.iter().find(|(name, _)| *name == default.text);
            let Some((_, scope)) = listed else {
                return error(
                    default.at,
                    format!("{:?} is not among the actions of the table", default.text),
                );
            };
            if *scope == spec::Scope::TableOnly
                || !self.actions[&default.text].parameters.is_empty()
            {
                return error(
                    default.at,
                    format!(
                        "{:?} cannot be the default action: it has parameters, or is for entries \
                         only",
                        default.text
                    ),
                );
            }
            let default_id = info
                .actions
                .iter()
                .find(|action| action.alias == default.text)
                .map(|action| action.id);
            spec.tables.push(spec::Table {
                name: alias.clone(),
                keys,
                actions,
                default_action: default.text.clone(),
                constant_default: *constant_default,
                size,
            });
            let name = control.full_name(&alias);
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

    /// The key fields of a table: consecutive in one struct for SWX, and as written for
    /// controllers.
    #[allow(clippy::type_complexity)]
    pub(crate) fn keys(
        &mut self,
        table: &Table,
    ) -> Result<(Vec<(String, spec::Match)>, Vec<p4info::Key>)> {
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
                        format!("{other:?} is not a match kind: use exact, lpm, ternary or range"),
                    );
                }
            };
            let written: Vec<&str> = key.field.iter().map(|name| name.text.as_str()).collect();
            let mut name = written.join(".");
            for annotation in &key.annotations {
                match (annotation.name.text.as_str(), &annotation.value) {
                    ("name", Some(value)) => name = value.clone(),
                    _ => {
                        return error(
                            annotation.name.at,
                            "of keys only @name(\"...\") is within the subset",
                        );
                    }
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
        // As other back ends demand it: a longest prefix is ambiguous beside other masks.
        let prefix = described.iter().position(|key| key.kind == MatchKind::Lpm);
        let masked = described.iter().filter(|key| key.kind != MatchKind::Exact).count();
        if let Some(prefix) = prefix.filter(|_| masked > 1) {
            let message = "all other fields of a key with an lpm field have to be exact";
            return error(table.keys[prefix].kind.at, message);
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

    /// Whether fields are consecutive in one struct.
    pub(crate) fn adjacent(&self, fields: &[(String, u32)]) -> bool {
        let Some((of, first)) = fields[0].0.rsplit_once('.') else { return false };
        let all: Vec<&str> = match of.strip_prefix("h.") {
            Some(header) => {
                let Some((_, of)) = self.headers.iter().find(|(name, _)| name == header) else {
                    return false;
                };
                self.names.headers[of].iter().map(|(name, _)| name.as_str()).collect()
            }
            None => self.metadata.iter().map(|(name, _)| name.as_str()).collect(),
        };
        let Some(start) = all.iter().position(|name| *name == first) else { return false };
        fields.iter().enumerate().all(|(n, (field, _))| {
            all.get(start + n).is_some_and(|name| *field == format!("{of}.{name}"))
        })
    }
}
