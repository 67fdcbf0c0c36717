//! Decodes a plain NAS message of a UE and prints it.
//!
//! ```sh
//! cargo run -p martlet-nas --example decode_nas -- 7e004179000d0102f8390000…
//! ```
use martlet_nas::inbound;

/// A sample message, for a run without arguments.
const SAMPLE: &str = "7e004179000d0102f8390000000000000010022e08a020000000000000";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = std::env::args().nth(1).unwrap_or_else(|| SAMPLE.to_string());
    let bytes = hex::decode(text.trim())?;
    match inbound::from_ue(None, false, &bytes) {
        Ok(received) => println!("{:?}: {:#?}", received.assurance, received.message),
        Err(refused) => println!("refused: {refused:?}"),
    }
    Ok(())
}
