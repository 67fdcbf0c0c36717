//! Idle UEs: AN release, service request, paging, and what an idle UE's timers do.
use super::core::{Core, ue};
use super::n2::{context_not_set_up, nas_lost, next, setup};
use crate::n2::{Area, Gnb as AtAmf, GnbSetup, Link, counted};
use crate::served::Tai;
use crate::ue::{Event, OperatorRequest};
use bytes::Bytes;
use martlet_nas::Plmn;
use martlet_ran::ue::{IdleBehaviour, ServicePurpose};
use martlet_ran::{Gnb, Ue, UeConfig};
use martlet_sbi_api::common::GlobalRanNodeId;
use martlet_sbi_api::namf_callback::AmfCallback;
use martlet_sbi_api::namf_communication::{
    N1N2MessageTransferCause, NgapIeType, TransferReason, UeContextTransferStatus,
    UeRegStatusUpdateReqData,
};
use martlet_sbi_api::nsmf_pdusession::{ResourceStatus, SmContextStatusNotification, StatusInfo};
use martlet_sbi_api::nudm_uecm::DeregistrationReason;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

const SUPI: &str = "imsi-001010000000001";

/// A UE without spontaneous procedures.
fn manual(n: u32) -> UeConfig {
    let mut config = ue(n);
    config.idle = IdleBehaviour::Manual;
    config
}

async fn idle_with_session(core: &Core, gnb: &Gnb, config: UeConfig) -> Ue {
    let ue_1 = core.with_session(gnb, config).await;
    ue_1.release_to_idle().await.unwrap();
    assert_eq!(core.smf.wait_for("update 1 DEACTIVATED").await, ["update 1 DEACTIVATED"]);
    ue_1
}

#[tokio::test]
async fn a_ue_with_data_gets_its_user_plane_back() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let ue_1 = idle_with_session(&core, &gnb, manual(1)).await;
    core.wait_for((1, 1, 0)).await;
    ue_1.service_request_for(ServicePurpose::Data, &[1]).await.unwrap();
    let requests = core.smf.wait_for("update 1 PDU_RES_SETUP_RSP").await;
    assert_eq!(requests, ["update 1 ACTIVATING", "update 1 PDU_RES_SETUP_RSP"]);
    assert_eq!(ue_1.status().await.unwrap().active_user_planes, [1]);

    // Signalling alone leaves the user plane as it is.
    ue_1.release_to_idle().await.unwrap();
    core.smf.wait_for("update 1 DEACTIVATED").await;
    ue_1.service_request_for(ServicePurpose::Signalling, &[]).await.unwrap();
    assert!(ue_1.status().await.unwrap().active_user_planes.is_empty());
    // While it is connected, it requests the user plane.
    ue_1.service_request_for(ServicePurpose::Data, &[1]).await.unwrap();
    core.smf.wait_for("update 1 PDU_RES_SETUP_RSP").await;
    assert_eq!(ue_1.status().await.unwrap().active_user_planes, [1]);
}

#[tokio::test]
async fn a_session_without_user_plane_is_modified_and_released_without_its_gnb() {
    use martlet_nas::{GsmCause, Nas5gsMessage, NasFGsmCause, NasPduSessionReleaseCommand};
    use martlet_ngap::transfer::{Ambr, ModifyRequest};
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let ue_1 = idle_with_session(&core, &gnb, manual(1)).await;
    ue_1.service_request_for(ServicePurpose::Signalling, &[]).await.unwrap();
    let ambr = Some(Ambr { downlink: 5, uplink: 5 });
    let change = ModifyRequest { ambr, ..Default::default() };
    let n2 = Some((NgapIeType::PduResModReq, change.encode().unwrap()));
    core.smf.transfer(SUPI, 1, None, n2).await.unwrap();
    let cause = NasFGsmCause::from_cause(GsmCause::RegularDeactivation);
    let command = Nas5gsMessage::new_5gsm(NasPduSessionReleaseCommand::new(cause), 1, 0);
    let n2 = Some((NgapIeType::PduResRelCmd, super::smf::release_command()));
    core.smf.transfer(SUPI, 1, Some(command.encode().unwrap()), n2).await.unwrap();
    let requests = core.smf.wait_for("update 1 release complete").await;
    assert_eq!(requests, ["update 1 release complete"]);
    assert!(ue_1.status().await.unwrap().sessions.is_empty());
}

