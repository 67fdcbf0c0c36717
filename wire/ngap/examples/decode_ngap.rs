//! Decodes an NGAP message and prints its name, or what is wrong with it.
//!
//! ```sh
//! cargo run -p martlet-ngap --example decode_ngap -- HEX
//! ```
use martlet_ngap::inbound;

/// A sample message, for a run without arguments.
const SAMPLE: &str = "00150035000004001b00080002f83910000001005240070200676e622d310066\
    001200000000010002f8390001000880400000ff0015400140";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).unwrap_or_else(|| SAMPLE.to_string());
    let bytes = hex::decode(text.trim())?;
    match inbound::read(&bytes) {
        Ok(received) => println!("{}\n{:#?}", inbound::message_name(&received.pdu), received.pdu),
        Err(fault) => println!("{fault:?}"),
    }
    Ok(())
}
