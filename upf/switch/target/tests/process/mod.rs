//! The switch process, ended with the value.
#![allow(dead_code)] // each test program uses its part
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

/// A switch that runs, and where it takes controllers.
pub struct Process {
    child: Child,
    pub address: SocketAddr,
}

impl Process {
    /// `martlet-switch run` with further arguments; returns when it is ready.
    pub fn start(arguments: &[&str]) -> Process {
        let mut child = Command::new(env!("CARGO_BIN_EXE_martlet-switch"))
            .args(["run", "--once", "--with-parent"])
            .args(if arguments.contains(&"--listen") {
                &[][..]
            } else {
                &["--listen", "127.0.0.1:0"]
            })
            .args(arguments)
            // It ends at the end of this pipe, should the test not get to end it.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the switch process");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let address = loop {
            let line = lines.next().expect("it says when it is ready").expect("text");
            if let Some(address) = line.strip_prefix("ready ") {
                break address.parse().expect("an address");
            }
        };
        Process { child, address }
    }
}

impl Process {
    /// Has it end by itself, and waits until it has.
    pub fn end(&mut self) {
        // SAFETY: a signal to our child.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGTERM) };
        assert!(self.child.wait().expect("a child").success(), "it ends well");
    }

    /// Its process.
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
