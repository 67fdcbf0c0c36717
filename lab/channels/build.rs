//! Detects whether wolfSSL was built with session tickets and early data, and builds Mbed TLS if
//! its feature is enabled. The crate that bundles Mbed TLS compiles it for size, which makes it ten
//! times slower, so this script compiles it again for speed.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-check-cfg=cfg(wolfssl_tickets, wolfssl_early)");
    #[cfg(feature = "wolfssl")]
    wolfssl();
    #[cfg(feature = "mbedtls")]
    mbedtls();
}

/// wolfssl-sys has no feature for tickets. The file `wolfssl.site` enables them in its `configure`,
/// where this workspace's Cargo configuration applies.
#[cfg(feature = "wolfssl")]
fn wolfssl() {
    let include = std::env::var_os("DEP_WOLFSSL_INCLUDE")
        .expect("wolfssl-sys exports the path of its headers");
    let options = std::path::Path::new(&include).join("wolfssl/options.h");
    let options = std::fs::read_to_string(options).unwrap_or_default();
    let defines = |name: &str| options.lines().any(|line| line.trim() == format!("#define {name}"));
    if defines("HAVE_SESSION_TICKET") {
        println!("cargo:rustc-cfg=wolfssl_tickets");
        if defines("WOLFSSL_EARLY_DATA") {
            println!("cargo:rustc-cfg=wolfssl_early");
        }
    }
}

#[cfg(feature = "mbedtls")]
fn mbedtls() {
    println!("cargo:rerun-if-changed=src/mbedtls/shim.c");
    let include = std::env::var_os("DEP_MBEDTLS_INCLUDE")
        .expect("mbedtls-rs-sys exports the path of its headers");
    let found = std::env::split_paths(&include)
        .find(|path| path.join("../library/ssl_tls13_client.c").exists());
    let include = found.expect("mbedtls-rs-sys bundles the sources of Mbed TLS");
    let library = include.join("../library");
    let sources = std::fs::read_dir(&library)
        .expect("the folder of Mbed TLS's sources")
        .flatten()
        .map(|entry| entry.path());
    cc::Build::new()
        .include(&include)
        .include(&library)
        // Clients and servers run on different threads.
        .define("MBEDTLS_THREADING_C", None)
        .define("MBEDTLS_THREADING_PTHREAD", None)
        .opt_level(3)
        .debug(false)
        .warnings(false)
        .file("src/mbedtls/shim.c")
        .files(sources.filter(|path| path.extension().is_some_and(|it| it == "c")))
        .compile("martlet_mbedtls");
}
