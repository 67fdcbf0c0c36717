//! The compiler as a program: `p4c-swx upf.p4 [--spec out.spec] [--p4info out.txt] [--ebpf out.h]`.
use martlet_p4c_swx::CompileError;
use std::fmt::{Display, Formatter};
use std::path::Path;
use std::process::ExitCode;

/// Why the program failed.
#[derive(Debug)]
enum Failure {
    Usage,
    Read(String, std::io::Error),
    Write(String, std::io::Error),
    Compile(String, CompileError),
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Usage => {
                write!(f, "usage: p4c-swx PROGRAM.p4 [--spec FILE] [--p4info FILE] [--ebpf FILE]")
            }
            Failure::Read(file, error) => write!(f, "cannot read {file}: {error}"),
            Failure::Write(file, error) => write!(f, "cannot write {file}: {error}"),
            Failure::Compile(file, error) => write!(f, "{file}:{error}"),
        }
    }
}

fn run(arguments: &[String]) -> Result<(), Failure> {
    let [source, options @ ..] = arguments else { return Err(Failure::Usage) };
    let text =
        std::fs::read_to_string(source).map_err(|error| Failure::Read(source.clone(), error))?;
    let program =
        martlet_p4c_swx::compile(&text).map_err(|error| Failure::Compile(source.clone(), error))?;
    let name = Path::new(source).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if options.is_empty() {
        print!("{}", program.spec);
        return Ok(());
    }
    for pair in options.chunks(2) {
        let (file, text) = match pair {
            [option, file] if option == "--spec" => (file, program.spec.to_string()),
            [option, file] if option == "--p4info" => (file, program.info.to_text(&name)),
            [option, file] if option == "--ebpf" => {
                let output = martlet_p4c_swx::compile_ebpf(&text)
                    .map_err(|error| Failure::Compile(source.clone(), error))?;
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
