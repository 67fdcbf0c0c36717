//! What a phone's side of LCS-UPP needs in memory, while it does the largest messages and LPP.
use crate::connected;

/// Promised in `SPECIFICATION.md`, of an optimised build; in another one there is half as much
/// again of the program that is used.
const PROMISED_KB: u64 = if cfg!(debug_assertions) { 4500 } else { 4000 };

/// What the kernel calls resident, kB: all of it, what of it is memory of its own, and the most
/// that it ever was.
fn resident(process: u32) -> (u64, u64, u64) {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    (of("VmRSS:"), of("RssAnon:"), of("VmHWM:"))
}

/// The client's size when it has done what it does.
fn size(way: &str) -> (u64, u64, u64) {
    let (mut client, _server) = connected(way, &[]);
    assert_eq!(client.ask("rounds 1 20"), 20);
    assert_eq!(client.ask("lean"), 0);
    for wish in
        ["rounds 1 20", "rounds 65535 20", "procedures 20", "rounds 65535 20", "procedures 20"]
    {
        assert_eq!(client.ask(wish), 20, "{way}: {wish}");
    }
    resident(client.child.id())
}

#[test]
fn a_phones_side_needs_no_more_than_is_promised() {
    if cfg!(any(feature = "openssl", feature = "wolfssl", feature = "mbedtls", feature = "msquic"))
    {
        println!(
            "not looked at: the libraries in C that this build compares with would be counted"
        );
        return;
    }
    for way in ["rustls", "quinn"] {
        let (all, own, most) = size(way);
        println!("{way}: {all} kB, {own} of them its own; {most} at the most");
        assert!(
            all <= PROMISED_KB,
            "{way}: {all} kB, {own} of them its own; promised are {PROMISED_KB}"
        );
    }
}
