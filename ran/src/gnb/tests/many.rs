//! Many UEs at once.
use super::amf::*;
use crate::sample::Procedure;
use crate::ue::OperatorKey;
use crate::ue::UeConfig;
use crate::ue::tests::network::{KEY, Network, OPC, mm};
use martlet_nas::*;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ie;
use std::collections::HashMap;
use std::time::Duration;
use tokio::task::JoinSet;

const UES: u32 = 1000;

/// Registers every UE, with the null SUCI scheme.
async fn register_all(mut amf: Amf) -> Amf {
    let mut networks: HashMap<u32, Network> = HashMap::new();
    let mut completed = 0;
    while completed < UES {
        let (kind, pdu) = amf.next().await;
        if kind == Kind::Successful_InitialContextSetup {
            continue;
        }
        let ran_id = pdu.ie::<ie::RAN_UE_NGAP_ID>().unwrap().unwrap().0;
        let nas = pdu.ie::<ie::NAS_PDU>().unwrap().unwrap().0.to_vec();
        (amf.ran_id, amf.amf_id) = (ran_id, u64::from(ran_id) + 10_000);
        if kind == Kind::Initiating_InitialUEMessage {
            let Nas5gmmMessage::RegistrationRequest(request) =
                mm(Nas5gsMessage::decode(&nas).unwrap())
            else {
                panic!("not REGISTRATION REQUEST")
            };
            let Some(Suci::Imsi(suci)) = request.fgs_mobile_identity.as_suci() else {
                panic!("not a SUCI")
            };
            let mut network = Network::new();
            network.imsi = suci.imsi().unwrap().as_str().to_owned();
            let challenge = network.challenge();
            networks.insert(ran_id, network);
            amf.downlink_nas(challenge).await;
            continue;
        }
        let network = networks.get_mut(&ran_id).expect("a known UE");
        let answer = match (&network.context, nas[1]) {
            (None, _) => {
                let capability = NasUeSecurityCapability::from_capabilities(0xf0, 0xf0);
                let (nea, nia) = (CipheringAlgorithm::NEA2, IntegrityAlgorithm::NIA2);
                network.security_mode_command(nea, nia, capability, |_| {})
            }
            (Some(_), 4) => {
                network.unprotect(&nas);
                let nas = network.protect(accept(ran_id));
                let kamf = network.kamf.as_ref().unwrap();
                let key = martlet_security::nas_5gs::derive_kgnb(kamf, NasCount::ZERO);
                let setup = amf.context_setup(*key.as_octets(), nas);
                amf.send(setup).await;
                continue;
            }
            (Some(_), _) => {
                assert!(matches!(network.unprotect(&nas), Nas5gmmMessage::RegistrationComplete(_)));
                completed += 1;
                continue;
            }
        };
        amf.downlink_nas(answer).await;
    }
    amf
}

#[tokio::test]
async fn a_thousand_ues_register_at_once() {
    let mut config = config();
    config.procedure_timeout = Duration::from_secs(60);
    let (gnb, amf) = gnb_and_amf_with(config).await;
    let mut registering = JoinSet::new();
    for n in 1..=UES {
        let imsi = format!("00101{n:010}");
        let config = UeConfig::new(&imsi, 2, KEY, OperatorKey::Opc(OPC)).unwrap();
        let ue = gnb.new_ue(config).unwrap();
        registering.spawn(async move { ue.register().await.map(|outcome| (ue, outcome)) });
    }
    let (ues, _amf) = tokio::join!(registering.join_all(), register_all(amf));
    let mut tmsis = std::collections::HashSet::new();
    let mut alive = Vec::new();
    for registered in ues {
        let (ue, outcome) = registered.expect("registered");
        assert!(tmsis.insert(outcome.guti.unwrap().tmsi()), "two UEs took one answer");
        alive.push(ue);
    }
    assert_eq!(gnb.ue_counts(), (UES as usize, 0));
    assert_eq!(gnb.overflows(), 0);
    let samples = gnb.samples().take();
    assert_eq!(
        samples.iter().filter(|s| s.procedure == Procedure::Registration).count(),
        UES as usize
    );
}
