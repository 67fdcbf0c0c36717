//! Error indication from a gNB (TS 38.413, 8.7.5 and 10.6).
use super::ue_ngap_ids;
use anyhow::{Result, ensure};
use bytes::Bytes;
use martlet::core::Sbi;
use martlet_ngap::build_ngap;
use martlet_ngap::ngap::*;
use martlet_tests::{GATEWAY, MetricDelta, TestCore, eventually, in_namespace, reaches};

/// ERROR INDICATION about a UE.
fn indication((amf_id, ran_id): (u64, u32), cause: Cause) -> Result<Bytes> {
    let pdu = build_ngap!(
        InitiatingMessage,
        ErrorIndication,
        ErrorIndication,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        Cause(cause),
    )?;
    Ok(pdu.encode()?.into())
}

/// A gNB that does not know the identifiers of a UE has lost it: the UE becomes idle. Another error
/// changes nothing.
#[test]
fn error_indication_of_unknown_identifiers_releases_the_connection() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut messages = gnb.subscribe();
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let ids = ue_ngap_ids(&mut messages).await?;
        let indicated =
            MetricDelta::of("martlet_amf_ngap_errors_total", &[("reason", "indicated_by_gnb")]);
        gnb.send_raw_ngap(1, indication(ids, Cause::protocol(CauseProtocol::unspecified))?).await?;
        let counted = || (indicated.get() >= 1.0).then_some(());
        eventually("the error is counted", counted, || indicated.get().to_string()).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ensure!(core.counts().connected == 1, "{:?}", core.counts());
        let unknown = Cause::radioNetwork(CauseRadioNetwork::unknown_local_UE_NGAP_ID);
        gnb.send_raw_ngap(1, indication(ids, unknown)?).await?;
        core.until("the UE is in CM-IDLE", |counts| {
            (counts.registered, counts.connected, counts.sessions) == (1, 0, 1)
        })
        .await
    });
}
