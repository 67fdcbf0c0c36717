//! Compiles a P4 program and prints its pipeline and the tables that a controller sees.
//!
//! ```sh
//! cargo run -p martlet-p4c-swx --example compile -- upf/switch/p4/upf_pna.p4
//! ```

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: compile PROGRAM.p4")?;
    let source = martlet_p4c_swx::Source::read(file.as_ref())?;
    let program = martlet_p4c_swx::compile(source.text()).map_err(|e| source.explain(&e))?;
    println!("{}", program.spec);
    for table in &program.info.tables {
        println!("table {}", table.name);
    }
    Ok(())
}
