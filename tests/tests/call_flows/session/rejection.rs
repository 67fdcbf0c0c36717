//! PDU session establishment that the network rejects (TS 24.501, 6.4.1.4) and back-off timers
//! (6.2.7, 6.2.8).
use crate::registration::rejection::{mm, refused};
use crate::session::establishment::session_of_type;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_nas::PduSessionTypeValue;
use martlet_ran::ue::PduSessionRequest;
use martlet_ran::{Gnb, Slice};
use martlet_sbi_api::common::Snssai;
use martlet_smf::DnnConfig;
use martlet_store::{SubscribedDnn, SubscribedSlice};
use martlet_tests::{GATEWAY, TestCore, in_namespace, internet, reaches};
use std::time::Duration;

/// 5GSM causes (TS 24.501, 9.11.4.2).
mod sm {
    pub const INSUFFICIENT_RESOURCES: u8 = 26;
    pub const IPV4_ONLY: u8 = 50;
}

pub fn slice_of_type(sst: u8) -> Slice {
    Slice { sst, sd: None }
}

#[test]
fn unsubscribed_and_unknown_data_networks_are_rejected() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        core.subscribe(2, |subscriber| {
            let other = SubscribedDnn { default: false, ..SubscribedDnn::new("elsewhere") };
            subscriber.slices[0].dnns.push(other);
        })?;
        let gnb = core.gnb(1).await?;
        let (one, two) = (gnb.new_ue(core.phone(1))?, gnb.new_ue(core.phone(2))?);
        one.register().await?;
        two.register().await?;
        let elsewhere =
            || PduSessionRequest { dnn: Some("elsewhere".into()), ..PduSessionRequest::default() };
        refused(one.establish_pdu_session(elsewhere()).await, mm::DNN_NOT_SUBSCRIBED)?;
        // Subscribed, and no SMF leads there.
        refused(two.establish_pdu_session(elsewhere()).await, mm::PAYLOAD_NOT_FORWARDED)?;
        core.use_session_and_leave(&one).await
    });
}

#[test]
fn unsubscribed_and_unknown_slices_are_rejected() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            let both = vec![Snssai::new(1, None), Snssai::new(2, None)];
            config.amf.plmns[0].slices = both.clone();
            config.nssf.slices = both;
            config.smf.slices.push(martlet_smf::SliceConfig { sst: 2, sd: None });
        })
        .await?;
        core.subscribe(2, |subscriber| subscriber.slices[0].sst = 7)?;
        core.subscribe(3, |subscriber| {
            let dnns = vec![SubscribedDnn::new("internet")];
            subscriber.slices.push(SubscribedSlice { sst: 2, sd: None, default: false, dnns });
        })?;
        let mut config = core.gnb_config(1);
        config.slices = vec![slice_of_type(1), slice_of_type(2)];
        let gnb = Gnb::connect(config).await?;
        // Not subscribed: the phone is told, and gets the default one.
        let mut config = core.phone(1);
        config.requested_nssai = vec![slice_of_type(2)];
        let phone = gnb.new_ue(config)?;
        let registered = phone.register().await?;
        ensure!(
            registered.allowed_nssai == [slice_of_type(1)] && registered.rejected_nssai,
            "{registered:?}"
        );
        let wrong = PduSessionRequest { slice: Some(slice_of_type(2)), ..internet() };
        refused(phone.establish_pdu_session(wrong).await, mm::PAYLOAD_NOT_FORWARDED)?;
        phone.establish_pdu_session(internet()).await?;
        // Subscribed to what the network has not.
        refused(gnb.new_ue(core.phone(2))?.register().await, mm::NO_NETWORK_SLICES)?;
        // Subscribed and there.
        let mut config = core.phone(3);
        config.requested_nssai = vec![slice_of_type(2)];
        let phone = gnb.new_ue(config)?;
        ensure!(phone.register().await?.allowed_nssai == [slice_of_type(2)]);
        phone
            .establish_pdu_session(PduSessionRequest {
                slice: Some(slice_of_type(2)),
                ..internet()
            })
            .await?;
        core.bodies.check(&["nnssf-nsselection NSSelectionGet"]).await
    });
}

