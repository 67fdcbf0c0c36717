//! Decodes a GTP-U packet and prints it.
//!
//! ```sh
//! cargo run -p martlet-gtpu --example decode_gtpu -- 34ff000c0000123400000085…
//! ```

/// A sample message, for a run without arguments.
const SAMPLE: &str = "34ff000c00001234000000850100010045000004";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).unwrap_or_else(|| SAMPLE.to_string());
    let bytes = hex::decode(text.trim())?;
    println!("{:#?}", martlet_gtpu::decode(&bytes)?);
    Ok(())
}
