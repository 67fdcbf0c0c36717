//! Regions: the instructions between two tables, in one piece.
//!
//! SWX processes other packets during a table lookup, and then runs all instructions up to the next
//! table in one call, unless something jumps into their middle: each jump target starts a new call.
//! So the instructions after each table are duplicated up to the next tables. This saves up to half
//! of all calls and makes the program longer.
use crate::instructions::{Line, Op};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum length of the result; a longer one is not used.
const LONGEST: usize = 8192;

/// A suspension point: a table, and the instruction after it.
type Suspension = (String, usize);

/// Duplicates the instructions after each table. The lines begin with `rx`; jumps lead forwards
/// only.
pub(crate) fn duplicate(lines: Vec<Line>) -> Vec<Line> {
    let program = Program::new(&lines);
    let mut suspensions: Vec<Suspension> = Vec::new();
    let mut written: Vec<Line> = vec![lines[0].clone()];
    let mut labels = 0;
    program.region(1, &mut suspensions, &mut written, &mut labels);
    let mut next = 0;
    while let Some((table, behind)) = suspensions.get(next).cloned() {
        written.push((vec![table_label(next)], Op::Plain(table)));
        program.region(behind, &mut suspensions, &mut written, &mut labels);
        if written.len() > LONGEST {
            return lines;
        }
        next += 1;
    }
    written
}

fn table_label(n: usize) -> String {
    format!("T{n}")
}

struct Program<'a> {
    lines: &'a [Line],
    positions: BTreeMap<&'a str, usize>,
}

/// The successors of an instruction.
enum Next {
    /// Another instruction.
    Line(usize),
    /// A table.
    Suspension(Suspension),
}

impl<'a> Program<'a> {
    fn new(lines: &'a [Line]) -> Self {
        let positions = lines
            .iter()
            .enumerate()
            .flat_map(|(n, (labels, _))| labels.iter().map(move |label| (label.as_str(), n)))
            .collect();
        Program { lines, positions }
    }

    /// The final target of a transfer to `n`: after jumps, or at a table.
    fn resolve(&self, mut n: usize) -> Next {
        loop {
            match &self.lines[n].1 {
                Op::Jump("jmp", to, _) => n = self.positions[to.as_str()],
                Op::Plain(text) if text.starts_with("table ") => {
                    return Next::Suspension((text.clone(), self.end(n + 1)));
                }
                _ => return Next::Line(n),
            }
        }
    }

    /// The same, but tables are not special.
    fn end(&self, mut n: usize) -> usize {
        while let Op::Jump("jmp", to, _) = &self.lines[n].1 {
            n = self.positions[to.as_str()];
        }
        n
    }

    /// The successors of instruction `n`: if it jumps, and otherwise.
    fn successors(&self, n: usize) -> (Option<Next>, Option<Next>) {
        match &self.lines[n].1 {
            Op::Jump(_, to, _) => {
                (Some(self.resolve(self.positions[to.as_str()])), Some(self.resolve(n + 1)))
            }
            op if op.ends() => (None, None),
            Op::Plain(_) => (None, Some(self.resolve(n + 1))),
        }
    }

    /// The instructions from `n` up to tables in topological order; the fall-through follows.
    fn order(&self, n: usize, seen: &mut BTreeSet<usize>, reversed: &mut Vec<usize>) {
        // An explicit stack, since programs are long.
        let mut path = vec![(n, 0)];
        seen.insert(n);
        while let Some((n, step)) = path.pop() {
            let (jump, fall_through) = self.successors(n);
            let successor = match step {
                0 => jump,
                1 => fall_through,
                _ => {
                    reversed.push(n);
                    continue;
                }
            };
            path.push((n, step + 1));
            if let Some(Next::Line(to)) = successor
                && seen.insert(to)
            {
                path.push((to, 0));
            }
        }
    }

