//! The compiler as a program: `p4c-swx upf.p4 [--spec out.spec] [--p4info out.txt] [--ebpf out.h]`.
use std::path::Path;
use std::process::ExitCode;

fn run(arguments: &[String]) -> Result<(), String> {
    let usage = "p4c-swx PROGRAM.p4 [--spec FILE] [--p4info FILE] [--ebpf FILE]";
    let [source, options @ ..] = arguments else { return Err(usage.into()) };
    let text = std::fs::read_to_string(source)
        .map_err(|error| format!("{source} cannot be read: {error}"))?;
    let program = martlet_p4c_swx::compile(&text).map_err(|error| format!("{source}:{error}"))?;
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
                    .map_err(|error| format!("{source}:{error}"))?;
                (file, output.code)
            }
            _ => return Err(usage.into()),
        };
        std::fs::write(file, text).map_err(|error| format!("{file} cannot be written: {error}"))?;
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
