//! A phone that comes to another AMF (TS 23.502, 4.2.2.2.2, steps 4, 5 and 10; TS 33.501, 6.9.3).
use anyhow::{Context, Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_nas::NasFGsMobileIdentity;
use martlet_nssf::AmfSetConfig;
use martlet_ran::ue::RegistrationType;
use martlet_ran::{Gnb, HandoverPlan, HandoverTurn};
use martlet_sbi_api::common::{Sd, Snssai};
use martlet_smf::SliceConfig;
use martlet_tests::{
    GATEWAY, Growth, RawGnb, SecondAmf, TestCore, eventually, in_namespace, internet, reaches,
};

fn transfers(result: &str) -> Growth<'_> {
    Growth::of(
        "martlet_amf_procedures_total",
        &[("procedure", "context_transfer"), ("result", result)],
    )
}

/// A phone goes to another AMF and back, with its session, and without an authentication.
async fn there_and_back(sbi: Sbi, derive: bool) -> Result<()> {
    let core = TestCore::start(sbi, |config| config.amf.security.derive_k_amf = derive).await?;
    let second = core.second_amf(|_| {}).await?;
    let (here, there) = (core.gnb(1).await?, second.gnb(&core, 2).await?);
    let (phone, _) = core.phone_with_session(&here, 1).await?;
    reaches(&phone, 1, GATEWAY).await?;
    let authenticated = core.store_sqn(1)?;
    let done = transfers("ok");
    for (round, gnb) in [&there, &here, &there].into_iter().enumerate() {
        phone.release_to_idle().await?;
        phone.move_to(gnb).await?;
        phone.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        // Its session goes on, where it was.
        reaches(&phone, 1, GATEWAY).await.with_context(|| format!("round {round}"))?;
        let at = phone.status().await?;
        let pointer = if round == 1 { core.config().amf.guamis[0].pointer } else { 2 };
        ensure!(at.guti.is_some_and(|guti| guti.amf_pointer() == pointer), "{:?}", at.guti);
        let left = || if round == 1 { second.ues().1 } else { core.counts().registered };
        eventually("the old AMF lets go", || (left() == 0).then_some(()), || left().to_string())
            .await?;
    }
    ensure!(core.store_sqn(1)? == authenticated, "no authentication was needed");
    // Other tests may count beside this one.
    ensure!(done.so_far() >= 3.0, "{} transfers", done.so_far());
    phone.deregister().await?;
    core.until("no session is left", |counts| counts.sessions == 0).await?;
    core.bodies.check(&["namf-comm UEContextTransfer", "namf-comm RegistrationStatusUpdate"]).await
}

#[test]
fn a_phone_takes_its_session_to_another_amf_with_a_derived_key() {
    in_namespace(|| there_and_back(Sbi::Http, true));
}

#[test]
fn a_phone_takes_its_session_to_another_amf_with_its_key() {
    in_namespace(|| there_and_back(Sbi::Local, false));
}

/// A core with two AMFs, each with a tracking area and a gNB of its own.
pub async fn two_areas(
    sbi: Sbi,
    change: impl FnOnce(&mut Config),
) -> Result<(TestCore, SecondAmf, Gnb, Gnb)> {
    let core = TestCore::start(sbi, change).await?;
    let second =
        core.second_amf(|config| config.amf.tais.iter_mut().for_each(|tai| tai.tac += 1)).await?;
    let here = core.gnb(1).await?;
    let mut config = second.gnb_config(&core, 2);
    config.tac += 1;
    Ok((core, second, here, Gnb::connect(config).await?))
}

