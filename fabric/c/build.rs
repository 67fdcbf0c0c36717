//! Names the shared library's interface, so that programs find a library that fits them.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Raised with each change that programs notice which were built before it.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmartlet_fabric.so.0");
}
