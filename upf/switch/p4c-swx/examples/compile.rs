//! Compiles a P4 program and prints its pipeline and the tables that a controller sees. Without an
//! argument, it compiles `examples/forward.p4`.
//!
//! ```sh
//! cargo run -p martlet-p4c-swx --example compile -- PROGRAM.p4
//! ```

/// The program without an argument.
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/forward.p4");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).unwrap_or_else(|| SAMPLE.to_string());
    let source = martlet_p4c_swx::Source::read(file.as_ref())?;
    let program = martlet_p4c_swx::compile(source.text()).map_err(|e| source.explain(&e))?;
    println!("{}", program.spec);
    for table in &program.info.tables {
        println!("table {} with {} entries", table.name, table.size);
    }
    Ok(())
}
