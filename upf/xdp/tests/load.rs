//! The kernel's verifier takes every program.
use martlet_upf_xdp::{Programs, Sizes, types};

#[test]
fn the_kernel_takes_every_program() {
    let sizes = Sizes { sessions: 16, rules: 64, filters: 64, ring: 1 << 16 };
    let programs = Programs::load(types::settings::default(), &sizes).unwrap_or_else(|error| panic!("{error}"));
    programs.fence().expect("a fence");
    let start = std::time::Instant::now();
    for _ in 0..10 {
        programs.fence().expect("a fence");
    }
    eprintln!("{:?}", start.elapsed() / 10);
}
