//! The `switch` datapath without a switch: the native path conforms on its own.
use martlet_upf_config::{DatapathChoice, OffloadPolicy, UpfConfig};
use martlet_upf_datapath::OpenError;
use martlet_upf_datapath::conformance::checks;
use martlet_upf_kernel::KernelDatapath;
use martlet_upf_offload::SwitchDatapath;
use martlet_upf_testing::in_namespace;
use martlet_upf_testing::rig::{Opened, SocketRig, boxed, config};

/// A switch datapath whose native path is the kernel's.
fn open(config: &UpfConfig) -> Result<Opened, OpenError> {
    let (native, signals) = KernelDatapath::open(config)?;
    Ok(boxed((SwitchDatapath::open(Box::new(native), config)?, signals)))
}

#[test]
fn the_native_path_conforms_without_a_switch() {
    for (name, check) in checks::<SocketRig>() {
        in_namespace(move || {
            eprintln!("{name}");
            let mut config = config();
            config.datapath = DatapathChoice::Switch;
            config.switch.policy = OffloadPolicy::All;
            check(&mut SocketRig::new(&config, open));
        });
    }
}
