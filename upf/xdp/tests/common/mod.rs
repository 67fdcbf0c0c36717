//! The datapaths that the tests of this crate open.
#![allow(dead_code)] // each test program uses a part
pub mod bench;

use martlet_upf_config::{DatapathChoice, UpfConfig};
use martlet_upf_datapath::OpenError;
use martlet_upf_kernel::KernelDatapath;
use martlet_upf_testing::peers::PeersRig;
use martlet_upf_testing::rig::{Opened, SocketRig, boxed};
use martlet_upf_xdp::XdpDatapath;

/// Opens the datapath that the configuration chooses.
pub fn open_datapath(config: &UpfConfig) -> Result<Opened, OpenError> {
    match config.datapath {
        DatapathChoice::Kernel => KernelDatapath::open(config).map(boxed),
        DatapathChoice::Xdp => XdpDatapath::open(config).map(boxed),
        DatapathChoice::Switch => panic!("the switch has tests of its own"),
    }
}

/// The datapath of a configuration, with sockets as gNB and host.
pub fn socket_rig(config: UpfConfig) -> SocketRig {
    SocketRig::new(&config, open_datapath)
}

/// The datapath of a configuration, between peers in namespaces of their own.
pub fn peers_rig(config: UpfConfig) -> PeersRig {
    PeersRig::new(&config, open_datapath)
}
