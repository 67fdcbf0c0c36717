//! A number for the compact form of all types here: of their source, and of what writes and reads
//! them.
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let mut files = Vec::new();
    for folder in ["src", "../core/src/compact", "../derive/src"] {
        println!("cargo:rerun-if-changed={folder}");
        sources(Path::new(folder), &mut files);
    }
    files.sort();
    // FNV-1a.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for octet in files.iter().filter_map(|file| fs::read(file).ok()).flatten() {
        hash = (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3);
    }
    println!("cargo:rustc-env=MARTLET_SBI_MODEL={}", hash.max(1));
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
