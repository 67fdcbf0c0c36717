//! Sets the soname, so that programs load a library with a compatible ABI.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // The number is the version of the ABI: raise it with each incompatible change.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmartlet_fabric.so.0");
}
