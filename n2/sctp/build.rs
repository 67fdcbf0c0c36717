//! Finds and links the static `libusrsctp`, so that programs need no extra package at run time.
use std::path::PathBuf;
use std::process::Command;
use std::{env, process};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=USRSCTP_LIB_DIR");
    if env::var_os("CARGO_FEATURE_USRSCTP").is_none() {
        return;
    }
    let Some(folder) =
        candidates().into_iter().find(|folder| folder.join("libusrsctp.a").is_file())
    else {
        eprintln!(
            "error: libusrsctp.a not found. Install it (Debian, Ubuntu: apt-get install \
             libusrsctp-dev), set USRSCTP_LIB_DIR to its folder, or build with \
             --no-default-features for the kernel's SCTP only."
        );
        process::exit(1);
    };
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=static=usrsctp");
}

/// Folders that may contain the library, the most specific first.
fn candidates() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        env::var_os("USRSCTP_LIB_DIR").into_iter().map(PathBuf::from).collect();
    let output = Command::new("pkg-config").args(["--variable=libdir", "usrsctp"]).output();
    if let Ok(output) = output
        && output.status.success()
    {
        folders.push(String::from_utf8_lossy(&output.stdout).trim().into());
    }
    let arch = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    folders.push(format!("/usr/lib/{arch}-linux-gnu").into());
    folders.extend(["/usr/lib64", "/usr/lib", "/usr/local/lib"].map(PathBuf::from));
    folders
}
