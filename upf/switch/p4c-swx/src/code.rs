//! Instructions with labels, and what makes fewer of them.
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
enum Op {
    Plain(String),
    /// Instruction, label, operands.
    Jump(&'static str, String, String),
}

/// Instructions in the making.
#[derive(Debug, Default)]
pub struct Code {
    lines: Vec<(Vec<String>, Op)>,
    pending: Vec<String>,
    labels: u32,
}

impl Code {
    /// A label that no other has.
    pub fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    /// Puts a label before what comes next.
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

    /// The text of each instruction: jumps to jumps go to where those go, jumps to the next line and lines that nothing
    /// reaches are left out, and a line has one label at most.
    pub fn finish(mut self) -> Vec<String> {
        debug_assert!(self.pending.is_empty(), "a label at the end labels nothing");
        loop {
            self.shorten();
            if !self.remove_useless() {
                break;
            }
        }
        let used: Vec<String> = self
            .lines
            .iter()
            .filter_map(|(_, op)| match op {
                Op::Jump(_, label, _) => Some(label.clone()),
                Op::Plain(_) => None,
            })
            .collect();
        let line = |(labels, op): (Vec<String>, Op)| {
            let label =
                labels.into_iter().find(|label| used.contains(label)).map(|l| format!("{l} : ")).unwrap_or_default();
            match op {
                Op::Plain(text) => format!("{label}{text}"),
                Op::Jump(name, to, operands) => format!("{label}{name} {to} {operands}").trim_end().to_owned(),
            }
        };
        self.lines.into_iter().map(line).collect()
    }

    /// Gives each line one name, and sends each jump to where it ends.
    fn shorten(&mut self) {
        let mut places = BTreeMap::new();
        for (n, (labels, _)) in self.lines.iter().enumerate() {
            places.extend(labels.iter().map(|label| (label.clone(), n)));
        }
        let end_of = |label: &String| {
            let mut n = places[label];
            // Bounded: jumps may only go in a circle where a program does, and none of ours does.
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

    fn remove_useless(&mut self) -> bool {
        for n in 0..self.lines.len() {
            let Op::Jump(name, to, _) = &self.lines[n].1 else { continue };
            let next = self.lines.get(n + 1);
            if next.is_some_and(|(labels, _)| labels.contains(to)) {
                // Its labels go over to the next line.
                let (labels, _) = self.lines.remove(n);
                self.lines[n].0.extend(labels);
                return true;
            }
            let used = |label: &String| self.lines.iter().any(|(_, op)| matches!(op, Op::Jump(_, l, _) if l == label));
            if *name == "jmp" && next.is_some_and(|(labels, _)| !labels.iter().any(used)) {
                self.lines.remove(n + 1);
                return true;
            }
        }
        false
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
