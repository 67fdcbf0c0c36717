//! Compiles a P4 program and prints its pipeline and the tables that a controller sees.
//!
//! ```sh
//! cargo run -p martlet-p4c-swx --example compile -- upf/switch/p4/upf.p4
//! ```

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("usage: compile PROGRAM.p4")?;
    let program = martlet_p4c_swx::compile(&std::fs::read_to_string(&file)?)
        .map_err(|e| format!("{file}:{e}"))?;
    println!("{}", program.spec);
    for table in &program.info.tables {
        println!("table {}", table.name);
    }
    Ok(())
}
