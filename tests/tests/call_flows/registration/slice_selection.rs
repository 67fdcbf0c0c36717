//! Selection of network slices at a registration (TS 23.501, 5.15.5.2; TS 24.501, 5.5.1.2.4).
use crate::registration::mobility_restrictions::two_areas;
use crate::registration::rejection::{mm, refused};
use anyhow::{Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ran::ue::{PduSessionRequest, RegistrationType};
use martlet_ran::{Gnb, Slice};
use martlet_sbi_api::common::Snssai;
use martlet_store::{SubscribedDnn, SubscribedSlice, Subscriber};
use martlet_tests::{TestCore, in_namespace, internet};

pub fn slice_of_type(sst: u8) -> Slice {
    Slice { sst, sd: None }
}

/// A network with the slices 1 and 2.
fn two_slices(config: &mut Config) {
    let both = vec![Snssai::new(1, None), Snssai::new(2, None)];
    config.amf.plmns[0].slices = both.clone();
    config.nssf.slices = both;
    config.smf.slices.push(martlet_smf::SliceConfig { sst: 2, sd: None });
}

/// Slice 2 beside the default slice 1.
fn with_second_slice(subscriber: &mut Subscriber) {
    let dnns = vec![SubscribedDnn::new("internet")];
    subscriber.slices.push(SubscribedSlice { sst: 2, sd: None, default: false, dnns });
}

async fn gnb_of_two_slices(core: &TestCore) -> Result<Gnb> {
    let mut config = core.gnb_config(1);
    config.slices = vec![slice_of_type(1), slice_of_type(2)];
    Ok(Gnb::connect(config).await?)
}

#[test]
fn unsubscribed_and_unknown_slices_are_rejected() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, two_slices).await?;
        core.subscribe(2, |subscriber| subscriber.slices[0].sst = 7)?;
        core.subscribe(3, with_second_slice)?;
        let gnb = gnb_of_two_slices(&core).await?;
        // Not subscribed: the slice is rejected and the default slice allowed.
        let mut config = core.ue_config(1);
        config.requested_nssai = vec![slice_of_type(2)];
        let ue = gnb.new_ue(config)?;
        let registered = ue.register().await?;
        ensure!(
            registered.allowed_nssai == [slice_of_type(1)] && registered.rejected_nssai,
            "{registered:?}"
        );
        let wrong = PduSessionRequest { slice: Some(slice_of_type(2)), ..internet() };
        refused(ue.establish_pdu_session(wrong).await, mm::PAYLOAD_NOT_FORWARDED)?;
        ue.establish_pdu_session(internet()).await?;
        // Only a slice is subscribed that the network does not have.
        refused(gnb.new_ue(core.ue_config(2))?.register().await, mm::NO_NETWORK_SLICES)?;
        // The slice is subscribed and available.
        let mut config = core.ue_config(3);
        config.requested_nssai = vec![slice_of_type(2)];
        let ue = gnb.new_ue(config)?;
        ensure!(ue.register().await?.allowed_nssai == [slice_of_type(2)]);
        ue.establish_pdu_session(PduSessionRequest { slice: Some(slice_of_type(2)), ..internet() })
            .await?;
        core.sbi_record.check(&["nnssf-nsselection NSSelectionGet"]).await
    });
}

/// A slice that the tracking area of the UE does not have stays configured: the UE requests it
/// where it is available.
#[test]
fn slice_of_another_tracking_area_is_allowed_there() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            let both = vec![Snssai::new(1, None), Snssai::new(2, None)];
            config.amf.plmns[0].slices = both.clone();
            config.nssf.slices = both;
            config.smf.slices.push(martlet_smf::SliceConfig { sst: 2, sd: None });
            two_areas(config);
        })
        .await?;
        core.subscribe(1, |subscriber| {
            let dnns = vec![SubscribedDnn::new("internet")];
            subscriber.slices.push(SubscribedSlice { sst: 2, sd: None, default: false, dnns });
        })?;
        let both = vec![slice_of_type(1), slice_of_type(2)];
        let mut config = core.gnb_config(1);
        (config.tac, config.slices) = (1, vec![slice_of_type(1)]);
        let here = Gnb::connect(config).await?;
        let mut config = core.gnb_config(2);
        (config.tac, config.slices) = (2, both.clone());
        let there = Gnb::connect(config).await?;
        let mut config = core.ue_config(1);
        config.requested_nssai = both.clone();
        let ue = here.new_ue(config)?;
        let registered = ue.register().await?;
        ensure!(
            registered.allowed_nssai == [slice_of_type(1)] && registered.rejected_nssai,
            "{registered:?}"
        );
        ue.release_to_idle().await?;
        // The UE still has to register in the other area after a periodic registration.
        let updated = ue.register_as(RegistrationType::PeriodicRegistrationUpdating).await?;
        ensure!(updated.registration_area == registered.registration_area, "{updated:?}");
        ue.release_to_idle().await?;
        ue.move_to(&there).await?;
        let registered = ue.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        ensure!(registered.allowed_nssai == both && !registered.rejected_nssai, "{registered:?}");
        ensure!(registered.registration_area != updated.registration_area, "{registered:?}");
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// A UE requests no slices in a periodic registration (TS 24.501, 5.5.1.3.2). It keeps those that
/// it has, and does not get the default ones instead.
#[test]
fn periodic_registration_changes_no_slices() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, two_slices).await?;
        core.subscribe(1, with_second_slice)?;
        let gnb = gnb_of_two_slices(&core).await?;
        let mut config = core.ue_config(1);
        config.requested_nssai = vec![slice_of_type(2)];
        let ue = gnb.new_ue(config)?;
        ensure!(ue.register().await?.allowed_nssai == [slice_of_type(2)]);
        ue.release_to_idle().await?;
        let updated = ue.register_as(RegistrationType::PeriodicRegistrationUpdating).await?;
        ensure!(updated.allowed_nssai == [slice_of_type(2)], "{updated:?}");
        ue.establish_pdu_session(PduSessionRequest { slice: Some(slice_of_type(2)), ..internet() })
            .await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}
