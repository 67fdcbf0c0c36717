//! RAN configuration update (TS 38.413, 8.7.2; TS 23.502, 4.2.7.1).
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ngap::ngap::*;
use martlet_ngap::{NgapPduKind as Kind, build_ngap, helpers};
use martlet_tests::{RawGnb, TestCore, cause_of, in_namespace};

/// A RAN CONFIGURATION UPDATE with another name, and another tracking area of this network.
fn update(mcc: &str) -> Result<Vec<u8>> {
    let plmn = helpers::plmn(mcc, "01")?;
    let slices = SliceSupportList(vec![SliceSupportItem::new(helpers::s_nssai(1, None), None)]);
    let plmns = BroadcastPLMNList(vec![BroadcastPLMNItem::new(plmn, slices, None)]);
    let areas = SupportedTAList(vec![SupportedTAItem::new(TAC([0, 0, 5]), plmns, None)]);
    let pdu = build_ngap!(
        InitiatingMessage,
        RANConfigurationUpdate,
        RANConfigurationUpdate,
        RANNodeName("renamed"),
        SupportedTAList(areas),
    );
    Ok(pdu?.encode()?)
}

#[test]
fn ran_configuration_update_changes_name_and_tracking_areas() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        gnb.send(update("999")?).await?;
        let failure = gnb.next_of(Kind::Unsuccessful_RANConfigurationUpdate).await?;
        ensure!(cause_of(&failure)? == Cause::misc(CauseMisc::unknown_PLMN_or_SNPN), "{failure:?}");
        ensure!(!core.status("amf").to_string().contains("renamed"), "a refused update applies");
        gnb.send(update("001")?).await?;
        gnb.next_of(Kind::Successful_RANConfigurationUpdate).await?;
        let status = core.status("amf").to_string();
        ensure!(status.contains("renamed"), "{status}");
        Ok(())
    });
}
