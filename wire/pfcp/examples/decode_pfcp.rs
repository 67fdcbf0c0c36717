//! Decodes a PFCP message and prints it.
//!
//! ```sh
//! cargo run -p martlet-pfcp --example decode_pfcp -- 2001000c0000010000600004…
//! ```
use martlet_pfcp::Packet;

/// A sample message, for a run without arguments.
const SAMPLE: &str = "2001000c0000010000600004e8a4c1a0";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).unwrap_or_else(|| SAMPLE.to_string());
    let bytes = hex::decode(text.trim())?;
    println!("{:#?}", Packet::decode(&bytes)?);
    Ok(())
}
