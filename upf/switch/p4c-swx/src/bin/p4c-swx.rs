//! The compiler as a program:
//! `p4c-swx upf_pna.p4 [--spec out.spec] [--p4info out.txt] [--ebpf out.h]`.
use martlet_p4c_swx::{CompileError, Source, SourceError};
use std::fmt::{Display, Formatter};
use std::path::Path;
use std::process::ExitCode;

/// Why the program failed.
#[derive(Debug)]
enum Failure {
    Usage,
    Read(SourceError),
    Write(String, std::io::Error),
    /// With file, line and column.
    Compile(String),
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Usage => {
                write!(f, "usage: p4c-swx PROGRAM.p4 [--spec FILE] [--p4info FILE] [--ebpf FILE]")
            }
            Failure::Read(error) => write!(f, "{error}"),
            Failure::Write(file, error) => write!(f, "cannot write {file}: {error}"),
            Failure::Compile(error) => write!(f, "{error}"),
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Failure> {
    let [source, options @ ..] = arguments else { return Err(Failure::Usage) };
    let file = source;
    let source = Source::read(Path::new(file)).map_err(Failure::Read)?;
    let failed = |error: CompileError| Failure::Compile(source.explain(&error));
    let name = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let compiled = || martlet_p4c_swx::compile(source.text()).map_err(failed);
    if options.is_empty() {
        print!("{}", compiled()?.spec);
        return Ok(());
    }
    for pair in options.chunks(2) {
        let (file, text) = match pair {
            [option, file] if option == "--spec" => (file, compiled()?.spec.to_string()),
            // For every architecture, also those that the back ends do not run.
            [option, file] if option == "--p4info" => {
                let info = martlet_p4c_swx::describe(source.text()).map_err(failed)?;
                (file, info.to_text(&name))
            }
            [option, file] if option == "--ebpf" => {
                let output = martlet_p4c_swx::compile_ebpf(source.text()).map_err(failed)?;
                (file, output.code)
            }
            _ => return Err(Failure::Usage),
        };
        std::fs::write(file, text).map_err(|error| Failure::Write(file.clone(), error))?;
    }
    Ok(())
}

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
