//! The second back end: C text for BPF, which `upf/switch/xdp` compiles with clang and attaches to
//! its ports as XDP programs.
//!
//! Received headers are read and written in place. Headers that the control makes valid are in
//! per-CPU memory until the packet leaves. Then the start of the packet moves once, and new and
//! moved headers are written; the rest stays in place.
//!
//! The text uses macros and functions of the target's headers (`xdp/bpf/pipeline.h`): tables,
//! counters, meters, byte order. [`Layout`] describes the memory that user space writes and the
//! text reads.
mod changes;
mod deparser;
mod layout;
mod statements;
mod states;
mod tables;
mod values;

use crate::Program;
use crate::ast::*;
use crate::error::error;
use crate::lower::{Blocks, Lowering, Result, Role};
pub use layout::{Layout, Place, TableLayout};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// A program for BPF.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// C.
    pub code: String,
    /// How tables are laid out.
    pub layout: Layout,
    /// The program in its SWX form.
    pub program: Program,
}

/// The state of the text generator.
struct Emitter {
    lowering: Lowering,
    program: Program,
    layout: Layout,
    /// The program's tables in the syntax tree.
    tables: BTreeMap<String, Table>,
    /// Headers that the parser extracts, and those whose bytes are present whenever one of them
    /// is.
    taken: BTreeMap<String, BTreeSet<String>>,
    /// Pairs of headers of which the parser extracts the first before the second.
    before: BTreeSet<(String, String)>,
    /// Headers whose bytes are known to be in the packet at this point of the text.
    present: BTreeSet<String>,
    /// Tables that are applied before a return: shared code for all such places.
    ends: BTreeSet<String>,
    text: String,
    depth: usize,
    labels: u32,
}

/// Makes the text.
pub(crate) fn emit(lowering: Lowering, blocks: &Blocks<'_>, program: Program) -> Result<Output> {
    let layout = Layout::of(&program, &blocks.control.tables)?;
    let tables = blocks
        .control
        .tables
        .iter()
        .map(|table| (table.name.text.clone(), table.clone()))
        .collect();
    let emitter = Emitter {
        lowering,
        program,
        layout,
        tables,
        taken: BTreeMap::new(),
        before: BTreeSet::new(),
        present: BTreeSet::new(),
        ends: BTreeSet::new(),
        text: String::new(),
        depth: 1,
        labels: 0,
    };
    emitter.program(blocks)
}

impl Emitter {
    fn program(mut self, blocks: &Blocks<'_>) -> Result<Output> {
        use Role::*;
        let Blocks { parser, control, deparser, .. } = blocks;
        let longest = self.look_at_states(parser)?;
        self.check_made_valid(&control.apply)?;
        for action in &control.actions {
            self.check_made_valid(&action.body)?;
        }

        self.lowering.arguments.clear();
        self.lowering.in_action = false;
        let of_parser =
            [("packet_in", Packet), ("out", Headers), ("inout", Metadata), ("swx_input_t", Input)];
        self.lowering.signature(&parser.name, &parser.parameters, &of_parser)?;
        self.states(parser)?;
        let of_control = [
            ("inout", Headers),
            ("inout", Metadata),
            ("swx_input_t", Input),
            ("swx_output_t", Output),
        ];
        self.lowering.signature(&control.name, &control.parameters, &of_control)?;
        self.present.clear();
        self.line("control:;");
        self.statements(&control.apply, "deparse")?;
        self.line("goto deparse;");
        for table in std::mem::take(&mut self.ends) {
            self.present.clear();
            self.line(&format!("end_{table}:;"));
            self.apply_alone(&table)?;
            self.line("goto deparse;");
        }
        self.line("deparse:;");
        let emitted = self.emitted(&deparser.apply);
        let ways = self.changes(&control.apply);
        self.deparse(&emitted, &ways)?;

        let body = std::mem::take(&mut self.text);
        let mut code = String::from("/* Made by p4c-swx of a P4 program: change that. */\n");
        self.declarations(&mut code, longest);
        // Per-CPU memory: the stack is too small for all of them.
        code.push_str("struct made {\n");
        for (header, _) in
            self.lowering.headers.iter().filter(|(name, _)| !self.taken.contains_key(name))
        {
            writeln!(code, "\tu8 {header}[{}];", self.size_of(header).next_multiple_of(8))
                .expect("text");
        }
        code.push_str("\tu8 end[8];\n};\nOF_PROCESSORS(made, struct made);\n");
        code.push_str(
            "\nstatic __always_inline int pipeline(struct xdp_md *ctx, u32 m_ingress_port, u32 \
             *leaves_by, int past_turn)\n{\n",
        );
        code.push_str(
            "\tu8 *data = (u8 *)(long)ctx->data, *end = (u8 *)(long)ctx->data_end, *at = data;\n",
        );
        code.push_str("\tstruct made *made = made_here();\n");
        code.push_str("\tconst u32 copy = active;\n\tu32 m_egress_port = 0;\n\tu8 m_drop = 0;\n");
        let metadata = self.lowering.metadata.clone();
        for (name, bits) in &metadata {
            if body.contains(&format!("m_{name}")) {
                writeln!(code, "\t{} m_{name} = 0;", values::of(*bits)).expect("text");
            }
        }
        for (header, _) in &self.lowering.headers {
            if self.taken.contains_key(header) {
                writeln!(code, "\tu8 *h_{header} = NULL;").expect("text");
                if body.contains(&format!("gone_{header} = 1")) {
                    writeln!(code, "\tu8 gone_{header} = 0;").expect("text");
                } else {
                    writeln!(code, "\tconst u8 gone_{header} = 0;").expect("text");
                }
            } else {
                writeln!(code, "\tu8 *const n_{header} = made->{header};").expect("text");
                writeln!(code, "\tu8 v_{header} = 0;").expect("text");
            }
        }
        code.push_str("\tif (!made)\n\t\treturn NO_ROOM;\n");
        code.push_str(&body);
        code.push_str("}\n");
        Ok(self::Output { code, layout: self.layout, program: self.program })
    }

