//! What a phone is told of its subscription: where it gets service (TS 24.501, 5.3.5), and what
//! changes while it is registered (TS 24.501, 5.4.4; TS 23.502, 4.2.4.2).
use anyhow::{Context, Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ran::ue::RegistrationType;
use martlet_ran::{Gnb, HandoverPlan, HandoverTurn, PduSessionRequest, ServicePurpose, Slice, Ue};
use martlet_sbi_api::common::{Sd, Snssai};
use martlet_smf::SliceConfig;
use martlet_store::{ServiceArea, SubscribedDnn, SubscribedSlice, Subscriber};
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, internet, reaches};
use std::time::Duration;

const OTHER: Slice = Slice { sst: 2, sd: Some([0, 0, 7]) };
const FIRST: Slice = Slice { sst: 1, sd: None };

/// A second tracking area, and what phones are told beside.
fn two_areas(config: &mut Config) {
    let mut second = config.amf.tais[0].clone();
    second.tac = 2;
    config.amf.tais.push(second);
    config.amf.equivalent_plmns = vec!["00102".into(), "310410".into()];
    config.amf.timers.t3502_s = 300;
}

async fn gnb_of_area(core: &TestCore, number: u8, tac: u32) -> Result<Gnb> {
    let mut config = core.gnb_config(number);
    config.tac = tac;
    Ok(Gnb::connect(config).await?)
}

/// Waits until a phone has what it is to have.
async fn until(phone: &Ue, what: &str, is: impl Fn(&martlet_ran::ue::Given) -> bool) -> Result<()> {
    let give_up = tokio::time::Instant::now() + Duration::from_secs(10);
    loop {
        let given = phone.status().await?.given;
        if is(&given) {
            return Ok(());
        }
        ensure!(tokio::time::Instant::now() < give_up, "{what}: {given:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn a_phone_gets_no_service_where_it_has_none_subscribed_and_stays_registered() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, two_areas).await?;
        core.subscribe(1, |subscriber| {
            subscriber.service_area = Some(ServiceArea::Allowed(vec![1]))
        })?;
        let (here, there) = (gnb_of_area(&core, 1, 1).await?, gnb_of_area(&core, 2, 2).await?);
        let (phone, _) = core.phone_with_session(&here, 1).await?;
        let given = phone.status().await?.given;
        ensure!(given.without_service == [2], "{given:?}");
        ensure!(given.equivalent_plmns == ["00102", "310410"], "{given:?}");
        ensure!(given.t3502 == Some(Duration::from_secs(300)), "{given:?}");
        reaches(&phone, 1, GATEWAY).await?;
        phone.release_to_idle().await?;
        phone.move_to(&there).await?;
        // Restricted service area.
        let refused = phone.service_request_for(ServicePurpose::Data, &[1]).await;
        ensure!(
            refused.as_ref().is_err_and(|error| error.cause() == Some(28)),
            "no service here: {refused:?}"
        );
        phone.wait_idle().await?;
        core.until("it is registered still", |c| (c.registered, c.sessions) == (1, 1)).await?;
        // It registers there, and its session waits; another one it does not get.
        phone.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        ensure!(phone.status().await?.active_user_planes.is_empty(), "{:?}", phone.status().await?);
        let refused = phone.establish_pdu_session(internet()).await;
        ensure!(
            refused.as_ref().is_err_and(|error| error.cause() == Some(28)),
            "no session here: {refused:?}"
        );
        // The subscriber may be served there now, and the phone is told.
        core.subscribe(1, |_| {})?;
        until(&phone, "there is service everywhere", |given| given.without_service.is_empty())
            .await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

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
fn slices_that_change_while_a_phone_is_registered_are_told_at_once() {
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
fn a_phone_whose_last_slice_goes_is_asked_to_register_for_others() {
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
fn a_phone_is_told_the_networks_name_and_time_zone() {
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

/// NAS NON DELIVERY INDICATION (TS 38.413, 8.6.4): what a gNB did not deliver because of a handover
/// comes at the target, or where it was, if the handover is none (TS 23.502, 4.9.1.3.1); nobody
/// waits for its timer.
#[test]
fn what_a_gnb_did_not_deliver_because_of_a_handover_is_delivered_after_it() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            two_areas(config);
            config.amf.timers.t3555_ms = 60_000;
        })
        .await?;
        let (here, there) = (core.gnb(1).await?, core.gnb(2).await?);
        let (phone, _) = core.phone_with_session(&here, 1).await?;
        let mut other = [1, 2];
        for way in ["N2", "Xn", "a target that is full", "N2, cancelled"] {
            let mut heard = [&here, &there].map(|gnb| gnb.subscribe());
            phone.withhold_nas(1).await?;
            core.subscribe(1, |subscriber| {
                subscriber.service_area = Some(ServiceArea::Allowed(vec![other[0]]))
            })?;
            // CONFIGURATION UPDATE COMMAND has come, and was not delivered.
            let [one, two] = &mut heard;
            tokio::select! {
                message = one.recv() => drop(message?),
                message = two.recv() => drop(message?),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            let before = phone.status().await?.given.without_service;
            ensure!(before != [other[1]], "{way}: it was delivered: {before:?}");
            match way {
                "N2" => drop(phone.handover_to(&there).await?),
                "Xn" => drop(phone.xn_handover_to(&here).await?),
                _ => {
                    let turn = if way == "N2, cancelled" {
                        HandoverTurn::Cancelled
                    } else {
                        HandoverTurn::TargetFull
                    };
                    let none = phone
                        .handover(&there, HandoverPlan { turn, ..HandoverPlan::default() })
                        .await;
                    ensure!(none.is_err(), "{way}: {none:?}");
                }
            }
            until(&phone, way, |given| given.without_service == [other[1]]).await?;
            other.reverse();
        }
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}
