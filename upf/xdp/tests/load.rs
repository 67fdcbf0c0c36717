//! The kernel's verifier takes every program.
use martlet_upf_xdp::{Programs, Sizes, types};
use std::time::Instant;

#[test]
fn the_kernel_takes_every_program() {
    let sizes = Sizes { sessions: 16, rules: 64, filters: 64, ring: 1 << 16, bench: 1 };
    let start = Instant::now();
    let programs = Programs::load(types::settings::default(), &sizes).unwrap_or_else(|error| panic!("{error}"));
    eprintln!("loaded in {:?}", start.elapsed());
    let start = Instant::now();
    programs.fence().expect("a fence");
    eprintln!("a fence in {:?}", start.elapsed());
    let start = Instant::now();
    drop(programs);
    eprintln!("unloaded in {:?}", start.elapsed());
}
