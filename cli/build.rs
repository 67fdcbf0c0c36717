//! Linker options of the optimised program: lld merges functions of equal code and packs relative
//! relocations, which makes it smaller by a twentieth.
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|own| own == value);
    // On this target, rustc links with its own lld, unless another linker is set.
    let is_default = is("TARGET", "x86_64-unknown-linux-gnu")
        && is("HOST", "x86_64-unknown-linux-gnu")
        && std::env::var_os("RUSTC_LINKER").is_none()
        && is("CARGO_ENCODED_RUSTFLAGS", "");
    if is_default && is("PROFILE", "release") && links_with_lld() {
        for option in ["--icf=all", "-z,pack-relative-relocs"] {
            println!("cargo::rustc-link-arg-bin=martlet=-Wl,{option}");
        }
    }
}

/// Whether the compiler is of version 1.90 or later, and comes with lld.
fn links_with_lld() -> bool {
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    let output = |option: &[&str]| {
        let output = Command::new(&rustc).args(option).output().ok()?;
        String::from_utf8(output.stdout).ok()
    };
    let minor = output(&["--version"])
        .and_then(|text| text.strip_prefix("rustc 1.")?.split('.').next()?.parse::<u32>().ok());
    let lld = "lib/rustlib/x86_64-unknown-linux-gnu/bin/gcc-ld/ld.lld";
    let has_lld = output(&["--print", "sysroot"])
        .is_some_and(|sysroot| Path::new(sysroot.trim()).join(lld).exists());
    minor.is_some_and(|minor| minor >= 90) && has_lld
}
