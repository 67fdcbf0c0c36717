//! UE configuration update (TS 23.502, 4.2.4.2; TS 24.501, 5.4.4).
use crate::registration::service_area::until;
use anyhow::{Context, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ran::ue::{IdleBehaviour, RegistrationType};
use martlet_ran::{Gnb, PduSessionRequest, Slice};
use martlet_sbi_api::common::{Sd, Snssai};
use martlet_smf::SliceConfig;
use martlet_store::{SubscribedDnn, SubscribedSlice, Subscriber};
use martlet_tests::{GATEWAY, Growth, TestCore, eventually, in_namespace, internet, ping, reaches};
use std::time::Duration;

/// A counter of procedures.
pub fn procedures<'a>(name: &'a str, result: &'a str) -> Growth<'a> {
    Growth::of("martlet_amf_procedures_total", &[("procedure", name), ("result", result)])
}

#[test]
fn guti_is_reallocated_after_paging() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (phone, to) = core.phone_with_session(&gnb, 1).await?;
        let (friend, from) = core.phone_with_session(&gnb, 2).await?;
        let before = phone.status().await?.guti.context("a 5G-GUTI")?;
        let updates = procedures("configuration_update", "ok");
        phone.release_to_idle().await?;
        friend.send_ip(1, ping(from, to, 1)).await?;
        phone.recv_ip().await?;
        eventually(
            "the update",
            || (updates.so_far() >= 1.0).then_some(()),
            || "not confirmed".into(),
        )
        .await?;
        let after = phone.status().await?.guti.context("a 5G-GUTI")?;
        ensure!(before.tmsi() != after.tmsi(), "{before:?} was called in the clear");
        // It is known by the new one: it is paged with it, and asks for service with it.
        phone.release_to_idle().await?;
        friend.send_ip(1, ping(from, to, 2)).await?;
        phone.recv_ip().await?;
        phone.release_to_idle().await?;
        phone.service_request().await?;
        phone.deregister().await?;
        friend.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn both_gutis_are_valid_until_the_new_one_is_confirmed() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.timers.t3555_ms = 50;
            config.amf.timers.nas_attempts = 2;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let mut config = core.phone(1);
        (config.idle, config.confirms_configuration) = (IdleBehaviour::Automatic, false);
        let phone = gnb.new_ue(config)?;
        let to = core.register_with_session(&phone).await?;
        let (friend, from) = core.phone_with_session(&gnb, 2).await?;
        let silent = procedures("configuration_update", "T3555_expired");
        phone.release_to_idle().await?;
        friend.send_ip(1, ping(from, to, 1)).await?;
        phone.recv_ip().await?;
        eventually("T3555", || (silent.so_far() >= 1.0).then_some(()), || "has not expired".into())
            .await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.release_to_idle().await?;
        phone.service_request().await?;
        phone.deregister().await?;
        friend.deregister().await?;
        core.until_nothing_is_left().await
    });
}

const OTHER: Slice = Slice { sst: 2, sd: Some([0, 0, 7]) };

const FIRST: Slice = Slice { sst: 1, sd: None };

fn two_slices(config: &mut Config) {
    let other = Snssai::new(2, Some(7));
    config.network.slices.push(other);
    config.nssf.slices.push(other);
    config.amf.plmns[0].slices.push(other);
    config.smf.slices.push(SliceConfig { sst: 2, sd: other.sd.map(Sd::to_u32) });
}

fn with_other_slice(subscriber: &mut Subscriber) {
    let dnns = vec![SubscribedDnn::new("internet")];
    subscriber.slices.push(SubscribedSlice { sst: 2, sd: Some(7), default: false, dnns });
}

fn with_other_slice_alone(subscriber: &mut Subscriber) {
    with_other_slice(subscriber);
    subscriber.slices.remove(0);
    subscriber.slices[0].default = true;
}

#[test]
fn changed_slices_are_sent_to_a_registered_ue() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, two_slices).await?;
        core.subscribe(1, with_other_slice)?;
        let mut config = core.gnb_config(1);
        config.slices.push(OTHER);
        let gnb = Gnb::connect(config).await?;
        let mut config = core.phone(1);
        config.requested_nssai = vec![FIRST, OTHER];
        let phone = gnb.new_ue(config)?;
        phone.register().await?;
        until(&phone, "both slices", |given| given.allowed_nssai == [FIRST, OTHER]).await?;
        let request = |slice| PduSessionRequest { slice: Some(slice), ..internet() };
        let first = phone.establish_pdu_session(request(FIRST)).await?.psi;
        let other = phone.establish_pdu_session(request(OTHER)).await?.psi;
        reaches(&phone, other, GATEWAY).await?;

        // One is subscribed no more: its session ends, and the other's goes on.
        core.subscribe(1, |_| {})?;
        until(&phone, "one slice", |given| {
            given.allowed_nssai == [FIRST] && given.configured_nssai == [FIRST]
        })
        .await?;
        core.until("one session", |c| c.sessions == 1).await?;
        reaches(&phone, first, GATEWAY).await?;
        let refused = phone.establish_pdu_session(request(OTHER)).await;
        ensure!(refused.is_err(), "{refused:?}");

        // It is subscribed again while the phone is idle, which hears it when it comes, and asks
        // for it.
        phone.release_to_idle().await?;
        core.subscribe(1, with_other_slice)?;
        tokio::time::sleep(Duration::from_millis(1000)).await;
        phone.service_request().await?;
        until(&phone, "the slice is configured", |given| given.configured_nssai == [FIRST, OTHER])
            .await?;
        phone.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        until(&phone, "both slices", |given| given.allowed_nssai == [FIRST, OTHER]).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn removal_of_the_last_slice_requests_a_registration() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, two_slices).await?;
        let mut config = core.gnb_config(1);
        config.slices.push(OTHER);
        let gnb = Gnb::connect(config).await?;
        let phone = gnb.new_ue(core.phone(1))?;
        phone.register().await?;
        until(&phone, "the default slice", |given| given.allowed_nssai == [FIRST]).await?;
        let before = phone.status().await?.guti.context("a 5G-GUTI")?;
        core.subscribe(1, with_other_slice_alone)?;
        until(&phone, "the other slice", |given| given.allowed_nssai == [OTHER]).await?;
        let now = || async { anyhow::Ok(phone.status().await?.guti.context("a 5G-GUTI")?) };
        ensure!(now().await?.tmsi() != before.tmsi(), "it has registered");
        eventually(
            "it is registered",
            || (core.counts().registered == 1).then_some(()),
            || "it is not".into(),
        )
        .await?;
        let psi = phone
            .establish_pdu_session(PduSessionRequest { slice: Some(OTHER), ..internet() })
            .await?
            .psi;
        reaches(&phone, psi, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

/// TS 24.501, 5.4.4.2: the network's name and time zone.
#[test]
fn network_name_and_time_zone_are_sent() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            config.amf.network_name.full = "Martlet".into();
            config.amf.network_name.time_zone = Some("-03:30".into());
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        until(&phone, "name and time zone", |given| {
            given.network_name.as_deref() == Some("Martlet") && given.time_zone == Some(-14)
        })
        .await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await?;
        core.bodies.check(&["nsmf-pdusession PostSmContexts"]).await
    });
}
