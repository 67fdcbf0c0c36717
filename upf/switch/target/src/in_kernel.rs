//! The switch process with its pipeline in the kernel: the engine `xdp`. Ports are interfaces; all above them is as with DPDK.
use crate::ports::{Binding, By};
use crate::serve::{ACCESS, CORE, NATIVE_N3, NATIVE_N6, Settings, begin, listen};
use crate::{rpc, sockets};
use martlet_switch_xdp::{Keeper, PORTS, Wired, XdpSwitch};
use std::sync::Arc;
use tokio::sync::Notify;

/// The interface that a port is bound to.
fn interface(binding: &Binding) -> Result<&str, String> {
    match binding {
        Binding::Interface(By::Best | By::Xdp, name) => Ok(name),
        Binding::Interface(By::Packet, name) => {
            Err(format!("{name}: the engine xdp takes frames of interfaces by XDP alone: write {name}"))
        }
        Binding::Files(_) => {
            Err("the engine xdp has interfaces alone as its ports: captures are for --engine swx".into())
        }
    }
}

/// Runs a switch until it is told to end.
///
/// # Errors
/// It cannot have its ports, or the kernel refuses its programs.
pub async fn serve(settings: Settings, end: impl Future<Output = ()>) -> Result<(), String> {
    let mut wired = Vec::new();
    for (wire, outside, inside) in [(&settings.n3, ACCESS, NATIVE_N3), (&settings.n6, CORE, NATIVE_N6)] {
        let Some((peer, native)) = wire else { continue };
        let (peer, native) = (interface(peer)?, interface(native)?);
        // The way without a switch comes first, and stays.
        sockets::join(peer, native).map_err(|error| error.to_string())?;
        wired.push(Wired { port: outside, interface: peer.into(), bypass: inside, native: false });
        wired.push(Wired { port: inside, interface: native.into(), bypass: outside, native: true });
    }
    let switch = Arc::new(XdpSwitch::new().map_err(|error| error.to_string())?);
    let program = Arc::new(switch.made().program.clone());
    let (server, remembered) = begin(&settings, program, switch.clone())?;
    let mut everybody = Vec::new();
    for one in &wired {
        everybody.push(sockets::listen_to_all(&one.interface).map_err(|error| error.to_string())?);
    }
    let links = switch.attach(&wired).map_err(|error| error.to_string())?;
    for one in &wired {
        let way = if links.in_driver { "XDP, in the driver" } else { "XDP, behind the driver" };
        tracing::info!(interface = one.interface, port = one.port, by = way, "a port");
    }
    let bell = Arc::<Notify>::default();
    let rung = bell.clone();
    let keeper = Keeper::start(switch.clone(), move || rung.notify_one());
    let keeper = keeper.map_err(|error| format!("no thread for packets that wait: {error}"))?;
    let listener = listen(&settings, "xdp", remembered.restored).await?;
    let counted = switch.clone();
    let look = tokio::spawn(remembered.look(move || (0..PORTS).map(|port| counted.port(port).came).sum()));
    let outcome = tokio::select! {
        outcome = rpc::serve(server, listener, bell) => outcome,
        () = end => Ok(()),
    };
    look.abort();
    // From here on the kernel has all frames that come; those that waited go to the native side.
    drop(links);
    drop(keeper);
    drop(everybody);
    outcome
}
