//! NGAP messages and transfers against pycrate, another implementation, in both directions: its
//! bytes decode here and encode to the same, and ours decode there and encode to the same.

mod markers;
mod messages;

use martlet_ngap::ngap::*;
use martlet_ngap::transfer::{self, TransferError};
use martlet_ngap::{aper, inbound};
use martlet_wire_testing::{bytes, lines, oracle};

const VECTORS: &str = include_str!("vectors/pycrate.tsv");

/// The vectors of a kind: name, variant and bytes.
fn vectors(kind: &'static str) -> impl Iterator<Item = (&'static str, &'static str, Vec<u8>)> {
    lines(VECTORS)
        .filter(move |fields| fields[0] == kind)
        .map(|fields| (fields[1], fields[2], bytes(fields[3])))
}

#[test]
fn messages_of_pycrate_are_read_and_encoded_to_the_same_octets() {
    let (mut messages, mut elements) = (0, 0);
    for (name, variant, bytes) in vectors("message") {
        let received =
            inbound::read(&bytes).unwrap_or_else(|fault| panic!("{name} {variant}: {fault}"));
        assert_eq!(inbound::message_name(&received.pdu), name);
        let deviations = received.pdu.check().expect("a container of elements");
        assert!(deviations.is_empty(), "{name} {variant}: {deviations:?}");
        assert_eq!(received.pdu.encode().expect("it encodes"), bytes, "{name} {variant}");
        // Each element as its type, and back.
        for element in received.pdu.protocol_ies().expect("a container of elements").0 {
            let again = markers::recode(element.id.0, &element.value);
            let again = again.unwrap_or_else(|| {
                panic!("{name} {variant}: element {} is not tested", element.id.0)
            });
            assert_eq!(
                again,
                Ok(element.value.to_vec()),
                "{name} {variant}, element {}",
                element.id.0
            );
            elements += 1;
        }
        messages += 1;
    }
    assert_eq!(messages, 260, "each message with few and with many elements");
    assert!(elements > 1000, "{elements} elements");
}

/// A transfer as its ASN.1 type, encoded again.
fn recode<'a, T: martlet_ngap::Decode<'a> + martlet_ngap::Encode>(bytes: &'a [u8]) -> Vec<u8> {
    let value: T = aper::decode(bytes).expect("it decodes");
    aper::encode(&value).expect("it encodes")
}

#[test]
fn transfers_of_pycrate_are_read_and_encoded_to_the_same_octets() {
    let mut transfers = 0;
    for (name, variant, bytes) in vectors("transfer") {
        /// A transfer encoded again by its ASN.1 type, and by our own type, twice.
        macro_rules! by_name {
            ($($asn:ident => $ours:ident),* $(,)?) => {
                match name {
                    $(stringify!($asn) => {
                        assert_eq!(recode::<$asn>(&bytes), bytes, "{name} {variant}");
                        let value = transfer::$ours::decode(&bytes);
                        let value =
                            value.unwrap_or_else(|error| panic!("{name} {variant}: {error}"));
                        let again =
                            value.encode().unwrap_or_else(
                            |error| panic!("{name} {variant}: {error}"));
                        assert_eq!(transfer::$ours::decode(&again).as_ref(), Ok(&value),
                            "{name} {variant}");
                        if variant == "least" {
                            assert_eq!(hex::encode(again), hex::encode(&bytes), "{name}");
                        }
                    })*
                    other => panic!("{other} is not tested"),
                }
            };
        }
        by_name!(
            PDUSessionResourceSetupRequestTransfer => SetupRequest,
            PDUSessionResourceSetupResponseTransfer => SetupResponse,
            PDUSessionResourceSetupUnsuccessfulTransfer => SetupUnsuccessful,
            PDUSessionResourceReleaseCommandTransfer => ReleaseCommand,
            PDUSessionResourceReleaseResponseTransfer => ReleaseResponse,
            PDUSessionResourceModifyRequestTransfer => ModifyRequest,
            PDUSessionResourceModifyResponseTransfer => ModifyResponse,
            PDUSessionResourceModifyUnsuccessfulTransfer => ModifyUnsuccessful,
            PDUSessionResourceModifyIndicationTransfer => ModifyIndication,
            PDUSessionResourceModifyConfirmTransfer => ModifyConfirm,
            PDUSessionResourceModifyIndicationUnsuccessfulTransfer =>
                ModifyIndicationUnsuccessful,
            PDUSessionResourceNotifyTransfer => Notify,
            PDUSessionResourceNotifyReleasedTransfer => NotifyReleased,
            PathSwitchRequestTransfer => PathSwitchRequest,
            PathSwitchRequestAcknowledgeTransfer => PathSwitchAcknowledge,
            PathSwitchRequestSetupFailedTransfer => PathSwitchSetupFailed,
            PathSwitchRequestUnsuccessfulTransfer => PathSwitchUnsuccessful,
            HandoverRequiredTransfer => HandoverRequired,
            HandoverRequestAcknowledgeTransfer => HandoverRequestAcknowledge,
            HandoverCommandTransfer => HandoverCommand,
            HandoverPreparationUnsuccessfulTransfer => HandoverPreparationUnsuccessful,
            HandoverResourceAllocationUnsuccessfulTransfer =>
                HandoverResourceAllocationUnsuccessful,
        );
        transfers += 1;
    }
    assert_eq!(transfers, 3 * 22);
}

