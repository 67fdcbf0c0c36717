//! Finds the objects of our program in the P4Info of a server, which may have other numbers and
//! longer names: another compiler or architecture gives them.
use super::messages as m;
use martlet_p4c_swx::P4Info;
use martlet_p4c_swx::p4info::{Array, MatchKind};
use std::collections::BTreeMap;

/// What the server's program lacks, or has differently.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    /// There is no object of this name.
    #[error("it has no {kind} {name}")]
    Missing {
        /// `table`, `action`, `counter` or `meter`.
        kind: &'static str,
        /// The short name.
        name: String,
    },
    /// Several objects end with this name.
    #[error("it has more than one {kind} {name}")]
    Ambiguous {
        /// `table`, `action`, `counter` or `meter`.
        kind: &'static str,
        /// The short name.
        name: String,
    },
    /// A key field or parameter is missing, or has another width or match kind.
    #[error("{of}.{field} of it differs: {expected} is expected")]
    Field {
        /// Table or action.
        of: String,
        /// Key field or parameter.
        field: String,
        /// Width in bits, and match kind.
        expected: String,
    },
    /// The object is smaller than that of our program.
    #[error("{name} of it has {found} elements, {expected} are expected")]
    Size {
        /// Counter or meter.
        name: String,
        /// Elements there.
        found: i64,
        /// Elements of our program.
        expected: u32,
    },
}

/// Whether a fully qualified name (`ingress.upf.gtp_decap`) or an alias is this short one.
pub(crate) fn is_named(preamble: Option<&m::Preamble>, short: &str) -> bool {
    preamble.is_some_and(|preamble| {
        preamble.alias == short || preamble.name.rsplit('.').next() == Some(short)
    })
}

fn find<'a, T>(
    all: &'a [T],
    preamble: impl Fn(&T) -> Option<&m::Preamble>,
    kind: &'static str,
    name: &str,
) -> Result<&'a T, Difference> {
    let mut found = all.iter().filter(|one| is_named(preamble(one), name));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(Difference::Missing { kind, name: name.into() }),
        (Some(_), Some(_)) => Err(Difference::Ambiguous { kind, name: name.into() }),
    }
}

fn array(ours: &mut Array, theirs: &[m::InfoArray], kind: &'static str) -> Result<(), Difference> {
    let found = find(theirs, |one| one.preamble.as_ref(), kind, &ours.alias)?;
    if found.size < i64::from(ours.size) {
        return Err(Difference::Size {
            name: ours.alias.clone(),
            found: found.size,
            expected: ours.size,
        });
    }
    ours.id = found.preamble.as_ref().map_or(0, |preamble| preamble.id);
    Ok(())
}

/// Gives our program's objects the IDs and names that a server has for them.
///
/// # Errors
/// The server's program lacks an object, or has it with other fields. `ours` is then unspecified.
pub fn resolve(ours: &mut P4Info, theirs: &m::P4Info) -> Result<(), Difference> {
    let mut ids = BTreeMap::new();
    for action in &mut ours.actions {
        let found = find(&theirs.actions, |one| one.preamble.as_ref(), "action", &action.alias)?;
        for parameter in &mut action.parameters {
            let there = found.params.iter().find(|param| {
                param.name == parameter.name && param.bitwidth == parameter.bits as i32
            });
            let Some(there) = there else {
                return Err(Difference::Field {
                    of: action.alias.clone(),
                    field: parameter.name.clone(),
                    expected: format!("a parameter of {} bits", parameter.bits),
                });
            };
            parameter.id = there.id;
        }
        let Some(preamble) = &found.preamble else { continue };
        ids.insert(action.id, preamble.id);
        action.id = preamble.id;
        action.name.clone_from(&preamble.name);
    }
    for table in &mut ours.tables {
        let found = find(&theirs.tables, |one| one.preamble.as_ref(), "table", &table.alias)?;
        for key in &mut table.keys {
            let kind = match key.kind {
                MatchKind::Exact => 2,
                MatchKind::Lpm => 3,
                MatchKind::Ternary => 4,
                MatchKind::Range => 5,
            };
            let there = found.match_fields.iter().find(|field| {
                field.name == key.name
                    && field.bitwidth == key.bits as i32
                    && field.match_type == kind
            });
            let Some(there) = there else {
                return Err(Difference::Field {
                    of: table.alias.clone(),
                    field: key.name.clone(),
                    expected: format!("{} of {} bits", key.kind.names().0, key.bits),
                });
            };
            key.id = there.id;
        }
        for (id, ..) in &mut table.actions {
            *id = ids.get(id).copied().unwrap_or(*id);
        }
        table.constant_default = table.constant_default.and_then(|id| ids.get(&id).copied());
        let Some(preamble) = &found.preamble else { continue };
        table.id = preamble.id;
        table.name.clone_from(&preamble.name);
    }
    ours.counters.iter_mut().try_for_each(|one| array(one, &theirs.counters, "counter"))?;
    ours.meters.iter_mut().try_for_each(|one| array(one, &theirs.meters, "meter"))
}
