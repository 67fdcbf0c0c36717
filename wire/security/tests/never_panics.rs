//! Mutated identifiers, as bytes and as text, are decoded or rejected, and never cause a panic.

use martlet_security::{fuzz, sidf};
use martlet_wire_testing::mutate;

#[test]
fn concealed_identifiers_are_read_or_refused() {
    let texts = [
        "suci-0-274-012-0-0-0-001002086",
        "suci-0-274-012-0-1-27-\
         b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457d\
         cb02352410cddd9e730ef3fa87",
        "suci-0-274-012-0-2-27-\
         039aab8376597021e855679a9778ea0b67396e68c66df32c0f41e9acca2da9b9\
         d146a33fc2716ac7dae96aa30a4d",
        "type1.rid678.schid0.useriduser17@example.com",
        "465b5ce8b199b49faa5f0a2ee238a6bc",
    ];
    let bytes = texts.iter().filter_map(|text| sidf::parse(text).ok()?.to_nas_octets().ok());
    let seeds = texts.iter().map(|text| text.as_bytes().to_vec()).chain(bytes).collect();
    mutate::run(33501, seeds, 5_000, fuzz::suci);
}
