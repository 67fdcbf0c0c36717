//! NG reset by a gNB (TS 38.413, 8.7.4.2.2).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ngap::ngap::*;
use martlet_ngap::{NgapPduKind as Kind, build_ngap};
use martlet_tests::{TestCore, in_namespace};

#[test]
fn reset_by_the_gnb_leaves_its_ues_idle() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (_ue, _) = core.ue_with_session(&gnb, 1).await?;
        let mut messages = gnb.subscribe();
        let reset = build_ngap!(
            InitiatingMessage,
            NGReset,
            NGReset,
            Cause(Cause::misc(CauseMisc::om_intervention)),
            ResetType(ResetType::nG_Interface(ResetAll::reset_all)),
        );
        gnb.send_raw_ngap(0, reset?.encode()?).await?;
        let acknowledge = NGAP_PDU::decode(&messages.recv().await?)?;
        ensure!(acknowledge.kind() == Kind::Successful_NGReset, "{acknowledge:?}");
        core.until("the UE is registered and idle, with its session", |counts| {
            (counts.connected, counts.registered, counts.sessions) == (0, 1, 1)
        })
        .await
    });
}
