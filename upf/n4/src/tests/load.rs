//! Load and overload control.
use crate::testing::*;
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use std::net::Ipv4Addr;
use std::time::Duration;

/// The n-th session.
fn session(n: u8) -> SessionEstablishmentRequest {
    let mut request = establishment();
    request.cp_fseid.seid = u64::from(n);
    for pdr in &mut request.create_pdrs {
        pdr.pdi.ue_ip_addresses[0].ipv4 = Some(Ipv4Addr::new(10, 45, 0, n));
    }
    request
}

fn establish(smf: &mut Smf, n: u8) -> SessionEstablishmentResponse {
    let Message::SessionEstablishmentResponse(answer) = smf.session(0, session(n)).message else {
        panic!()
    };
    answer
}

#[test]
fn load_and_overload_are_reported_as_they_change() {
    let mut smf = Smf::informed(|config| {
        config.n4.sessions = 10;
        config.n4.overload_percent = 80;
    });
    let mut seids = Vec::new();
    let (mut last, mut loads, mut overloads) = (SequenceNumber(0), Vec::new(), Vec::new());
    for n in 1..=11 {
        let answer = establish(&mut smf, n);
        let mut is_reported =
            |number: SequenceNumber| std::mem::replace(&mut last, number) < number;
        if let Some(load) = answer.load {
            assert!(is_reported(load.sequence_number));
            loads.push(load.metric.0);
        }
        overloads.push(answer.overload.map(|overload| (overload.metric.0, overload.timer.span())));
        match answer.up_fseid {
            Some(seid) => seids.push(seid.seid),
            None => assert_eq!((n, answer.cause), (11, Cause::NO_RESOURCES_AVAILABLE)),
        }
    }
    assert_eq!(loads, [10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
    let ten = Some(Duration::from_secs(10));
    // At 80 per cent the reduction is one per cent, since it must not be zero; at 90 half; at 100
    // all.
    assert_eq!(overloads[7..], [Some((1, ten)), Some((50, ten)), Some((100, ten)), None]);
    assert!(overloads[..7].iter().all(Option::is_none));
    // Reported again before it expires, and when it ends.
    smf.pass(Duration::from_secs(6));
    let answer = smf.accepted(seids[0], to_gnb(REMOTE));
    assert_eq!(answer.overload.map(|overload| overload.metric.0), Some(100));
    let mut ended = None;
    for seid in seids {
        if let Some(overload) = smf.delete(seid).overload {
            ended = Some((overload.metric.0, overload.timer.span()));
        }
    }
    assert_eq!(ended, Some((0, Some(Duration::ZERO))));
}

#[test]
fn load_is_not_reported_without_the_smf_feature() {
    let mut smf = Smf::with(|config| config.n4.sessions = 1);
    smf.associate(1);
    let answer = establish(&mut smf, 1);
    assert_eq!((answer.load, answer.overload), (None, None));
    // A small change may be reported later.
    let update = AssociationUpdateRequest {
        node_id: NodeId::Ip(SMF),
        up_features: None,
        cp_features: Some(CpFunctionFeatures::LOAD),
        release_request: None,
        release_period: None,
        flags: None,
    };
    smf.node(update);
    let answer = establish(&mut smf, 2);
    assert_eq!(
        (answer.cause, answer.load.map(|load| load.metric)),
        (Cause::NO_RESOURCES_AVAILABLE, Some(Metric(100)))
    );
    assert_eq!(answer.overload, None);
}

#[test]
fn utilization_counts_as_load() {
    let mut smf = Smf::informed(|_| {});
    smf.n4.record_processing(Duration::ZERO, smf.now);
    smf.pass(Duration::from_millis(500));
    smf.n4.record_processing(Duration::from_millis(200), smf.now);
    assert_eq!(smf.n4.load(smf.now.instant), 40);
    smf.pass(Duration::from_secs(2));
    assert_eq!(smf.n4.load(smf.now.instant), 0);
}
