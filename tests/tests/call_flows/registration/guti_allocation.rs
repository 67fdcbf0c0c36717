//! Allocation of the 5G-GUTI (TS 23.501, 5.9.4; TS 24.501, 5.5.1.2.4).
use super::general_registration::AUTHENTICATE;
use super::identification::received_identity_request;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_nas::{Guti, Plmn};
use martlet_ran::ue::RegistrationType;
use martlet_tests::{TestCore, in_namespace};

#[test]
fn known_5g_guti_is_accepted_and_reallocated() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let (gnb, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let ue = gnb.new_ue(core.ue_config(1))?;
        let first = ue.register().await?.guti;
        ue.deregister().await?;
        ue.move_to(&other).await?;
        let mut events = ue.subscribe().await?;
        let second = ue.register().await?.guti;
        ensure!(
            first.is_some() && second.is_some() && first != second,
            "{first:?} was not reallocated: {second:?}"
        );
        ensure!(core.sbi_record.calls(AUTHENTICATE) == 1, "the UE was authenticated again");
        ensure!(!received_identity_request(&mut events), "IDENTITY REQUEST for a known 5G-GUTI");
        core.use_session_and_deregister(&ue).await?;
        core.until_all_released().await
    });
}

/// TS 24.501, 5.5.1.3.2: the 5GS mobile identity is mapped from the 4G-GUTI of an MME.
#[test]
fn a_ue_from_lte_is_known_by_its_additional_guti() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut config = core.ue_config(1);
        config.mapped_guti = Some(Guti::new(Plmn::new("001", "01")?, 0x80, 0x108, 3, 0xd000_0001)?);
        let ue = gnb.new_ue(config)?;
        core.register_with_session(&ue).await?;
        let first = ue.status().await?.guti;
        ue.release_to_idle().await?;
        let mut events = ue.subscribe().await?;
        ue.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        let status = ue.status().await?;
        ensure!(first.is_some() && status.guti != first, "{first:?} was not reallocated");
        ensure!(status.active_user_planes == [1], "the session has no user plane");
        ensure!(core.sbi_record.calls(AUTHENTICATE) == 1, "the UE was authenticated again");
        ensure!(!received_identity_request(&mut events), "IDENTITY REQUEST for a known 5G-GUTI");
        ue.deregister().await?;
        core.until_all_released().await
    });
}
