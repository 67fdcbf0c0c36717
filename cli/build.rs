//! Linker options of the optimised program: lld merges functions of equal code and packs relative
//! relocations, which makes it smaller by a twentieth. It places the functions that run for each UE
//! together, which makes the program quicker and its resident part smaller (`layout/link.sh`).
use std::path::{Path, PathBuf};
use std::process::Command;

/// The flags of `make release` and `make dist`: names of functions with their types, by which
/// `layout/functions.txt` lists them.
const NAMES_WITH_TYPES: &str = "-Csymbol-mangling-version=v0";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|own| own == value);
    // On this target, rustc links with its own lld, unless another linker is set.
    let has_types = is("CARGO_ENCODED_RUSTFLAGS", NAMES_WITH_TYPES);
    let is_default = is("TARGET", "x86_64-unknown-linux-gnu")
        && is("HOST", "x86_64-unknown-linux-gnu")
        && std::env::var_os("RUSTC_LINKER").is_none()
        && (has_types || is("CARGO_ENCODED_RUSTFLAGS", ""));
    if is_default && is("PROFILE", "release") && links_with_lld() {
        for option in ["--icf=all", "-z,pack-relative-relocs"] {
            println!("cargo::rustc-link-arg-bin=martlet=-Wl,{option}");
        }
        println!("cargo::rerun-if-changed=layout");
        if let Some(wrapper) = order_of_functions().filter(|_| has_types && links_with_gcc()) {
            println!("cargo::rustc-link-arg-bin=martlet=-wrapper");
            println!("cargo::rustc-link-arg-bin=martlet={wrapper}");
        }
    }
}

/// The value of gcc's option `-wrapper` that orders functions.
fn order_of_functions() -> Option<String> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let layout = folder("CARGO_MANIFEST_DIR")?.join("layout");
    let order = folder("OUT_DIR")?.join("functions.order");
    let parts = [layout.join("link.sh"), layout.join("functions.txt"), order];
    let parts: Option<Vec<&str>> = parts.iter().map(|part| part.to_str()).collect();
    // A comma separates the parts.
    parts.filter(|parts| !parts.iter().any(|part| part.contains(','))).map(|parts| parts.join(","))
}

/// Whether `cc`, by which rustc links, is gcc. Others do not have the option.
fn links_with_gcc() -> bool {
    let version = Command::new("cc").arg("--version").output();
    version.is_ok_and(|it| String::from_utf8_lossy(&it.stdout).contains("Free Software Foundation"))
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
