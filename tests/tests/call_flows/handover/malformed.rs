//! Handover messages from the wrong gNB, of unknown UEs, or in the wrong state (TS 38.413, 10.4 and
//! 10.6).
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use martlet::core::Sbi;
use martlet_ngap::ngap::*;
use martlet_ngap::transfer::{
    GtpTunnel, HandoverRequired as RequiredTransfer, PathSwitchRequest as SwitchTransfer,
};
use martlet_ngap::{
    BitString, Error, Message, NgapPduKind as Kind, build_ngap, build_ngap_ie, helpers, ie,
};
use martlet_ran::{Gnb, Ue};
use martlet_tests::{GATEWAY, MetricDelta, RawGnb, TestCore, cause_of, in_namespace, reaches};

/// A core with a UE at one gNB, and another gNB by hand.
async fn ue_and_attacker() -> Result<(TestCore, Gnb, Ue, RawGnb)> {
    let core = TestCore::start(Sbi::Local, |_| {}).await?;
    let gnb = core.gnb(1).await?;
    let (ue, _) = core.ue_with_session(&gnb, 1).await?;
    let attacker = RawGnb::set_up(&core, 2).await?;
    Ok((core, gnb, ue, attacker))
}

fn from_hex(pdu: Result<NGAP_PDU, Error>) -> Result<Bytes> {
    Ok(pdu?.encode()?.into())
}

fn place() -> Result<UserLocationInformation<'static>> {
    let plmn = helpers::plmn("001", "01")?;
    let nr = UserLocationInformationNR::new(
        helpers::nr_cgi(plmn, 2, 24, 1)?,
        helpers::tai(plmn, [0, 0, 1]),
        None,
        None,
    );
    Ok(UserLocationInformation::userLocationInformationNR(nr))
}

/// PATH SWITCH REQUEST of session 1 for a connection, without security capabilities of the UE.
pub fn path_switch(amf_id: u64, ran_id: u32) -> Result<Bytes> {
    let downlink = GtpTunnel::new([127, 0, 0, 77].into(), 7);
    let transfer =
        SwitchTransfer { downlink, reused: false, security: None, flows: vec![1] }.encode()?;
    let item = PDUSessionResourceToBeSwitchedDLItem::new(PDUSessionID(1), transfer.into(), None);
    let none = || BitString::from([0u8, 0]);
    let capability = UESecurityCapabilities::new(
        NRencryptionAlgorithms(none()),
        NRintegrityProtectionAlgorithms(none()),
        EUTRAencryptionAlgorithms(none()),
        EUTRAintegrityProtectionAlgorithms(none()),
        None,
    );
    from_hex(build_ngap!(
        InitiatingMessage,
        PathSwitchRequest,
        PathSwitchRequest,
        RAN_UE_NGAP_ID(ran_id),
        SourceAMF_UE_NGAP_ID(amf_id),
        UserLocationInformation(place()?),
        UESecurityCapabilities(capability),
        PDUSessionResourceToBeSwitchedDLList(PDUSessionResourceToBeSwitchedDLList(vec![item])),
    ))
}

/// HANDOVER REQUIRED of session 1 to the unknown gNB 9.
fn required(amf_id: u64, ran_id: u32) -> Result<Bytes> {
    let plmn = helpers::plmn("001", "01")?;
    let node = GlobalRANNodeID::globalGNB_ID(helpers::global_gnb_id(plmn, 9, 24)?);
    let target = TargetRANNodeID::new(node, helpers::tai(plmn, [0, 0, 1]), None);
    let transfer = RequiredTransfer::default().encode()?;
    let item = PDUSessionResourceItemHORqd::new(PDUSessionID(1), transfer.into(), None);
    let ies = vec![
        build_ngap_ie!(HandoverRequired, AMF_UE_NGAP_ID(amf_id))?,
        build_ngap_ie!(HandoverRequired, RAN_UE_NGAP_ID(ran_id))?,
        build_ngap_ie!(HandoverRequired, HandoverType(HandoverType::intra5gs))?,
        build_ngap_ie!(
            HandoverRequired,
            Cause(Cause::radioNetwork(CauseRadioNetwork::unspecified))
        )?,
        build_ngap_ie!(HandoverRequired, TargetID(TargetID::targetRANNodeID(target)))?,
        build_ngap_ie!(
            HandoverRequired,
            PDUSessionResourceListHORqd(PDUSessionResourceListHORqd(vec![item]))
        )?,
        build_ngap_ie!(HandoverRequired, SourceToTarget_TransparentContainer(vec![0u8; 4]))?,
    ];
    type Required<'a> = HandoverRequired<'a>;
    from_hex(NGAP_PDU::of_message(
        &HandoverRequired::new(ProtocolIEContainer(ies)),
        Required::CRITICALITY,
    ))
}

fn acknowledge(amf_id: u64, ran_id: u32) -> Result<Bytes> {
    from_hex(build_ngap!(
        SuccessfulOutcome,
        HandoverResourceAllocation,
        HandoverRequestAcknowledge,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        PDUSessionResourceAdmittedList(PDUSessionResourceAdmittedList(vec![
            PDUSessionResourceAdmittedItem::new(PDUSessionID(1), vec![0u8].into(), None,)
        ])),
        TargetToSource_TransparentContainer(vec![0u8; 4]),
    ))
}

