//! Instructions and their labels.

/// An instruction.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    /// The text of the instruction.
    Plain(String),
    /// Instruction, label, operands.
    Jump(&'static str, String, String),
}

impl Op {
    /// An unconditional transfer: the next instruction is reachable only by its label.
    pub(crate) fn ends(&self) -> bool {
        match self {
            Op::Plain(text) => text.starts_with("tx ") || text == "drop" || text == "return",
            Op::Jump(name, ..) => *name == "jmp",
        }
    }
}

/// An instruction and its labels.
pub(crate) type Line = (Vec<String>, Op);
