//! Compiles the P4 program to C with p4c-swx, and that with clang.
use libbpf_cargo::SkeletonBuilder;
use std::path::{Path, PathBuf};

const PROGRAM: &str = "../p4/upf_pna.p4";

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-changed=../p4");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let source =
        martlet_p4c_swx::Source::read(Path::new(PROGRAM)).unwrap_or_else(|error| panic!("{error}"));
    let output = martlet_p4c_swx::compile_ebpf(source.text())
        .unwrap_or_else(|error| panic!("{}", source.explain(&error)));
    std::fs::write(out.join("upf.h"), &output.code).expect("upf.h is writable");
    let built = SkeletonBuilder::new()
        .source("bpf/programs.bpf.c")
        .clang_args(arguments(&out))
        .obj(out.join("programs.bpf.o"))
        .build();
    if let Err(error) = built {
        panic!(
            "bpf/programs.bpf.c does not compile; it needs clang 14 or newer, libelf-dev, \
             zlib1g-dev and linux-libc-dev (`make build` installs them): {error:#}"
        );
    }
}

/// The instruction set of Linux 5.12 and later, and Debian's folder of architecture headers.
fn arguments(out: &Path) -> Vec<String> {
    let flags = [
        "-mcpu=v3",
        "-Wall",
        "-Wno-parentheses-equality",
        "-Wno-unused-function",
        "-Wno-unused-label",
        "-Werror",
    ];
    let mut arguments: Vec<String> = flags.map(String::from).into();
    arguments.push(format!("-I{}", out.display()));
    let architecture = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let headers = format!("/usr/include/{architecture}-linux-gnu");
    if Path::new(&headers).exists() {
        arguments.push(format!("-I{headers}"));
    }
    arguments
}
