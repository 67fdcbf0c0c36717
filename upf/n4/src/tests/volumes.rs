//! Bytes by peer and data network.
use crate::LineVolumes;
use crate::testing::*;
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_upf_datapath::conformance::{Rig, g_pdu, udp_packet};
use martlet_upf_kernel::bench::GNB;
use std::net::IpAddr;
use std::time::Duration;

const OTHER_GNB: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 3));
const ANCHOR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 9));

/// Bytes of a packet with this payload.
fn length(payload: &[u8]) -> u64 {
    28 + payload.len() as u64
}

fn counted(smf: &mut Smf) -> LineVolumes {
    smf.pass(Duration::from_secs(1));
    let seids = smf.n4.sessions_to_count(smf.now.instant).expect("the last count is old");
    smf.n4.count_volumes(&seids);
    smf.n4.volumes()
}

fn named(mut request: SessionEstablishmentRequest) -> SessionEstablishmentRequest {
    for far in &mut request.create_fars {
        if let Some(parameters) = &mut far.forwarding_parameters {
            parameters.network_instance = Some(NetworkInstance::new("internet"));
        }
    }
    request
}

fn up(smf: &mut Smf, teid: u32, payload: &[u8]) {
    let packet = udp_packet((UE, 9000), (smf.bench.remote(), 7000), payload);
    smf.bench.send_n3(&g_pdu(teid, Some(9), &packet));
}

fn to(gnb: IpAddr) -> SessionModificationRequest {
    let mut request = to_gnb(REMOTE);
    for far in &mut request.update_fars {
        if let Some(parameters) = &mut far.update_forwarding_parameters {
            parameters.outer_header_creation = Some(OuterHeaderCreation::gtpu(REMOTE, gnb));
        }
    }
    request
}

#[test]
fn bytes_count_at_the_gnb_that_serves_the_session() {
    let mut smf = Smf::associated();
    let (seid, teid) = smf.establish(named(establishment()));
    smf.accepted(seid, to(GNB));
    up(&mut smf, teid, b"before");
    smf.bench.send_n6(7000, b"down");
    // The handover comes before the volumes are read.
    smf.accepted(seid, to(OTHER_GNB));
    up(&mut smf, teid, b"after the handover");
    let volumes = counted(&mut smf);
    assert_eq!(volumes.access[&GNB], [length(b"before"), length(b"down")]);
    assert_eq!(volumes.access[&OTHER_GNB], [length(b"after the handover"), 0]);
    let all = length(b"before") + length(b"after the handover");
    assert_eq!(volumes.networks["internet"], [all, length(b"down")]);
    assert!(volumes.upfs.is_empty() && volumes.at_ms >= 1000);
    // Nothing is counted twice, and what the session forwards at its end is not lost.
    assert_eq!(counted(&mut smf).access, volumes.access);
    up(&mut smf, teid, b"last");
    smf.delete(seid);
    let volumes = counted(&mut smf);
    assert_eq!(volumes.access[&OTHER_GNB][0], length(b"after the handover") + length(b"last"));
    assert_eq!(volumes.networks["internet"][0], all + length(b"last"));
}

#[test]
fn an_idle_session_has_no_gnb() {
    let mut smf = Smf::associated();
    let (seid, teid) = smf.establish(named(establishment()));
    smf.accepted(seid, to(GNB));
    up(&mut smf, teid, b"connected");
    smf.accepted(seid, idle());
    // Packets that are late.
    up(&mut smf, teid, b"late");
    let volumes = counted(&mut smf);
    assert_eq!(volumes.access[&GNB], [length(b"connected"), 0]);
    assert_eq!(volumes.networks["internet"][0], length(b"connected") + length(b"late"));
}