#[tokio::test]
async fn a_session_that_the_smf_does_not_have_ends_with_the_service_request_or_registration() {
    use martlet_ran::ue::RegistrationType;
    for registers in [false, true] {
        let core = Core::start().await;
        let gnb = core.gnb().await;
        let ue_1 = idle_with_session(&core, &gnb, manual(1)).await;
        core.smf.lose_sessions();
        match registers {
            true => {
                let mobility = RegistrationType::MobilityRegistrationUpdating;
                ue_1.register_as(mobility).await.unwrap();
            }
            false => ue_1.service_request_for(ServicePurpose::Data, &[1]).await.unwrap(),
        }
        assert!(ue_1.status().await.unwrap().sessions.is_empty());
    }
}

#[tokio::test]
async fn downlink_data_pages_an_idle_ue_at_every_gnb_of_its_area() {
    let core = Core::start().await;
    let (gnb, other) = (core.gnb().await, core.gnb().await);
    let elsewhere = core.gnb_with(|config| config.tac = 9).await;
    let (mut paged, mut not_paged) = (other.subscribe(), elsewhere.subscribe());
    let ue_1 = idle_with_session(&core, &gnb, manual(1)).await;

    let answer = core.smf.downlink_data(SUPI, 1).await.unwrap();
    assert_eq!(
        (answer.status, answer.body.unwrap().cause),
        (202, N1N2MessageTransferCause::AttemptingToReachUe)
    );
    assert!(answer.location.unwrap().contains(SUPI));
    ue_1.wait_for_paging().await.unwrap();
    paged.recv().await.unwrap();
    assert!(not_paged.try_recv().is_err());
    ue_1.service_request_for(ServicePurpose::PagingResponse, &[]).await.unwrap();
    // The SMF sent the N2 information with the paging: it is not requested again.
    assert_eq!(
        core.smf.wait_for("update 1 PDU_RES_SETUP_RSP").await,
        ["update 1 PDU_RES_SETUP_RSP"]
    );
    assert_eq!(ue_1.status().await.unwrap().active_user_planes, [1]);
    // Connected now: at once.
    let answer = core.smf.downlink_data(SUPI, 1).await.unwrap();
    assert_eq!(
        (answer.status, answer.body.unwrap().cause),
        (200, N1N2MessageTransferCause::N1N2TransferInitiated)
    );
}

/// Adds gNBs of a tracking area, and returns what the AMF sends to them.
fn add_gnbs(core: &Core, count: usize, tac: u32) -> Vec<mpsc::Receiver<(u16, Bytes)>> {
    let tai = Tai { plmn: Plmn::new("001", "01").unwrap(), tac };
    let add = |_| {
        let (to_gnb, received) = mpsc::channel(4);
        let number = core.amf.tables.next_number();
        let gnb = Arc::new(AtAmf::new(number, ([127, 0, 0, 1], 1).into(), Link::Local(to_gnb)));
        core.amf.gnbs.add(&gnb, usize::MAX, usize::MAX);
        let areas = vec![Area { tai, slices: Vec::new() }];
        let global = GlobalRanNodeId::new("00101".parse().unwrap());
        let setup = GnbSetup { id: format!("00101-{number:x}"), name: None, global, areas };
        core.amf.gnbs.apply_setup(&gnb, Some(setup));
        received
    };
    (0..count).map(add).collect()
}

#[tokio::test]
async fn paging_among_1000_gnbs_is_encoded_once_and_looks_at_those_of_its_area() {
    let core = Core::start_with(|config| config.timers.t3513_ms = 60_000).await;
    let gnb = core.gnb().await;
    let (mut paged, mut not_paged) = (add_gnbs(&core, 3, 1), add_gnbs(&core, 996, 9));
    assert_eq!(core.amf.gnbs.set_up(), 1000);
    let ue_1 = idle_with_session(&core, &gnb, manual(1)).await;
    counted::ENCODED.take();
    let before = counted::SETUPS_READ.get();
    core.smf.downlink_data(SUPI, 1).await.unwrap();
    ue_1.wait_for_paging().await.unwrap();
    // All four have it: the simulated gNB, and those that the test reads.
    let messages: Vec<_> = paged.iter_mut().map(|gnb| gnb.try_recv().unwrap()).collect();
    assert!(messages.iter().all(|message| *message == messages[0]), "{messages:?}");
    assert!(paged.iter_mut().chain(&mut not_paged).all(|gnb| gnb.try_recv().is_err()));
    let encoded = counted::ENCODED.take();
    assert_eq!(encoded.iter().filter(|name| **name == "Paging").count(), 1, "{encoded:?}");
    let looked_at = counted::SETUPS_READ.get() - before;
    assert!(looked_at < 10, "{looked_at} setups were read");
}

