//! Compiles the programs with clang, and generates their skeletons.
use libbpf_cargo::SkeletonBuilder;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    for name in ["programs", "losses"] {
        let source = format!("bpf/{name}.bpf.c");
        let built = SkeletonBuilder::new()
            .source(&source)
            .clang_args(arguments())
            .build_and_generate(out.join(format!("{name}.skel.rs")));
        if let Err(error) = built {
            panic!(
                "{source} does not compile; it needs clang 14 or newer, libelf-dev, zlib1g-dev \
                 and linux-libc-dev (`make build` installs them): {error:#}"
            );
        }
    }
}

/// The instruction set that all kernels from 5.12 on accept, and Debian's folder of architecture
/// headers.
fn arguments() -> Vec<String> {
    let mut arguments: Vec<String> =
        ["-mcpu=v3", "-Wall", "-Wno-unused-function", "-Werror"].map(String::from).into();
    let architecture = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let headers = format!("/usr/include/{architecture}-linux-gnu");
    if Path::new(&headers).exists() {
        arguments.push(format!("-I{headers}"));
    }
    arguments
}
