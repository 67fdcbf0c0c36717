//! Faults of the AMF, and invalid messages that a test sends.
use super::amf::*;
use crate::gnb::{GnbError, UeError, UeEvent};
use crate::ue::tests::network::config as ue_config;
use crate::ue::{Abort, MmState, NasRefused, PduSessionRequest};
use martlet_nas::*;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ngap::*;
use martlet_ngap::{build_ngap, ie};

#[tokio::test]
async fn a_rejected_ng_setup_reports_the_cause() {
    let failure = build_ngap!(
        UnsuccessfulOutcome,
        NGSetup,
        NGSetupFailure,
        Cause(Cause::misc(CauseMisc::unknown_PLMN_or_SNPN)),
    );
    let error = refused(failure.unwrap().encode().unwrap()).await;
    assert!(
        matches!(&error, GnbError::SetupRefused { cause, .. } if cause.contains("unknown_PLMN")),
        "{error}"
    );
    assert!(matches!(refused(vec![1, 2, 3]).await, GnbError::Lost { .. }));
}

#[tokio::test]
async fn a_k_gnb_of_another_nas_count_fails_initial_context_setup() {
    let (gnb, mut amf) = gnb_and_amf().await;
    let ue = gnb.new_ue(ue_config()).unwrap();
    let registering = async {
        amf.nas().await;
        amf.authenticate().await;
        let nas = amf.network.protect(accept(1));
        let setup = amf.context_setup(amf.k_gnb(1), nas);
        amf.send(setup).await;
        assert_eq!(amf.next().await.0, Kind::Unsuccessful_InitialContextSetup);
        let command = amf.release_command();
        amf.send(command).await;
        amf.next().await;
    };
    let (registered, ()) = tokio::join!(ue.register(), registering);
    assert_eq!(registered, Err(UeError::Aborted(Abort::ConnectionReleased)));
}

#[tokio::test]
async fn a_rejected_registration_reports_its_cause_and_is_sampled() {
    let (gnb, mut amf) = gnb_and_amf().await;
    let ue = gnb.new_ue(ue_config()).unwrap();
    let rejecting = async {
        amf.nas().await;
        let reject = NasRegistrationReject::new(NasFGmmCause::from_cause(GmmCause::IllegalUe));
        amf.downlink_nas(Nas5gsMessage::new_5gmm(reject).encode().unwrap()).await;
    };
    let (registered, ()) = tokio::join!(ue.register(), rejecting);
    assert_eq!(registered.unwrap_err().cause(), Some(3));
    let sample = gnb.samples().take().pop().unwrap();
    assert!(sample.failure.unwrap().contains("#3"));
    // The next registration begins when the connection of this one is released.
    let (registered, ()) = tokio::join!(ue.register(), async {
        let command = amf.release_command();
        amf.send(command).await;
        assert_eq!(amf.next().await.0, Kind::Successful_UEContextRelease);
        amf.register(2).await;
    });
    registered.unwrap();
}

#[tokio::test]
async fn messages_for_unknown_ues_and_invalid_messages_get_an_error_indication() {
    let (gnb, mut amf) = gnb_and_amf().await;
    amf.send_raw(vec![0xff, 0xff]).await;
    let (kind, pdu) = amf.next().await;
    assert_eq!(kind, Kind::Initiating_ErrorIndication);
    assert_eq!(error_cause(&pdu), Cause::protocol(CauseProtocol::transfer_syntax_error));
    amf.ran_id = 999;
    amf.downlink_nas(vec![0x7e, 0, 0x55]).await;
    let (_, pdu) = amf.next().await;
    assert_eq!(error_cause(&pdu), Cause::radioNetwork(CauseRadioNetwork::unknown_local_UE_NGAP_ID));
    // A message without its mandatory IEs.
    let empty = build_ngap!(InitiatingMessage, Paging, Paging,).unwrap();
    amf.send(empty).await;
    let (_, pdu) = amf.next().await;
    assert_eq!(error_cause(&pdu), Cause::protocol(CauseProtocol::abstract_syntax_error_reject));
    assert_eq!(gnb.error_indications(), 0);
}

#[tokio::test]
async fn another_amf_ue_ngap_id_gets_an_error_indication_and_ends_the_connection() {
    for releases in [false, true] {
        let (gnb, mut amf) = gnb_and_amf().await;
        let ue = gnb.new_ue(ue_config()).unwrap();
        let (registered, ()) = tokio::join!(ue.register(), amf.register(1));
        registered.unwrap();
        let mut events = ue.subscribe().await.unwrap();
        amf.amf_id += 1;
        match releases {
            true => {
                let command = amf.release_command();
                amf.send(command).await;
            }
            false => amf.downlink_nas(vec![0x7e, 0, 0x55]).await,
        }
        let (kind, pdu) = amf.next().await;
        assert_eq!(kind, Kind::Initiating_ErrorIndication);
        let inconsistent = CauseRadioNetwork::inconsistent_remote_UE_NGAP_ID;
        assert_eq!(error_cause(&pdu), Cause::radioNetwork(inconsistent));
        let amf_id = pdu.ie::<ie::AMF_UE_NGAP_ID>().unwrap().unwrap().0;
        let ran_id = pdu.ie::<ie::RAN_UE_NGAP_ID>().unwrap().unwrap().0;
        assert_eq!((amf_id, ran_id), (amf.amf_id, amf.ran_id));
        ue.wait_idle().await.unwrap();
        // The UE did not get the message.
        assert_eq!(events.try_recv().unwrap(), UeEvent::ConnectionReleased);
    }
}