#[tokio::test]
async fn a_ue_is_paged_with_the_drx_cycle_that_it_has_negotiated() {
    use martlet_nas::DrxValue::{self, Cycle64, NotSpecified};
    use martlet_ngap::ie;
    use martlet_ngap::ngap::{NGAP_PDU, PagingDRX};
    use martlet_ran::ue::RegistrationType;
    let cases: [(Option<DrxValue>, Option<PagingDRX>); 3] =
        [(Some(Cycle64), Some(PagingDRX::v64)), (Some(NotSpecified), None), (None, None)];
    for (cycle, in_paging) in cases {
        let core = Core::start_with(|config| config.timers.t3513_ms = 60_000).await;
        let (gnb, mut paged) = (core.gnb().await, add_gnbs(&core, 1, 1));
        let mut config = manual(1);
        config.requested_drx = cycle;
        let ue_1 = core.with_session(&gnb, config).await;
        assert_eq!(ue_1.status().await.unwrap().settings.negotiated_drx, cycle);
        // The UE keeps it, although a periodic registration does not request it.
        ue_1.register_as(RegistrationType::PeriodicRegistrationUpdating).await.unwrap();
        assert_eq!(ue_1.status().await.unwrap().settings.negotiated_drx, None);
        ue_1.release_to_idle().await.unwrap();
        core.wait_for((1, 1, 0)).await;
        core.smf.downlink_data(SUPI, 1).await.unwrap();
        ue_1.wait_for_paging().await.unwrap();
        let (_, message) = paged[0].try_recv().unwrap();
        let paging = NGAP_PDU::decode(&message).unwrap();
        assert_eq!(paging.check().unwrap(), []);
        let drx = paging.ie::<ie::PagingDRX>().transpose().unwrap();
        assert_eq!(drx, in_paging, "{cycle:?}");
    }
}

#[tokio::test]
async fn a_ue_is_paged_with_its_radio_capability_for_paging() {
    use martlet_ngap::ngap::{
        NGAP_PDU, UERadioCapabilityForPaging, UERadioCapabilityForPagingOfNR,
    };
    use martlet_ngap::{build_ngap, ie};
    let core = Core::start_with(|config| config.timers.t3513_ms = 60_000).await;
    let (gnb, mut paged) = (core.gnb().await, add_gnbs(&core, 1, 1));
    let ue_1 = core.with_session(&gnb, manual(1)).await;
    let of_nr = UERadioCapabilityForPagingOfNR(vec![7u8; 9].into());
    let for_paging = UERadioCapabilityForPaging::new(Some(of_nr), None, None);
    let indication = build_ngap!(
        InitiatingMessage,
        UERadioCapabilityInfoIndication,
        UERadioCapabilityInfoIndication,
        AMF_UE_NGAP_ID(core.amf.tables.connections()[0]),
        RAN_UE_NGAP_ID(1u32),
        UERadioCapability(vec![7u8; 100]),
        UERadioCapabilityForPaging(for_paging.clone()),
    );
    gnb.send_raw_ngap(0, indication.unwrap().encode().unwrap()).await.unwrap();
    ue_1.release_to_idle().await.unwrap();
    core.wait_for((1, 1, 0)).await;
    core.smf.downlink_data(SUPI, 1).await.unwrap();
    ue_1.wait_for_paging().await.unwrap();
    let (_, message) = paged[0].try_recv().unwrap();
    let paging = NGAP_PDU::decode(&message).unwrap();
    assert_eq!(paging.check().unwrap(), []);
    let sent = paging.ie::<ie::UERadioCapabilityForPaging>().transpose().unwrap();
    assert_eq!(sent, Some(for_paging));
}

#[tokio::test]
async fn a_gnb_gets_what_it_needs_to_keep_a_ue_in_rrc_inactive() {
    use martlet_nas::DrxValue;
    use martlet_ngap::NgapPduKind as Kind;
    use martlet_ngap::ie::CoreNetworkAssistanceInformationForInactive as Information;
    use martlet_ngap::ngap::{NGAP_PDU, PagingDRX, UEIdentityIndexValue};
    use martlet_ran::ue::RegistrationType;
    let core = Core::start_with(|config| config.rrc_inactive = true).await;
    let gnb = core.gnb().await;
    let mut messages = gnb.subscribe();
    let mut config = manual(1);
    config.requested_drx = Some(DrxValue::Cycle32);
    let ue_1 = gnb.new_ue(config).unwrap();
    ue_1.register().await.unwrap();
    // The other one follows a new 5G-GUTI.
    for kind in [Kind::Initiating_InitialContextSetup, Kind::Initiating_UEContextModification] {
        let information = async {
            loop {
                let message = messages.recv().await.unwrap();
                let pdu = NGAP_PDU::decode(&message).unwrap();
                if pdu.kind() == kind {
                    assert_eq!(pdu.check().unwrap(), []);
                    return pdu.ie::<Information>().transpose().unwrap();
                }
            }
        };
        let information = tokio::time::timeout(Duration::from_secs(30), information).await;
        let information = information.expect("a message").expect("assistance information");
        let tmsi = ue_1.status().await.unwrap().guti.unwrap().tmsi();
        let UEIdentityIndexValue::indexLength10(index) = information.ue_identity_index_value else {
            panic!("no index of 10 bits")
        };
        assert_eq!((index.value(), index.len()), (u64::from(tmsi % 1024), 10));
        assert_eq!(information.ue_specific_drx, Some(PagingDRX::v32));
        assert_eq!(information.tai_list_for_inactive.0.len(), 1);
        ue_1.register_as(RegistrationType::PeriodicRegistrationUpdating).await.unwrap();
    }
}

