//! The paper's real-time properties are in force at both ends of every channel, in all threads,
//! when it has worked.
use crate::connected;
use martlet_lab_endpoint::Way;
use martlet_lcs_realtime::{Conditions, Wanted};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[test]
fn both_ends_of_every_channel_have_the_real_time_properties_when_they_are_asked_for() {
    // Who has no right to them is told so, and does not go on without.
    let program = env!("CARGO_BIN_EXE_martlet-lcs");
    let words = ["server", "--at", "127.0.0.1", "--way", "raw_tcp", "--realtime"];
    let mut tried = Command::new(program);
    tried.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut tried = tried.spawn().unwrap();
    let mut address = String::new();
    BufReader::new(tried.stdout.take().unwrap()).read_line(&mut address).unwrap();
    // Its input ends, and it with that.
    let tried = tried.wait_with_output().unwrap();
    if address.is_empty() {
        let why = String::from_utf8_lossy(&tried.stderr).into_owned();
        assert!(why.contains("root"), "{why}");
        println!("SKIPPED: no right to real-time properties: {why}");
        return;
    }
    for way in Way::all() {
        let name = way.name();
        let (mut client, server) = connected(&name, &["--realtime"]);
        assert_eq!(client.ask("rounds 1024 20"), 20);
        for (end, process) in [("client", client.child.id()), ("server", server.child.id())] {
            let now = Conditions::of(process);
            println!("{name}, {end}: {now}");
            assert_eq!(now.missing(Wanted::ALL), None, "{name}, {end}");
        }
    }
    // And where they are not asked for, they are not there.
    let (client, server) = connected("rustls", &[]);
    for process in [client.child.id(), server.child.id()] {
        assert!(Conditions::of(process).missing(Wanted::ALL).is_some());
    }
}
