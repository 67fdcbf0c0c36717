//! The two ends as programs: what a phone's side needs in memory, and the real-time properties of
//! both.
#![cfg(target_os = "linux")]
mod realtime;
mod resident;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// An end, which goes with the test.
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

    /// How many times the answer to a wish has.
    fn ask(&mut self, wish: &str) -> usize {
        writeln!(self.input, "{wish}").unwrap();
        self.line().split_whitespace().count()
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client that is connected, and its server.
fn connected(way: &str, more: &[&str]) -> (End, End) {
    let mut server = End::start(&[&["server", "--at", "127.0.0.1", "--way", way], more].concat());
    let at = server.line();
    let mut roots = String::new();
    while let line = server.line()
        && !line.is_empty()
    {
        roots += &line;
        roots.push('\n');
    }
    let mut client = End::start(&[&["client", "--to", &at, "--way", way], more].concat());
    writeln!(client.input, "{}\n", roots.trim()).unwrap();
    assert!(!client.line().is_empty(), "{way} does not come up");
    (client, server)
}
