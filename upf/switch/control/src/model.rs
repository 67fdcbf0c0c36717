//! What is written into a switch, and what carries it out.

/// How one field of a key is matched. Values are as wide as the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FieldMatch {
    /// This value.
    Exact(u64),
    /// The first bits of this value.
    Lpm(u64, u32),
    /// This value, where the mask has ones.
    Ternary(u64, u64),
    /// From a value to another, both within.
    Range(u64, u64),
}

/// What tells an entry of a table from the others.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// One for each field.
    pub fields: Vec<FieldMatch>,
    /// The highest matches first; 0 where the table is exact.
    pub priority: u32,
}

/// An action with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Its place among the actions of the program.
    pub action: usize,
    /// One for each parameter.
    pub arguments: Vec<u64>,
}

/// An entry of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableEntry {
    /// Place of the table among those of the program.
    pub table: usize,
    /// What it matches.
    pub key: Key,
    /// What is done then.
    pub call: Call,
    /// What the controller wants to find again.
    pub metadata: Vec<u8>,
}

/// What is done with an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// There is none yet.
    Insert,
    /// There is one.
    Modify,
    /// There is one, and it goes.
    Delete,
}

/// One change that a controller asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// What is done.
    pub operation: Operation,
    /// With which; a deletion does not look at the call.
    pub entry: TableEntry,
}

/// An entry as a target takes it: values, masks where the table has them, 0 as the first priority.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawEntry {
    /// One for each field of the key.
    pub values: Vec<u64>,
    /// The bits of each that count; `None` where the table is exact.
    pub masks: Option<Vec<u64>>,
    /// 0 is the first to match.
    pub priority: u32,
    /// Place of the action among those of the program.
    pub action: usize,
    /// One for each parameter.
    pub arguments: Vec<u64>,
}

/// One key of an exact table, from what is there to what shall be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Place of the table among those of the program.
    pub table: usize,
    /// What is there.
    pub before: Option<RawEntry>,
    /// What shall be.
    pub after: Option<RawEntry>,
}

/// All entries that a table with masks shall have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuild {
    /// Place of the table among those of the program.
    pub table: usize,
    /// Its entries.
    pub entries: Vec<RawEntry>,
}

/// A meter: place of its array, index, and octets a second and at once; `None` lets everything
/// through.
pub type MeterSetting = (usize, u32, Option<(u64, u64)>);

/// What carries out what has been checked: a switch. Errors are for people.
pub trait Target: Send + Sync {
    /// Makes all changes between two packets, or none.
    fn commit(&self, changes: &[Change], rebuilds: &[Rebuild]) -> Result<(), String>;
    /// Sets what a table does where no entry matches.
    fn set_default(&self, table: usize, call: &Call) -> Result<(), String>;
    /// Packets and octets that a counter has counted since the switch started.
    fn counter(&self, counter: usize, index: u32) -> Result<(u64, u64), String>;
    /// Sets a meter: octets a second, and at once; `None` lets everything through.
    fn set_meter(&self, meter: usize, index: u32, rate: Option<(u64, u64)>) -> Result<(), String>;
    /// Sends a frame out of a port.
    fn send(&self, port: u32, frame: &[u8]) -> Result<(), String>;
    /// Takes a frame for the controller, and the port that it came in by.
    fn receive(&self) -> Option<(u32, Vec<u8>)>;
    /// How many ports there are, without the controller's.
    fn ports(&self) -> u32;
    /// What it says of itself, for people: pairs of name and value.
    fn status(&self) -> Vec<(String, String)>;
}
