//! The operations that generated code uses, at the limits where the forms of X.691 change.

use martlet_per::{BitString, DecodeError, Decoder, EncodeError, Encoder, Size, Variant};

const VARIANTS: [Variant; 2] = [Variant::Aligned, Variant::Unaligned];

/// Encoded after three bits, so that alignment has an effect, and decoded again.
fn bytes(variant: Variant, write: impl Fn(&mut Encoder)) -> Vec<u8> {
    let mut encoder = Encoder::new(variant);
    encoder.bits(0b101, 3);
    write(&mut encoder);
    encoder.bit(true);
    encoder.finish()
}

fn read<T>(
    variant: Variant,
    bytes: &[u8],
    read: impl Fn(&mut Decoder) -> Result<T, DecodeError>,
) -> T {
    for end in 0..bytes.len().min(400) {
        let mut decoder = Decoder::new(&bytes[..end], variant);
        let done = decoder.bits(3).and_then(|_| read(&mut decoder)).and_then(|_| decoder.bit());
        assert!(done.is_err(), "{end} of {} bytes are enough", bytes.len());
    }
    let mut decoder = Decoder::new(bytes, variant);
    assert_eq!(decoder.bits(3), Ok(0b101));
    let value = read(&mut decoder).unwrap();
    assert_eq!(decoder.bit(), Ok(true));
    assert_eq!(decoder.finish(), Ok(()));
    value
}

#[test]
fn numbers_round_trip_at_the_limits_of_their_forms() {
    let ranges: [(i128, i128); 9] = [
        (0, 1),
        (0, 254),
        (0, 255),
        (5, 260),
        (0, 256),
        (0, 65_535),
        (-1, 65_535),
        (-137_438_953_472, 137_438_953_471),
        (0, u64::MAX as i128),
    ];
    for variant in VARIANTS {
        for (min, max) in ranges {
            for value in [min, min + 1, (min + max) / 2, max - 1, max] {
                let bytes = bytes(variant, |e| e.constrained(value, min, max).unwrap());
                assert_eq!(
                    read(variant, &bytes, |d| d.constrained(min, max)),
                    value,
                    "{variant:?} {min}..{max}"
                );
            }
            let outside = Encoder::new(variant).constrained(max + 1, min, max);
            assert_eq!(outside, Err(EncodeError::Range { value: max + 1, min, max }));
        }
        for value in
            [0, 1, -1, 127, 128, -128, -129, 255, 65_536, i64::MAX as i128, i64::MIN as i128]
        {
            let bytes = bytes(variant, |e| e.unconstrained(value).unwrap());
            assert_eq!(read(variant, &bytes, |d| d.unconstrained()), value);
            let bytes = self::bytes(variant, |e| e.extensible(value, 0, 7).unwrap());
            assert_eq!(read(variant, &bytes, |d| d.extensible(0, 7)), value);
        }
        for value in [0, 63, 64, 255, 256, 70_000] {
            let bytes = bytes(variant, |e| e.small(value).unwrap());
            assert_eq!(read(variant, &bytes, |d| d.small()), value);
        }
    }
}

#[test]
fn the_examples_of_the_specification_have_their_octets() {
    // X.691, 11.5.7: 256 values take an octet of their own in the aligned variant.
    let one = |variant| bytes(variant, |e| e.constrained(0xab, 0, 255).unwrap());
    assert_eq!(hex::encode(one(Variant::Aligned)), "a0ab80");
    assert_eq!(hex::encode(one(Variant::Unaligned)), "b570");
    // Numbers without bounds: the fewest bytes of two's complement.
    let mut encoder = Encoder::new(Variant::Aligned);
    [127, 128, -128, -129].into_iter().for_each(|value| encoder.unconstrained(value).unwrap());
    assert_eq!(hex::encode(encoder.finish()), "017f0200800180 02ff7f".replace(' ', ""));
}

#[test]
fn strings_round_trip_with_and_without_fragments() {
    for variant in VARIANTS {
        for length in [0, 1, 127, 128, 16_383, 16_384, 16_385, 65_535, 65_536, 100_000] {
            let value: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let bytes = bytes(variant, |e| e.octet_string(&value, None).unwrap());
            assert_eq!(read(variant, &bytes, |d| d.octet_string(None)), value);
            let bytes = self::bytes(variant, |e| e.open(|e| e.octet_string(&value, None)).unwrap());
            assert_eq!(read(variant, &bytes, |d| d.open(|d| d.octet_string(None))), value);
            let bytes = self::bytes(variant, |e| e.open_octets(&value));
            assert_eq!(read(variant, &bytes, |d| d.open_octets()), value);
            read(variant, &bytes, |d| d.skip_open());
        }
        for (size, bits) in [
            (None, 9),
            (Some(Size::range(3, 3)), 3),
            (Some(Size::range(16, 16)), 16),
            (Some(Size::range(17, 17)), 17),
            (Some(Size::range(1, 160)), 33),
            (Some(Size::extensible(1, 160)), 200),
            (Some(Size::extensible(1, 160)), 20),
        ] {
            let value = BitString::from_ones(bits, &[0, bits - 1]);
            let bytes = bytes(variant, |e| e.bit_string(&value, size).unwrap());
            assert_eq!(read(variant, &bytes, |d| d.bit_string(size)), value);
        }
        for size in
            [None, Some(Size::range(1, 32)), Some(Size::range(2, 2)), Some(Size::range(3, 3))]
        {
            let value = &"a z"[..size.map_or(3, |size| size.max.unwrap().min(3))];
            let bytes = bytes(variant, |e| e.visible_string(value, size).unwrap());
            assert_eq!(read(variant, &bytes, |d| d.visible_string(size)), value);
        }
        let mut encoder = Encoder::new(variant);
        assert_eq!(encoder.visible_string("ä", None), Err(EncodeError::Character));
        assert_eq!(
            encoder.octet_string(&[1, 2], Some(Size::range(3, 4))),
            Err(EncodeError::Size(2))
        );
        assert_eq!(encoder.count(5, Some(Size::range(1, 4))), Err(EncodeError::Size(5)));
    }
}

#[test]
fn what_a_type_does_not_have_is_refused() {
    for variant in VARIANTS {
        assert_eq!(
            Decoder::new(&[0b1100_0000], variant).index(3, false),
            Err(DecodeError::Index(3))
        );
        assert_eq!(
            Decoder::new(&[0b1111_0000], variant).constrained(0, 9),
            Err(DecodeError::Range)
        );
        assert_eq!(Decoder::new(&[0xc5, 0], variant).octet_string(None), Err(DecodeError::Length));
        assert_eq!(
            Decoder::new(&[0x7f; 3], variant).additions().err(),
            Some(DecodeError::Truncated)
        );
        let mut decoder = Decoder::new(&[0, 1, 2], variant);
        decoder.bits(9).unwrap();
        assert_eq!(decoder.finish(), Err(DecodeError::Trailing(1)));
    }
}

#[test]
fn additions_that_are_not_known_are_passed_over() {
    for variant in VARIANTS {
        let bytes = bytes(variant, |e| {
            e.additions(&[true, false, true]).unwrap();
            e.open_octets(&[7]);
            e.open_octets(&[1, 2, 3]);
        });
        read(variant, &bytes, |d| {
            let additions = d.additions()?;
            assert!(additions.has(0) && !additions.has(1) && additions.has(2) && !additions.has(3));
            assert_eq!(d.open(|d| d.bits(8))?, 7);
            d.skip_additions(&additions, 1)
        });
    }
}