#[tokio::test]
async fn paging_is_repeated_and_its_failure_reported_to_the_smf() {
    let core = Core::start_with(|config| {
        config.timers.t3513_ms = 50;
        config.timers.paging_attempts = 3;
    })
    .await;
    let gnb = core.gnb().await;
    let ue_1 = idle_with_session(&core, &gnb, manual(1)).await;
    let mut paged = gnb.subscribe();
    core.smf.downlink_data(SUPI, 1).await.unwrap();
    // More transfers arrive while the UE is paged.
    core.smf.downlink_data(SUPI, 1).await.unwrap();
    let requests = core.smf.wait_for("failure 1 UE_NOT_RESPONDING").await;
    assert!(requests.iter().all(|note| note == "failure 1 UE_NOT_RESPONDING"), "{requests:?}");
    for _ in 0..3 {
        tokio::time::timeout(Duration::from_secs(30), paged.recv()).await.unwrap().unwrap();
    }
    // It can come all the same.
    ue_1.service_request_for(ServicePurpose::Data, &[1]).await.unwrap();
    core.smf.wait_for("update 1 PDU_RES_SETUP_RSP").await;
}

/// TS 38.412, 7, has it on stream 0, where OAI's gNB ignores it.
#[tokio::test]
async fn paging_is_repeated_on_another_stream() {
    use martlet_ngap::NgapPduKind as Kind;
    use martlet_ngap::ngap::NGAP_PDU;
    for strict in [false, true] {
        let core = Core::start_with(|config| {
            config.timers.t3513_ms = 50;
            config.timers.paging_attempts = 3;
            config.n2.strict = strict;
        })
        .await;
        let gnb = core.gnb().await;
        let (to_amf, mut from_amf) = core.link();
        to_amf.send(setup("001", 1)).await.unwrap();
        next(&mut from_amf).await;
        let _ue = idle_with_session(&core, &gnb, manual(1)).await;
        core.smf.downlink_data(SUPI, 1).await.unwrap();
        core.smf.wait_for("failure 1 UE_NOT_RESPONDING").await;
        let mut are_shared = Vec::new();
        while let Ok((stream, data)) = from_amf.try_recv() {
            if NGAP_PDU::decode(&data).unwrap().kind() == Kind::Initiating_Paging {
                are_shared.push(stream != 0);
            }
        }
        assert_eq!(are_shared, [false, !strict, false]);
    }
}

#[tokio::test]
async fn a_ue_without_its_new_5g_guti_is_paged_by_the_previous_one() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let mut config = manual(1);
    // CONFIGURATION UPDATE COMMAND, with the 5G-GUTI that follows a paging, is lost.
    config.confirms_configuration = false;
    let ue_1 = idle_with_session(&core, &gnb, config).await;
    for _ in 0..2 {
        core.wait_for((1, 1, 0)).await;
        core.smf.downlink_data(SUPI, 1).await.unwrap();
        ue_1.wait_for_paging().await.unwrap();
        ue_1.service_request_for(ServicePurpose::PagingResponse, &[]).await.unwrap();
        core.smf.wait_for("update 1 PDU_RES_SETUP_RSP").await;
        ue_1.release_to_idle().await.unwrap();
        core.smf.wait_for("update 1 DEACTIVATED").await;
    }
}

#[tokio::test]
async fn a_transfer_does_not_wait_for_a_ue_that_does_not_confirm_its_configuration() {
    use martlet_ngap::transfer::{Ambr, ModifyRequest};
    let core = Core::start_with(|config| config.timers.t3555_ms = 60_000).await;
    let gnb = core.gnb().await;
    let mut config = manual(1);
    config.confirms_configuration = false;
    let ue_1 = idle_with_session(&core, &gnb, config).await;
    core.smf.downlink_data(SUPI, 1).await.unwrap();
    ue_1.wait_for_paging().await.unwrap();
    // CONFIGURATION UPDATE COMMAND, with another 5G-GUTI, follows.
    ue_1.service_request_for(ServicePurpose::PagingResponse, &[]).await.unwrap();
    core.smf.wait_for("update 1 PDU_RES_SETUP_RSP").await;
    for _ in 0..2 {
        let ambr = Some(Ambr { downlink: 5, uplink: 5 });
        let change = ModifyRequest { ambr, ..Default::default() };
        let n2 = Some((NgapIeType::PduResModReq, change.encode().unwrap()));
        core.smf.transfer(SUPI, 1, None, n2).await.unwrap();
        core.smf.wait_for("update 1 PDU_RES_MOD_RSP").await;
    }
}

