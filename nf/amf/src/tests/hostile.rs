//! Octets near real messages: nothing that a gNB sends may end the AMF, or disturb a UE.
use super::core::{Core, ue};
use super::n2::{initial, setup, uplink};
use super::script::Script;
use bytes::Bytes;
use martlet_ngap::ngap::*;
use martlet_ngap::{NgapPduKind as Kind, build_ngap, ie};
use martlet_ran::PduSessionRequest;
use martlet_udm::Udm;

/// A random number generator with a fixed seed.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

#[tokio::test]
async fn mutated_messages_are_rejected_without_a_panic() {
    let core = Core::start_with(|config| {
        config.timers.t3560_ms = 20;
        config.timers.t3570_ms = 20;
        config.timers.nas_attempts = 1;
        config.timers.ngap_ms = 50;
        config.limits.max_ues = 200;
    })
    .await;
    let gnb = core.gnb().await;
    let ue_1 = gnb.new_ue(ue(1)).unwrap();
    ue_1.register().await.unwrap();
    ue_1.establish_pdu_session(PduSessionRequest::default()).await.unwrap();
    let guti = ue_1.status().await.unwrap().guti.unwrap();

    let (to_amf, mut from_amf) = core.link();
    let drained = tokio::spawn(async move { while from_amf.recv().await.is_some() {} });
    to_amf.send(setup("001", 1)).await.unwrap();
    let suci = hex::decode("7e004179000d0100f1100000000000000010022e04f0f0f0f0").unwrap();
    let mut service = vec![0x7e, 0x01, 1, 2, 3, 4, 9, 0x7e, 0x00, 0x4c, 0x10, 0x00, 0x07, 0xf4];
    service.extend(&guti.s_tmsi().to_nas_octets()[1..]);
    let amf_id = core.amf.tables.connections()[0];
    let originals = [
        setup("001", 1),
        initial(1, suci.clone()),
        initial(2, service),
        uplink(amf_id, 1, suci),
        uplink(amf_id, 1, vec![0x7e, 0x02, 1, 2, 3, 4, 5, 6, 7, 8]),
        Bytes::from(hex::decode("002a4015000003000a0002002a005500020007000f40020500").unwrap()),
    ];
    let mut numbers = Numbers(0x6d61_7274_6c65_7421);
    for n in 0..6000 {
        let mut octets = originals[n % originals.len()].to_vec();
        for _ in 0..=numbers.next(3) {
            let at = numbers.next(octets.len());
            match numbers.next(4) {
                0 => octets[at] ^= 1 << numbers.next(8),
                1 => octets.truncate(at.max(1)),
                2 => octets.insert(at, numbers.next(256) as u8),
                _ => octets[at] = numbers.next(256) as u8,
            }
        }
        to_amf.send(octets.into()).await.unwrap();
        if n % 50 == 0 {
            tokio::task::yield_now().await;
        }
    }
    drop(to_amf);
    // The UE of the other gNB has noticed nothing.
    ue_1.release_pdu_session(1).await.unwrap();
    ue_1.establish_pdu_session(PduSessionRequest::default()).await.unwrap();
    core.wait_for((1, 1, 1)).await;
    drained.abort();
}

#[tokio::test]
async fn a_radio_capability_is_not_stored_before_the_ue_is_verified() {
    const GENERATE: &str = "GenerateAuthData";
    let (core, script) = (Core::start().await, Script::new());
    core.start_scripted::<Udm>(12, &script).await;
    script.hold(GENERATE);
    let gnb = core.gnb().await;
    let mut messages = gnb.subscribe();
    let ue_1 = gnb.new_ue(ue(1)).unwrap();
    let registering = tokio::spawn(async move {
        ue_1.register().await.unwrap();
        ue_1
    });
    script.wait_for(GENERATE).await;
    let indication = build_ngap!(
        InitiatingMessage,
        UERadioCapabilityInfoIndication,
        UERadioCapabilityInfoIndication,
        AMF_UE_NGAP_ID(core.amf.tables.connections()[0]),
        RAN_UE_NGAP_ID(1u32),
        UERadioCapability(vec![7u8; 1000]),
    );
    gnb.send_raw_ngap(0, indication.unwrap().encode().unwrap()).await.unwrap();
    script.release();
    let _ue_1 = registering.await.unwrap();
    assert_eq!(gnb.error_indications(), 0, "the AMF does not know the UE");
    loop {
        let pdu = NGAP_PDU::decode(&messages.recv().await.unwrap()).unwrap().into_owned();
        if pdu.kind() == Kind::Initiating_InitialContextSetup {
            assert!(pdu.ie::<ie::UERadioCapability>().is_none());
            break;
        }
    }
}
