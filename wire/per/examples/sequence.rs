//! Encodes and decodes a SEQUENCE with an extension marker and a list, in both variants, as
//! generated code does.
//!
//! ```text
//! Report ::= SEQUENCE {
//!     cell    INTEGER (0..1007),
//!     beams   SEQUENCE (SIZE (1..8)) OF INTEGER (0..127),
//!     note    OCTET STRING OPTIONAL,
//!     ...
//! }
//! ```
use martlet_per::{DecodeError, Decoder, EncodeError, Encoder, Size, Variant};

const BEAMS: Size = Size::range(1, 8);

#[derive(Debug, Clone, PartialEq)]
struct Report {
    cell: u16,
    beams: Vec<u8>,
    note: Option<Vec<u8>>,
}

impl Report {
    fn encode(&self, variant: Variant) -> Result<Vec<u8>, EncodeError> {
        let mut e = Encoder::new(variant);
        e.bit(false); // no extension additions
        e.bit(self.note.is_some());
        e.constrained(self.cell.into(), 0, 1007)?;
        e.count(self.beams.len(), Some(BEAMS))?;
        for beam in &self.beams {
            e.constrained((*beam).into(), 0, 127)?;
        }
        if let Some(note) = &self.note {
            e.octet_string(note, None)?;
        }
        Ok(e.finish())
    }

    fn decode(bytes: &[u8], variant: Variant) -> Result<Self, DecodeError> {
        let mut d = Decoder::new(bytes, variant);
        let (is_extended, has_note) = (d.bit()?, d.bit()?);
        let cell = d.constrained(0, 1007)? as u16;
        let count = d.count(Some(BEAMS))?;
        let mut beams = Vec::with_capacity(d.reserve(count));
        for _ in 0..count {
            beams.push(d.constrained(0, 127)? as u8);
        }
        let note = if has_note { Some(d.octet_string(None)?) } else { None };
        if is_extended {
            // Additions of a later version of the type.
            let additions = d.additions()?;
            d.skip_additions(&additions, 0)?;
        }
        d.finish()?;
        Ok(Report { cell, beams, note })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let report = Report { cell: 500, beams: vec![1, 64, 127], note: Some(vec![0xab]) };
    for variant in [Variant::Unaligned, Variant::Aligned] {
        let bytes = report.encode(variant)?;
        assert_eq!(Report::decode(&bytes, variant)?, report);
        println!("{variant:?}: {bytes:02x?}");
    }
    // A value outside its bounds is an error, and so are truncated bytes.
    let outside = Report { cell: 2000, ..report };
    println!("cell 2000: {}", outside.encode(Variant::Unaligned).unwrap_err());
    println!("cut off: {}", Report::decode(&[0x40], Variant::Unaligned).unwrap_err());
    Ok(())
}
