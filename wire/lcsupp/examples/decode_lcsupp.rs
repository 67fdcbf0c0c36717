//! Decodes the LCS-UPP messages in a byte stream and prints them.
//!
//! ```sh
//! cargo run -p martlet-lcsupp --example decode_lcsupp -- 410100040002f0020137…
//! ```
use martlet_lcsupp::Framer;

/// A sample message, for a run without arguments.
const SAMPLE: &str = "410100040002f0020137";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).unwrap_or_else(|| SAMPLE.to_string());
    let bytes = hex::decode(text.trim())?;
    let mut framer = Framer::new();
    framer.push(&bytes);
    while let Some(message) = framer.next()? {
        println!("{message:#?}");
    }
    Ok(())
}
