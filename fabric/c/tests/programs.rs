//! C programs, built against an installed library.
mod support;

use martlet_fabric::{BlockingFabric, ProcessLimits};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{Installed, checked};

fn compile(installed: &Installed, linking: &str) -> PathBuf {
    let mut ask = Command::new("pkg-config");
    ask.args(["--cflags", "--libs"])
        .args((linking == "static").then_some("--static"))
        .arg("martlet-fabric");
    let flags =
        String::from_utf8(checked(installed.for_command(&mut ask), "pkg-config").stdout).unwrap();
    let archive = installed.libraries().join("libmartlet_fabric.a").display().to_string();
    let flags = flags.split_whitespace().map(|flag| match flag {
        "-lmartlet_fabric" if linking == "static" => archive.clone(),
        flag => flag.to_string(),
    });
    let program = installed.folder.join(linking);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/echo.c");
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o"])
        .arg(&program)
        .arg(source)
        .args(flags);
    checked(&mut cc, "cc");
    program
}

#[test]
fn c_programs_exchange_data_with_each_other_and_with_rust() {
    let installed = Installed::new("c");
    let socket = installed.manager();
    for linking in ["shared", "static"] {
        let program = compile(&installed, linking);
        let mut command = Command::new(&program);
        command.arg("serve").arg(&socket).stdout(Stdio::piped());
        let mut server = installed.for_command(&mut command).spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap());
        let mut address = String::new();
        lines.read_line(&mut address).unwrap();
        let mut client = Command::new(&program);
        client.arg("client").arg(&socket).arg(address.trim());
        let output = checked(installed.for_command(&mut client), "the client");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "1000000 bytes echoed\n");
        // A client in Rust.
        let fabric =
            BlockingFabric::start("rust", socket.clone(), ProcessLimits::default()).unwrap();
        let deadline = Some(Instant::now() + Duration::from_secs(10));
        fabric.joined(deadline).unwrap();
        let mut stream = fabric.connect(address.trim().parse().unwrap(), deadline).unwrap();
        stream.write_all(b"from Rust").unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut got = String::new();
        stream.read_to_string(&mut got).unwrap();
        assert_eq!(got, "from Rust");
        let mut rest = String::new();
        lines.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "served\n");
        assert!(server.wait().unwrap().success());
    }
}

#[test]
fn a_c_program_uses_events_and_deadlines() {
    let installed = Installed::new("events");
    let socket = installed.manager();
    let mut command = Command::new(compile(&installed, "shared"));
    let output = checked(installed.for_command(command.arg("events").arg(&socket)), "events");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "ok\n");
}
