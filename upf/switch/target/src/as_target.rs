//! The control plane's [`Target`] on DPDK.
use crate::error::SwitchError;
use crate::switch::{CONTROLLER, Change, Entry, HOLD, Rebuild, Switch};
use martlet_switch_control::TargetError;
use martlet_switch_control::model::{self, Call, RawEntry};
use martlet_switch_control::tables::HIGHEST_PRIORITY;
use std::sync::Arc;

/// A switch, with the numbers of its program's tables and actions.
pub struct SwitchTarget {
    switch: Arc<Switch>,
    tables: Vec<u32>,
    actions: Vec<u32>,
    /// Indexes of the actions that hold packets.
    holding: Vec<usize>,
}

impl SwitchTarget {
    /// Looks up the numbers.
    pub fn new(switch: Arc<Switch>) -> Result<SwitchTarget, SwitchError> {
        let info = &switch.program().info;
        let tables =
            info.tables.iter().map(|table| switch.table(&table.alias)).collect::<Result<_, _>>()?;
        let actions = info
            .actions
            .iter()
            .map(|action| switch.action(&action.alias))
            .collect::<Result<_, _>>()?;
        let holds = |of: &martlet_p4c_swx::p4info::Action| of.alias.starts_with("hold_");
        let holding =
            info.actions.iter().enumerate().filter(|(_, of)| holds(of)).map(|(n, _)| n).collect();
        Ok(SwitchTarget { switch, tables, actions, holding })
    }

    fn entry(&self, entry: &RawEntry) -> Entry {
        Entry {
            values: entry.values.clone(),
            masks: entry.masks.clone(),
            priority: entry.priority.min(HIGHEST_PRIORITY),
            action: self.actions[entry.action],
            arguments: entry.arguments.clone(),
        }
    }
}

fn target_error(error: SwitchError) -> TargetError {
    match error {
        SwitchError::Refused { index, errno } => TargetError::Change {
            index,
            cause: std::io::Error::from_raw_os_error(errno).to_string(),
        },
        SwitchError::Dpdk { what, errno } => {
            TargetError::engine(what, std::io::Error::from_raw_os_error(errno))
        }
        other => TargetError::engine("the switch", other),
    }
}

impl model::Target for SwitchTarget {
    fn commit(
        &self,
        changes: &[model::Change],
        rebuilds: &[model::Rebuild],
    ) -> Result<(), TargetError> {
        let entry = |entry: &Option<RawEntry>| entry.as_ref().map(|entry| self.entry(entry));
        let held = |entry: &RawEntry| self.holding.contains(&entry.action);
        let releases = changes.iter().any(|change| change.before.as_ref().is_some_and(held));
        let changes: Vec<Change> = changes
            .iter()
            .map(|change| Change {
                table: self.tables[change.table],
                before: entry(&change.before),
                after: entry(&change.after),
            })
            .collect();
        let rebuilds: Vec<Rebuild> = rebuilds
            .iter()
            .map(|rebuild| Rebuild {
                table: self.tables[rebuild.table],
                entries: rebuild.entries.iter().map(|entry| self.entry(entry)).collect(),
            })
            .collect();
        let outcome = match releases {
            true => self.switch.commit_and_release(&changes, &rebuilds),
            false => self.switch.commit(&changes, &rebuilds),
        };
        outcome.map_err(target_error)
    }

    fn set_default(&self, table: usize, call: &Call) -> Result<(), TargetError> {
        let action = self.actions[call.action];
        self.switch.set_default(self.tables[table], action, &call.arguments).map_err(target_error)
    }

    fn counter(&self, counter: usize, index: u32) -> Result<(u64, u64), TargetError> {
        let name = &self.switch.program().info.counters[counter].alias;
        let read =
            |of: &str| self.switch.register(&format!("{name}_{of}"), index).map_err(target_error);
        Ok((read("packets")?, read("bytes")?))
    }

    fn set_meter(
        &self,
        meter: usize,
        index: u32,
        rate: Option<(u64, u64)>,
    ) -> Result<(), TargetError> {
        let name = &self.switch.program().info.meters[meter].alias;
        self.switch.set_meter(name, index, rate).map_err(target_error)
    }

    fn send(&self, port: u32, frame: &[u8]) -> Result<(), TargetError> {
        let with_port = [&port.to_be_bytes()[..], frame].concat();
        self.switch.inject(CONTROLLER, &with_port).map_err(target_error)
    }

    fn receive(&self) -> Option<(u32, Vec<u8>)> {
        let frame = self.switch.collect(CONTROLLER)?;
        let (port, payload) = frame.split_at_checked(4)?;
        Some((u32::from_be_bytes(port.try_into().ok()?), payload.to_vec()))
    }

    fn ports(&self) -> u32 {
        HOLD
    }

    fn status(&self) -> Vec<(String, String)> {
        let mut status = vec![
            (
                "target".into(),
                format!("{} (a software switch: no hardware)", crate::dpdk::version()),
            ),
            ("engine".into(), self.switch.engine().name().into()),
        ];
        for port in 0..HOLD {
            status.push((format!("port {port}"), format!("{:?}", self.switch.port(port))));
        }
        status
    }
}