async fn handed_over(sbi: Sbi, derive: bool) -> Result<()> {
    let (core, second, here, there) =
        two_areas(sbi, |config| config.amf.security.derive_k_amf = derive).await?;
    let (phone, _) = core.phone_with_session(&here, 1).await?;
    let authenticated = core.store_sqn(1)?;
    for (to, changes) in [(&there, 1), (&here, 2), (&there, 3)] {
        let outcome = phone.handover_to(to).await?;
        ensure!(outcome.sessions == [1], "{outcome:?}");
        let changed = phone.status().await?.key_changes;
        ensure!(changed == if derive { changes } else { 0 }, "{changed} changes of K_AMF");
        reaches(&phone, 1, GATEWAY).await?;
        eventually(
            "the RAN status",
            || (to.ran_status_transfers() > 0).then_some(()),
            || "is not there".into(),
        )
        .await?;
        // In another tracking area it registers, and gets a 5G-GUTI of the AMF that serves it.
        phone.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        reaches(&phone, 1, GATEWAY).await?;
    }
    let statuses = (here.ran_status_transfers(), there.ran_status_transfers());
    ensure!(
        statuses == (1, 2),
        "what a source says of its packets comes to the target: {statuses:?}"
    );
    ensure!(core.store_sqn(1)? == authenticated, "no authentication was needed");
    eventually(
        "the first AMF lets go",
        || (core.counts().registered == 0).then_some(()),
        || "it does not".into(),
    )
    .await?;
    ensure!(second.ues().1 == 1, "{:?}", second.ues());
    // Idle and back: it is served as any other.
    phone.release_to_idle().await?;
    phone.service_request().await?;
    reaches(&phone, 1, GATEWAY).await?;
    phone.deregister().await?;
    core.until("no session is left", |counts| counts.sessions == 0).await?;
    core.bodies
        .check(&[
            "namf-comm CreateUEContext",
            "namf-comm N1N2MessageTransfer",
            "namf-callback N2InfoNotifyHandoverComplete",
        ])
        .await
}

#[test]
fn a_phone_is_handed_over_to_the_gnb_of_another_amf() {
    in_namespace(|| handed_over(Sbi::Http, true));
}

#[test]
fn a_phone_is_handed_over_to_the_gnb_of_another_amf_and_keeps_its_key() {
    in_namespace(|| handed_over(Sbi::Local, false));
}

/// TS 33.501, 6.9.2.3.3: a new K_AMF without its proof is not taken. The phone stays with the key
/// that it has, and the next try, which has another key, works; within the other AMF the chain of
/// keys goes on from there.
#[test]
fn a_phone_that_is_told_of_a_new_key_without_its_proof_stays_where_it_is() {
    in_namespace(|| async {
        let (core, second, here, there) = two_areas(Sbi::Http, |_| {}).await?;
        let (phone, _) = core.phone_with_session(&here, 1).await?;
        let plan = HandoverPlan { turn: HandoverTurn::NewKeyNotProved, ..Default::default() };
        ensure!(phone.handover(&there, plan).await.is_err(), "it has gone");
        reaches(&phone, 1, GATEWAY).await?;
        ensure!(
            phone.status().await?.key_changes == 0 && core.counts().registered == 1,
            "{:?}",
            core.counts()
        );
        eventually(
            "the second AMF forgets",
            || (second.ues().0 == 0).then_some(()),
            || format!("{:?}", second.ues()),
        )
        .await?;
        // Its key protects what comes next: messages of both sides, with COUNTs of which one was
        // left out.
        let sent = phone.establish_pdu_session(internet()).await?.psi;
        phone.release_pdu_session(sent).await?;
        phone.handover_to(&there).await?;
        ensure!(phone.status().await?.key_changes == 1, "K_AMF is new");
        let mut config = second.gnb_config(&core, 3);
        config.tac += 1;
        let beside = Gnb::connect(config).await?;
        phone.handover_to(&beside).await?;
        ensure!(phone.status().await?.key_changes == 1, "within an AMF it stays");
        phone.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until("no session is left", |counts| counts.sessions == 0).await
    });
}

