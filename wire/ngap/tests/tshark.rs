//! tshark dissects our NGAP, and our NAS inside it, without malformed packets and errors.

mod messages;

use martlet_ngap::build_ngap;
use martlet_ngap::helpers::{nr_cgi, plmn, tai};
use martlet_ngap::ngap::*;
use martlet_wire_testing::capture::{Capture, Dissected};
use martlet_wire_testing::{bytes, lines};

/// NGAP's payload protocol identifier in SCTP (TS 38.412, 7).
const NGAP: u32 = 60;
/// Messages without a security header are not ciphered, and neither are those under NEA0.
const PREFERENCES: [&str; 1] = ["nas-5gs.null_decipher:TRUE"];

/// NAS messages that the UE sends; the others come from the network.
fn is_uplink(name: &str) -> bool {
    let words = ["complete", "response", "failure", "UL NAS", "of the UE", "5GSM status"];
    let is_request =
        name.contains("request") && !name.contains("identity") && !name.contains("authentication");
    (is_request && !name.contains("of the network"))
        || words.iter().any(|word| name.contains(word))
        || name == "security mode reject"
}

/// A session management message in UL or DL NAS TRANSPORT.
fn transported(name: &str, bytes: &[u8]) -> Vec<u8> {
    if bytes.first() != Some(&0x2e) {
        return bytes.to_vec();
    }
    let kind = if is_uplink(name) { 0x67 } else { 0x68 };
    let length = u16::try_from(bytes.len()).expect("a short message").to_be_bytes();
    [&[0x7e, 0x00, kind, 0x01][..], &length, bytes, &[0x12, 0x05]].concat()
}

/// A NAS message in the NGAP message that carries it.
fn carried(uplink: bool, nas: Vec<u8>) -> Vec<u8> {
    let network = plmn("208", "93").expect("a PLMN");
    let cell = nr_cgi(network, 1, 24, 1).expect("a cell");
    let location = UserLocationInformationNR::new(cell, tai(network, [0, 0, 1]), None, None);
    let location = UserLocationInformation::userLocationInformationNR(location);
    let pdu = match uplink {
        true => build_ngap!(
            InitiatingMessage,
            UplinkNASTransport,
            UplinkNASTransport,
            AMF_UE_NGAP_ID(1u64),
            RAN_UE_NGAP_ID(7u32),
            NAS_PDU(nas),
            UserLocationInformation(location)
        ),
        false => build_ngap!(
            InitiatingMessage,
            DownlinkNASTransport,
            DownlinkNASTransport,
            AMF_UE_NGAP_ID(1u64),
            RAN_UE_NGAP_ID(7u32),
            NAS_PDU(nas)
        ),
    };
    pdu.and_then(|pdu| pdu.encode()).expect("a message")
}

/// Every packet has the expected protocol, and none has a problem.
fn assert_clean(names: &[String], packets: &[Dissected], protocol: &str) {
    assert_eq!(packets.len(), names.len(), "tshark reads every packet");
    for (name, packet) in names.iter().zip(packets) {
        assert_eq!(packet.problem, None, "{name}: {packet:?}");
        assert!(packet.protocols.contains(protocol), "{name} is not {protocol}: {packet:?}");
    }
}

#[test]
fn tshark_finds_nothing_wrong_with_our_ngap() {
    let (mut capture, mut names) = (Capture::new(), Vec::new());
    for (name, to_amf, bytes) in messages::all() {
        capture.sctp(to_amf, NGAP, &bytes);
        names.push(name);
    }
    if let Some(packets) = capture.dissect("ngap", &PREFERENCES) {
        assert_clean(&names, &packets, "ngap");
        // Where a message carries NAS, tshark sees it.
        let nas = packets.iter().filter(|packet| packet.protocols.contains("nas-5gs")).count();
        assert!(nas >= 8, "{nas} messages with NAS");
    }
}

#[test]
fn tshark_finds_nothing_wrong_with_the_nas_inside() {
    let (mut capture, mut names) = (Capture::new(), Vec::new());
    for fields in lines(include_str!("../../nas/tests/vectors/ours.tsv")) {
        let [name, hex] = fields[..] else { panic!("two fields") };
        let uplink = is_uplink(name);
        capture.sctp(uplink, NGAP, &carried(uplink, transported(name, &bytes(hex))));
        names.push(name.to_owned());
    }
    assert!(names.len() > 40, "{} messages", names.len());
    if let Some(packets) = capture.dissect("nas", &PREFERENCES) {
        assert_clean(&names, &packets, "nas-5gs");
    }
}

#[test]
fn tshark_does_find_what_is_wrong() {
    let mut capture = Capture::new();
    capture.sctp(false, NGAP, &carried(false, vec![0x7e, 0x00, 0x56, 0x00, 0x20]));
    let mut cut = carried(false, vec![0x7e, 0x00, 0x64, 0x61]);
    cut.truncate(cut.len() - 3);
    capture.sctp(false, NGAP, &cut);
    if let Some(packets) = capture.dissect("wrong", &PREFERENCES) {
        for (name, packet) in
            ["a NAS message that ends early", "an NGAP message that does"].iter().zip(&packets)
        {
            assert!(packet.problem.is_some(), "{name}: {packet:?}");
        }
    }
}
