//! The `xdp` datapath on real interfaces, each check in a network namespace of its own.
mod common;

use common::in_namespace;
use common::rig::{SocketRig, config};
use martlet_upf::UpfConfig;
use martlet_upf::config::DatapathChoice;
use martlet_upf::conformance::checks;

/// Everything on the loopback interface, where programs run in generic mode and the kernel forwards.
fn on_loopback() -> UpfConfig {
    let mut config = config();
    config.datapath = DatapathChoice::Xdp;
    config.xdp.sessions = 64;
    config.xdp.rules = 256;
    config.xdp.filters = 256;
    config
}

#[test]
fn the_xdp_datapath_conforms_on_loopback() {
    for (name, check) in checks::<SocketRig>() {
        in_namespace(move || {
            eprintln!("{name}");
            check(&mut SocketRig::new(on_loopback()));
        });
    }
}