#[test]
fn a_handover_to_another_amf_that_fails_leaves_the_phone_where_it_is() {
    in_namespace(|| async {
        let (core, second, here, there) = two_areas(Sbi::Http, |_| {}).await?;
        let (phone, _) = core.phone_with_session(&here, 1).await?;
        for turn in
            [HandoverTurn::TargetFull, HandoverTurn::Cancelled, HandoverTurn::CancelledAtOnce]
        {
            let plan = HandoverPlan { turn, ..Default::default() };
            ensure!(phone.handover(&there, plan).await.is_err(), "{turn:?}");
            reaches(&phone, 1, GATEWAY).await.with_context(|| format!("{turn:?}"))?;
            ensure!(core.counts().registered == 1, "{:?}", core.counts());
        }
        eventually(
            "the second AMF forgets",
            || (second.ues().0 == 0).then_some(()),
            || format!("{:?}", second.ues()),
        )
        .await?;
        // And then it works.
        phone.handover_to(&there).await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until("no session is left", |counts| counts.sessions == 0).await?;
        core.bodies.check(&["namf-comm ReleaseUEContext"]).await
    });
}

/// The AMFs of a set keep their contexts in one place: what one leaves, another goes on with.
#[test]
fn a_phone_of_an_amf_that_is_gone_goes_on_at_another_of_the_set() {
    in_namespace(|| async {
        // Within one process no AMF ends alone.
        let core = TestCore::start_on(Sbi::Http, |config| {
            let place = std::path::Path::new(&config.udr.path).with_file_name("amf-set.db");
            config.amf.state.place = place.display().to_string();
        })
        .await?;
        let place = core.config().amf.state.place.clone();
        let second = core.second_amf(|config| config.amf.state.place = place).await?;
        let (here, there) = (core.gnb(1).await?, second.gnb(&core, 2).await?);
        let (phone, _) = core.phone_with_session(&there, 1).await?;
        let authenticated = core.store_sqn(1)?;
        phone.release_to_idle().await?;
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        drop(second);
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        phone.move_to(&here).await?;
        phone.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        reaches(&phone, 1, GATEWAY).await?;
        ensure!(core.store_sqn(1)? == authenticated, "no authentication was needed");
        phone.deregister().await?;
        core.until("no session is left", |counts| counts.sessions == 0).await
    });
}

/// Who names another's 5G-GUTI and does not prove itself gets nothing of it (TS 33.501, 6.9.3).
#[test]
fn a_request_that_is_not_the_phones_own_gets_no_context() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let second = core.second_amf(|_| {}).await?;
        let there = second.gnb(&core, 2).await?;
        let (phone, _) = core.phone_with_session(&there, 1).await?;
        phone.release_to_idle().await?;
        let guti = phone.status().await?.guti.context("a 5G-GUTI")?;
        let identity = NasFGsMobileIdentity::from_guti(guti).value.to_vec();
        let length = u16::try_from(identity.len())?.to_be_bytes();
        // REGISTRATION REQUEST, mobility; plain, which is not even asked for, and under a MAC that
        // is wrong.
        let plain = [
            &[0x7e, 0x00, 0x41, 0x02],
            length.as_slice(),
            &identity,
            &[0x2e, 4, 0xf0, 0xf0, 0xf0, 0xf0],
        ]
        .concat();
        let forged = [&[0x7e, 0x01, 1, 2, 3, 4, 0], plain.as_slice()].concat();
        let raw = RawGnb::set_up(&core, 1).await?;
        let refused = transfers("INTEGRITY_CHECK_FAIL");
        for (ran_id, nas) in [(1, plain), (2, forged)] {
            raw.send(raw.initial(ran_id, &nas)).await?;
            let (_, answer) = raw.next_nas().await?;
            ensure!(answer == [0x7e, 0x00, 0x5b, 0x01], "IDENTITY REQUEST is due: {answer:02x?}");
        }
        ensure!(refused.so_far() >= 1.0, "the other AMF refuses");
        // The phone goes on where it was.
        ensure!(second.ues().1 == 1, "{:?}", second.ues());
        phone.service_request().await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        Ok(())
    });
}

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
fn a_registration_goes_on_at_the_amf_set_of_its_slice() {
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
fn a_registration_goes_by_way_of_the_gnb_to_the_amf_set_of_its_slice() {
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
