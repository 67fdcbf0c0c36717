//! Decodes a packet of EAP-AKA' and prints it.
//!
//! ```sh
//! cargo run -p martlet-eap --example decode_eap -- 0201000c320e000016010000…
//! ```
use martlet_eap::packet::Packet;

/// A sample message, for a run without arguments.
const SAMPLE: &str = "0201000c320e000016010000";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).unwrap_or_else(|| SAMPLE.to_string());
    let bytes = hex::decode(text.trim())?;
    println!("{:#?}", Packet::decode(&bytes)?);
    Ok(())
}
