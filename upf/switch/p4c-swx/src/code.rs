//! Instructions with labels, and their optimisation.
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone)]
pub(crate) enum Op {
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

/// A builder of instructions.
#[derive(Debug, Default)]
pub struct Code {
    lines: Vec<Line>,
    pending: Vec<String>,
    labels: u32,
}

impl Code {
    /// A fresh label.
    pub fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    /// Sets a label on the next instruction.
    pub fn place(&mut self, label: String) {
        self.pending.push(label);
    }

    pub fn push(&mut self, instruction: String) {
        let labels = std::mem::take(&mut self.pending);
        self.lines.push((labels, Op::Plain(instruction)));
    }

    pub fn jump(&mut self, instruction: &'static str, label: &str, operands: String) {
        let labels = std::mem::take(&mut self.pending);
        self.lines.push((labels, Op::Jump(instruction, label.into(), operands)));
    }

    /// The text of the instructions: jumps to jumps are resolved, jumps to the next line and
    /// unreachable lines removed, and a line has one label at most.
    pub fn finish(mut self) -> Vec<String> {
        self.tidy();
        self.text()
    }

    /// The same for a pipeline, with one region per table (see [`crate::regions`]).
    pub fn finish_in_regions(mut self) -> Vec<String> {
        self.tidy();
        self.lines = crate::regions::written_out(self.lines);
        self.tidy();
        self.text()
    }

    fn tidy(&mut self) {
        debug_assert!(self.pending.is_empty(), "a label at the end labels nothing");
        loop {
            self.shorten();
            if !self.remove_useless() {
                break;
            }
        }
    }

    fn text(self) -> Vec<String> {
        let used = self.used();
        let line = |(labels, op): (Vec<String>, Op)| {
            let label = labels
                .into_iter()
                .find(|label| used.contains(label))
                .map(|l| format!("{l} : "))
                .unwrap_or_default();
            match op {
                Op::Plain(text) => format!("{label}{text}"),
                Op::Jump(name, to, operands) => {
                    format!("{label}{name} {to} {operands}").trim_end().to_owned()
                }
            }
        };
        self.lines.into_iter().map(line).collect()
    }

    /// Gives each line one label, and resolves each jump.
    fn shorten(&mut self) {
        let mut places = BTreeMap::new();
        for (n, (labels, _)) in self.lines.iter().enumerate() {
            places.extend(labels.iter().map(|label| (label.clone(), n)));
        }
        let end_of = |label: &String| {
            let mut n = places[label];
            // Bounded: only a looping program has looping jumps, and the subset has no loops.
            for _ in 0..self.lines.len() {
                match &self.lines[n].1 {
                    Op::Jump("jmp", to, _) => n = places[to],
                    _ => break,
                }
            }
            self.lines[n].0[0].clone()
        };
        let ends: Vec<Option<String>> = self
            .lines
            .iter()
            .map(|(_, op)| match op {
                Op::Jump(_, label, _) => Some(end_of(label)),
                Op::Plain(_) => None,
            })
            .collect();
        for ((_, op), end) in self.lines.iter_mut().zip(ends) {
            if let (Op::Jump(_, label, _), Some(end)) = (op, end) {
                *label = end;
            }
        }
    }

    /// Removes unreachable lines and jumps to the next line; returns whether there were any.
    fn remove_useless(&mut self) -> bool {
        let before = self.lines.len();
        let used = self.used();
        let mut kept: Vec<Line> = Vec::with_capacity(before);
        let mut reached = true;
        for (mut labels, op) in std::mem::take(&mut self.lines) {
            reached |= labels.iter().any(|label| used.contains(label));
            if !reached {
                continue;
            }
            while let Some((_, Op::Jump(_, to, _))) = kept.last()
                && labels.contains(to)
            {
                // Its labels move to the next line.
                labels.extend(kept.pop().expect("the last").0);
            }
            reached = !op.ends();
            kept.push((labels, op));
        }
        self.lines = kept;
        self.lines.len() < before
    }

    fn used(&self) -> BTreeSet<String> {
        let label = |(_, op): &Line| match op {
            Op::Jump(_, label, _) => Some(label.clone()),
            Op::Plain(_) => None,
        };
        self.lines.iter().filter_map(label).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_go_to_where_they_end() {
        let mut code = Code::default();
        let (a, b, c) = (code.label(), code.label(), code.label());
        code.jump("jmpeq", &a, "m.x 1".into());
        code.jump("jmp", &c, String::new());
        code.push("nothing reaches this".into());
        code.place(a);
        code.jump("jmp", &b, String::new());
        code.place(b);
        code.place(c);
        code.push("tx m.egress_port".into());
        assert_eq!(code.finish(), ["tx m.egress_port"]);
    }
}
