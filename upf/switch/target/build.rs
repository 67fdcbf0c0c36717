//! Compiles the C part against DPDK and, if the headers for it are available, the pipeline to
//! machine code.
//!
//! DPDK interprets a pipeline, or runs it as a shared library compiled from C code that DPDK
//! generates (`rte_swx_pipeline_codegen`). The library is twice as fast with the field accesses of
//! `c/widths.h`. The code includes two headers that Debian has in DPDK's source package only;
//! `deploy/install/swx-headers.sh` fetches them. Without them the switch interprets the pipeline
//! and logs that.
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = "../p4/upf_pna.p4";
/// The folder in which `deploy/install/swx-headers.sh` stores the headers, by DPDK version.
const HEADERS: &str = "/usr/local/share/martlet/swx";
/// Compiler flags for DPDK's headers. Tests get them, with the include folders and the flag of the
/// architecture, as `MARTLET_DPDK_FLAGS`.
const FLAGS: [&str; 3] = ["-include", "rte_config.h", "-DALLOW_EXPERIMENTAL_API"];

/// The instruction set: with CRC32C, which `c/exact.c` hashes keys with.
fn instruction_set() -> Option<&'static str> {
    match std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => Some("-march=corei7"),
        Ok("aarch64") => Some("-march=armv8-a+crc"),
        // The compiler reports that `c/exact.c` has no CRC32C for it.
        _ => None,
    }
}

fn main() {
    let sources = [
        "start", "switch", "tables", "exact", "arrays", "frames", "wires", "hold", "loop", "xsk",
        "live",
    ]
    .map(|name| format!("c/{name}.c"));
    for path in ["c/switch.h", "c/internal.h", "c/widths.h", "c/rx.h", "c/generate.c", "../p4"] {
        println!("cargo:rerun-if-changed={path}");
    }
    for path in &sources {
        println!("cargo:rerun-if-changed={path}");
    }
    println!("cargo:rustc-check-cfg=cfg(swx_library)");
    let dpdk =
        pkg_config::Config::new().cargo_metadata(false).probe("libdpdk").unwrap_or_else(|error| {
            panic!(
                "DPDK is not there ({error}): run deploy/install/packages.sh build, which \
                 installs libdpdk-dev"
            )
        });
    let mut build = cc::Build::new();
    let flags = flags(&dpdk);
    println!("cargo:rustc-env=MARTLET_DPDK_FLAGS={}", flags.join(" "));
    build.flags(&flags).flag("-fno-strict-aliasing").opt_level(2).warnings(false);
    build.clone().files(sources).compile("martlet_swx");
    for path in &dpdk.link_paths {
        println!("cargo:rustc-link-search=native={}", path.display());
    }
    for library in ["pipeline", "port", "table", "meter", "mbuf", "mempool", "ring", "eal"] {
        println!("cargo:rustc-link-lib=dylib=rte_{library}");
    }
    let out = PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets it"));
    let headers = Path::new(HEADERS).join(&dpdk.version);
    println!("cargo:rerun-if-changed={}", headers.display());
    if headers.join("rte_swx_pipeline_internal.h").exists() {
        library(&out, &headers, &flags, &build.get_compiler());
        println!("cargo:rustc-cfg=swx_library");
    }
}

fn flags(dpdk: &pkg_config::Library) -> Vec<String> {
    let folders = dpdk.include_paths.iter().map(|path| format!("-I{}", path.display()));
    instruction_set().into_iter().chain(FLAGS).map(String::from).chain(folders).collect()
}

/// Builds `pipeline.so` from the program.
fn library(out: &Path, headers: &Path, flags: &[String], compiler: &cc::Tool) {
    let source =
        martlet_p4c_swx::Source::read(Path::new(PROGRAM)).unwrap_or_else(|error| panic!("{error}"));
    let program = martlet_p4c_swx::compile(source.text())
        .unwrap_or_else(|error| panic!("{}", source.explain(&error)));
    let (spec, code) = (out.join("pipeline.spec"), out.join("pipeline.c"));
    std::fs::write(&spec, program.spec.to_string()).expect("a file");
    let generator = out.join("generate");
    let mut command = Command::new(compiler.path());
    command.arg("-O1").args(flags).arg("-o").arg(&generator).arg("c/generate.c");
    run(command.args(["-lrte_pipeline", "-lrte_eal"]), "the generator is compiled");
    run(Command::new(&generator).args([&spec, &code]), "DPDK writes the pipeline as C");
    let mut command = Command::new(compiler.path());
    command.arg("-O3").args(flags).args(["-w", "-shared", "-fPIC"]);
    command.args(
        ["rte_swx_pipeline_internal.h", "c/widths.h", "c/rx.h"]
            .iter()
            .flat_map(|header| ["-include", header]),
    );
    command
        .arg("-o")
        .arg(out.join("pipeline.so"))
        .arg(&code)
        .arg(format!("-I{}", headers.display()));
    run(&mut command, "the pipeline is compiled");
}

fn run(command: &mut Command, what: &str) {
    let status = command.status().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(status.success(), "{what}: {command:?}");
}
