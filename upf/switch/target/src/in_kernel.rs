//! The switch process with the engine `xdp`: the pipeline runs in the kernel. Ports are interfaces;
//! the control plane is the same as with DPDK.
use crate::error::ProcessError;
use crate::ports::{Binding, By};
use crate::serve::{ACCESS, CORE, NATIVE_N3, NATIVE_N6, Settings, begin, listen};
use crate::{rpc, sockets};
use martlet_switch_xdp::{Housekeeper, Links, PORTS, PeerMonitor, Wired, XdpSwitch};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// The interface that a port is bound to.
fn interface(binding: &Binding) -> Result<&str, ProcessError> {
    match binding {
        Binding::Interface(By::Best | By::Xdp, name) => Ok(name),
        Binding::Interface(By::Packet, name) => Err(ProcessError::Unsupported(format!(
            "{name}: the engine xdp receives frames of interfaces by XDP only: write {name}"
        ))),
        Binding::Files(_) => Err(ProcessError::Unsupported(
            "the engine xdp supports interfaces only: use --engine swx for capture files".into(),
        )),
    }
}

/// Interval of checks whether veth peers accept redirected frames.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

fn attach(switch: &XdpSwitch, wired: &[Wired]) -> Result<Links, ProcessError> {
    let links = switch.attach(wired)?;
    for one in wired {
        let mode = if links.in_driver { "native XDP" } else { "generic XDP" };
        tracing::info!(interface = one.interface, port = one.port, mode, "port attached");
    }
    Ok(links)
}

/// Monitors the veth peers until the ports cannot be attached any more.
async fn monitor_peers(
    switch: &XdpSwitch,
    wired: &[Wired],
    links: &mut Option<Links>,
) -> ProcessError {
    let (mut peer_monitor, mut often) =
        (PeerMonitor::default(), tokio::time::interval(POLL_INTERVAL));
    loop {
        often.tick().await;
        if links.as_ref().is_some_and(|links| peer_monitor.poll(switch, wired, links)) {
            // In between, the kernel forwards received frames.
            links.take();
            match attach(switch, wired) {
                Ok(attached) => *links = Some(attached),
                Err(error) => return error,
            }
        }
    }
}

/// Runs a switch until it is stopped.
///
/// # Errors
/// A port cannot be opened, or the kernel rejects the programs.
pub async fn serve(settings: Settings, end: impl Future<Output = ()>) -> Result<(), ProcessError> {
    let mut wired = Vec::new();
    for (wire, outside, inside) in
        [(&settings.n3, ACCESS, NATIVE_N3), (&settings.n6, CORE, NATIVE_N6)]
    {
        let Some((peer, native)) = wire else { continue };
        let (peer, native) = (interface(peer)?, interface(native)?);
        // The path without a switch is set up first, and remains.
        sockets::join(peer, native)?;
        wired.push(Wired { port: outside, interface: peer.into(), bypass: inside, native: false });
        wired.push(Wired { port: inside, interface: native.into(), bypass: outside, native: true });
    }
    let switch = Arc::new(XdpSwitch::new()?);
    let program = Arc::new(switch.compiled().program.clone());
    let (server, remembered) = begin(&settings, program, switch.clone())?;
    let mut promiscuous = Vec::new();
    for one in &wired {
        promiscuous.push(sockets::listen_to_all(&one.interface)?);
    }
    let mut links = Some(attach(&switch, &wired)?);
    let wakeup = Arc::<Notify>::default();
    let signalled = wakeup.clone();
    let housekeeper = Housekeeper::start(switch.clone(), move || signalled.notify_one());
    let housekeeper =
        housekeeper.map_err(ProcessError::system("create the thread for held packets"))?;
    let listener = listen(&settings, "xdp", remembered.restored).await?;
    let counted = switch.clone();
    let poll = tokio::spawn(
        remembered.poll(move || (0..PORTS).map(|port| counted.port(port).received).sum()),
    );
    let outcome = tokio::select! {
        outcome = rpc::serve(server, listener, wakeup, settings.access.clone()) => outcome,
        error = monitor_peers(&switch, &wired, &mut links) => Err(error),
        () = end => Ok(()),
    };
    poll.abort();
    // From here on the kernel forwards all frames; held packets go to the native side.
    drop(links);
    drop(housekeeper);
    drop(promiscuous);
    outcome
}