    /// Tables, counters and meters.
    fn declarations(&self, code: &mut String, longest: u32) {
        writeln!(code, "#define LONGEST_PARSED {longest}").expect("text");
        for (table, of) in self.program.info.tables.iter().zip(&self.layout.tables) {
            let TableLayout { lines, slots, value, words, .. } = of;
            match words {
                0 => writeln!(code, "EXACT_TABLE({}, {lines}, {slots}, {value})", table.alias),
                _ => writeln!(
                    code,
                    "#define FIRST_SHIFT_{} {}\nMASKED_TABLE_{words}({}, {lines}, {slots}, \
                     {value})",
                    table.alias, of.fields[0].1, table.alias
                ),
            }
            .expect("text");
        }
        for (counter, n) in self.program.info.counters.iter().zip(0..) {
            writeln!(code, "COUNTER({}, {}, {n})", counter.alias, counter.size).expect("text");
        }
        for meter in &self.program.info.meters {
            writeln!(code, "METER({}, {})", meter.alias, meter.size).expect("text");
        }
        for (action, places) in self.program.info.actions.iter().zip(&self.layout.actions) {
            writeln!(code, "struct args_{} {{\n\tu32 action;", action.alias).expect("text");
            for (parameter, place) in action.parameters.iter().zip(places) {
                debug_assert_eq!(place.octets, values::octets(parameter.bits));
                writeln!(code, "\t{} {};", values::of(parameter.bits), parameter.name)
                    .expect("text");
            }
            writeln!(code, "}};").expect("text");
        }
    }

    fn fields_of(&self, header: &str) -> Vec<(String, u32)> {
        let (_, of) =
            self.lowering.headers.iter().find(|(name, _)| name == header).expect("a header");
        self.lowering.names.headers[of].clone()
    }

    /// Octets of a header.
    fn size_of(&self, header: &str) -> u32 {
        self.fields_of(header).iter().map(|(_, bits)| bits / 8).sum()
    }

    fn line(&mut self, text: &str) {
        let tabs = if text.ends_with(":;") { 0 } else { self.depth };
        self.text.push_str(&"\t".repeat(tabs));
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn label(&mut self, of: &str) -> String {
        self.labels += 1;
        format!("{of}_{}", self.labels)
    }

    /// An extracted header has its bytes in the packet; a header that did not arrive cannot be made
    /// valid in place.
    fn check_made_valid(&self, statements: &[Statement]) -> Result<()> {
        for statement in statements {
            match statement {
                Statement::Call(Expression::Call(path, ..)) => {
                    if let [_, header, method] = &path[..]
                        && method.text == "setValid"
                        && self.taken.contains_key(&header.text)
                    {
                        return error(
                            header.at,
                            format!(
                                "the parser takes {:?}, so the kernel's programs cannot make it \
                                 valid: have another header for it",
                                header.text
                            ),
                        );
                    }
                }
                Statement::If(_, then, otherwise) => {
                    self.check_made_valid(then)?;
                    self.check_made_valid(otherwise)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
