//! Memory of the UE's side of LCS-UPP while it exchanges the largest messages and LPP.
use crate::connected;

/// The promise of `SPECIFICATION.md` for an optimised build. In a debug build the used part of the
/// program is half as large again.
const PROMISED_KB: u64 = if cfg!(debug_assertions) { 4500 } else { 4000 };

/// Resident memory in kB: total, anonymous, and the peak.
fn resident(process: u32) -> (u64, u64, u64) {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    (of("VmRSS:"), of("RssAnon:"), of("VmHWM:"))
}

/// The client's memory after its work.
fn size(variant: &str) -> (u64, u64, u64) {
    let (mut client, _server) = connected(variant, &[]);
    assert_eq!(client.ask("rounds 1 20"), 20);
    assert_eq!(client.ask("trim"), 0);
    for command in
        ["rounds 1 20", "rounds 65535 20", "procedures 20", "rounds 65535 20", "procedures 20"]
    {
        assert_eq!(client.ask(command), 20, "{variant}: {command}");
    }
    resident(client.child.id())
}

#[test]
fn the_ue_side_stays_within_the_promised_memory() {
    if cfg!(any(feature = "openssl", feature = "wolfssl", feature = "mbedtls", feature = "msquic"))
    {
        println!("SKIPPED: this build links TLS libraries in C, which would be counted");
        return;
    }
    for variant in ["rustls", "quinn"] {
        let (all, own, max) = size(variant);
        println!("{variant}: {all} kB resident, {own} kB anonymous, peak {max} kB");
        assert!(
            all <= PROMISED_KB,
            "{variant}: {all} kB resident, {own} kB anonymous; promised: {PROMISED_KB} kB"
        );
    }
}
