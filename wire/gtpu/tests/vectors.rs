//! Packets that another implementation wrote from values of its own (vectors.py), against our
//! reading and writing.
use martlet_gtpu::*;
use std::collections::HashMap;
use std::process::{Command, Stdio};

const VECTORS: &str = include_str!("vectors.tsv");

/// What every G-PDU of the vectors carries.
fn payload() -> Vec<u8> {
    let header = [0x45, 0, 0, 0x1c, 0, 1, 0, 0, 0x40, 1];
    header.into_iter().chain(0..18).collect()
}

fn vectors() -> HashMap<&'static str, Vec<u8>> {
    let bytes = |text: &str| {
        let octet = |n: usize| u8::from_str_radix(&text[2 * n..2 * n + 2], 16).unwrap();
        (0..text.len() / 2).map(octet).collect()
    };
    let line = |line: &'static str| line.split_once('\t').map(|(name, text)| (name, bytes(text)));
    VECTORS.lines().filter(|line| !line.starts_with('#')).filter_map(line).collect()
}

#[test]
fn what_another_implementation_wrote_reads() {
    let downlink = PduSessionContainer::downlink;
    let uplink = PduSessionContainer::uplink;
    let cases = [
        ("gpdu", 0x1122_3344, None, None),
        ("gpdu-sequence", 0x1122_3344, Some(0xabcd), None),
        ("gpdu-npdu", 0x1122_3344, Some(0xabcd), None),
        ("gpdu-downlink", 1, None, Some(downlink(9))),
        ("gpdu-downlink-rqi", 1, None, Some(PduSessionContainer { rqi: true, ..downlink(63) })),
        ("gpdu-downlink-ppi", 1, None, Some(PduSessionContainer { ppi: Some(5), ..downlink(1) })),
        ("gpdu-downlink-monitored", 1, None, Some(downlink(7))),
        ("gpdu-uplink", 0xffff_ffff, None, Some(uplink(9))),
        ("gpdu-uplink-monitored", 2, None, Some(uplink(3))),
        ("gpdu-two-extensions", 3, None, Some(uplink(5))),
    ];
    let (vectors, payload) = (vectors(), payload());
    for (name, teid, sequence, container) in cases {
        let expected = Message::GPdu(GPdu { teid, sequence, container, payload: &payload });
        assert_eq!(decode(&vectors[name]), Ok(expected), "{name}");
    }
    let is = |name: &str, message| assert_eq!(decode(&vectors[name]), Ok(message), "{name}");
    is("echo-request", Message::EchoRequest { sequence: 0x1234 });
    is("echo-response", Message::EchoResponse { sequence: 0x1234 });
    is("end-marker", Message::EndMarker { teid: 0x0102_0304 });
    is(
        "error-indication-v4",
        Message::ErrorIndication { teid: 0xdead_beef, peer: [127, 0, 0, 8].into() },
    );
    is(
        "error-indication-v6",
        Message::ErrorIndication { teid: 1, peer: "2001:db8::8".parse().unwrap() },
    );
    is("supported-extension-headers", Message::SupportedExtensionHeaders(&[0x85, 0x40]));
}

#[test]
fn what_we_write_is_what_another_implementation_wrote() {
    let vectors = vectors();
    let g_pdu = |teid, container| {
        let payload = payload();
        [g_pdu_header(teid, container, payload.len()).unwrap().as_slice(), &payload].concat()
    };
    let rqi = PduSessionContainer { rqi: true, ..PduSessionContainer::downlink(63) };
    let ppi = PduSessionContainer { ppi: Some(5), ..PduSessionContainer::downlink(1) };
    let cases = [
        ("gpdu", g_pdu(0x1122_3344, None)),
        ("gpdu-downlink", g_pdu(1, Some(PduSessionContainer::downlink(9)))),
        ("gpdu-downlink-rqi", g_pdu(1, Some(rqi))),
        ("gpdu-downlink-ppi", g_pdu(1, Some(ppi))),
        ("gpdu-uplink", g_pdu(0xffff_ffff, Some(PduSessionContainer::uplink(9)))),
        ("echo-request", echo_request(0x1234)),
        ("echo-response", echo_response(0x1234)),
        ("end-marker", end_marker(0x0102_0304, None)),
        ("error-indication-v4", error_indication(0xdead_beef, [127, 0, 0, 8].into())),
        ("error-indication-v6", error_indication(1, "2001:db8::8".parse().unwrap())),
    ];
    for (name, bytes) in cases {
        assert_eq!(bytes, vectors[name], "{name}");
    }
}

#[test]
fn the_vectors_are_what_the_other_implementation_writes() {
    let python = std::env::var("MARTLET_PYTHON").unwrap_or_else(|_| "python3".into());
    let probe =
        Command::new(&python).args(["-c", "import pycrate_mobile"]).stderr(Stdio::null()).status();
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: {python} has no pycrate; `make oracles` installs it");
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors.py");
    let output = Command::new(&python).arg(script).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), VECTORS);
}

#[test]
fn tshark_finds_nothing_wrong_with_what_we_write() {
    let mut capture = martlet_wire_testing::capture::Capture::new();
    let packet = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 59, 0, 0, 10, 45, 0, 2, 10, 45, 0, 1];
    let container =
        PduSessionContainer { rqi: true, ppi: Some(2), ..PduSessionContainer::downlink(5) };
    let messages = [
        [
            g_pdu_header(7, Some(PduSessionContainer::uplink(9)), packet.len()).unwrap().as_slice(),
            &packet,
        ]
        .concat(),
        [g_pdu_header(7, Some(container), packet.len()).unwrap().as_slice(), &packet].concat(),
        echo_request(1),
        echo_response(1),
        error_indication(7, [127, 0, 0, 8].into()),
        error_indication(7, "2001:db8::8".parse().unwrap()),
        supported_extension_headers(0),
        end_marker(7, Some(PduSessionContainer::downlink(5))),
    ];
    messages.iter().for_each(|message| capture.udp(PORT, message));
    let Some(dissected) = capture.dissect("gtpu", &[]) else { return };
    assert_eq!(dissected.len(), messages.len());
    for (n, packet) in dissected.iter().enumerate() {
        assert_eq!(packet.problem, None, "message {n}: {packet:?}");
        assert!(packet.protocols.contains("gtp"), "message {n}: {packet:?}");
    }
}
