//! Encodes and decodes a SEQUENCE in unaligned PER.
use martlet_per::{Decoder, Encoder, Variant};

fn main() {
    // SEQUENCE { a INTEGER (0..255), b BOOLEAN, c OCTET STRING OPTIONAL }
    let mut encoder = Encoder::new(Variant::Unaligned);
    encoder.bit(true); // c is there
    encoder.constrained(200, 0, 255).unwrap();
    encoder.bit(false);
    encoder.octet_string(&[0xab], None).unwrap();
    let bytes = encoder.finish();
    assert_eq!(bytes, [0b1110_0100, 0, 0b0110_1010, 0b1100_0000]);

    let mut decoder = Decoder::new(&bytes, Variant::Unaligned);
    assert_eq!(decoder.bit(), Ok(true));
    assert_eq!(decoder.constrained(0, 255), Ok(200));
    assert_eq!(decoder.bit(), Ok(false));
    assert_eq!(decoder.octet_string(None), Ok(vec![0xab]));
    assert_eq!(decoder.finish(), Ok(()));
    println!("done");
}
