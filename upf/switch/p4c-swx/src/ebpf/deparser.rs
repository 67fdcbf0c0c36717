//! Output: the valid headers, then the rest of the packet.
//!
//! Only what precedes the last added or removed header moves.
use super::Emitter;
use super::changes::Changes;
use crate::ast::*;
use crate::error::{Result, error};
use std::collections::BTreeSet;

/// The size of one copy step for a length in bytes.
fn pieces(size: u32) -> Vec<(u32, u32)> {
    let (mut at, mut all) = (0, Vec::new());
    while at < size {
        let piece = [8, 4, 2, 1].into_iter().find(|bytes| at + bytes <= size).expect("one is left");
        all.push((at, piece));
        at += piece;
    }
    all
}

impl Emitter {
    /// The emitted headers, in order.
    pub(super) fn emitted(&self, statements: &[Statement]) -> Vec<Name> {
        let header = |statement: &Statement| match statement {
            Statement::Call(Expression::Call(_, arguments, _)) => match &arguments[..] {
                [Expression::Path(path)] => path.get(1).cloned(),
                _ => None,
            },
            _ => None,
        };
        statements.iter().filter_map(header).collect()
    }

    pub(super) fn deparse(&mut self, emitted: &[Name], outcomes: &BTreeSet<Changes>) -> Result<()> {
        for (n, header) in emitted.iter().enumerate() {
            for later in &emitted[n + 1..] {
                if later.text == header.text {
                    return error(later.at, format!("{:?} is emitted twice", later.text));
                }
                if self.before.contains(&(later.text.clone(), header.text.clone())) {
                    return error(
                        later.at,
                        format!(
                            "{:?} is extracted before {:?}: headers have to be emitted in the \
                             order in which the parser extracts them",
                            later.text, header.text
                        ),
                    );
                }
            }
        }
        // Headers that are extracted and never emitted.
        let mut order: Vec<(String, bool)> =
            emitted.iter().map(|name| (name.text.clone(), true)).collect();
        for header in self.taken.keys() {
            if order.iter().any(|(name, _)| name == header) {
                continue;
            }
            let follows =
                |(name, _): &(String, bool)| self.before.contains(&(name.clone(), header.clone()));
            let position = order.iter().rposition(follows).map_or(0, |n| n + 1);
            order.insert(position, (header.clone(), false));
        }
        self.line("if (m_drop)");
        self.line("\treturn XDP_DROP;");
        // The changes at each position, and after it.
        self.line("{");
        self.depth += 1;
        let mut behind = "0".to_owned();
        for (n, (header, emitted)) in order.iter().enumerate().rev() {
            let changed = match (self.taken.contains_key(header), emitted) {
                (false, _) => format!("v_{header}"),
                (true, true) => format!("(h_{header} && removed_{header})"),
                (true, false) => format!("(h_{header} != NULL)"),
            };
            self.line(&format!("const int changed{n} = {changed} || {behind};"));
            behind = format!("changed{n}");
        }
        self.line(&format!("if ({behind}) {{"));
        self.depth += 1;
        self.line("int longer = 0;");
        for (n, (header, emitted)) in order.iter().enumerate() {
            let size = self.size_of(header);
            if !self.taken.contains_key(header) {
                self.line(&format!("longer += v_{header} ? {size} : 0;"));
                continue;
            }
            let gone = if *emitted {
                format!("h_{header} && removed_{header}")
            } else {
                format!("h_{header}")
            };
            self.line(&format!("longer -= {gone} ? {size} : 0;"));
            if *emitted && self.may_move(outcomes, &order, n) {
                for (k, (_, bytes)) in pieces(size).into_iter().enumerate() {
                    self.line(&format!("u{} k_{header}_{k} = 0;", 8 * bytes));
                }
                self.line(&format!(
                    "const int moves_{header} = h_{header} && !removed_{header} && changed{};",
                    n + 1
                ));
                self.line(&format!("if (moves_{header}) {{"));
                for (k, (at, bytes)) in pieces(size).into_iter().enumerate() {
                    self.line(&format!(
                        "\tk_{header}_{k} = *(u{} *)(h_{header} + {at});",
                        8 * bytes
                    ));
                }
                self.line("}");
            }
        }
        self.line("if (longer && bpf_xdp_adjust_head(ctx, -longer))");
        self.line("\treturn NO_HEADROOM;");
        self.line("at = (u8 *)(long)ctx->data;");
        self.line("end = (u8 *)(long)ctx->data_end;");
        for (n, (header, emitted)) in order.iter().enumerate() {
            let size = self.size_of(header);
            let taken = self.taken.contains_key(header);
            if taken && !(*emitted && self.may_move(outcomes, &order, n)) {
                continue;
            }
            self.line(&format!("if ({}_{header}) {{", if taken { "moves" } else { "v" }));
            self.depth += 1;
            self.line(&format!("if (at + {size} > end)"));
            self.line("\treturn NO_HEADROOM;");
            if taken {
                for (k, (at, bytes)) in pieces(size).into_iter().enumerate() {
                    self.line(&format!("*(u{} *)(at + {at}) = k_{header}_{k};", 8 * bytes));
                }
            } else {
                for (at, bytes) in pieces(size) {
                    let of = 8 * bytes;
                    self.line(&format!("*(u{of} *)(at + {at}) = *(u{of} *)(n_{header} + {at});"));
                }
            }
            self.line(&format!("at += {size};"));
            self.depth -= 1;
            self.line("}");
        }
        self.depth -= 1;
        self.line("}");
        self.depth -= 1;
        self.line("}");
        self.line("*egress_port = m_egress_port;");
        self.line("return FORWARD;");
        Ok(())
    }
}
