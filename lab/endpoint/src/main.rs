//! `martlet-lcs`: one end of the LCS-UPP experiment. See the library's documentation.
use martlet_lab_endpoint::{End, ask, serve};
use std::process::ExitCode;

mod memory;

fn main() -> ExitCode {
    memory::use_one_arena();
    // From here on, mappings of the program are split.
    memory::trim();
    let words: Vec<String> = std::env::args().skip(2).collect();
    let done = match std::env::args().nth(1).as_deref() {
        Some("client") => {
            End::of_words(&words, "--to").and_then(|(to, end)| ask(&to, &end, memory::trim))
        }
        Some("server") => {
            End::of_words(&words, "--at").and_then(|(at, end)| serve(at.parse()?, &end))
        }
        _ => Err(anyhow::anyhow!(
            "usage: martlet-lcs client --to ADDRESS:PORT --variant NAME, or server --at \
             ADDRESS"
        )),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
