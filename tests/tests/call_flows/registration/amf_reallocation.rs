//! Registration with AMF re-allocation (TS 23.502, 4.2.2.2.3).
use anyhow::{Context, Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_nssf::AmfSetConfig;
use martlet_ran::Gnb;
use martlet_ran::ue::RegistrationType;
use martlet_sbi_api::common::{Sd, Snssai};
use martlet_smf::SliceConfig;
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, internet, reaches};
use serde_json::Value;

/// Adds a slice with the same data network that another AMF set serves.
fn with_an_amf_set(config: &mut Config, slice: Snssai) {
    config.nssf.amf_sets = vec![AmfSetConfig { set: "001-01-01-002".into(), slices: vec![slice] }];
    config.nssf.slices.push(slice);
    config.smf.slices.push(SliceConfig { sst: slice.sst, sd: slice.sd.map(Sd::to_u32) });
}

/// The NSSF names another AMF set for the requested slice. The registration continues there with
/// the same keys. The gNB is connected to an AMF of each set.
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
        let mut config = core.ue_config(1);
        config.requested_nssai = vec![martlet_ran::Slice { sst: 2, sd: None }];
        let ue = gnb.new_ue(config)?;
        ue.register().await?;
        let guti = ue.status().await?.guti.context("no 5G-GUTI")?;
        ensure!(guti.amf_set_id() == 2, "not an AMF of the other set: {guti}");
        eventually(
            "the initial AMF releases the UE",
            || (core.counts().registered == 0).then_some(()),
            || "it is still registered there".into(),
        )
        .await?;
        // It has sent REGISTRATION COMPLETE, which the AMF may still have to read.
        let registered = || (second.ues().1 == 1).then_some(());
        eventually("registered at the second AMF", registered, || format!("{:?}", second.ues()))
            .await?;
        // A session in the slice, CM-IDLE and back, and deregistration.
        let request = martlet_ran::PduSessionRequest {
            slice: Some(martlet_ran::Slice { sst: 2, sd: None }),
            ..internet()
        };
        let psi = ue.establish_pdu_session(request).await?.psi;
        reaches(&ue, psi, GATEWAY).await?;
        ue.release_to_idle().await?;
        reaches(&ue, psi, GATEWAY).await?;
        // A UE that requests the first slice stays at the first set.
        let stays = gnb.new_ue(core.ue_config(2))?;
        stays.register().await?;
        ensure!(
            stays.status().await?.guti.is_some_and(|guti| guti.amf_set_id() == 1),
            "not an AMF of the first set"
        );
        ue.deregister().await?;
        stays.deregister().await?;
        ensure!(
            gnb.error_indications() == 0 && with_second.error_indications() == 0,
            "a gNB received an ERROR INDICATION"
        );
        core.sbi_record.check(&["namf-callback N1MessageNotify"]).await
    });
}

/// The UE returns to the first AMF when an AMF of its slice's set exists. Its registration is
/// rerouted with a session, through the gNB or directly.
async fn reroutes_with_a_session(via_ran: bool) -> Result<()> {
    let other_slice = Snssai::new(2, None);
    let core = TestCore::start_on(Sbi::Http, |config| {
        with_an_amf_set(config, other_slice);
        config.amf.plmns.iter_mut().for_each(|plmn| plmn.slices.push(other_slice));
        config.amf.reroute_via_ran = via_ran;
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
    let mut config = core.ue_config(1);
    config.requested_nssai = vec![slice];
    let ue = gnb.new_ue(config)?;
    // No AMF of that set exists yet.
    ue.register().await?;
    ensure!(
        ue.status().await?.guti.is_some_and(|guti| guti.amf_set_id() == 1),
        "not an AMF of the first set"
    );
    let request = martlet_ran::PduSessionRequest { slice: Some(slice), ..internet() };
    let psi = ue.establish_pdu_session(request).await?.psi;
    ue.release_to_idle().await?;

    let second = core
        .second_amf(|config| {
            config.amf.guamis.iter_mut().for_each(|guami| guami.set = 2);
            config.amf.plmns.iter_mut().for_each(|plmn| plmn.slices = vec![other_slice]);
        })
        .await?;
    let with_second = gnb.connect_also(second.gnb_config(&core, 1).amf).await?;
    let authenticated = core.stored_sqn(1)?;
    ue.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
    let guti = ue.status().await?.guti.context("no 5G-GUTI")?;
    ensure!(guti.amf_set_id() == 2, "not an AMF of the other set: {guti}");
    ensure!(core.stored_sqn(1)? == authenticated, "the UE was authenticated again");
    eventually(
        "the initial AMF releases the UE",
        || (core.counts().registered == 0).then_some(()),
        || "it is still registered there".into(),
    )
    .await?;
    eventually(
        "the other AMF serves the UE",
        || (second.ues().1 == 1).then_some(()),
        || format!("{:?}", second.ues()),
    )
    .await?;
    // Its session was transferred, and the SMF reaches the other AMF.
    let names_the_other = |(_, body): &(Value, Value)| {
        let uri = body["smContextStatusUri"].as_str();
        uri.is_some_and(|uri| uri.contains("//127.0.0.27:"))
    };
    let updates = core.sbi_record.requests("nsmf-pdusession UpdateSmContext");
    ensure!(updates.iter().any(names_the_other), "the SMF does not know the other AMF");
    reaches(&ue, psi, GATEWAY).await?;
    ue.deregister().await?;
    core.until("no session is left", |counts| counts.sessions == 0).await?;
    ensure!(
        gnb.error_indications() == 0 && with_second.error_indications() == 0,
        "a gNB received an ERROR INDICATION"
    );
    core.sbi_record
        .check(&[match via_ran {
            true => "namf-comm UEContextTransfer",
            false => "namf-callback N1MessageNotify",
        }])
        .await
}

/// Step 7B: REROUTE NAS REQUEST. The other AMF requests the context from the first one.
#[test]
fn registration_is_rerouted_through_the_gnb_to_the_amf_set_of_its_slice() {
    in_namespace(|| reroutes_with_a_session(true));
}

/// Step 7A: the first AMF sends the context with the request.
#[test]
fn session_moves_with_a_registration_that_is_rerouted_directly() {
    in_namespace(|| reroutes_with_a_session(false));
}