#[tokio::test]
async fn a_new_5g_guti_follows_a_paging_without_a_transfer_or_a_late_answer() {
    let core = Core::start_with(|config| {
        config.timers.t3513_ms = 100;
        config.timers.paging_attempts = 1;
    })
    .await;
    let gnb = core.gnb().await;
    let ue_1 = idle_with_session(&core, &gnb, manual(1)).await;
    let handle = core.amf.find(SUPI).unwrap();
    for by_operator in [true, false] {
        core.wait_for((1, 1, 0)).await;
        let mut events = ue_1.subscribe().await.unwrap();
        match by_operator {
            true => {
                let (answer, _answered) = oneshot::channel();
                handle.send(Event::Operator(OperatorRequest::Page, answer)).unwrap();
                ue_1.wait_for_paging().await.unwrap();
            }
            false => {
                core.smf.downlink_data(SUPI, 1).await.unwrap();
                core.smf.wait_for("failure 1 UE_NOT_RESPONDING").await;
            }
        }
        ue_1.service_request_for(ServicePurpose::PagingResponse, &[]).await.unwrap();
        let updated = async {
            loop {
                let event = events.recv().await.unwrap();
                if let martlet_ran::UeEvent::Nas(martlet_ran::ue::Event::ConfigurationUpdated {
                    new_guti,
                    ..
                }) = event
                {
                    return new_guti;
                }
            }
        };
        let updated = tokio::time::timeout(Duration::from_secs(30), updated).await;
        assert_eq!(updated, Ok(true), "by_operator: {by_operator}");
        ue_1.release_to_idle().await.unwrap();
    }
}

/// The 5G-TMSIs of the PAGING messages that a gNB has.
fn paged_tmsis(gnb: &mut mpsc::Receiver<(u16, Bytes)>) -> Vec<u32> {
    use martlet_ngap::ie;
    use martlet_ngap::ngap::{NGAP_PDU, UEPagingIdentity};
    let mut tmsis = Vec::new();
    while let Ok((_, message)) = gnb.try_recv() {
        let pdu = NGAP_PDU::decode(&message).unwrap();
        let identity = pdu.ie::<ie::UEPagingIdentity>().transpose().unwrap().unwrap();
        let UEPagingIdentity::fiveG_S_TMSI(s_tmsi) = identity else { panic!("no 5G-S-TMSI") };
        tmsis.push(u32::from_be_bytes(s_tmsi.five_g_tmsi.0));
    }
    tmsis
}

/// Pages an idle UE for data, lets it answer and confirm its new 5G-GUTI, and releases it.
async fn page_and_confirm(core: &Core, ue_1: &Ue) {
    use martlet_ran::{UeEvent, ue::Event};
    core.smf.downlink_data(SUPI, 1).await.unwrap();
    ue_1.wait_for_paging().await.unwrap();
    let mut events = ue_1.subscribe().await.unwrap();
    ue_1.service_request_for(ServicePurpose::PagingResponse, &[]).await.unwrap();
    let updated = async {
        let is_update =
            |event: UeEvent| matches!(event, UeEvent::Nas(Event::ConfigurationUpdated { .. }));
        while !is_update(events.recv().await.unwrap()) {}
    };
    tokio::time::timeout(Duration::from_secs(30), updated).await.unwrap();
    ue_1.release_to_idle().await.unwrap();
    core.wait_for((1, 1, 0)).await;
}

/// As PacketRusher's UEs.
#[tokio::test]
async fn a_ue_that_confirms_its_new_5g_guti_and_keeps_the_old_one_is_served() {
    for strict in [false, true] {
        let core = Core::start_with(|config| {
            config.timers.t3513_ms = 300;
            config.n1.strict = strict;
        })
        .await;
        let gnb = core.gnb().await;
        let mut config = manual(1);
        config.takes_new_guti = false;
        let ue_1 = idle_with_session(&core, &gnb, config).await;
        let old = ue_1.status().await.unwrap().guti.unwrap().tmsi();
        let pagings = if strict { 1 } else { 3 };
        for _ in 0..pagings {
            page_and_confirm(&core, &ue_1).await;
        }
        assert_eq!(ue_1.status().await.unwrap().guti.unwrap().tmsi(), old);
        assert_eq!(core.amf.tables.by_tmsi(old).is_some(), !strict);
    }
}

