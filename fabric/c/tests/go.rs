//! The tests of the Go package, against an installed library.
mod support;

use support::{Installed, checked, go};

#[test]
fn the_tests_of_the_go_package_pass() {
    let Some(go) = go() else { return };
    let installed = Installed::for_go("go");
    let socket = installed.manager();
    let mut command = installed.go(&go);
    command
        .args(["test", "-count=1", "-v", "-timeout=120s", "./..."])
        .env("MARTLET_FABRIC_SOCKET", socket);
    let output = checked(&mut command, "go test");
    let stdout = String::from_utf8_lossy(&output.stdout);
    for test in [
        "TestConn",
        "TestHalfClose",
        "TestErrors",
        "TestHTTP",
        "TestFallback",
        "TestResourcesAreReleased",
        "Example",
    ] {
        assert!(stdout.contains(&format!("--- PASS: {test} ")), "{test} did not run:\n{stdout}");
    }
    assert!(!stdout.contains("SKIP"), "{stdout}");
}
