//! A pipeline in the terms of DPDK's software switch (SWX), and its `.spec` text.
use std::fmt;

/// A pipeline. Its [`Display`](fmt::Display) is the `.spec` text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spec {
    /// Struct types: headers, metadata, and arguments of actions.
    pub structs: Vec<Struct>,
    /// Headers of a packet: name, and name of their struct.
    pub headers: Vec<(String, String)>,
    /// Name of the metadata struct.
    pub metadata: String,
    /// Arrays of 64-bit registers: name and size.
    pub registers: Vec<(String, u32)>,
    /// Arrays of meters: name and size.
    pub meters: Vec<(String, u32)>,
    /// Actions.
    pub actions: Vec<Action>,
    /// Tables.
    pub tables: Vec<Table>,
    /// The instructions for each packet.
    pub apply: Vec<String>,
}

/// A struct type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Struct {
    /// Name.
    pub name: String,
    /// Fields: name, and width in bits, a multiple of 8 up to 64.
    pub fields: Vec<(String, u32)>,
}

/// An action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// Name.
    pub name: String,
    /// The struct of its arguments, if it has any.
    pub arguments: Option<String>,
    /// Instructions.
    pub instructions: Vec<String>,
}

/// The match kind of a key field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// Exact value.
    Exact,
    /// Value and mask.
    Wildcard,
}

/// The scope of an action in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In entries and as the default.
    Everywhere,
    /// In entries only.
    TableOnly,
    /// As the default only.
    DefaultOnly,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Name.
    pub name: String,
    /// Key fields, consecutive in one struct.
    pub keys: Vec<(String, Match)>,
    /// Names of its actions.
    pub actions: Vec<(String, Scope)>,
    /// The default action.
    pub default_action: String,
    /// Whether the default action is constant.
    pub constant_default: bool,
    /// Maximum number of entries.
    pub size: u32,
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for of in &self.structs {
            writeln!(f, "struct {} {{", of.name)?;
            of.fields.iter().try_for_each(|(name, bits)| writeln!(f, "\tbit<{bits}> {name}"))?;
            writeln!(f, "}}\n")?;
        }
        self.headers
            .iter()
            .try_for_each(|(name, of)| writeln!(f, "header {name} instanceof {of}"))?;
        writeln!(f, "\nmetadata instanceof {}\n", self.metadata)?;
        self.registers
            .iter()
            .try_for_each(|(name, size)| writeln!(f, "regarray {name} size {size} initval 0"))?;
        self.meters
            .iter()
            .try_for_each(|(name, size)| writeln!(f, "metarray {name} size {size}"))?;
        for action in &self.actions {
            match &action.arguments {
                Some(arguments) => {
                    writeln!(f, "\naction {} args instanceof {arguments} {{", action.name)?
                }
                None => writeln!(f, "\naction {} args none {{", action.name)?,
            }
            action.instructions.iter().try_for_each(|line| writeln!(f, "\t{line}"))?;
            writeln!(f, "}}")?;
        }
        for table in &self.tables {
            writeln!(f, "\ntable {} {{\n\tkey {{", table.name)?;
            for (field, kind) in &table.keys {
                let kind = if *kind == Match::Exact { "exact" } else { "wildcard" };
                writeln!(f, "\t\t{field} {kind}")?;
            }
            writeln!(f, "\t}}\n\tactions {{")?;
            for (action, scope) in &table.actions {
                let scope = match scope {
                    Scope::Everywhere => "",
                    Scope::TableOnly => " @tableonly",
                    Scope::DefaultOnly => " @defaultonly",
                };
                writeln!(f, "\t\t{action}{scope}")?;
            }
            let constant = if table.constant_default { " const" } else { "" };
            writeln!(
                f,
                "\t}}\n\tdefault_action {} args none{constant}\n\tsize {}\n}}",
                table.default_action, table.size
            )?;
        }
        writeln!(f, "\napply {{")?;
        self.apply.iter().try_for_each(|line| writeln!(f, "\t{line}"))?;
        writeln!(f, "}}")
    }
}
