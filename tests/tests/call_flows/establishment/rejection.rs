//! PDU session establishment that the network rejects (TS 24.501, 6.4.1.4) and back-off timers
//! (6.2.7, 6.2.8).
use crate::registration::rejection::{mm, refused};
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_amf::CipheringName;
use martlet_nas::{
    Nas5gsMessage, NasIntegrityProtectionMaximumDataRate, NasPduSessionEstablishmentRequest,
};
use martlet_ran::UeEvent;
use martlet_store::SubscribedDnn;
use martlet_tests::{TestCore, eventually, in_namespace, internet};

/// 5GSM causes (TS 24.501, 9.11.4.2).
mod sm {
    pub const INVALID_PTI: u8 = 81;
    pub const INSUFFICIENT_RESOURCES: u8 = 26;
}

#[test]
fn exhausted_address_pool_rejects_until_an_address_is_released() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            config.smf.dnns[0].pool = "10.45.0.0/30".into();
            // No back-off timer: the UE may retry at once.
            config.smf.back_off_s = 0;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (one, _) = core.ue_with_session(&gnb, 1).await?;
        let two = gnb.new_ue(core.ue_config(2))?;
        two.register().await?;
        refused(two.establish_pdu_session(internet()).await, sm::INSUFFICIENT_RESOURCES)?;
        one.release_pdu_session(1).await?;
        core.until("the address is released", |counts| counts.addresses == 0).await?;
        // The UPF's N6 interface keeps the default gateway address.
        core.use_session_and_deregister(&two).await?;
        core.sbi_record.check(&["nsmf-pdusession PostSmContexts"]).await
    });
}

#[test]
fn sessions_above_the_limit_are_rejected() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.limits.max_sessions = 2;
            config.smf.max_sessions = 3;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (one, _) = core.ue_with_session(&gnb, 1).await?;
        one.establish_pdu_session(internet()).await?;
        refused(one.establish_pdu_session(internet()).await, mm::MAXIMUM_OF_SESSIONS)?;
        let (two, _) = core.ue_with_session(&gnb, 2).await?;
        refused(two.establish_pdu_session(internet()).await, sm::INSUFFICIENT_RESOURCES)?;
        ensure!(core.counts().sessions == 3 && core.counts().addresses == 3, "{:?}", core.counts());
        one.deregister().await?;
        two.deregister().await?;
        core.until_all_released().await
    });
}

/// A full slice starts T3585, a full data network of a slice T3584 (TS 24.501, 6.2.8). The UE may
/// still use others.
#[test]
fn full_slice_and_data_network_start_their_back_off_timers() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            let limit = |dnn: &str, max_sessions| martlet_smf::LimitConfig {
                sst: 1,
                sd: None,
                dnn: dnn.into(),
                max_sessions,
            };
            config.smf.limits = vec![limit("internet", 1), limit("", 2)];
            let other = martlet_smf::DnnConfig {
                name: "other".into(),
                pool: "10.46.0.0/24".into(),
                ..config.smf.dnns[0].clone()
            };
            config.smf.dnns.push(other);
            config.smf.back_off_s = 2;
        })
        .await?;
        for n in [1, 2] {
            core.subscribe(n, |subscriber| {
                subscriber.slices[0]
                    .dnns
                    .push(SubscribedDnn { default: false, ..SubscribedDnn::new("other") })
            })?;
        }
        let gnb = core.gnb(1).await?;
        let (first, _) = core.ue_with_session(&gnb, 1).await?;
        let ue = gnb.new_ue(core.ue_config(2))?;
        ue.register().await?;
        let with =
            |dnn: &str| martlet_ran::PduSessionRequest { dnn: Some(dnn.into()), ..internet() };
        let full = ue.establish_pdu_session(with("internet")).await;
        ensure!(full.as_ref().is_err_and(|error| error.cause() == Some(67)), "{full:?}");
        let waits = ue.establish_pdu_session(with("internet")).await;
        ensure!(
            waits.as_ref().is_err_and(|error| error.to_string().contains("back-off timer")),
            "{waits:?}"
        );
        // Another data network of the slice accepts one session; then the slice is full.
        let other = ue.establish_pdu_session(with("other")).await?.psi;
        let full = first.establish_pdu_session(with("other")).await;
        ensure!(full.as_ref().is_err_and(|error| error.cause() == Some(69)), "{full:?}");
        for dnn in ["other", "internet"] {
            let waits = first.establish_pdu_session(with(dnn)).await;
            ensure!(
                waits.as_ref().is_err_and(|error| error.to_string().contains("back-off timer")),
                "{dnn}: {waits:?}"
            );
        }
        ue.release_pdu_session(other).await?;
        tokio::time::sleep(std::time::Duration::from_millis(2100)).await;
        first.establish_pdu_session(with("other")).await?;
        first.deregister().await?;
        ue.establish_pdu_session(with("internet")).await?;
        ue.deregister().await?;
        core.until_all_released().await?;
        core.sbi_record.check(&["nsmf-pdusession PostSmContexts"]).await
    });
}

/// A rejection with cause #26 starts T3396 for the data network (TS 24.501, 6.2.7).
#[test]
fn insufficient_resources_start_the_back_off_timer() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            config.smf.max_sessions = 1;
            config.smf.back_off_s = 2;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (first, _) = core.ue_with_session(&gnb, 1).await?;
        let ue = gnb.new_ue(core.ue_config(2))?;
        ue.register().await?;
        let refused = ue.establish_pdu_session(internet()).await;
        ensure!(refused.as_ref().is_err_and(|error| error.cause() == Some(26)), "{refused:?}");
        let waits = ue.establish_pdu_session(internet()).await;
        ensure!(
            waits.as_ref().is_err_and(|error| error.to_string().contains("back-off timer")),
            "{waits:?}"
        );
        first.release_pdu_session(1).await?;
        tokio::time::sleep(std::time::Duration::from_millis(2100)).await;
        let psi = ue.establish_pdu_session(internet()).await?.psi;
        martlet_tests::reaches(&ue, psi, martlet_tests::GATEWAY).await?;
        first.deregister().await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// TS 24.501, 7.3.1: a strict SMF answers a request with an unassigned or reserved PTI by PDU
/// SESSION ESTABLISHMENT REJECT #81, and the AMF does not return the message.
#[test]
fn session_request_with_pti_0_is_rejected_by_the_smf() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            // The reject can be read.
            config.amf.security.ciphering = vec![CipheringName::NEA0];
            config.smf.n1.strict = true;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let ue = gnb.new_ue(core.ue_config(1))?;
        ue.register().await?;
        for pti in [0, 255] {
            let mut events = ue.subscribe().await?;
            let rate = NasIntegrityProtectionMaximumDataRate::new(0xffff);
            let request = NasPduSessionEstablishmentRequest::new(rate);
            ue.send_session_message(1, Nas5gsMessage::new_5gsm(request, 1, pti)).await?;
            let reject = [0x2e, 1, pti, 0xc3, sm::INVALID_PTI];
            let is_rejected = || {
                std::iter::from_fn(|| events.try_recv().ok())
                    .any(|event| {
                        matches!(event, UeEvent::NasReceived(nas)
                        if nas.windows(reject.len()).any(|part| part == reject))
                    })
                    .then_some(())
            };
            let state = || format!("no reject of PTI {pti}");
            eventually("the SMF's reject", is_rejected, state).await?;
        }
        // A valid request succeeds.
        core.use_session_and_deregister(&ue).await?;
        core.until_all_released().await
    });
}
