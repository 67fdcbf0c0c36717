//! The surroundings of a datapath in tests: a network namespace with a gNB and a host of the data
//! network. Only tests depend on this crate.
//!
//! | module | content |
//! | --- | --- |
//! | [`rig`] | gNB and host are sockets in the namespace of the datapath |
//! | [`peers`] | gNB and host have namespaces of their own, at the ends of links |
//!
//! A test gives a rig the function that opens its datapath, so this crate depends on none.
pub mod ip4;
pub mod peers;
pub mod rig;

use nix::sched::{CloneFlags, unshare};
use std::net::Ipv4Addr;
use std::process::Command;

/// The host in the data network.
pub const REMOTE: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);

/// Runs a program that must succeed.
pub fn run(program: &str, arguments: &str) {
    let status =
        Command::new(program).args(arguments.split(' ')).status().expect("the program runs");
    assert!(status.success(), "{program} {arguments}");
}

/// Makes `/proc/sys` read-only for this thread and those that it starts, as it is in containers.
pub fn without_proc_sys() {
    unshare(CloneFlags::CLONE_NEWNS).expect("a mount namespace");
    run("mount", "--make-rprivate /");
    run("mount", "--bind /proc/sys /proc/sys");
    run("mount", "-o remount,bind,ro /proc/sys");
    let written = std::fs::write("/proc/sys/net/ipv4/conf/lo/accept_local", "0");
    assert!(written.is_err(), "/proc/sys is writable");
}

/// Runs a test on a thread in a new network namespace, which is removed afterwards. Without
/// permission to create one, or without TUN devices, the test prints that it was skipped.
pub fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(move || {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            eprintln!(
                "SKIPPED: a network namespace cannot be created ({error}); run the tests as root"
            );
            return;
        }
        if !std::path::Path::new("/dev/net/tun").exists() {
            eprintln!("SKIPPED: /dev/net/tun is missing; load the module tun");
            return;
        }
        run("ip", "link set lo up");
        run("ip", &format!("addr add {REMOTE}/32 dev lo"));
        test();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