#[test]
fn exhausted_address_pool_rejects_until_an_address_is_released() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            config.smf.dnns[0].pool = "10.45.0.0/30".into();
            // It asks again at once.
            config.smf.back_off_s = 0;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (one, _) = core.phone_with_session(&gnb, 1).await?;
        let two = gnb.new_ue(core.phone(2))?;
        two.register().await?;
        refused(two.establish_pdu_session(internet()).await, sm::INSUFFICIENT_RESOURCES)?;
        one.release_pdu_session(1).await?;
        core.until("the address is free again", |counts| counts.addresses == 0).await?;
        // The UPF's interface has the addresses of the whole default pool, so the phone reaches it.
        core.use_session_and_leave(&two).await?;
        core.bodies.check(&["nsmf-pdusession PostSmContexts"]).await
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
        let (one, _) = core.phone_with_session(&gnb, 1).await?;
        one.establish_pdu_session(internet()).await?;
        refused(one.establish_pdu_session(internet()).await, mm::MAXIMUM_OF_SESSIONS)?;
        let (two, _) = core.phone_with_session(&gnb, 2).await?;
        refused(two.establish_pdu_session(internet()).await, sm::INSUFFICIENT_RESOURCES)?;
        ensure!(core.counts().sessions == 3 && core.counts().addresses == 3, "{:?}", core.counts());
        one.deregister().await?;
        two.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn unsupported_session_type_is_rejected_or_becomes_ipv4() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let phone = gnb.new_ue(core.phone(1))?;
        phone.register().await?;
        let of = |session_type| PduSessionRequest { session_type, ..internet() };
        refused(phone.establish_pdu_session(of(PduSessionTypeValue::Ipv6)).await, sm::IPV4_ONLY)?;
        let both = phone.establish_pdu_session(of(PduSessionTypeValue::Ipv4v6)).await?;
        ensure!(both.cause == Some(sm::IPV4_ONLY) && both.ipv4.is_some(), "{both:?}");
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

/// TS 24.501, 6.2.8: a slice, or a data network in it, is full: phones are told which, and wait for
/// that alone (T3585, T3584).
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
        let (first, _) = core.phone_with_session(&gnb, 1).await?;
        let phone = gnb.new_ue(core.phone(2))?;
        phone.register().await?;
        let with =
            |dnn: &str| martlet_ran::PduSessionRequest { dnn: Some(dnn.into()), ..internet() };
        let full = phone.establish_pdu_session(with("internet")).await;
        ensure!(full.as_ref().is_err_and(|error| error.cause() == Some(67)), "{full:?}");
        let waits = phone.establish_pdu_session(with("internet")).await;
        ensure!(
            waits.as_ref().is_err_and(|error| error.to_string().contains("try again in")),
            "{waits:?}"
        );
        // Another data network has room, and then the slice has none.
        let other = phone.establish_pdu_session(with("other")).await?.psi;
        let full = first.establish_pdu_session(with("other")).await;
        ensure!(full.as_ref().is_err_and(|error| error.cause() == Some(69)), "{full:?}");
        for dnn in ["other", "internet"] {
            let waits = first.establish_pdu_session(with(dnn)).await;
            ensure!(
                waits.as_ref().is_err_and(|error| error.to_string().contains("try again in")),
                "{dnn}: {waits:?}"
            );
        }
        phone.release_pdu_session(other).await?;
        tokio::time::sleep(std::time::Duration::from_millis(2100)).await;
        first.establish_pdu_session(with("other")).await?;
        first.deregister().await?;
        phone.establish_pdu_session(with("internet")).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await?;
        core.bodies.check(&["nsmf-pdusession PostSmContexts"]).await
    });
}

/// TS 24.501, 6.2.7: a phone that there is no room for is told for how long it is not to ask again
/// (T3396), for this data network.
#[test]
fn insufficient_resources_start_the_back_off_timer() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            config.smf.max_sessions = 1;
            config.smf.back_off_s = 2;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (first, _) = core.phone_with_session(&gnb, 1).await?;
        let phone = gnb.new_ue(core.phone(2))?;
        phone.register().await?;
        let refused = phone.establish_pdu_session(internet()).await;
        ensure!(refused.as_ref().is_err_and(|error| error.cause() == Some(26)), "{refused:?}");
        let waits = phone.establish_pdu_session(internet()).await;
        ensure!(
            waits.as_ref().is_err_and(|error| error.to_string().contains("try again in")),
            "{waits:?}"
        );
        first.release_pdu_session(1).await?;
        tokio::time::sleep(std::time::Duration::from_millis(2100)).await;
        let psi = phone.establish_pdu_session(internet()).await?.psi;
        martlet_tests::reaches(&phone, psi, martlet_tests::GATEWAY).await?;
        first.deregister().await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn session_type_that_is_not_allowed_has_its_cause() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let phone = gnb.new_ue(core.phone(1))?;
        phone.register().await?;
        // The subscription has IPv4 alone.
        let lesser =
            phone.establish_pdu_session(session_of_type(PduSessionTypeValue::Ipv4v6)).await?;
        ensure!(lesser.ipv4.is_some() && lesser.cause == Some(50), "{lesser:?}");
        let refused = phone.establish_pdu_session(session_of_type(PduSessionTypeValue::Ipv6)).await;
        ensure!(refused.as_ref().is_err_and(|error| error.cause() == Some(50)), "{refused:?}");
        let refused =
            phone.establish_pdu_session(session_of_type(PduSessionTypeValue::Ethernet)).await;
        ensure!(refused.as_ref().is_err_and(|error| error.cause() == Some(28)), "{refused:?}");
        Ok(())
    });
}
