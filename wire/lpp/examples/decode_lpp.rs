//! Decodes an LPP message and prints it.
//!
//! ```sh
//! cargo run -p martlet-lpp --example decode_lpp -- f002074832082a290c122e05…
//! ```

/// A sample message, for a run without arguments.
const SAMPLE: &str = "f002074832082a290c122e050281c0";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).unwrap_or_else(|| SAMPLE.to_string());
    let bytes = hex::decode(text.trim())?;
    println!("{:#?}", martlet_lpp::decode(&bytes)?);
    Ok(())
}
