//! The tables of a switch as a controller sees them. Each write is checked against the program; a
//! batch is atomic.
use crate::error::{BatchError, Code, WriteError, refuse};
use crate::model::*;
use crate::ranges::prefixes;
use martlet_p4c_swx::Program;
use martlet_p4c_swx::p4info::{Action, MatchKind, Table};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The highest priority that a controller may give.
pub const HIGHEST_PRIORITY: u32 = 1 << 24;

/// The highest `qfi` of an action: 6 bits of QFI (TS 38.415, 5.5.3.3). Downlink, the next bit is
/// the reflective QoS indicator (RQI, 5.5.3.4), so 64 may be added.
pub fn highest_qfi(action: &Action) -> u64 {
    if action.parameters.iter().any(|parameter| parameter.name == "teid") { 127 } else { 63 }
}

/// The configured meters: array and index, rate in bytes per second and burst in bytes.
pub type Meters = BTreeMap<(usize, u32), (u64, u64)>;

/// The content of a switch.
#[derive(Default)]
struct State {
    /// By table.
    entries: Vec<HashMap<Key, TableEntry>>,
    /// Ternary entries, with ranges expanded.
    expanded: Vec<usize>,
    defaults: Vec<Option<Call>>,
    meters: Meters,
    /// Version: the number of changes of entries.
    changes: u64,
}

/// A switch's tables and meters.
pub struct Tables {
    program: Arc<Program>,
    target: Arc<dyn Target>,
    state: Mutex<State>,
}

/// A pending insertion or deletion.
type Staged = HashMap<(usize, Key), Option<TableEntry>>;

