//! The tables of our program over a target that records default actions and meters.
use martlet_switch_control::model::*;
use martlet_switch_control::{Code, Tables, Target, TargetError, UPF, WriteError};
use std::sync::{Arc, Mutex};

#[derive(Default)]
struct Recorder {
    defaults: Mutex<Vec<(usize, Call)>>,
    meters: Mutex<Vec<MeterSetting>>,
}

impl Target for Recorder {
    fn commit(&self, _: &[Change], _: &[Rebuild]) -> Result<(), TargetError> {
        Ok(())
    }
    fn set_default(&self, table: usize, call: &Call) -> Result<(), TargetError> {
        self.defaults.lock().unwrap().push((table, call.clone()));
        Ok(())
    }
    fn counter(&self, _: usize, _: u32) -> Result<(u64, u64), TargetError> {
        Ok((0, 0))
    }
    fn set_meter(
        &self,
        meter: usize,
        index: u32,
        rate: Option<(u64, u64)>,
    ) -> Result<(), TargetError> {
        self.meters.lock().unwrap().push((meter, index, rate));
        Ok(())
    }
    fn send(&self, _: u32, _: &[u8]) -> Result<(), TargetError> {
        Ok(())
    }
    fn receive(&self) -> Option<(u32, Vec<u8>)> {
        None
    }
    fn ports(&self) -> u32 {
        4
    }
    fn status(&self) -> Vec<(String, String)> {
        Vec::new()
    }
}

fn tables() -> (Tables, Arc<Recorder>) {
    let program = Arc::new(martlet_p4c_swx::compile(UPF).expect("our program"));
    let target = Arc::new(Recorder::default());
    (Tables::new(program, target.clone()), target)
}

fn table(tables: &Tables, name: &str) -> usize {
    tables.program().info.table(name).expect("a table")
}

/// A call of an action without parameters.
fn call(tables: &Tables, action: &str) -> Call {
    let action = tables.program().info.action(action).expect("an action");
    Call { action, arguments: Vec::new() }
}

/// An update of the table `interfaces`, which has space for 64 entries.
fn update(tables: &Tables, operation: Operation, port: u64) -> Update {
    let entry = TableEntry {
        table: table(tables, "interfaces"),
        key: Key { fields: vec![FieldMatch::Exact(port)], priority: 0 },
        call: call(tables, "drop"),
        metadata: Vec::new(),
    };
    Update { operation, entry }
}

#[test]
fn clearing_restores_default_actions_and_meters() {
    let (tables, target) = tables();
    let (forward, drop) = (table(&tables, "ip_default_forward"), call(&tables, "drop"));
    tables.write(&[update(&tables, Operation::Insert, 1)]).expect("an entry");
    tables.set_default(forward, Some(call(&tables, "to_controller"))).expect("a default action");
    for index in [3, 9] {
        tables.set_meter(0, index, Some((125_000, 10_000))).expect("a meter");
    }
    target.defaults.lock().unwrap().clear();
    target.meters.lock().unwrap().clear();

    tables.clear().expect("cleared");
    assert_eq!(tables.len(table(&tables, "interfaces")), 0);
    assert_eq!((tables.default_of(forward), tables.meters().len()), (None, 0));
    assert_eq!(*target.defaults.lock().unwrap(), [(forward, drop)]);
    assert_eq!(*target.meters.lock().unwrap(), [(0, 3, None), (0, 9, None)]);
}

#[test]
fn updates_that_fit_are_written_beside_those_that_do_not() {
    let (tables, _) = tables();
    let mut updates = vec![update(&tables, Operation::Delete, 100)];
    updates.extend((1..=66).map(|port| update(&tables, Operation::Insert, port)));
    updates.push(update(&tables, Operation::Modify, 66));
    let of_code = |(n, error): (usize, WriteError)| (n, error.code);
    let failed: Vec<_> = tables.write_each(&updates).into_iter().map(of_code).collect();
    let expected = [
        (0, Code::NotFound),
        (65, Code::ResourceExhausted),
        (66, Code::ResourceExhausted),
        (67, Code::NotFound),
    ];
    assert_eq!(failed, expected);
    let mut ports: Vec<FieldMatch> = Vec::new();
    for entry in tables.entries(table(&tables, "interfaces")) {
        ports.extend(entry.key.fields);
    }
    assert_eq!(ports, (1..=64).map(FieldMatch::Exact).collect::<Vec<_>>());

    // Deletions of a batch make space for its insertions.
    let updates = [(Operation::Insert, 65), (Operation::Delete, 1)];
    let updates = updates.map(|(operation, port)| update(&tables, operation, port));
    assert!(tables.write_each(&updates).is_empty());
}
