//! Entries and updates, and the targets that apply them.
use crate::error::TargetError;

/// How one field of a key is matched. Values are as wide as the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FieldMatch {
    /// Exactly this value.
    Exact(u64),
    /// A prefix: the first bits of this value.
    Lpm(u64, u32),
    /// Ternary: this value, where the mask has ones.
    Ternary(u64, u64),
    /// A range, both ends included.
    Range(u64, u64),
}

/// The key of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// One per field of the key.
    pub fields: Vec<FieldMatch>,
    /// The highest one matches first; 0 where the table is exact.
    pub priority: u32,
}

/// An action with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Index of the action in the program.
    pub action: usize,
    /// One for each parameter.
    pub arguments: Vec<u64>,
}

/// An entry of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableEntry {
    /// Index of the table in the program.
    pub table: usize,
    /// The key.
    pub key: Key,
    /// The action.
    pub call: Call,
    /// Metadata of the controller.
    pub metadata: Vec<u8>,
}

/// The kind of update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Insert a new entry.
    Insert,
    /// Modify an existing entry.
    Modify,
    /// Delete an existing entry.
    Delete,
}

/// One change that a controller requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// The operation.
    pub operation: Operation,
    /// The entry; a deletion ignores its action.
    pub entry: TableEntry,
}

/// An entry in a target's form: values, masks for ternary tables, priority 0 first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawEntry {
    /// One for each field of the key.
    pub values: Vec<u64>,
    /// The mask of each; `None` where the table is exact.
    pub masks: Option<Vec<u64>>,
    /// 0 is the first to match.
    pub priority: u32,
    /// Index of the action in the program.
    pub action: usize,
    /// One for each parameter.
    pub arguments: Vec<u64>,
}

/// A change of one key of an exact table: old entry, new entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Index of the table in the program.
    pub table: usize,
    /// The existing entry.
    pub before: Option<RawEntry>,
    /// The new entry.
    pub after: Option<RawEntry>,
}

/// The complete new content of a ternary table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuild {
    /// Index of the table in the program.
    pub table: usize,
    /// Its entries.
    pub entries: Vec<RawEntry>,
}

/// A meter: index of its array, index in it, rate in bytes per second and burst in bytes; `None` is
/// unlimited.
pub type MeterSetting = (usize, u32, Option<(u64, u64)>);

/// A switch that applies checked changes.
pub trait Target: Send + Sync {
    /// Applies all changes atomically with respect to packets, or none.
    fn commit(&self, changes: &[Change], rebuilds: &[Rebuild]) -> Result<(), TargetError>;
    /// Sets the default action of a table.
    fn set_default(&self, table: usize, call: &Call) -> Result<(), TargetError>;
    /// Packets and bytes of a counter since the switch started.
    fn counter(&self, counter: usize, index: u32) -> Result<(u64, u64), TargetError>;
    /// Sets a meter: rate in bytes per second and burst in bytes; `None` is unlimited.
    fn set_meter(
        &self,
        meter: usize,
        index: u32,
        rate: Option<(u64, u64)>,
    ) -> Result<(), TargetError>;
    /// Sends a frame out of a port.
    fn send(&self, port: u32, frame: &[u8]) -> Result<(), TargetError>;
    /// Takes a frame for the controller, with its ingress port.
    fn receive(&self) -> Option<(u32, Vec<u8>)>;
    /// Number of ports, without the controller's.
    fn ports(&self) -> u32;
    /// Status for operators: pairs of name and value.
    fn status(&self) -> Vec<(String, String)>;
}