impl Tables {
    /// The tables of a switch that runs this program, empty.
    pub fn new(program: Arc<Program>, target: Arc<dyn Target>) -> Tables {
        let n = program.info.tables.len();
        let state = State {
            entries: vec![HashMap::new(); n],
            expanded: vec![0; n],
            defaults: vec![None; n],
            meters: Meters::new(),
            changes: 0,
        };
        Tables { program, target, state: Mutex::new(state) }
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The switch.
    pub fn target(&self) -> &Arc<dyn Target> {
        &self.target
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes all updates atomically with respect to packets, or none.
    pub fn write(&self, updates: &[Update]) -> Result<(), BatchError> {
        let mut state = self.state();
        let mut staged = Staged::new();
        let mut errors = Vec::new();
        for (n, update) in updates.iter().enumerate() {
            if let Err(error) = self.stage(&state, &mut staged, update) {
                errors.push((n, error));
            }
        }
        if !errors.is_empty() {
            return Err(BatchError(errors));
        }
        self.commit(&mut state, staged).map_err(|(table, error)| {
            let last = updates.len().saturating_sub(1);
            BatchError(vec![(
                table.map_or(last, |table| self.first_excess(&state, updates, table)),
                error,
            )])
        })
    }

    /// Writes each update that is valid and fits, and reports the others. All are one commit
    /// unless they do not fit together.
    pub fn write_each(&self, updates: &[Update]) -> Vec<(usize, WriteError)> {
        let mut errors = Vec::new();
        self.write_fitting(&mut self.state(), updates, 0, &mut errors);
        errors
    }

    /// [`Tables::write_each`] for the updates of a batch from `first` on. If they do not fit, each
    /// half is written by itself.
    fn write_fitting(
        &self,
        state: &mut State,
        updates: &[Update],
        first: usize,
        errors: &mut Vec<(usize, WriteError)>,
    ) {
        let mut staged = Staged::new();
        let mut outcomes: Vec<Result<(), WriteError>> =
            updates.iter().map(|update| self.stage(state, &mut staged, update)).collect();
        if let Err((_, error)) = self.commit(state, staged) {
            if error.code == Code::ResourceExhausted && updates.len() > 1 {
                let (these, others) = updates.split_at(updates.len() / 2);
                self.write_fitting(state, these, first, errors);
                self.write_fitting(state, others, first + these.len(), errors);
                return;
            }
            outcomes.iter_mut().for_each(|outcome| {
                if outcome.is_ok() {
                    *outcome = Err(error.clone());
                }
            });
        }
        let failed = outcomes.into_iter().enumerate().filter_map(|(n, it)| Some((n, it.err()?)));
        errors.extend(failed.map(|(n, error)| (first + n, error)));
    }

    /// The first update of a batch that exceeds its table's size; deletions of the batch count
    /// first.
    fn first_excess(&self, state: &State, updates: &[Update], table: usize) -> usize {
        let of = |operation| {
            move |(_, update): &(usize, &Update)| {
                update.operation == operation && update.entry.table == table
            }
        };
        let deleted = updates.iter().enumerate().filter(of(Operation::Delete)).count();
        let size = self.program.info.tables[table].size as usize;
        let space = (size + deleted).saturating_sub(state.entries[table].len());
        let mut inserted = updates.iter().enumerate().filter(of(Operation::Insert)).map(|(n, _)| n);
        // Entries with ranges need several slots: then the last one is reported.
        inserted
            .clone()
            .nth(space)
            .or_else(|| inserted.next_back())
            .unwrap_or(updates.len().saturating_sub(1))
    }

    /// Checks an update against the program, and existing and pending entries.
    fn stage(&self, state: &State, staged: &mut Staged, update: &Update) -> Result<(), WriteError> {
        let entry = &update.entry;
        let table = &self.program.info.tables[entry.table];
        self.check_key(table, &entry.key)?;
        if update.operation != Operation::Delete {
            self.check_call(table, &entry.call, false)?;
        }
        let position = (entry.table, entry.key.clone());
        let exists = match staged.get(&position) {
            Some(staged) => staged.is_some(),
            None => state.entries[entry.table].contains_key(&entry.key),
        };
        let name = &table.alias;
        match (update.operation, exists) {
            (Operation::Insert, true) => {
                return refuse(
                    Code::AlreadyExists,
                    format!("{name} already has an entry with this key"),
                );
            }
            (Operation::Modify | Operation::Delete, false) => {
                return refuse(Code::NotFound, format!("{name} has no entry with this key"));
            }
            (Operation::Delete, true) => staged.insert(position, None),
            _ => staged.insert(position, Some(entry.clone())),
        };
        Ok(())
    }

    /// Checks the widths and match kinds of a key.
    fn check_key(&self, table: &Table, key: &Key) -> Result<(), WriteError> {
        let name = &table.alias;
        if key.fields.len() != table.keys.len() {
            return refuse(
                Code::InvalidArgument,
                format!(
                    "{name} has {} fields in its key, not {}",
                    table.keys.len(),
                    key.fields.len()
                ),
            );
        }
        let mut masked = false;
        for (field, described) in key.fields.iter().zip(&table.keys) {
            let (of, bits) = (&described.name, described.bits);
            let wide = |value: u64| -> Result<(), WriteError> {
                match bits < 64 && value >> bits != 0 {
                    true => refuse(
                        Code::InvalidArgument,
                        format!("{name}.{of} has {bits} bits: {value} does not fit"),
                    ),
                    false => Ok(()),
                }
            };
            masked |= described.kind != MatchKind::Exact;
            match (field, described.kind) {
                (FieldMatch::Exact(value), MatchKind::Exact) => wide(*value)?,
                (FieldMatch::Lpm(value, length), MatchKind::Lpm) => {
                    wide(*value)?;
                    if *length > bits {
                        return refuse(
                            Code::InvalidArgument,
                            format!(
                                "{name}.{of} has {bits} bits: a prefix of {length} is too long"
                            ),
                        );
                    }
                    if value & !prefix_mask(*length, bits) != 0 {
                        return refuse(
                            Code::InvalidArgument,
                            format!(
                                "{name}.{of}: the value has bits behind its prefix of {length}"
                            ),
                        );
                    }
                }
                (FieldMatch::Ternary(value, mask), MatchKind::Ternary) => {
                    wide(*value)?;
                    wide(*mask)?;
                    if value & !mask != 0 {
                        return refuse(
                            Code::InvalidArgument,
                            format!("{name}.{of}: the value has bits outside of its mask"),
                        );
                    }
                }
                (FieldMatch::Range(low, high), MatchKind::Range) => {
                    wide(*low)?;
                    wide(*high)?;
                    if low > high {
                        return refuse(
                            Code::InvalidArgument,
                            format!("{name}.{of}: the range from {low} to {high} is empty"),
                        );
                    }
                }
                (_, kind) => {
                    return refuse(
                        Code::InvalidArgument,
                        format!("{name}.{of} has the match kind {}", kind.names().0),
                    );
                }
            }
        }
        match (masked, key.priority) {
            (true, 0) => refuse(
                Code::InvalidArgument,
                format!("entries of {name} need a priority from 1 to {HIGHEST_PRIORITY}"),
            ),
            (true, priority) if priority > HIGHEST_PRIORITY => refuse(
                Code::InvalidArgument,
                format!("the priority {priority} exceeds the maximum of {HIGHEST_PRIORITY}"),
            ),
            (false, 1..) => refuse(
                Code::InvalidArgument,
                format!("entries of the exact table {name} have no priority"),
            ),
            _ => Ok(()),
        }
    }

    /// Checks that the table has the action, and the widths of its arguments.
    fn check_call(&self, table: &Table, call: &Call, by_default: bool) -> Result<(), WriteError> {
        let action = &self.program.info.actions[call.action];
        let allowed = table.actions.iter().any(|(id, default_only, table_only)| {
            *id == action.id && !if by_default { *table_only } else { *default_only }
        });
        if !allowed {
            return refuse(
                Code::InvalidArgument,
                format!("{} is not a valid action of {} here", action.alias, table.alias),
            );
        }
        if call.arguments.len() != action.parameters.len() {
            let (wanted, got) = (action.parameters.len(), call.arguments.len());
            return refuse(
                Code::InvalidArgument,
                format!("{} takes {wanted} parameters, not {got}", action.alias),
            );
        }
        for (value, parameter) in call.arguments.iter().zip(&action.parameters) {
            let (of, bits) = (&parameter.name, parameter.bits);
            if bits < 64 && value >> bits != 0 {
                return refuse(
                    Code::InvalidArgument,
                    format!("{}.{of} has {bits} bits: {value} does not fit", action.alias),
                );
            }
            if parameter.type_name.as_deref() == Some("port_t")
                && *value >= u64::from(self.target.ports())
            {
                let ports = self.target.ports();
                return refuse(
                    Code::InvalidArgument,
                    format!("{}.{of}: no port {value}: ports are 0 to {}", action.alias, ports - 1),
                );
            }
            if of == "qfi" && *value > highest_qfi(action) {
                let max = highest_qfi(action);
                return refuse(
                    Code::InvalidArgument,
                    format!("{}.{of}: {value} is not a QFI from 0 to {max}", action.alias),
                );
            }
            // An index beyond an array would wrap and hit another counter.
            let array = match of.as_str() {
                "counter" => self.program.info.counters.first(),
                "meter" => self.program.info.meters.first(),
                _ => None,
            };
            if let Some(array) = array.filter(|array| *value >= u64::from(array.size)) {
                return refuse(
                    Code::InvalidArgument,
                    format!(
                        "{}.{of}: {value} is beyond {}, which has {} elements",
                        action.alias, array.alias, array.size
                    ),
                );
            }
        }
        Ok(())
    }

    fn is_exact(&self, table: usize) -> bool {
        self.program.info.tables[table].keys.iter().all(|key| key.kind == MatchKind::Exact)
    }

    /// Applies the staged changes and records them.
    fn commit(&self, state: &mut State, staged: Staged) -> Result<(), (Option<usize>, WriteError)> {
        let full =
            |table, message| Err((table, WriteError { code: Code::ResourceExhausted, message }));
        let mut changes = Vec::with_capacity(staged.len());
        let mut more = vec![0isize; state.entries.len()];
        let mut masked: Vec<usize> = Vec::new();
        for ((table, key), after) in &staged {
            let before = state.entries[*table].get(key);
            more[*table] += isize::from(after.is_some()) - isize::from(before.is_some());
            if !self.is_exact(*table) {
                if !masked.contains(table) {
                    masked.push(*table);
                }
                continue;
            }
            let raw = |entry: &TableEntry| self.raw(entry).pop();
            changes.push(Change {
                table: *table,
                before: before.and_then(raw),
                after: after.as_ref().and_then(raw),
            });
        }
        // Deletions first: they free space for the rest of the batch.
        changes.sort_by_key(|change| change.after.is_some());
        for (table, more) in more.iter().enumerate() {
            let described = &self.program.info.tables[table];
            if *more > 0 && state.entries[table].len() as isize + more > described.size as isize {
                let (name, size) = (&described.alias, described.size);
                return full(
                    Some(table),
                    format!("{name} has space for {size} entries: delete some first"),
                );
            }
        }
        let mut rebuilds = Vec::new();
        for table in masked {
            let in_table = |(of, _): &&(usize, Key)| *of == table;
            let unchanged = state.entries[table]
                .values()
                .filter(|entry| !staged.contains_key(&(table, entry.key.clone())));
            let new = staged
                .iter()
                .filter(|(key, _)| in_table(key))
                .filter_map(|(_, entry)| entry.as_ref());
            let mut entries: Vec<RawEntry> =
                unchanged.chain(new).flat_map(|entry| self.raw(entry)).collect();
            let described = &self.program.info.tables[table];
            if entries.len() > described.size as usize {
                let (name, size, n) = (&described.alias, described.size, entries.len());
                let message = format!(
                    "{name} has space for {size} entries; with ranges expanded these are {n}"
                );
                return full(Some(table), message);
            }
            entries.sort_by(|a, b| {
                (a.priority, &a.values, &a.masks).cmp(&(b.priority, &b.values, &b.masks))
            });
            rebuilds.push(Rebuild { table, entries });
        }
        self.target.commit(&changes, &rebuilds).map_err(|error| (None, error.into()))?;
        for rebuild in &rebuilds {
            state.expanded[rebuild.table] = rebuild.entries.len();
        }
        state.changes += 1;
        for ((table, key), after) in staged {
            match after {
                Some(entry) => drop(state.entries[table].insert(key, entry)),
                None => drop(state.entries[table].remove(&key)),
            }
        }
        Ok(())
    }

    /// An entry in the switch's form: several where it has ranges.
    fn raw(&self, entry: &TableEntry) -> Vec<RawEntry> {
        let table = &self.program.info.tables[entry.table];
        let exact = self.is_exact(entry.table);
        let mut all: Vec<Vec<(u64, u64)>> = vec![Vec::new()];
        for (field, described) in entry.key.fields.iter().zip(&table.keys) {
            let bits = described.bits;
            let full = prefix_mask(bits, bits);
            let pairs = match *field {
                FieldMatch::Exact(value) => vec![(value, full)],
                FieldMatch::Lpm(value, length) => vec![(value, prefix_mask(length, bits))],
                FieldMatch::Ternary(value, mask) => vec![(value, mask)],
                FieldMatch::Range(low, high) => prefixes(low, high, bits),
            };
            all = all
                .into_iter()
                .flat_map(|done| pairs.iter().map(move |pair| [&done[..], &[*pair]].concat()))
                .collect();
        }
        let entry = |pairs: Vec<(u64, u64)>| RawEntry {
            values: pairs.iter().map(|(value, _)| *value).collect(),
            masks: (!exact).then(|| pairs.iter().map(|(_, mask)| *mask).collect()),
            priority: if exact { 0 } else { HIGHEST_PRIORITY - entry.key.priority },
            action: entry.call.action,
            arguments: entry.call.arguments.clone(),
        };
        all.into_iter().map(entry).collect()
    }

    /// Sets the default action of a table; `None` restores the program's.
    pub fn set_default(&self, table: usize, call: Option<Call>) -> Result<(), WriteError> {
        let described = &self.program.info.tables[table];
        if described.constant_default.is_some() {
            return refuse(
                Code::PermissionDenied,
                format!("the default action of {} is fixed by the program", described.alias),
            );
        }
        let set = call.clone().unwrap_or_else(|| self.program_default(table));
        self.check_call(described, &set, true)?;
        let mut state = self.state();
        self.target.set_default(table, &set)?;
        state.defaults[table] = call;
        Ok(())
    }

    /// The program's default action of a table.
    fn program_default(&self, table: usize) -> Call {
        let action = self.program.info.action(&self.program.spec.tables[table].default_action);
        Call { action: action.unwrap_or_default(), arguments: Vec::new() }
    }

    /// The default action of a table, where a controller has set one.
    pub fn default_of(&self, table: usize) -> Option<Call> {
        self.state().defaults[table].clone()
    }

    /// The entries of a table, ordered by key.
    pub fn entries(&self, table: usize) -> Vec<TableEntry> {
        let mut entries: Vec<TableEntry> = self.state().entries[table].values().cloned().collect();
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        entries
    }

    /// One entry.
    pub fn entry(&self, table: usize, key: &Key) -> Option<TableEntry> {
        self.state().entries[table].get(key).cloned()
    }

    /// The number of entries of a table.
    pub fn len(&self, table: usize) -> usize {
        self.state().entries[table].len()
    }

    /// Whether anything was written since `seen`, which [`Tables::counters_in_use`] sets.
    pub fn changed_since(&self, seen: u64) -> bool {
        self.state().changes != seen
    }

    /// The counters that entries use; `None` where no entry changed since `seen`, which is updated.
    pub fn counters_in_use(&self, seen: &mut u64) -> Option<BTreeSet<u32>> {
        let state = self.state();
        if std::mem::replace(seen, state.changes) == state.changes {
            return None;
        }
        let actions = &self.program.info.actions;
        let parameter = |action: usize| {
            actions[action].parameters.iter().position(|parameter| parameter.name == "counter")
        };
        let positions: Vec<Option<usize>> = (0..actions.len()).map(parameter).collect();
        let counter = |entry: &TableEntry| {
            entry.call.arguments.get(positions[entry.call.action]?).map(|n| *n as u32)
        };
        Some(state.entries.iter().flat_map(|table| table.values()).filter_map(counter).collect())
    }

    /// Restores the initial state: empties all tables atomically, then restores the program's
    /// default actions and removes the limits of all meters.
    pub fn clear(&self) -> Result<(), WriteError> {
        let mut state = self.state();
        let staged = state
            .entries
            .iter()
            .flat_map(|table| table.values())
            .map(|entry| ((entry.table, entry.key.clone()), None));
        let staged = staged.collect();
        self.commit(&mut state, staged).map_err(|(_, error)| error)?;
        for table in 0..state.defaults.len() {
            if state.defaults[table].is_some() {
                self.target.set_default(table, &self.program_default(table))?;
                state.defaults[table] = None;
            }
        }
        while let Some((&(meter, index), _)) = state.meters.first_key_value() {
            self.target.set_meter(meter, index, None)?;
            state.meters.remove(&(meter, index));
        }
        Ok(())
    }

    /// Sets a meter: rate in bytes per second and burst in bytes; `None` is unlimited.
    pub fn set_meter(
        &self,
        meter: usize,
        index: u32,
        rate: Option<(u64, u64)>,
    ) -> Result<(), WriteError> {
        let array = &self.program.info.meters[meter];
        if index >= array.size {
            return refuse(
                Code::InvalidArgument,
                format!("the meters of {} are 0 to {}", array.alias, array.size - 1),
            );
        }
        if rate.is_some_and(|(rate, burst)| rate == 0 || burst == 0) {
            return refuse(
                Code::InvalidArgument,
                "a meter needs a rate and a burst of at least 1 byte",
            );
        }
        let mut state = self.state();
        self.target.set_meter(meter, index, rate)?;
        match rate {
            Some(rate) => drop(state.meters.insert((meter, index), rate)),
            None => drop(state.meters.remove(&(meter, index))),
        }
        Ok(())
    }

    /// The meters that are set.
    pub fn meters(&self) -> Meters {
        self.state().meters.clone()
    }
}

/// A mask with as many leading ones as the prefix length.
fn prefix_mask(length: u32, bits: u32) -> u64 {
    let all = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    if length == 0 { 0 } else { all & (u64::MAX << (bits - length)) }
}
