//! The two ends as processes: memory of the UE's end, and real-time properties of both.
#![cfg(target_os = "linux")]
mod realtime;
mod resident;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// An end, terminated on drop.
struct End {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl End {
    fn start(words: &[&str]) -> End {
        let mut command = Command::new(env!("CARGO_BIN_EXE_martlet-lcs"));
        let mut child =
            command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        End { child, input, output: BufReader::new(output) }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().into()
    }

    /// The number of values in the response to a command.
    fn ask(&mut self, command: &str) -> usize {
        writeln!(self.input, "{command}").unwrap();
        self.line().split_whitespace().count()
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A connected client and its server.
fn connected(variant: &str, more: &[&str]) -> (End, End) {
    let mut server =
        End::start(&[&["server", "--at", "127.0.0.1", "--variant", variant], more].concat());
    let at = server.line();
    let mut roots = String::new();
    while let line = server.line()
        && !line.is_empty()
    {
        roots += &line;
        roots.push('\n');
    }
    let mut client = End::start(&[&["client", "--to", &at, "--variant", variant], more].concat());
    writeln!(client.input, "{}\n", roots.trim()).unwrap();
    assert!(!client.line().is_empty(), "{variant}: not connected");
    (client, server)
}
