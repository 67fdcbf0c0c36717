//! Decodes an NRPPa message and prints it.
//!
//! ```sh
//! cargo run -p martlet-nrppa --example decode_nrppa -- 000200000517000003000200…
//! ```
use martlet_nrppa::Pdu;

/// A sample message, for a run without arguments.
const SAMPLE: &str = "000200000517000003000200010000030001000005000600000b000104";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).unwrap_or_else(|| SAMPLE.to_string());
    let bytes = hex::decode(text.trim())?;
    println!("{:#?}", Pdu::decode(&bytes)?);
    Ok(())
}
