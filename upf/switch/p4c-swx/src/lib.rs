//! A compiler from a subset of P4_16 to DPDK's software switch (SWX).
//!
//! The input is a program. The output is the pipeline as a [`Spec`], whose text is a `.spec` file,
//! and the [`P4Info`] for controllers. Anything outside the subset is refused with line and column.
//! The README defines the subset.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Forwards frames by their destination address.
//! let source = std::fs::read_to_string("examples/forward.p4")?;
//! let program = martlet_p4c_swx::compile(&source)?;
//! assert_eq!(program.spec.apply[2..4], ["extract h.ethernet", "table stations"]);
//! assert_eq!(program.info.tables[0].name, "Forward.stations");
//! std::fs::write(std::env::temp_dir().join("forward.spec"), program.spec.to_string())?;
//!
//! // What is outside the subset is refused with its position.
//! let bits = source.replace("bit<16> type", "bit<12> type");
//! let error = martlet_p4c_swx::compile(&bits).unwrap_err();
//! assert_eq!(error.at.line, 5);
//! # Ok(())
//! # }
//! ```
//!
//! # Errors
//!
//! [`CompileError`] has the position and the text of the first error. [`SourceError`] is a file
//! that cannot be read.
//!
//! # Features
//!
//! None.
mod actions;
mod architecture;
mod ast;
mod code;
mod deparser;
pub mod ebpf;
mod error;
mod expressions;
mod fields;
mod instances;
mod instructions;
mod lexer;
mod lower;
mod names;
pub mod p4info;
mod parser;
mod regions;
mod signature;
mod source;
pub mod spec;
mod statements;
mod states;
mod tables;

pub use architecture::Architecture;
pub use error::{CompileError, Position};
pub use p4info::P4Info;
pub use source::{Source, SourceError};
pub use spec::Spec;

/// A compiled program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// What the switch runs.
    pub spec: Spec,
    /// What a controller sees of it.
    pub info: P4Info,
}

/// Reads a program for the back ends.
fn read(source: &str) -> Result<(Architecture, Vec<ast::Declaration>), CompileError> {
    architecture::normalise(parser::parse(source)?)
}

/// Reads a program that the back ends can run.
fn runnable(source: &str) -> Result<(Architecture, Vec<ast::Declaration>), CompileError> {
    let (architecture, declarations) = read(source)?;
    if matches!(architecture, Architecture::Swx | Architecture::Pna) {
        return Ok((architecture, declarations));
    }
    error::error(
        Position { line: 1, column: 1 },
        format!(
            "the back ends run programs for PNA and swx.p4: counters and meters of {} take the \
             length of the frame, which they do not have",
            architecture.name()
        ),
    )
}

/// Compiles a program for PNA or `swx.p4`.
pub fn compile(source: &str) -> Result<Program, CompileError> {
    let (architecture, declarations) = runnable(source)?;
    lower::lower(architecture, &declarations)
}

/// What a controller sees of a program for any [`Architecture`].
pub fn describe(source: &str) -> Result<P4Info, CompileError> {
    let (architecture, declarations) = read(source)?;
    lower::describe(architecture, &declarations)
}

/// Compiles a program to C for the kernel: see [`ebpf`].
pub fn compile_ebpf(source: &str) -> Result<ebpf::Output, CompileError> {
    let (architecture, declarations) = runnable(source)?;
    let (program, lowering, blocks) = lower::lower_blocks(architecture, &declarations)?;
    ebpf::emit(lowering, &blocks, program)
}

/// Compiles arbitrary text, for fuzzing.
#[doc(hidden)]
pub fn fuzz_compile(data: &[u8]) {
    if let Ok(program) = compile(&String::from_utf8_lossy(data)) {
        assert!(!program.spec.to_string().is_empty());
        assert!(!program.info.to_text("fuzz").is_empty());
    }
    if let Ok(output) = compile_ebpf(&String::from_utf8_lossy(data)) {
        assert!(!output.code.is_empty());
    }
}