fn notify(amf_id: u64, ran_id: u32) -> Result<Bytes> {
    from_hex(build_ngap!(
        InitiatingMessage,
        HandoverNotification,
        HandoverNotify,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        UserLocationInformation(place()?),
    ))
}

fn cancel(amf_id: u64, ran_id: u32) -> Result<Bytes> {
    from_hex(build_ngap!(
        InitiatingMessage,
        HandoverCancel,
        HandoverCancel,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        Cause(Cause::radioNetwork(CauseRadioNetwork::handover_cancelled)),
    ))
}

#[test]
fn handover_messages_of_unknown_ues_are_rejected() {
    in_namespace(|| async {
        let (core, _gnb, ue, attacker) = ue_and_attacker().await?;
        let unknown = MetricDelta::of("martlet_amf_ngap_errors_total", &[("reason", "ue_ngap_id")]);
        for (name, message) in [
            ("HANDOVER REQUIRED", required(77, 1)?),
            ("HANDOVER REQUEST ACKNOWLEDGE", acknowledge(77, 1)?),
            ("HANDOVER NOTIFY", notify(77, 1)?),
            ("HANDOVER CANCEL", cancel(77, 1)?),
        ] {
            attacker.send(message).await?;
            let answer = attacker.next().await.context(name)?;
            ensure!(answer.kind() == Kind::Initiating_ErrorIndication, "{name}: {answer:?}");
            let cause = cause_of(&answer)?;
            ensure!(
                cause == Cause::radioNetwork(CauseRadioNetwork::unknown_local_UE_NGAP_ID),
                "{name}: {cause:?}"
            );
        }
        ensure!(unknown.get() >= 4.0, "{} errors counted", unknown.get());
        let refused =
            MetricDelta::of("martlet_amf_ngap_errors_total", &[("reason", "path_switch")]);
        attacker.send(path_switch(77, 1)?).await?;
        let answer = attacker.next().await?;
        ensure!(answer.kind() == Kind::Unsuccessful_PathSwitchRequest, "{answer:?}");
        let ids = (answer.ie::<ie::AMF_UE_NGAP_ID>(), answer.ie::<ie::RAN_UE_NGAP_ID>());
        ensure!(matches!(ids, (Some(Ok(AMFUENGAPID(77))), Some(Ok(RANUENGAPID(1))))), "{ids:?}");
        ensure!(refused.get() >= 1.0);
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

#[test]
fn unknown_target_is_rejected_and_stray_cancel_is_acknowledged() {
    in_namespace(|| async {
        let (core, gnb, ue, attacker) = ue_and_attacker().await?;
        let mut messages = gnb.subscribe();
        // The NGAP identifiers of the UE at its gNB.
        ue.release_pdu_session(1).await?;
        let session = ue.establish_pdu_session(martlet_tests::internet()).await?.psi;
        let mut ids = None;
        while let Ok(message) = messages.try_recv() {
            let pdu = NGAP_PDU::decode(&message)?;
            if let (Some(Ok(amf)), Some(Ok(ran))) =
                (pdu.ie::<ie::AMF_UE_NGAP_ID>(), pdu.ie::<ie::RAN_UE_NGAP_ID>())
            {
                ids = Some((amf.0, ran.0));
            }
        }
        let (amf_id, ran_id) = ids.context("the UE is not connected")?;
        // The UE is not connected through this gNB.
        for message in [required(amf_id, ran_id)?, cancel(amf_id, ran_id)?, notify(amf_id, ran_id)?]
        {
            attacker.send(message).await?;
            let cause = cause_of(&attacker.next().await?)?;
            ensure!(
                cause == Cause::radioNetwork(CauseRadioNetwork::inconsistent_remote_UE_NGAP_ID),
                "{cause:?}"
            );
        }
        // It acknowledges a handover that was not requested.
        attacker.send(acknowledge(amf_id, ran_id)?).await?;
        ensure!(attacker.next().await?.kind() == Kind::Initiating_ErrorIndication);
        // The UE's gNB requires a handover to an unknown target, and cancels a handover that it did
        // not require.
        gnb.send_raw_ngap(1, required(amf_id, ran_id)?).await?;
        gnb.send_raw_ngap(1, cancel(amf_id, ran_id)?).await?;
        gnb.send_raw_ngap(1, notify(amf_id, ran_id)?).await?;
        let mut answers = Vec::new();
        while answers.len() < 2 {
            let message =
                tokio::time::timeout(std::time::Duration::from_secs(30), messages.recv()).await??;
            let pdu = NGAP_PDU::decode(&message)?;
            match pdu.kind() {
                Kind::Unsuccessful_HandoverPreparation => {
                    let cause = cause_of(&pdu)?;
                    ensure!(
                        cause == Cause::radioNetwork(CauseRadioNetwork::unknown_targetID),
                        "{cause:?}"
                    );
                    answers.push(pdu.kind());
                }
                Kind::Successful_HandoverCancel => answers.push(pdu.kind()),
                _ => {}
            }
        }
        reaches(&ue, session, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}