/// An uplink classifier: packets to port 7000 leave here, all others are sent to the anchor.
fn classifier() -> SessionEstablishmentRequest {
    let mut request = named(establishment());
    let local = SdfFilter {
        flow_description: Some("permit out 17 from any 7000 to assigned".into()),
        ..SdfFilter::default()
    };
    let choose = Some(FTeid::Choose { ipv4: true, ipv6: false, choose_id: Some(1) });
    request.create_pdrs[0].pdi.local_fteid = choose;
    let mut other = request.create_pdrs[0].clone();
    request.create_pdrs[0].precedence = Precedence(100);
    request.create_pdrs[0].pdi.sdf_filters = vec![local];
    (other.pdr_id, other.far_id) = (PdrId(3), Some(FarId(3)));
    request.create_pdrs.push(other);
    request.create_fars.push(CreateFar {
        far_id: FarId(3),
        apply_action: ApplyAction::FORW,
        forwarding_parameters: Some(ForwardingParameters {
            destination_interface: DestinationInterface(Interface::Core),
            outer_header_creation: Some(OuterHeaderCreation::gtpu(0xabc, ANCHOR)),
            ..Default::default()
        }),
        ..Default::default()
    });
    request
}

#[test]
fn a_classifier_counts_its_data_network_and_the_anchor_apart() {
    let mut smf = Smf::associated();
    let answer = smf.try_establish(classifier());
    assert_eq!(answer.cause, Cause::ACCEPTED, "{answer:?}");
    let seid = answer.up_fseid.expect("an F-SEID").seid;
    let Some(FTeid::Given { teid, .. }) = answer.created_pdrs[0].local_fteid else {
        panic!("no TEID: {answer:?}")
    };
    smf.accepted(seid, to(GNB));
    up(&mut smf, teid, b"local");
    let packet = udp_packet((UE, 9000), (smf.bench.remote(), 7001), b"to the anchor");
    smf.bench.send_n3(&g_pdu(teid, Some(9), &packet));
    let volumes = counted(&mut smf);
    assert_eq!(volumes.networks["internet"], [length(b"local"), 0]);
    assert_eq!(volumes.upfs[&ANCHOR], [length(b"to the anchor"), 0]);
    assert_eq!(volumes.access[&GNB][0], length(b"local") + length(b"to the anchor"));
    // The PDRs are gone with their counters when the session ends.
    up(&mut smf, teid, b"local");
    smf.delete(seid);
    assert_eq!(counted(&mut smf).networks["internet"], [2 * length(b"local"), 0]);
}

#[test]
fn two_readers_share_a_count() {
    let mut smf = Smf::associated();
    smf.establish(named(establishment()));
    counted(&mut smf);
    assert_eq!(smf.n4.sessions_to_count(smf.now.instant + Duration::from_millis(300)), None);
    let later = smf.now.instant + Duration::from_millis(600);
    assert_eq!(smf.n4.sessions_to_count(later).map(|seids| seids.len()), Some(1));
}

/// Prints the time of a count. `MARTLET_TEST_SESSIONS` sets the number of sessions: 1,000 by
/// default.
#[test]
fn sessions_of_many_ues_share_lines() {
    let sessions = std::env::var("MARTLET_TEST_SESSIONS").ok().and_then(|n| n.parse().ok());
    let sessions: u32 = sessions.unwrap_or(1000);
    let mut smf = Smf::without_heartbeats();
    for n in 0..sessions {
        let mut request = named(another(0x10_0000 + u64::from(n)));
        let ue = std::net::Ipv4Addr::from_bits(u32::from(UE) + n);
        for pdr in &mut request.create_pdrs {
            pdr.pdi.ue_ip_addresses.iter_mut().for_each(|address| address.ipv4 = Some(ue));
        }
        let (seid, teid) = smf.establish(request);
        smf.accepted(seid, to(GNB));
        if n % 2 == 1 {
            // The packet comes from the first gNB, whose last ones are forwarded after a handover.
            smf.accepted(seid, to(OTHER_GNB));
        }
        let packet = udp_packet((ue, 9000), (smf.bench.remote(), 7000), b"payload");
        smf.bench.send_n3(&g_pdu(teid, Some(9), &packet));
    }
    let started = std::time::Instant::now();
    let volumes = counted(&mut smf);
    println!("{sessions} sessions with traffic: {:?}", started.elapsed());
    let started = std::time::Instant::now();
    assert_eq!(counted(&mut smf).access, volumes.access);
    println!("{sessions} sessions without: {:?}", started.elapsed());
    let half = u64::from(sessions / 2) * length(b"payload");
    assert_eq!((volumes.access[&GNB][0], volumes.access[&OTHER_GNB][0]), (half, half));
    assert_eq!(volumes.networks["internet"][0], 2 * half);
}
