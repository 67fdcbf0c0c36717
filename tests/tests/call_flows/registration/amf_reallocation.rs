//! Registration with AMF re-allocation (TS 23.502, 4.2.2.2.3).
use anyhow::{Context, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_nssf::AmfSetConfig;
use martlet_ran::Gnb;
use martlet_ran::ue::RegistrationType;
use martlet_sbi_api::common::{Sd, Snssai};
use martlet_smf::SliceConfig;
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, internet, reaches};

/// Another slice, which leads to the data network, too, and which an AMF set of its own serves.
fn with_an_amf_set(config: &mut Config, slice: Snssai) {
    config.nssf.amf_sets = vec![AmfSetConfig { set: "001-01-01-002".into(), slices: vec![slice] }];
    config.nssf.slices.push(slice);
    config.smf.slices.push(SliceConfig { sst: slice.sst, sd: slice.sd.map(Sd::to_u32) });
}

/// TS 23.502, 4.2.2.2.3: the NSSF names another AMF set for the slice that a phone asks for, and
/// its registration goes on there, with the keys that it has by then. The gNB has an association
/// with an AMF of each.
#[test]
fn registration_is_rerouted_directly_to_the_amf_set_of_its_slice() {
    in_namespace(|| async {
        let other_slice = Snssai::new(2, None);
        let core = TestCore::start_on(Sbi::Http, |config| {
            with_an_amf_set(config, other_slice);
        })
        .await?;
        core.subscribe(1, |subscriber| {
            let mut second = subscriber.slices[0].clone();
            (second.sst, second.default) = (2, false);
            subscriber.slices.push(second);
        })?;
        let second = core
            .second_amf(|config| {
                config.amf.guamis.iter_mut().for_each(|guami| guami.set = 2);
                config.amf.plmns.iter_mut().for_each(|plmn| plmn.slices = vec![other_slice]);
            })
            .await?;
        let mut config = core.gnb_config(1);
        config.slices.push(martlet_ran::Slice { sst: 2, sd: None });
        let gnb = Gnb::connect(config).await?;
        let with_second = gnb.connect_also(second.gnb_config(&core, 1).amf).await?;
        let mut config = core.phone(1);
        config.requested_nssai = vec![martlet_ran::Slice { sst: 2, sd: None }];
        let phone = gnb.new_ue(config)?;
        phone.register().await?;
        let guti = phone.status().await?.guti.context("a 5G-GUTI")?;
        ensure!(guti.amf_set_id() == 2, "it is served by the other set: {guti}");
        eventually(
            "the initial AMF lets go",
            || (core.counts().registered == 0).then_some(()),
            || "it does not".into(),
        )
        .await?;
        ensure!(second.ues().1 == 1, "{:?}", second.ues());
        // It is served there as any other: a session in the slice, idle and back, and gone.
        let request = martlet_ran::PduSessionRequest {
            slice: Some(martlet_ran::Slice { sst: 2, sd: None }),
            ..internet()
        };
        let psi = phone.establish_pdu_session(request).await?.psi;
        reaches(&phone, psi, GATEWAY).await?;
        phone.release_to_idle().await?;
        reaches(&phone, psi, GATEWAY).await?;
        // One that asks for the first slice stays.
        let stays = gnb.new_ue(core.phone(2))?;
        stays.register().await?;
        ensure!(
            stays.status().await?.guti.is_some_and(|guti| guti.amf_set_id() == 1),
            "the first set's"
        );
        phone.deregister().await?;
        stays.deregister().await?;
        ensure!(
            gnb.error_indications() == 0 && with_second.error_indications() == 0,
            "errors were indicated"
        );
        core.bodies.check(&["namf-callback N1MessageNotify"]).await
    });
}

/// The same by way of the gNB, step 7B (REROUTE NAS REQUEST): a phone that the first AMF has served
/// comes back when there is an AMF of its slice's set, which asks the first one for its context.
#[test]
fn registration_is_rerouted_through_the_gnb_to_the_amf_set_of_its_slice() {
    in_namespace(|| async {
        let other_slice = Snssai::new(2, None);
        let core = TestCore::start_on(Sbi::Http, |config| {
            with_an_amf_set(config, other_slice);
            config.amf.plmns.iter_mut().for_each(|plmn| plmn.slices.push(other_slice));
            config.amf.reroute_by_gnb = true;
        })
        .await?;
        core.subscribe(1, |subscriber| {
            let mut second = subscriber.slices[0].clone();
            (second.sst, second.default) = (2, false);
            subscriber.slices.push(second);
        })?;
        let slice = martlet_ran::Slice { sst: 2, sd: None };
        let mut config = core.gnb_config(1);
        config.slices.push(slice);
        let gnb = Gnb::connect(config).await?;
        let mut config = core.phone(1);
        config.requested_nssai = vec![slice];
        let phone = gnb.new_ue(config)?;
        // There is no AMF of that set yet: it stays.
        phone.register().await?;
        ensure!(
            phone.status().await?.guti.is_some_and(|guti| guti.amf_set_id() == 1),
            "the first set's"
        );
        let request = martlet_ran::PduSessionRequest { slice: Some(slice), ..internet() };
        let psi = phone.establish_pdu_session(request).await?.psi;
        phone.release_to_idle().await?;

        let second = core
            .second_amf(|config| {
                config.amf.guamis.iter_mut().for_each(|guami| guami.set = 2);
                config.amf.plmns.iter_mut().for_each(|plmn| plmn.slices = vec![other_slice]);
            })
            .await?;
        let with_second = gnb.connect_also(second.gnb_config(&core, 1).amf).await?;
        let authenticated = core.store_sqn(1)?;
        phone.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        let guti = phone.status().await?.guti.context("a 5G-GUTI")?;
        ensure!(guti.amf_set_id() == 2, "it is served by the other set: {guti}");
        ensure!(core.store_sqn(1)? == authenticated, "no authentication was needed");
        eventually(
            "the initial AMF lets go",
            || (core.counts().registered == 0).then_some(()),
            || "it does not".into(),
        )
        .await?;
        eventually(
            "the other AMF serves it",
            || (second.ues().1 == 1).then_some(()),
            || format!("{:?}", second.ues()),
        )
        .await?;
        // Its session has come along.
        reaches(&phone, psi, GATEWAY).await?;
        phone.deregister().await?;
        core.until("no session is left", |counts| counts.sessions == 0).await?;
        ensure!(
            gnb.error_indications() == 0 && with_second.error_indications() == 0,
            "errors were indicated"
        );
        core.bodies.check(&["namf-comm UEContextTransfer"]).await
    });
}