#[tokio::test]
async fn ng_reset_releases_the_listed_ues() {
    let (gnb, mut amf) = gnb_and_amf().await;
    let ue = gnb.new_ue(ue_config()).unwrap();
    let (registered, ()) = tokio::join!(ue.register(), amf.register(1));
    registered.unwrap();
    let reset = build_ngap!(
        InitiatingMessage,
        NGReset,
        NGReset,
        Cause(Cause::misc(CauseMisc::om_intervention)),
        ResetType(ResetType::nG_Interface(ResetAll::reset_all)),
    );
    amf.send(reset.unwrap()).await;
    assert_eq!(amf.next().await.0, Kind::Successful_NGReset);
    ue.wait_idle().await.unwrap();
    assert_eq!(gnb.ue_counts(), (0, 1));
}

#[tokio::test]
async fn an_error_indication_releases_the_connection() {
    let (gnb, mut amf) = gnb_and_amf().await;
    let ue = gnb.new_ue(ue_config()).unwrap();
    let (registered, ()) = tokio::join!(ue.register(), amf.register(1));
    registered.unwrap();
    let indication = build_ngap!(
        InitiatingMessage,
        ErrorIndication,
        ErrorIndication,
        AMF_UE_NGAP_ID(amf.amf_id),
        RAN_UE_NGAP_ID(amf.ran_id),
        Cause(Cause::radioNetwork(CauseRadioNetwork::unknown_local_UE_NGAP_ID)),
    );
    amf.send(indication.unwrap()).await;
    ue.wait_idle().await.unwrap();
    assert_eq!(gnb.error_indications(), 1);
}

#[tokio::test]
async fn waiting_procedures_fail_when_the_amf_is_lost() {
    let (gnb, mut amf) = gnb_and_amf().await;
    let ue = gnb.new_ue(ue_config()).unwrap();
    let (registered, ()) = tokio::join!(ue.register(), async {
        amf.nas().await;
        drop(amf);
    });
    assert!(matches!(registered, Err(UeError::GnbLost(_))), "{registered:?}");
    gnb.lost().await;
    assert!(ue.register().await.is_err());
}

#[tokio::test]
async fn raw_replayed_and_forged_messages_are_sent_unchanged() {
    let (gnb, mut amf) = gnb_and_amf().await;
    let ue = gnb.new_ue(ue_config()).unwrap();
    assert!(matches!(ue.replay_last_nas().await, Err(UeError::State(_))));
    let (registered, ()) = tokio::join!(ue.register(), amf.register(1));
    registered.unwrap();
    ue.replay_last_nas().await.unwrap();
    let replayed = amf.nas().await;
    assert!(amf.network.context.as_mut().unwrap().unprotect(&replayed, Direction::Uplink).is_err());
    ue.send_raw_nas([0x7e, 0x00, 0xff]).await.unwrap();
    assert_eq!(amf.nas().await, [0x7e, 0x00, 0xff]);
    let status = NasFGmmStatus::new(NasFGmmCause::from_cause(GmmCause::Congestion));
    ue.send_with_wrong_mac(Nas5gsMessage::new_5gmm(status)).await.unwrap();
    let forged = amf.nas().await;
    let refused = amf.network.context.as_mut().unwrap().unprotect(&forged, Direction::Uplink);
    assert_eq!(refused.err(), Some(NasError::IntegrityCheckFailed));
    gnb.send_raw_ngap(0, vec![1, 2]).await.unwrap();
    assert_eq!(&amf.peer.from_gnb.recv().await.unwrap().data[..], [1, 2]);
}

#[tokio::test]
async fn a_procedure_in_the_wrong_state_is_rejected_at_once() {
    let (gnb, _amf) = gnb_and_amf().await;
    let ue = gnb.new_ue(ue_config()).unwrap();
    let refused = ue.establish_pdu_session(PduSessionRequest::default()).await;
    assert_eq!(refused, Err(UeError::Refused(NasRefused::NotRegistered)));
    assert!(ue.deregister().await.is_err());
    assert_eq!(ue.status().await.unwrap().state, MmState::Deregistered);
}

#[tokio::test]
async fn a_procedure_without_an_answer_times_out() {
    let mut config = config();
    config.procedure_timeout = std::time::Duration::from_millis(50);
    let (gnb, _amf) = gnb_and_amf_with(config).await;
    let ue = gnb.new_ue(ue_config()).unwrap();
    assert!(matches!(ue.register().await, Err(UeError::Timeout(_))));
}
