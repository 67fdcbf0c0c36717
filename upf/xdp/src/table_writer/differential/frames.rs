//! Random Ethernet filters, and frames for the Ethernet sessions of one network: what is sent in
//! tunnels, usage and events must be equal. The TAP device is that of `xdp` alone.
use super::{LAN, Pair, counted, in_namespace};
use martlet_pfcp::ie::NetworkInstance;
use martlet_upf_datapath::conformance::Rig;
use martlet_upf_datapath::random::{Draw, PACKETS, SESSIONS, set_up};
use martlet_upf_datapath::{Change, Datapath};

/// Frames of one set of sessions; the number of those that reached another UE.
fn one_set(pair: &mut Pair, seed: u64) -> usize {
    let mut draw = Draw::new(seed);
    let network = NetworkInstance::new(LAN).0;
    let sessions: Vec<_> = (0..SESSIONS).map(|n| draw.ethernet(n, &network)).collect();
    for session in &sessions {
        pair.apply(&Change::to(session)).expect("an Ethernet session");
    }
    let mut forwarded = 0;
    for nth in 0..PACKETS {
        let n = draw.below(SESSIONS as usize) as u32;
        let datagram = draw.frame(n);
        let whole = draw.was_whole();
        // One frame may have several receivers, in no certain order.
        let (mut kernel, mut xdp) = pair.uplink(&datagram, whole, false);
        for out in [&mut kernel, &mut xdp] {
            out.sort_by_key(|out| format!("{out:?}"));
        }
        forwarded += usize::from(!kernel.is_empty());
        assert_eq!(
            kernel, xdp,
            "kernel, and xdp: seed {seed}, frame {nth}: {datagram:02x?}\n{sessions:#?}"
        );
    }
    let [kernel, xdp] = pair.events();
    assert_eq!(kernel, xdp, "events: seed {seed}\n{sessions:#?}");
    for session in &sessions {
        let seid = session.seid;
        let kernel = (
            pair.kernel.datapath().buffered(seid).packets,
            pair.kernel.datapath().forwarded(seid),
            counted(pair.kernel.datapath().remove(seid)),
        );
        let mut in_xdp = pair.xdp();
        let buffered = in_xdp.buffered(seid).packets;
        let xdp = (buffered, in_xdp.forwarded(seid), counted(in_xdp.remove(seid)));
        drop(in_xdp);
        assert_eq!(kernel, xdp, "waiting, bytes, usage: seed {seed}, session {seid}");
    }
    forwarded
}

#[test]
fn frames_agree_on_kernel_and_xdp() {
    let (sets, first) = set_up();
    in_namespace(move || {
        let mut pair = Pair::new(false);
        let forwarded: usize = (0..sets).map(|n| one_set(&mut pair, first + n)).sum();
        assert!(forwarded as u64 > sets * PACKETS as u64 / 10, "{forwarded} in {sets} sets");
    });
}