#[tokio::test]
async fn a_ue_is_paged_by_its_previous_5g_guti_only_if_it_does_not_answer_the_new_one() {
    let core = Core::start_with(|config| {
        config.timers.t3513_ms = 1000;
        config.timers.paging_attempts = 2;
    })
    .await;
    let (gnb, mut paged) = (core.gnb().await, add_gnbs(&core, 1, 1));
    let ue_1 = idle_with_session(&core, &gnb, manual(1)).await;
    let tmsi = || async { ue_1.status().await.unwrap().guti.unwrap().tmsi() };
    let first = tmsi().await;
    page_and_confirm(&core, &ue_1).await;
    let second = tmsi().await;
    paged_tmsis(&mut paged[0]);
    core.smf.downlink_data(SUPI, 1).await.unwrap();
    core.smf.wait_for("failure 1 UE_NOT_RESPONDING").await;
    assert_eq!(paged_tmsis(&mut paged[0]), [second, first, second]);
    // It uses the new one.
    ue_1.service_request_for(ServicePurpose::Signalling, &[]).await.unwrap();
    assert!(core.amf.tables.by_tmsi(first).is_none());
}

#[tokio::test]
async fn a_ue_that_uses_its_new_5g_guti_has_confirmed_it() {
    use martlet_ran::ue::RegistrationType;
    let core = Core::start().await;
    let loses = Arc::new(AtomicBool::new(false));
    let at_gnb = loses.clone();
    let between = move |message: Bytes| match at_gnb.load(Ordering::Relaxed) {
        true => nas_lost(message),
        false => message,
    };
    let gnb = core.gnb_through(between, |_| {}).await.unwrap();
    let ue_1 = idle_with_session(&core, &gnb, manual(1)).await;
    let first = ue_1.status().await.unwrap().guti.unwrap().tmsi();
    // REGISTRATION COMPLETE is lost.
    loses.store(true, Ordering::Relaxed);
    ue_1.register_as(RegistrationType::PeriodicRegistrationUpdating).await.unwrap();
    ue_1.release_to_idle().await.unwrap();
    core.wait_for((1, 1, 0)).await;
    loses.store(false, Ordering::Relaxed);
    let second = ue_1.status().await.unwrap().guti.unwrap().tmsi();
    let is_valid = |tmsi| core.amf.tables.by_tmsi(tmsi).is_some();
    assert!(first != second && is_valid(first) && is_valid(second));
    ue_1.service_request_for(ServicePurpose::Signalling, &[]).await.unwrap();
    assert!(!is_valid(first) && is_valid(second));
}

#[tokio::test]
async fn a_registration_of_a_connected_ue_confirms_its_new_5g_guti() {
    use martlet_ran::ue::RegistrationType;
    let core = Core::start_with(|config| config.timers.nas_attempts = 1).await;
    // Whether each next UPLINK NAS TRANSPORT loses its message.
    let losses = Arc::new(Mutex::new(VecDeque::new()));
    let at_gnb = losses.clone();
    let between = move |message: Bytes| {
        let lost = nas_lost(message.clone());
        let is_lost = lost != message && at_gnb.lock().unwrap().pop_front() == Some(true);
        if is_lost { lost } else { message }
    };
    let gnb = core.gnb_through(between, |_| {}).await.unwrap();
    let ue_1 = idle_with_session(&core, &gnb, manual(1)).await;
    let mut used = vec![ue_1.status().await.unwrap().guti.unwrap().tmsi()];
    // REGISTRATION COMPLETE of both is lost, not the second REGISTRATION REQUEST.
    losses.lock().unwrap().extend([true, false, true]);
    for _ in 0..2 {
        ue_1.register_as(RegistrationType::PeriodicRegistrationUpdating).await.unwrap();
        used.push(ue_1.status().await.unwrap().guti.unwrap().tmsi());
    }
    let is_valid = |tmsi: &u32| core.amf.tables.by_tmsi(*tmsi).is_some();
    assert_eq!(used.iter().map(is_valid).collect::<Vec<_>>(), [false, true, true]);
}

#[tokio::test]
async fn what_cannot_be_transferred_is_refused() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let unknown = core.smf.downlink_data("imsi-001010000000099", 1).await.unwrap_err();
    assert_eq!((unknown.status(), unknown.cause()), (404, "CONTEXT_NOT_FOUND"));
    let ue_1 = core.with_session(&gnb, manual(1)).await;
    let no_session = core.smf.downlink_data(SUPI, 2).await.unwrap_err();
    assert_eq!((no_session.status(), no_session.cause()), (404, "CONTEXT_NOT_FOUND"));
    let no_part = core.smf.transfer(SUPI, 1, None, None).await.unwrap();
    assert_eq!(no_part.status, 200);
    ue_1.deregister().await.unwrap();
    core.wait_for((1, 0, 0)).await;
    let left = core
        .smf
        .transfer(SUPI, 1, None, Some((NgapIeType::PduResSetupReq, vec![0])))
        .await
        .unwrap_err();
    assert_eq!((left.status(), left.cause()), (404, "CONTEXT_NOT_FOUND"));
}

