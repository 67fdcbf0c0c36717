//! Selection of network slices at a registration (TS 23.501, 5.15.5.2; TS 24.501, 5.5.1.2.4).
use crate::registration::mobility_restrictions::two_areas;
use crate::registration::rejection::{mm, refused};
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::ue::{PduSessionRequest, RegistrationType};
use martlet_ran::{Gnb, Slice};
use martlet_sbi_api::common::Snssai;
use martlet_store::{SubscribedDnn, SubscribedSlice};
use martlet_tests::{TestCore, in_namespace, internet};

pub fn slice_of_type(sst: u8) -> Slice {
    Slice { sst, sd: None }
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
        ue.move_to(&there).await?;
        let registered = ue.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        ensure!(registered.allowed_nssai == both && !registered.rejected_nssai, "{registered:?}");
        ue.deregister().await?;
        core.until_all_released().await
    });
}
