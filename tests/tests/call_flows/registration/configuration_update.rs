//! UE configuration update (TS 23.502, 4.2.4.2; TS 24.501, 5.4.4).
use crate::registration::mobility_restrictions::until;
use anyhow::{Context, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ran::ue::{IdleBehaviour, RegistrationType};
use martlet_ran::{Gnb, PduSessionRequest, Slice};
use martlet_sbi_api::common::{Sd, Snssai};
use martlet_smf::SliceConfig;
use martlet_store::{SubscribedDnn, SubscribedSlice, Subscriber};
use martlet_tests::{
    GATEWAY, MetricDelta, TestCore, eventually, in_namespace, internet, ping, reaches,
};
use std::time::Duration;

/// The counter of a procedure with a result.
pub fn procedures<'a>(name: &'a str, result: &'a str) -> MetricDelta<'a> {
    MetricDelta::of("martlet_amf_procedures_total", &[("procedure", name), ("result", result)])
}

#[test]
fn guti_is_reallocated_after_paging() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, to) = core.ue_with_session(&gnb, 1).await?;
        let (peer_ue, from) = core.ue_with_session(&gnb, 2).await?;
        let before = ue.status().await?.guti.context("no 5G-GUTI")?;
        ue.release_to_idle().await?;
        peer_ue.send_ip(1, ping(from, to, 1)).await?;
        ue.recv_ip().await?;
        while ue.status().await?.guti.context("no 5G-GUTI")?.tmsi() == before.tmsi() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // The new 5G-GUTI is used for paging and service requests.
        ue.release_to_idle().await?;
        peer_ue.send_ip(1, ping(from, to, 2)).await?;
        ue.recv_ip().await?;
        ue.release_to_idle().await?;
        ue.service_request().await?;
        ue.deregister().await?;
        peer_ue.deregister().await?;
        core.until_all_released().await
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
        let mut config = core.ue_config(1);
        (config.idle, config.confirms_configuration) = (IdleBehaviour::Automatic, false);
        let ue = gnb.new_ue(config)?;
        let to = core.register_with_session(&ue).await?;
        let (peer_ue, from) = core.ue_with_session(&gnb, 2).await?;
        let expired = procedures("configuration_update", "T3555_expired");
        ue.release_to_idle().await?;
        peer_ue.send_ip(1, ping(from, to, 1)).await?;
        ue.recv_ip().await?;
        eventually("T3555", || (expired.get() >= 1.0).then_some(()), || "has not expired".into())
            .await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.release_to_idle().await?;
        ue.service_request().await?;
        ue.deregister().await?;
        peer_ue.deregister().await?;
        core.until_all_released().await
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
        let mut config = core.ue_config(1);
        config.requested_nssai = vec![FIRST, OTHER];
        let ue = gnb.new_ue(config)?;
        ue.register().await?;
        until(&ue, "both slices", |given| given.allowed_nssai == [FIRST, OTHER]).await?;
        let request = |slice| PduSessionRequest { slice: Some(slice), ..internet() };
        let first = ue.establish_pdu_session(request(FIRST)).await?.psi;
        let other = ue.establish_pdu_session(request(OTHER)).await?.psi;
        reaches(&ue, other, GATEWAY).await?;

        // One slice is removed from the subscription: its session is released.
        core.subscribe(1, |_| {})?;
        until(&ue, "one slice", |given| {
            given.allowed_nssai == [FIRST] && given.configured_nssai == [FIRST]
        })
        .await?;
        core.until("one session is left", |c| c.sessions == 1).await?;
        reaches(&ue, first, GATEWAY).await?;
        let refused = ue.establish_pdu_session(request(OTHER)).await;
        ensure!(refused.is_err(), "{refused:?}");

        // It is added again while the UE is idle. The UE is notified at its next connection and
        // requests it.
        ue.release_to_idle().await?;
        core.subscribe(1, with_other_slice)?;
        tokio::time::sleep(Duration::from_millis(1000)).await;
        ue.service_request().await?;
        until(&ue, "the slice is configured", |given| given.configured_nssai == [FIRST, OTHER])
            .await?;
        ue.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        until(&ue, "both slices", |given| given.allowed_nssai == [FIRST, OTHER]).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

#[test]
fn removal_of_the_last_slice_requests_a_registration() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, two_slices).await?;
        let mut config = core.gnb_config(1);
        config.slices.push(OTHER);
        let gnb = Gnb::connect(config).await?;
        let ue = gnb.new_ue(core.ue_config(1))?;
        ue.register().await?;
        until(&ue, "the default slice", |given| given.allowed_nssai == [FIRST]).await?;
        let before = ue.status().await?.guti.context("no 5G-GUTI")?;
        core.subscribe(1, with_other_slice_alone)?;
        until(&ue, "the other slice", |given| given.allowed_nssai == [OTHER]).await?;
        let now = || async { anyhow::Ok(ue.status().await?.guti.context("no 5G-GUTI")?) };
        ensure!(now().await?.tmsi() != before.tmsi(), "the 5G-GUTI is unchanged");
        eventually(
            "the UE is registered",
            || (core.counts().registered == 1).then_some(()),
            || "it is not".into(),
        )
        .await?;
        let psi = ue
            .establish_pdu_session(PduSessionRequest { slice: Some(OTHER), ..internet() })
            .await?
            .psi;
        reaches(&ue, psi, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

#[test]
fn network_name_and_time_zone_are_sent() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            config.amf.network_name.full = "Martlet".into();
            config.amf.network_name.time_zone = Some("-03:30".into());
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        until(&ue, "name and time zone", |given| {
            given.network_name.as_deref() == Some("Martlet") && given.time_zone == Some(-14)
        })
        .await?;
        ue.deregister().await?;
        core.until_all_released().await?;
        core.sbi_record.check(&["nsmf-pdusession PostSmContexts"]).await
    });
}
