//! A builder of instructions with labels, and their optimisation.
use crate::instructions::{Line, Op};
use std::collections::{BTreeMap, BTreeSet};

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
    pub fn set_label(&mut self, label: String) {
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
        self.optimise();
        self.text()
    }

    /// The same for a pipeline, with one region per table (see [`crate::regions`]).
    pub fn finish_in_regions(mut self) -> Vec<String> {
        self.optimise();
        self.lines = crate::regions::duplicate(self.lines);
        self.optimise();
        self.text()
    }

    fn optimise(&mut self) {
        debug_assert!(self.pending.is_empty(), "a label without an instruction");
        loop {
            self.resolve_jumps();
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
    fn resolve_jumps(&mut self) {
        let mut positions = BTreeMap::new();
        for (n, (labels, _)) in self.lines.iter().enumerate() {
            positions.extend(labels.iter().map(|label| (label.clone(), n)));
        }
        let end_of = |label: &String| {
            let mut n = positions[label];
            // Bounded: only a looping program has looping jumps, and the subset has no loops.
            for _ in 0..self.lines.len() {
                match &self.lines[n].1 {
                    Op::Jump("jmp", to, _) => n = positions[to],
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
        let mut retained: Vec<Line> = Vec::with_capacity(before);
        let mut reached = true;
        for (mut labels, op) in std::mem::take(&mut self.lines) {
            reached |= labels.iter().any(|label| used.contains(label));
            if !reached {
                continue;
            }
            while let Some((_, Op::Jump(_, to, _))) = retained.last()
                && labels.contains(to)
            {
                // Its labels move to the next line.
                labels.extend(retained.pop().expect("the last").0);
            }
            reached = !op.ends();
            retained.push((labels, op));
        }
        self.lines = retained;
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
    fn jumps_are_resolved_to_their_final_target() {
        let mut code = Code::default();
        let (a, b, c) = (code.label(), code.label(), code.label());
        code.jump("jmpeq", &a, "m.x 1".into());
        code.jump("jmp", &c, String::new());
        code.push("unreachable".into());
        code.set_label(a);
        code.jump("jmp", &b, String::new());
        code.set_label(b);
        code.set_label(c);
        code.push("tx m.egress_port".into());
        assert_eq!(code.finish(), ["tx m.egress_port"]);
    }
}
