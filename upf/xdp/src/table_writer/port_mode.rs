//! The mode of the program on an interface. A veth whose other end has neither GRO nor a program of
//! its own drops what a program in native mode redirects to it, and no counter shows it. Interfaces
//! of containers are veths.
use crate::loader::{Mode, sends_redirected};
use martlet_interface::Feature;
use martlet_upf_config::XdpMode;

/// The mode for an interface; `None` for native with generic as the fallback.
pub(super) fn of_port(name: &str, ifindex: u32, configured: XdpMode) -> Option<Mode> {
    let configured = match configured {
        XdpMode::Auto => None,
        XdpMode::Native => Some(Mode::Native),
        XdpMode::Generic => return Some(Mode::Generic),
    };
    if !martlet_interface::is_veth(name)
        || sends_redirected(ifindex) == Some(true)
        || prepare_other_end(name, ifindex)
    {
        return configured;
    }
    let remedy = "switch GRO on at the other end: ethtool -K INTERFACE gro on";
    let is_known = sends_redirected(ifindex).is_some();
    match configured {
        None if is_known => {
            tracing::warn!(
                interface = name,
                remedy,
                "XDP in generic mode: the other end of the veth accepts no redirected packets"
            );
            Some(Mode::Generic)
        }
        None => {
            tracing::warn!(
                interface = name,
                remedy = "if the other end has GRO: upf.xdp.mode: native",
                "XDP in generic mode: before Linux 6.3 the kernel does not report whether the \
                 other end of the veth accepts redirected packets"
            );
            Some(Mode::Generic)
        }
        mode if !is_known => {
            tracing::warn!(
                interface = name,
                remedy,
                "packets are lost if the other end of the veth has no GRO, which the kernel does \
                 not report before Linux 6.3, and upf.xdp.mode is native"
            );
            mode
        }
        mode => {
            tracing::error!(
                interface = name,
                remedy,
                "packets will be lost: the other end of the veth drops redirected ones, and \
                 upf.xdp.mode is native"
            );
            mode
        }
    }
}

/// Switches GRO on at the other end, if it is in this network namespace, and there the completion
/// of checksums, which programs in native mode do not make up for. Returns whether it accepts
/// redirected frames now.
fn prepare_other_end(name: &str, ifindex: u32) -> bool {
    let Some(other) = martlet_interface::peer(name) else { return false };
    let set = |feature, on| martlet_interface::set_feature(&other, feature, on);
    let outcome =
        set(Feature::GenericReceive, true).and_then(|()| set(Feature::TransmitChecksums, false));
    if let Err(error) = &outcome {
        tracing::warn!(interface = other, %error, "GRO not switched on");
    }
    // Before Linux 6.3 the kernel does not report it; with GRO, the other end accepts frames.
    let accepts = sends_redirected(ifindex).unwrap_or(outcome.is_ok());
    if accepts {
        tracing::info!(
            interface = other,
            "GRO switched on and checksum offload off: XDP sends packets to it"
        );
    }
    accepts
}
