//! Messages against bytes that another implementation made, and round trips.
use martlet_gtpu::*;
use proptest::prelude::*;
use std::io::Write;
use std::net::IpAddr;
use std::process::{Command, Stdio};

fn hex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|n| u8::from_str_radix(&text[2 * n..2 * n + 2], 16).unwrap()).collect()
}

#[test]
fn another_implementation_reads_and_writes_the_same_octets() {
    let with_payload = |header: GPduHeader| [header.as_slice(), &[0x45, 0, 0, 4]].concat();
    let downlink = PduSessionContainer { rqi: true, ..PduSessionContainer::downlink(5) };
    let messages = [
        ("g_pdu", with_payload(g_pdu_header(0x1234_5678, None, 4).unwrap()), 255, 0x1234_5678u32),
        (
            "uplink",
            with_payload(g_pdu_header(7, Some(PduSessionContainer::uplink(9)), 4).unwrap()),
            255,
            7,
        ),
        ("downlink", with_payload(g_pdu_header(8, Some(downlink), 4).unwrap()), 255, 8),
        ("echo_request", echo_request(7), 1, 0),
        ("echo_response", echo_response(7), 2, 0),
        ("error_indication", error_indication(0xdead_beef, "10.0.0.1".parse().unwrap()), 26, 0),
        ("end_marker", end_marker(9, None), 254, 9),
    ];
    let python = std::env::var("MARTLET_PYTHON").unwrap_or_else(|_| "python3".into());
    let probe =
        Command::new(&python).args(["-c", "import pycrate_mobile"]).stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: {python} has no pycrate; `make oracles` installs it");
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle.py");
    let mut child = Command::new(&python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let text = |bytes: &[u8]| bytes.iter().map(|o| format!("{o:02x}")).collect::<String>();
    let mut stdin = child.stdin.take().unwrap();
    for (name, bytes, ..) in &messages {
        writeln!(stdin, "{name} {}", text(bytes)).unwrap();
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let expected: String = messages
        .iter()
        .map(|(name, o, kind, teid)| format!("{name} {} {kind} {teid}\n", text(o)))
        .collect();
    assert_eq!(stdout, expected);
}

#[test]
fn signalling_round_trips() {
    assert_eq!(decode(&echo_request(7)), Ok(Message::EchoRequest { sequence: 7 }));
    assert_eq!(decode(&echo_response(8)), Ok(Message::EchoResponse { sequence: 8 }));
    for address in ["10.0.0.1", "2001:db8::1"] {
        let peer: IpAddr = address.parse().unwrap();
        assert_eq!(
            decode(&error_indication(5, peer)),
            Ok(Message::ErrorIndication { teid: 5, peer })
        );
    }
    assert_eq!(
        decode(&end_marker(9, Some(PduSessionContainer::downlink(1)))),
        Ok(Message::EndMarker { teid: 9 })
    );
    assert_eq!(
        decode(&supported_extension_headers(1)),
        Ok(Message::SupportedExtensionHeaders(&[0x85]))
    );
}

#[test]
fn errors_are_distinguished() {
    assert_eq!(decode(&[]), Err(DecodeError::Truncated));
    assert_eq!(decode(&hex("50ff000000000001")), Err(DecodeError::Version));
    assert_eq!(decode(&hex("20ff000000000001")), Err(DecodeError::Version));
    assert_eq!(decode(&hex("30ff000400000001aabb")), Err(DecodeError::Truncated));
    // An extension header of length 0.
    assert_eq!(
        decode(&hex("34ff00080000000100000085 00000000".replace(' ', "").as_str())),
        Err(DecodeError::Chain)
    );
    // One that requires comprehension, and one that does not.
    assert_eq!(
        decode(&hex("34ff000800000001000000c001000000")),
        Err(DecodeError::UnknownExtension(0xc0))
    );
    assert_eq!(
        decode(&hex("34ff0008000000010000008401000000")),
        Err(DecodeError::UnknownExtension(0x84))
    );
    assert!(matches!(decode(&hex("34ff0008000000010000004001000000")),
            Ok(Message::GPdu(pdu)) if pdu.container.is_none()));
    // A chain of headers up to the end of the bytes.
    let mut chain = hex("34ff00400000000100000085");
    chain.extend([1, 0x10, 9, 0x85].repeat(15));
    assert_eq!(decode(&chain), Err(DecodeError::Chain));
    assert_eq!(
        decode(&hex("301a000500000000 10deadbeef".replace(' ', "").as_str())),
        Err(DecodeError::MissingElement)
    );
}

#[test]
fn pdu_set_information_is_not_read() {
    // Type 0x04 does not require comprehension (TS 29.281, 5.2.1), 0x86 of earlier versions does.
    let marked = hex("34ff000c000000010000000401000000deadbeef");
    let Ok(Message::GPdu(pdu)) = decode(&marked) else { panic!("a packet is due") };
    assert_eq!((pdu.container, pdu.payload), (None, &[0xde, 0xad, 0xbe, 0xef][..]));
    let earlier = hex("34ff000c000000010000008601000000deadbeef");
    assert_eq!(decode(&earlier), Err(DecodeError::UnknownExtension(0x86)));
}

proptest! {
    #[test]
    fn a_packet_round_trips(teid: u32, qfi in 0u8..64, rqi: bool,
        ppi in proptest::option::of(0u8..8), up: bool, some: bool, payload: Vec<u8>) {
        let downlink = PduSessionContainer { rqi, ppi, ..PduSessionContainer::downlink(qfi) };
        let container =
            some.then_some(if up { PduSessionContainer::uplink(qfi) } else { downlink });
        let mut bytes = g_pdu_header(teid, container, payload.len()).unwrap().as_slice().to_vec();
        bytes.extend(&payload);
        prop_assert_eq!(decode(&bytes),
            Ok(Message::GPdu(GPdu { teid, sequence: None, container, payload: &payload })));
    }

    #[test]
    fn anything_is_read_without_a_panic(bytes: Vec<u8>, first in 0x30u8..0x38, kind: u8) {
        fuzz_decode(&bytes);
        fuzz_decode(&[&[first, kind, 0, bytes.len() as u8], &bytes[..]].concat());
    }
}
