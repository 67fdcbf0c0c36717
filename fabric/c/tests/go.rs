//! The Go package, over the library as it is installed.
mod support;

use support::{Installed, checked, go};

#[test]
fn the_go_packages_own_tests_pass() {
    let Some(go) = go() else { return };
    let installed = Installed::for_go("go");
    let socket = installed.manager();
    let mut command = installed.go(&go);
    command
        .args(["test", "-count=1", "-v", "-timeout=120s", "./..."])
        .env("MARTLET_FABRIC_SOCKET", socket);
    let output = checked(&mut command, "go test");
    let said = String::from_utf8_lossy(&output.stdout);
    for test in
        ["TestConn", "TestHalfClose", "TestErrors", "TestHTTP", "TestOr", "TestNothingIsLeft"]
    {
        assert!(said.contains(&format!("--- PASS: {test} ")), "{test} did not run:\n{said}");
    }
    assert!(!said.contains("SKIP"), "{said}");
}