#[tokio::test]
async fn the_amf_does_not_know_a_former_session_with_the_identity_of_a_new_one() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let _ue_1 = idle_with_session(&core, &gnb, manual(1)).await;
    core.wait_for((1, 1, 0)).await;
    let handle = core.amf.find(SUPI).unwrap();
    let (_, number) = core.amf.tables.summary(handle.number).unwrap().sessions[0];
    for (number, expected) in [(number, Ok(())), (number - 1, Err(404))] {
        let body = SmContextStatusNotification::new(StatusInfo::new(ResourceStatus::Updated));
        let answer = core.amf.sm_context_status_notify(SUPI, "1", &number.to_string(), body).await;
        assert_eq!(answer.map_err(|problem| problem.status()), expected, "session {number}");
    }
}

#[tokio::test]
async fn an_unreachable_ue_is_deregistered_and_later_removed() {
    let core = Core::start_with(|config| {
        config.timers.t3512_s = 1;
        config.timers.mobile_reachable_s = 0;
        // On a busy machine, too, the UE is asked for before it is deregistered.
        config.timers.implicit_deregistration_s = 4;
        config.timers.deregistered_s = 1;
    })
    .await;
    let gnb = core.gnb().await;
    let ue_1 = idle_with_session(&core, &gnb, manual(1)).await;
    // It is silent from now on.
    ue_1.forget_registration().await.unwrap();
    core.wait_for((1, 1, 0)).await;
    // The UE has a T3512 of two seconds, the shortest one.
    tokio::time::sleep(Duration::from_millis(2300)).await;
    let unreachable = core.smf.downlink_data(SUPI, 1).await.unwrap_err();
    assert_eq!((unreachable.status(), unreachable.cause()), (504, "UE_NOT_REACHABLE"));
    core.smf.wait_for("release 1").await;
    core.wait_for((1, 0, 0)).await;
    core.wait_for((0, 0, 0)).await;
    // The UE returns: its 5G-GUTI is unknown, so its identity is requested.
    let ue_1 = gnb.new_ue(manual(1)).unwrap();
    ue_1.register().await.unwrap();
    core.wait_for((1, 1, 1)).await;
}

#[tokio::test]
async fn a_service_request_of_a_deregistered_ue_is_rejected() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let ue_1 = idle_with_session(&core, &gnb, manual(1)).await;
    // The AMF deregisters it without its knowledge.
    let handle = core.amf.find(SUPI).unwrap();
    let reason = DeregistrationReason::UeInitialRegistration;
    handle.send(Event::Deregister(reason, None)).unwrap();
    core.wait_for((0, 0, 0)).await;
    let refused = ue_1.service_request_for(ServicePurpose::Data, &[1]).await.unwrap_err();
    assert!(refused.to_string().contains('9'), "{refused}");
    core.wait_for((0, 0, 0)).await;
}

#[tokio::test]
async fn a_ue_that_is_back_from_an_amf_without_a_report_stays() {
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let ue_1 = idle_with_session(&core, &gnb, manual(1)).await;
    // Another AMF gets the context, and fails.
    let handle = core.amf.find(SUPI).unwrap();
    let asked = core.amf.transfer_request(TransferReason::MobiRegUeValidated);
    let (answer, given) = oneshot::channel();
    handle.send(Event::ContextTransfer(asked.into(), None, answer)).unwrap();
    given.await.unwrap().unwrap();
    ue_1.service_request_for(ServicePurpose::Signalling, &[]).await.unwrap();
    // Its report would end the registration here.
    let report = UeRegStatusUpdateReqData::new(UeContextTransferStatus::Transferred);
    let (answer, concluded) = oneshot::channel();
    handle.send(Event::ContextTransferred(report.into(), answer)).unwrap();
    assert_eq!(concluded.await.unwrap().unwrap_err().status(), 403);
    core.wait_for((1, 1, 1)).await;
    assert_eq!(core.smf.sessions(), 1);
    // The UDM's notification is not left to the report.
    handle.send(Event::Deregister(DeregistrationReason::UeInitialRegistration, None)).unwrap();
    core.wait_for((0, 0, 0)).await;
    assert_eq!(core.smf.sessions(), 0);
}

