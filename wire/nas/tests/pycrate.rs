//! NAS messages against pycrate, another implementation, in both directions: its bytes decode here
//! and encode to the same, and ours decode there and encode to the same.

mod messages;

use martlet_nas::Nas5gsMessage;
use martlet_wire_testing::{bytes, lines, oracle};

const VECTORS: &str = include_str!("vectors/pycrate.tsv");

#[test]
fn what_pycrate_encodes_is_read_and_encoded_to_the_same_octets() {
    let mut messages = 0;
    for fields in lines(VECTORS) {
        let [name, variant, hex] = fields[..] else { panic!("three fields") };
        let message = Nas5gsMessage::decode(&bytes(hex))
            .unwrap_or_else(|error| panic!("{name} {variant}: {error}"));
        assert!(
            message.unknown_ies().is_empty(),
            "{name} {variant} has elements that it does not know"
        );
        let again = message.encode().unwrap_or_else(|error| panic!("{name} {variant}: {error}"));
        assert_eq!(hex::encode(again), hex, "{name} {variant}");
        messages += 1;
    }
    assert_eq!(
        messages,
        2 * (28 + 16),
        "each message type of the core, with few and with many elements"
    );
}

#[test]
fn what_we_encode_is_what_the_golden_octets_say() {
    let golden = include_str!("vectors/ours.tsv");
    let ours: Vec<_> = messages::all();
    if std::env::var_os("MARTLET_BLESS").is_some() {
        let text: String =
            ours.iter().map(|(name, bytes)| format!("{name}\t{}\n", hex::encode(bytes))).collect();
        let header =
            "# What tests/messages builds, checked with pycrate. MARTLET_BLESS=1 rewrites it.\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/ours.tsv");
        std::fs::write(path, format!("{header}{text}")).expect("the file is written");
        return;
    }
    let mut expected = lines(golden);
    for (name, bytes) in ours {
        let fields = expected.next().unwrap_or_else(|| panic!("{name} has no golden bytes"));
        assert_eq!(fields, [name, &hex::encode(bytes)[..]]);
    }
    assert_eq!(expected.next(), None);
}

#[test]
fn what_we_encode_pycrate_reads_and_encodes_to_the_same_octets() {
    let ours =
        messages::all().into_iter().map(|(name, bytes)| ("nas".to_owned(), name.to_owned(), bytes));
    let theirs =
        lines(VECTORS).map(|fields| ("nas".to_owned(), fields[..2].join(" "), bytes(fields[2])));
    if let Some(wrong) = oracle::recode(&ours.chain(theirs).collect::<Vec<_>>()) {
        assert!(wrong.is_empty(), "pycrate reads these otherwise:\n{}", wrong.join("\n"));
    }
}
