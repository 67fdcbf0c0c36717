//! x
#![allow(warnings)]
mod skel { include!(concat!(env!("OUT_DIR"), "/programs.skel.rs")); }
use libbpf_rs::skel::*;
#[test]
fn loads() {
    let mut object = std::mem::MaybeUninit::uninit();
    let b = skel::ProgramsSkelBuilder::default();
    let open = b.open(&mut object).unwrap();
    let t = std::time::Instant::now();
    match open.load() { Ok(_) => println!("ok {:?}", t.elapsed()), Err(e) => panic!("{e}") }
}