#[tokio::test]
async fn ues_of_a_lost_gnb_become_idle() {
    let core = Core::start().await;
    let (gnb, other) = (core.gnb().await, core.gnb().await);
    let ue_1 = core.with_session(&gnb, manual(1)).await;
    let second = other.new_ue(manual(2)).unwrap();
    second.register().await.unwrap();
    core.wait_for((2, 2, 2)).await;
    gnb.abort();
    core.smf.wait_for("update 1 DEACTIVATED").await;
    core.wait_for((2, 2, 1)).await;
    assert_eq!(core.amf.gnbs.all().len(), 1);
    // It registers at another gNB.
    ue_1.move_to(&other).await.unwrap();
    ue_1.service_request_for(ServicePurpose::Data, &[1]).await.unwrap();
    core.smf.wait_for("update 1 PDU_RES_SETUP_RSP").await;
    core.wait_for((2, 2, 2)).await;
}

#[tokio::test]
async fn everything_that_waits_for_an_idle_ue_is_taken_at_once() {
    // A transfer that waited for the paging of another would not be answered within the time that a
    // call has.
    let core = Core::start_with(|config| config.timers.t3513_ms = 60_000).await;
    let gnb = core.gnb().await;
    let ue_1 = idle_with_session(&core, &gnb, manual(1)).await;
    for _ in 0..3 {
        assert_eq!(core.smf.downlink_data(SUPI, 1).await.unwrap().status, 202);
    }
    let skipped = core.smf.transfer(SUPI, 1, Some(vec![0x2e, 1, 0, 0xd6, 98]), None).await.unwrap();
    assert_eq!(skipped.status, 202);
    ue_1.service_request_for(ServicePurpose::PagingResponse, &[]).await.unwrap();
    assert_eq!(
        core.smf.wait_for("update 1 PDU_RES_SETUP_RSP").await,
        ["update 1 PDU_RES_SETUP_RSP"]
    );
}

#[tokio::test]
async fn a_paged_ue_may_register_instead() {
    use martlet_ran::ue::RegistrationType;
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let ue_1 = idle_with_session(&core, &gnb, manual(1)).await;
    core.smf.downlink_data(SUPI, 1).await.unwrap();
    ue_1.wait_for_paging().await.unwrap();
    ue_1.register_as(RegistrationType::MobilityRegistrationUpdating).await.unwrap();
    core.smf.wait_for("update 1 PDU_RES_SETUP_RSP").await;
    assert_eq!(ue_1.status().await.unwrap().active_user_planes, [1]);
}

#[tokio::test]
async fn a_failed_context_setup_is_reported_to_the_sender_of_a_transfer() {
    use martlet_ran::ue::RegistrationType;
    for registers in [false, true] {
        let core = Core::start().await;
        let fails = Arc::new(AtomicBool::new(false));
        let at_gnb = fails.clone();
        let between = move |message: Bytes| match at_gnb.load(Ordering::Relaxed) {
            true => context_not_set_up(message),
            false => message,
        };
        let gnb = core.gnb_through(between, |_| {}).await.unwrap();
        let ue_1 = idle_with_session(&core, &gnb, manual(1)).await;
        fails.store(true, Ordering::Relaxed);
        let status = vec![0x2e, 1, 0, 0xd6, 98];
        let answer = core.smf.transfer(SUPI, 1, Some(status), None).await.unwrap();
        assert_eq!(answer.status, 202);
        ue_1.wait_for_paging().await.unwrap();
        let answering = tokio::spawn(async move {
            let mobility = RegistrationType::MobilityRegistrationUpdating;
            let is_answered = match registers {
                true => ue_1.register_as(mobility).await.is_ok(),
                false => {
                    ue_1.service_request_for(ServicePurpose::PagingResponse, &[]).await.is_ok()
                }
            };
            (ue_1, is_answered)
        });
        core.smf.wait_for("failure 1 FAILURE_CAUSE_UNSPECIFIED").await;
        answering.abort();
    }
}

#[tokio::test]
async fn an_smf_that_waits_for_the_amf_does_not_block_the_ue() {
    // The SMF sends a transfer in the midst of an update, and answers the update when the transfer
    // is answered.
    let core = Core::start().await;
    let gnb = core.gnb().await;
    let ue_1 = idle_with_session(&core, &gnb, manual(1)).await;
    core.smf.set_behaviour(super::smf::Behaviour::TransferFirst);
    ue_1.service_request_for(ServicePurpose::Data, &[1]).await.unwrap();
    let requests = core.smf.wait_for("update 1 PDU_RES_SETUP_RSP").await;
    assert_eq!(requests, ["update 1 ACTIVATING", "transferred 200", "update 1 PDU_RES_SETUP_RSP"]);
}
