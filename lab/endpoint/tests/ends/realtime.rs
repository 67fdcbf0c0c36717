//! The paper's real-time properties are in force at both ends of every channel, in all threads,
//! after it was used.
use crate::connected;
use martlet_lab_endpoint::Variant;
use martlet_lcs_realtime::{Conditions, Wanted};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[test]
fn both_ends_of_every_channel_have_the_requested_real_time_properties() {
    // Without the permission, the process exits with an error.
    let program = env!("CARGO_BIN_EXE_martlet-lcs");
    let words = ["server", "--at", "127.0.0.1", "--variant", "raw_tcp", "--realtime"];
    let mut tried = Command::new(program);
    tried.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut tried = tried.spawn().unwrap();
    let mut address = String::new();
    BufReader::new(tried.stdout.take().unwrap()).read_line(&mut address).unwrap();
    // The process exits at the end of its input.
    let tried = tried.wait_with_output().unwrap();
    if address.is_empty() {
        let why = String::from_utf8_lossy(&tried.stderr).into_owned();
        assert!(why.contains("root"), "{why}");
        println!("SKIPPED: no permission for real-time properties: {why}");
        return;
    }
    for variant in Variant::all() {
        let name = variant.name();
        let (mut client, server) = connected(&name, &["--realtime"]);
        assert_eq!(client.ask("rounds 1024 20"), 20);
        for (end, process) in [("client", client.child.id()), ("server", server.child.id())] {
            let now = Conditions::of(process);
            println!("{name}, {end}: {now}");
            assert!(now.missing(Wanted::ALL).is_none(), "{name}, {end}: {now}");
        }
    }
    // They are not set if not requested.
    let (client, server) = connected("rustls", &[]);
    for process in [client.child.id(), server.child.id()] {
        assert!(Conditions::of(process).missing(Wanted::ALL).is_some());
    }
}