    /// Emits the region that begins at `from`.
    fn region(
        &self,
        from: usize,
        suspensions: &mut Vec<Suspension>,
        to: &mut Vec<Line>,
        labels: &mut u32,
    ) {
        let mut suspend =
            |suspend: Suspension| match suspensions.iter().position(|known| *known == suspend) {
                Some(n) => table_label(n),
                None => {
                    suspensions.push(suspend);
                    table_label(suspensions.len() - 1)
                }
            };
        let first = match self.resolve(from) {
            Next::Suspension(at) => {
                to.push((vec![], Op::Jump("jmp", suspend(at), String::new())));
                return;
            }
            Next::Line(first) => first,
        };
        let mut order = Vec::new();
        self.order(first, &mut BTreeSet::new(), &mut order);
        order.reverse();
        let own: BTreeMap<usize, String> = order
            .iter()
            .map(|n| {
                *labels += 1;
                (*n, format!("R{labels}"))
            })
            .collect();
        let mut label = |next: Next| match next {
            Next::Line(n) => own[&n].clone(),
            Next::Suspension(at) => suspend(at),
        };
        for (position, n) in order.iter().enumerate() {
            let (jump, fall_through) = self.successors(*n);
            let op = match (&self.lines[*n].1, jump) {
                (Op::Jump(name, _, operands), Some(jump)) => {
                    Op::Jump(name, label(jump), operands.clone())
                }
                (op, _) => op.clone(),
            };
            to.push((vec![own[n].clone()], op));
            match fall_through {
                Some(Next::Line(after)) if order.get(position + 1) == Some(&after) => {}
                Some(after) => to.push((vec![], Op::Jump("jmp", label(after), String::new()))),
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::code::Code;

    /// A program of lines such as `label : instruction` and `jmpx label operands`.
    fn finished(text: &str) -> Vec<String> {
        let mut code = Code::default();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let line = match line.split_once(" : ") {
                Some((label, rest)) => {
                    code.set_label(label.into());
                    rest
                }
                None => line,
            };
            let words: Vec<&str> = line.splitn(3, ' ').collect();
            let jumps = ["jmp", "jmph", "jmpnh", "jmpeq", "jmpneq"];
            match jumps.iter().find(|jump| **jump == words[0]) {
                Some(jump) => {
                    code.jump(jump, words[1], words.get(2).copied().unwrap_or_default().into())
                }
                None => code.push(line.into()),
            }
        }
        code.finish_in_regions()
    }

    /// The instructions that a packet executes if the n-th condition equals bit n of `holds`.
    fn run(lines: &[String], holds: u32) -> Vec<String> {
        let mut met = Vec::new();
        let mut conditions = BTreeSet::new();
        let (mut n, mut steps) = (0, 0);
        while steps < 10_000 {
            steps += 1;
            let line = lines[n].split_once(" : ").map_or(lines[n].as_str(), |(_, line)| line);
            let words: Vec<&str> = line.split(' ').collect();
            n += 1;
            if words[0].starts_with("jmp") {
                let of = words[2..].join(" ");
                let bit = of.strip_prefix('c').map(|bit| bit.parse::<u32>().expect("a number"));
                conditions.extend(bit);
                if bit.is_none_or(|bit| holds >> bit & 1 == 1) {
                    let label = format!("{} : ", words[1]);
                    n = lines.iter().position(|line| line.starts_with(&label)).expect("a label");
                }
                continue;
            }
            met.push(line.into());
            if words[0] == "tx" {
                return met;
            }
        }
        panic!("it never ends: {lines:?}");
    }

    use std::collections::BTreeSet;

    const PROGRAM: &str = "
        rx m.port
        jmpeq A c0
        one
        jmpeq B c1
        table t
        jmpeq B c2
        two
        jmp END
        A : three
        table u
        jmpeq B c3
        table t
        jmpeq END c4
        four
        B : five
        six
        END : emit h.e
        tx m.port";

    #[test]
    fn a_packet_executes_the_same_instructions_as_before() {
        let (plain, regions) = (PROGRAM, finished(PROGRAM));
        let plain: Vec<String> =
            plain.lines().map(|line| line.trim().to_owned()).filter(|l| !l.is_empty()).collect();
        for holds in 0..32 {
            assert_eq!(run(&regions, holds), run(&plain, holds), "{holds:b}: {regions:#?}");
        }
    }

    #[test]
    fn no_jump_enters_the_middle_of_a_region() {
        let lines = finished(PROGRAM);
        let suspensions = |line: &String| line.contains("table ") || line.starts_with("rx ");
        let piece = |n: usize| lines[..=n].iter().filter(|line| suspensions(line)).count();
        for (n, line) in lines.iter().enumerate() {
            let line = line.split_once(" : ").map_or(line.as_str(), |(_, line)| line);
            let Some(label) =
                line.starts_with("jmp").then(|| line.split(' ').nth(1).expect("a label"))
            else {
                continue;
            };
            let to = lines
                .iter()
                .position(|line| line.starts_with(&format!("{label} : ")))
                .expect("a label");
            assert!(
                suspensions(&lines[to]) || piece(to) == piece(n),
                "{line} leads out of its piece: {lines:#?}"
            );
        }
    }

    #[test]
    fn consecutive_and_shared_tables_are_emitted_once() {
        let lines = finished(
            "rx m.port
             jmpeq A c0
             table t
             jmp B
             A : one
             table t
             B : table u
             tx m.port",
        );
        let count = |text: &str| lines.iter().filter(|line| line.ends_with(text)).count();
        assert_eq!(
            (count("table t"), count("table u"), count("tx m.port")),
            (1, 1, 1),
            "{lines:#?}"
        );
    }
}
