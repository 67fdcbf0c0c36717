//! The switch process, ended when the value is dropped.
#![allow(dead_code)] // each test program uses a part
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

/// A running switch, and its P4Runtime address.
pub struct Process {
    child: Child,
    pub address: SocketAddr,
}

impl Process {
    /// Runs `martlet-switch run` with further arguments; returns when it is ready.
    pub fn start(arguments: &[&str]) -> Process {
        let mut child = Command::new(env!("CARGO_BIN_EXE_martlet-switch"))
            .args(["run", "--once", "--with-parent"])
            .args(if arguments.contains(&"--listen") {
                &[][..]
            } else {
                &["--listen", "127.0.0.1:0"]
            })
            .args(arguments)
            // The switch ends at the end of this pipe, also if the test is killed.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the switch process");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let address = loop {
            let line = lines.next().expect("a line of output").expect("text");
            if let Some(address) = line.strip_prefix("ready ") {
                break address.parse().expect("an address");
            }
        };
        Process { child, address }
    }
}

impl Process {
    /// Ends the process gracefully, and waits for it.
    pub fn end(&mut self) {
        // SAFETY: a signal to our child process.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGTERM) };
        assert!(self.child.wait().expect("a child").success(), "a graceful end");
    }

    /// The process ID.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
