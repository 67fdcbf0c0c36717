//! The switch process with its pipeline in the kernel: the engine `xdp`. Ports are interfaces; all
//! above them is as with DPDK.
use crate::ports::{Binding, By};
use crate::serve::{ACCESS, CORE, NATIVE_N3, NATIVE_N6, Settings, begin, listen};
use crate::{rpc, sockets};
use martlet_switch_xdp::{FarEnds, Keeper, Links, PORTS, Wired, XdpSwitch};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// The interface that a port is bound to.
fn interface(binding: &Binding) -> Result<&str, String> {
    match binding {
        Binding::Interface(By::Best | By::Xdp, name) => Ok(name),
        Binding::Interface(By::Packet, name) => Err(format!(
            "{name}: the engine xdp takes frames of interfaces by XDP alone: write {name}"
        )),
        Binding::Files(_) => Err("the engine xdp has interfaces alone as its ports: captures are \
                                  for --engine swx"
            .into()),
    }
}

/// How often is looked whether far ends take what programs send.
const LOOK: Duration = Duration::from_millis(100);

fn attach(switch: &XdpSwitch, wired: &[Wired]) -> Result<Links, String> {
    let links = switch.attach(wired).map_err(|error| error.to_string())?;
    for one in wired {
        let way = if links.in_driver { "XDP, in the driver" } else { "XDP, behind the driver" };
        tracing::info!(interface = one.interface, port = one.port, by = way, "a port");
    }
    Ok(links)
}

/// Looks after far ends until the ports cannot be attached any more.
async fn look_after(switch: &XdpSwitch, wired: &[Wired], links: &mut Option<Links>) -> String {
    let (mut far_ends, mut often) = (FarEnds::default(), tokio::time::interval(LOOK));
    loop {
        often.tick().await;
        if links.as_ref().is_some_and(|links| far_ends.lose(switch, wired, links)) {
            // The kernel's own forwarding has what comes in between.
            links.take();
            match attach(switch, wired) {
                Ok(again) => *links = Some(again),
                Err(error) => return error,
            }
        }
    }
}

/// Runs a switch until it is told to end.
///
/// # Errors
/// It cannot have its ports, or the kernel refuses its programs.
pub async fn serve(settings: Settings, end: impl Future<Output = ()>) -> Result<(), String> {
    let mut wired = Vec::new();
    for (wire, outside, inside) in
        [(&settings.n3, ACCESS, NATIVE_N3), (&settings.n6, CORE, NATIVE_N6)]
    {
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
    let mut links = Some(attach(&switch, &wired)?);
    let bell = Arc::<Notify>::default();
    let rung = bell.clone();
    let keeper = Keeper::start(switch.clone(), move || rung.notify_one());
    let keeper = keeper.map_err(|error| format!("no thread for packets that wait: {error}"))?;
    let listener = listen(&settings, "xdp", remembered.restored).await?;
    let counted = switch.clone();
    let look =
        tokio::spawn(remembered.look(move || (0..PORTS).map(|port| counted.port(port).came).sum()));
    let outcome = tokio::select! {
        outcome = rpc::serve(server, listener, bell) => outcome,
        error = look_after(&switch, &wired, &mut links) => Err(error),
        () = end => Ok(()),
    };
    look.abort();
    // From here on the kernel has all frames that come; those that waited go to the native side.
    drop(links);
    drop(keeper);
    drop(everybody);
    outcome
}
