//! The forwarder passes the conformance suite without a socket.
use super::bench::Bench;
use martlet_upf_config::KernelLimits;
use martlet_upf_datapath::conformance;
use proptest::prelude::*;

#[test]
fn the_forwarder_conforms() {
    let rare = conformance::checks_of_rare_rules::<Bench>();
    for (name, check) in conformance::checks::<Bench>().into_iter().chain(rare) {
        eprintln!("{name}");
        check(&mut Bench::new(KernelLimits::default()));
    }
}

proptest! {
    #[test]
    fn any_datagram_is_taken_without_a_panic(bytes: Vec<u8>, teid in 0u32..3, payload: Vec<u8>) {
        use conformance::Rig;
        let mut bench = Bench::new(KernelLimits::default());
        let session = conformance::session(&bench, 1, 1, bench.ue());
        bench.datapath().apply(&martlet_upf_datapath::Change::to(&session)).unwrap();
        bench.send_n3(&bytes);
        bench.send_n3(&conformance::g_pdu(teid, Some(1), &payload));
        let mut ip = payload.clone();
        if let Some(first) = ip.first_mut() { *first = 0x45; }
        bench.send_n3(&conformance::g_pdu(1, Some(1), &ip));
    }
}