#[test]
fn a_transfer_cut_short_is_a_transfer_syntax_error() {
    for (name, _, bytes) in
        vectors("transfer").filter(|(name, ..)| *name == "PDUSessionResourceSetupResponseTransfer")
    {
        for end in 0..bytes.len() {
            let error = transfer::SetupResponse::decode(&bytes[..end]).expect_err(name);
            assert!(matches!(error, TransferError::Syntax { .. }), "{error}");
        }
    }
}

#[test]
fn what_we_encode_is_what_the_golden_octets_say() {
    let messages = messages::all().into_iter().map(|(name, _, bytes)| (name, bytes));
    let transfers = messages::transfers().into_iter().map(|(name, bytes)| (name.to_owned(), bytes));
    let ours: Vec<_> =
        messages.chain(transfers).map(|(name, bytes)| (name, hex::encode(bytes))).collect();
    if std::env::var_os("MARTLET_BLESS").is_some() {
        let text: String = ours.iter().map(|(name, bytes)| format!("{name}\t{bytes}\n")).collect();
        let header =
            "# What tests/messages builds, checked with pycrate. MARTLET_BLESS=1 rewrites it.\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/ours.tsv");
        std::fs::write(path, format!("{header}{text}")).expect("the file is written");
        return;
    }
    let golden: Vec<_> = lines(include_str!("vectors/ours.tsv"))
        .map(|it| (it[0].to_owned(), it[1].to_owned()))
        .collect();
    assert_eq!(ours, golden);
}

#[test]
fn what_we_encode_pycrate_reads_and_encodes_to_the_same_octets() {
    let ours = messages::all().into_iter().map(|(name, _, bytes)| ("ngap".to_owned(), name, bytes));
    let transfers = messages::transfers()
        .into_iter()
        .map(|(name, bytes)| (name.to_owned(), "ours".into(), bytes));
    let messages = vectors("message")
        .map(|(name, variant, bytes)| ("ngap".into(), format!("{name} {variant}"), bytes));
    let theirs = vectors("transfer")
        .map(|(name, variant, bytes)| (name.to_owned(), variant.to_owned(), bytes));
    let every: Vec<_> = ours.chain(transfers).chain(messages).chain(theirs).collect();
    if let Some(wrong) = oracle::recode(&every) {
        assert!(wrong.is_empty(), "pycrate reads these otherwise:\n{}", wrong.join("\n"));
    }
}
