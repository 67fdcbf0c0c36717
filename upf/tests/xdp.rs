//! The `xdp` datapath on real interfaces, each check in a network namespace of its own.
mod common;

use common::in_namespace;
use common::peers::{N3, PeersRig};
use common::rig::{SocketRig, config};
use martlet_upf::UpfConfig;
use martlet_upf::config::{DatapathChoice, XdpMode};
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

/// Two interfaces, to a gNB and to a data network, over which packets leave without the kernel.
fn between_peers(mode: XdpMode) -> UpfConfig {
    let mut config = on_loopback();
    config.n3.address = (N3, 2152).into();
    config.xdp.interfaces = vec!["n3a".into(), "n6a".into()];
    config.xdp.mode = mode;
    config
}

fn conforms_between_peers(mode: XdpMode) {
    for (name, check) in checks::<PeersRig>() {
        in_namespace(move || {
            eprintln!("{name}");
            check(&mut PeersRig::new(between_peers(mode)));
        });
    }
}

#[test]
fn the_xdp_datapath_conforms_in_native_mode() {
    conforms_between_peers(XdpMode::Native);
}

#[test]
fn the_xdp_datapath_conforms_in_generic_mode() {
    conforms_between_peers(XdpMode::Generic);
}
