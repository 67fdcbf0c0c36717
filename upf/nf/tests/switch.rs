//! The `switch` datapath without a switch: the native path conforms on its own.
mod common;

use common::in_namespace;
use common::rig::{SocketRig, config};
use martlet_upf::config::{DatapathChoice, OffloadPolicy};
use martlet_upf::conformance::checks;

#[test]
fn the_native_path_conforms_without_a_switch() {
    for (name, check) in checks::<SocketRig>() {
        in_namespace(move || {
            eprintln!("{name}");
            let mut config = config();
            config.datapath = DatapathChoice::Switch;
            config.switch.policy = OffloadPolicy::All;
            check(&mut SocketRig::new(config));
        });
    }
}
