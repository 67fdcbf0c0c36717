//! The data network "lan" of Ethernet sessions: a TAP device of the UPF, behind which the machine
//! itself is a host.
use crate::run;
use anyhow::{Context, Result};
use martlet::config::Config;
use martlet_smf::DnnConfig;
use martlet_upf::config::EthernetConfig;

/// The TAP device of the UPF.
const INTERFACE: &str = "test-lan";

/// Adds the DNN "lan" for Ethernet sessions to the SMF and the UPF.
pub fn add_lan(config: &mut Config) {
    config.smf.dnns.push(DnnConfig {
        name: "lan".into(),
        pool: String::new(),
        pool6: String::new(),
        ethernet: true,
        ..DnnConfig::default()
    });
    let (dnn, interface) = ("lan".into(), INTERFACE.into());
    config.upf.n6.ethernet = vec![EthernetConfig { dnn, interface, gateways: Vec::new() }];
}

/// Makes the machine the host 10.9.0.1 of the "lan", and returns its MAC address. `netns` is the
/// network namespace of the UPF, where that is not the test's own.
///
/// # Errors
/// There is no such device.
pub async fn join_lan(netns: Option<&str>) -> Result<[u8; 6]> {
    let at = netns.map_or(vec![], |name| vec!["-n", name]);
    let ip = async |arguments: &[&str]| run("ip", &[&at, arguments].concat()).await;
    ip(&["addr", "add", "10.9.0.1/24", "dev", INTERFACE]).await?;
    let link = ip(&["-o", "link", "show", INTERFACE]).await?;
    let mac = link.split("link/ether ").nth(1).and_then(|rest| rest.split(' ').next());
    let bytes = mac.context("a link address")?.split(':').map(|byte| u8::from_str_radix(byte, 16));
    bytes.collect::<Result<Vec<u8>, _>>()?.try_into().ok().context("six bytes")
}
