//! PDU session modification by the network (TS 23.502, 4.3.3.2; TS 24.501, 6.3.2).
use crate::connection::paging::{manual, receives, send};
use crate::n2::ue_ngap_ids;
use crate::session::{session, until};
use anyhow::{Result, bail, ensure};
use bytes::Bytes;
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_nas::{
    GsmCause, Nas5gsMessage, NasFGsmCause, NasFGsmStatus, NasPduSessionModificationCommandReject,
};
use martlet_ngap::ngap::*;
use martlet_ngap::transfer::{FailedFlow, Notify};
use martlet_ngap::{NgapPduKind, build_ngap};
use martlet_pcf::FlowConfig;
use martlet_ran::ue::{Event, ServicePurpose};
use martlet_ran::{Gnb, Ue, UeEvent, XnHandoverPlan};
use martlet_tests::{
    GATEWAY, Impairments, LogLines, LossyLink, SeparateUpf, TestCore, eventually, in_namespace,
    reaches,
};
use std::net::Ipv4Addr;
use std::time::Duration;
use tokio::sync::broadcast;

fn voice(supi: &str) -> FlowConfig {
    FlowConfig {
        name: "voice".into(),
        dnn: "internet".into(),
        supis: vec![supi.into()],
        five_qi: 1,
        arp: 2,
        filters: vec!["permit out 17 from 10.45.0.0/16 5000-5010 to assigned".into()],
        precedence: 10,
        guaranteed_uplink: Some("128 Kbps".into()),
        guaranteed_downlink: Some("128 Kbps".into()),
        ..FlowConfig::default()
    }
}

#[test]
fn dedicated_flows_follow_the_policy() {
    in_namespace(|| async {
        let (supi, video) = ("imsi-001010000000001", "permit out 6 from any 443 to assigned");
        let core =
            TestCore::start(Sbi::Http, |config| config.pcf.flows = vec![voice(supi)]).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let (other, _) = core.ue_with_session(&gnb, 2).await?;
        let now = session(&ue, 1).await?;
        ensure!(
            (now.flows.as_slice(), now.rules.as_slice())
                == (&[(1, 9), (2, 1)][..], &[(1, 1), (2, 2)][..]),
            "{now:?}"
        );
        ensure!(session(&other, 1).await?.flows == [(1, 9)], "the flow belongs to one subscriber");
        reaches(&ue, 1, GATEWAY).await?;

        // The policy adds a non-GBR flow.
        let mut policy = martlet_pcf::PcfConfig { flows: vec![voice(supi)], ..Default::default() };
        policy.flows.push(FlowConfig {
            name: "video".into(),
            five_qi: 7,
            filters: vec![video.into()],
            precedence: 20,
            maximum_downlink: Some("5 Mbps".into()),
            ..FlowConfig::default()
        });
        core.reload("pcf", policy.clone())?;
        let both =
            until(&ue, 1, "the UE has three flows", |session| session.flows.len() == 3).await?;
        ensure!(
            both.flows == [(1, 9), (2, 1), (3, 7)] && both.rules == [(1, 1), (2, 2), (3, 3)],
            "{both:?}"
        );
        until(&other, 1, "the other UE has two flows", |session| session.flows == [(1, 9), (2, 7)])
            .await?;
        reaches(&ue, 1, GATEWAY).await?;
        // The flows remain after CM-IDLE.
        ue.release_to_idle().await?;
        ue.service_request_for(ServicePurpose::Data, &[1]).await?;
        reaches(&ue, 1, GATEWAY).await?;

        // The flows are removed. An idle UE is paged for it.
        other.release_to_idle().await?;
        core.until("one UE is in CM-IDLE", |counts| counts.connected == 1).await?;
        policy.flows.clear();
        core.reload("pcf", policy)?;
        until(&ue, 1, "the flows are removed", |session| {
            session.flows == [(1, 9)] && session.rules == [(1, 1)]
        })
        .await?;
        until(&other, 1, "the flow is removed", |session| session.flows == [(1, 9)]).await?;
        reaches(&ue, 1, GATEWAY).await?;
        core.sbi_record.check(&["nsmf-callback SmPolicyUpdateNotify"]).await
    });
}

/// TS 23.502, 4.3.2.2.1, step 16: a gNB that is not configured for the 5QI of a flow sets up the
/// others.
#[test]
fn a_flow_that_the_gnb_does_not_set_up_is_removed() {
    in_namespace(|| async {
        let supi = "imsi-001010000000001";
        let core =
            TestCore::start(Sbi::Http, |config| config.pcf.flows = vec![voice(supi)]).await?;
        let gnb = without_5qi_1(&core, 1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        without_voice(&core, &ue).await?;
        // It is not requested again.
        ue.release_to_idle().await?;
        ue.service_request_for(ServicePurpose::Data, &[1]).await?;
        ensure!(session(&ue, 1).await?.flows == [(1, 9)], "{:?}", session(&ue, 1).await?);
        reaches(&ue, 1, GATEWAY).await
    });
}

#[test]
fn a_flow_that_the_gnb_does_not_add_is_removed() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = without_5qi_1(&core, 1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        // The SMF has the gNB's answer to the setup: until then, the gNB gets no modification.
        reaches(&ue, 1, GATEWAY).await?;
        let flows = vec![voice("imsi-001010000000001")];
        core.reload("pcf", martlet_pcf::PcfConfig { flows, ..Default::default() })?;
        without_voice(&core, &ue).await
    });
}

/// Where the SMF reaches the UPF of [`lossy_upf`].
const NEAR: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 46);

/// A UPF, and a link to it that loses what a test says.
async fn lossy_upf() -> Result<(SeparateUpf, LossyLink)> {
    let far = Ipv4Addr::new(127, 0, 0, 47);
    let upf = SeparateUpf::start_with(|upf| {
        upf.n4.allow = vec![format!("{far}/32").parse().expect("a network")];
    })
    .await?;
    let link = LossyLink::between(NEAR.into(), far.into(), SeparateUpf::n4(), 1)?;
    Ok((upf, link))
}

/// The SMF uses this UPF, and soon gives up a request without a response.
fn use_lossy_upf(config: &mut Config) {
    SeparateUpf::replace_core_upf(config);
    config.smf.upfs[0].n4 = (NEAR, 8805).into();
    (config.smf.n4.heartbeat_s, config.smf.n4.t1_ms, config.smf.n4.n1) = (60, 50, 2);
}

/// The UPF does not answer the removal of a flow that the gNB has rejected: it is requested again.
#[test]
fn a_rejected_flow_is_removed_although_the_upf_did_not_answer_at_first() {
    const UPDATE: &str = "nsmf-pdusession UpdateSmContext";
    in_namespace(|| async {
        let log = LogLines::record();
        let (upf, link) = lossy_upf().await?;
        let core = TestCore::start_on(Sbi::Http, use_lossy_upf).await?;
        let gnb = without_5qi_1(&core, 1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        reaches(&ue, 1, GATEWAY).await?;
        let rules = || upf.status()["sessions"][0]["pdrs"].as_u64();
        let before = rules();
        // The UPF has the flow when the SMF learns that the gNB does not have it.
        core.sbi_gate.close(UPDATE, 0);
        let flows = vec![voice("imsi-001010000000001")];
        core.reload("pcf", martlet_pcf::PcfConfig { flows, ..Default::default() })?;
        let answered = || (core.sbi_gate.held(UPDATE) > 0).then_some(());
        eventually("the gNB has answered", answered, String::new).await?;
        let with_flow = rules();
        ensure!(with_flow > before, "the UPF has {with_flow:?} rules, and had {before:?}");
        link.impair(Impairments { loss: 1.0, ..Impairments::default() });
        core.sbi_gate.open();
        let lines = || log.with_message("rejected QoS flows not changed");
        let failed = || (!lines().is_empty()).then_some(());
        eventually("the removal fails", failed, String::new).await?;
        ensure!(rules() == with_flow, "the UPF has received the request");
        link.impair(Impairments::default());
        without_voice(&core, &ue).await?;
        ensure!(rules() == before, "the UPF has {:?} rules, and had {before:?}", rules());
        Ok(())
    });
}

/// The UPF does not answer the removal of a flow that the UE has rejected: it is requested again.
#[test]
fn a_flow_that_the_ue_rejects_is_removed_although_the_upf_did_not_answer_at_first() {
    in_namespace(|| async {
        let log = LogLines::record();
        let (upf, link) = lossy_upf().await?;
        let core = TestCore::start(Sbi::Http, use_lossy_upf).await?;
        let gnb = core.gnb(1).await?;
        let mut config = core.ue_config(1);
        // The UE discards the first command, so that the test can answer it.
        config.modifications_lost = 1;
        let ue = gnb.new_ue(config)?;
        core.register_with_session(&ue).await?;
        let rules = || upf.status()["sessions"][0]["pdrs"].as_u64();
        let before = rules();
        let mut events = ue.subscribe().await?;
        let flows = vec![voice("imsi-001010000000001")];
        core.reload("pcf", martlet_pcf::PcfConfig { flows, ..Default::default() })?;
        let discarded = async {
            while !matches!(events.recv().await?, UeEvent::Nas(Event::Discarded(_))) {}
            anyhow::Ok(())
        };
        tokio::time::timeout(Duration::from_secs(10), discarded).await??;
        let with_flow = rules();
        ensure!(with_flow > before, "the UPF has {with_flow:?} rules, and had {before:?}");
        link.impair(Impairments { loss: 1.0, ..Impairments::default() });
        let cause = NasFGsmCause::from_cause(GsmCause::InsufficientResources);
        let reject = NasPduSessionModificationCommandReject::new(cause);
        ue.send_session_message(1, Nas5gsMessage::new_5gsm(reject, 1, 0)).await?;
        let lines = || log.with_message("rejected modification not undone at UPF");
        let failed = || (!lines().is_empty()).then_some(());
        eventually("the removal fails", failed, String::new).await?;
        ensure!(rules() == with_flow, "the UPF has received the request");
        link.impair(Impairments::default());
        let removed = || (rules() == before).then_some(());
        eventually("the UPF has removed the flow", removed, || format!("{:?}", rules())).await?;
        ensure!(session(&ue, 1).await?.flows == [(1, 9)], "{:?}", session(&ue, 1).await?);
        reaches(&ue, 1, GATEWAY).await
    });
}

/// TS 23.502, 4.3.3.2; TS 29.512, 4.2.3.16: UPF and UE get the QoS that the gNB still has.
#[test]
fn a_flow_that_the_gnb_does_not_change_keeps_its_qos() {
    in_namespace(|| async {
        let supi = "imsi-001010000000001";
        let core =
            TestCore::start(Sbi::Http, |config| config.pcf.flows = vec![voice(supi)]).await?;
        let mut config = core.gnb_config(1);
        config.unsupported_5qis = vec![2];
        let gnb = Gnb::connect(config).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        ensure!(session(&ue, 1).await?.flows == [(1, 9), (2, 1)], "the flow is not set up");
        let flows = vec![FlowConfig { five_qi: 2, ..voice(supi) }];
        core.reload("pcf", martlet_pcf::PcfConfig { flows, ..Default::default() })?;
        let reports = || core.sbi_record.requests("npcf-smpolicycontrol UpdateSMPolicy");
        let reported = || reports().into_iter().next();
        let describe = || format!("{:?}", reports());
        let (_, report) = eventually("the PCF has a rule report", reported, describe).await?;
        let rule = &report["ruleReports"][0];
        ensure!(
            rule["pccRuleIds"][0] == "voice" && rule["ruleStatus"] == "ACTIVE",
            "the rule is not reported as active: {report}"
        );
        // The UE had the new 5QI when the SMF learned that the gNB does not have it.
        until(&ue, 1, "the flow has its earlier 5QI", |session| {
            session.flows == [(1, 9), (2, 1)] && session.rules == [(1, 1), (2, 2)]
        })
        .await?;
        // The gNB sets it up again with that QoS.
        ue.release_to_idle().await?;
        ue.service_request_for(ServicePurpose::Data, &[1]).await?;
        ensure!(session(&ue, 1).await?.flows == [(1, 9), (2, 1)], "{:?}", session(&ue, 1).await?);
        ensure!(reports().len() == 1, "{:?}", reports());
        reaches(&ue, 1, GATEWAY).await
    });
}

#[test]
fn a_default_flow_that_the_gnb_does_not_change_keeps_its_5qi() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let mut config = core.gnb_config(1);
        config.unsupported_5qis = vec![6];
        let gnb = Gnb::connect(config).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        core.subscribe(1, |subscriber| subscriber.slices[0].dnns[0].five_qi = 6)?;
        // The accept, the new 5QI, and the earlier one again.
        let transfers = || core.sbi_record.calls("namf-comm N1N2MessageTransfer");
        let corrected = || (transfers() >= 3).then_some(());
        eventually("the UE gets two commands", corrected, || transfers().to_string()).await?;
        until(&ue, 1, "the flow has its earlier 5QI", |session| session.flows == [(1, 9)]).await?;
        // The gNB sets the session up again with that QoS.
        ue.release_to_idle().await?;
        ue.service_request_for(ServicePurpose::Data, &[1]).await?;
        reaches(&ue, 1, GATEWAY).await
    });
}

/// TS 23.502, 4.9.1.2.2 and 4.9.1.3.3.
#[test]
fn a_flow_that_a_target_gnb_does_not_take_over_is_removed() {
    for by_xn in [false, true] {
        in_namespace(move || async move {
            let supi = "imsi-001010000000001";
            let core =
                TestCore::start(Sbi::Http, |config| config.pcf.flows = vec![voice(supi)]).await?;
            let (source, target) = (core.gnb(1).await?, without_5qi_1(&core, 2).await?);
            let (ue, _) = core.ue_with_session(&source, 1).await?;
            ensure!(session(&ue, 1).await?.flows == [(1, 9), (2, 1)], "the flow is not set up");
            if by_xn {
                let plan = XnHandoverPlan { lost_flows: vec![2], ..Default::default() };
                ue.xn_handover(&target, plan).await?;
            } else {
                ue.handover_to(&target).await?;
            }
            without_voice(&core, &ue).await
        });
    }
}

/// A gNB may list the flows that it takes over without the default one: it is not removed.
#[test]
fn a_default_flow_that_a_target_gnb_does_not_list_stays() {
    in_namespace(|| async {
        let supi = "imsi-001010000000001";
        let core =
            TestCore::start(Sbi::Http, |config| config.pcf.flows = vec![voice(supi)]).await?;
        let (source, target) = (core.gnb(1).await?, core.gnb(2).await?);
        let (ue, _) = core.ue_with_session(&source, 1).await?;
        let plan = XnHandoverPlan { lost_flows: vec![1], ..Default::default() };
        ue.xn_handover(&target, plan).await?;
        // The SMF has ended what follows the handover before it deactivates the user plane.
        ue.release_to_idle().await?;
        ue.service_request_for(ServicePurpose::Data, &[1]).await?;
        ensure!(session(&ue, 1).await?.flows == [(1, 9), (2, 1)], "{:?}", session(&ue, 1).await?);
        let reports = core.sbi_record.calls("npcf-smpolicycontrol UpdateSMPolicy");
        ensure!(reports == 0, "{reports} reports to the PCF");
        reaches(&ue, 1, GATEWAY).await
    });
}

/// A gNB that is not configured for the 5QI of voice.
async fn without_5qi_1(core: &TestCore, number: u8) -> Result<Gnb> {
    let mut config = core.gnb_config(number);
    config.unsupported_5qis = vec![1];
    Ok(Gnb::connect(config).await?)
}

/// The PCF learns that the flow is not there, and the UE has the default flow alone.
async fn without_voice(core: &TestCore, ue: &Ue) -> Result<()> {
    let reports = || core.sbi_record.calls("npcf-smpolicycontrol UpdateSMPolicy");
    let reported = || (reports() > 0).then_some(());
    eventually("the PCF has a rule report", reported, || reports().to_string()).await?;
    until(ue, 1, "the flow is removed", |session| {
        session.flows == [(1, 9)] && session.rules == [(1, 1)]
    })
    .await?;
    reaches(ue, 1, GATEWAY).await
}

/// Waits until the gNB receives a PDU SESSION RESOURCE MODIFY REQUEST.
async fn modified_at(messages: &mut broadcast::Receiver<Bytes>) -> Result<()> {
    let modified = async {
        while NGAP_PDU::decode(&messages.recv().await?)?.kind()
            != NgapPduKind::Initiating_PDUSessionResourceModify
        {}
        anyhow::Ok(())
    };
    tokio::time::timeout(Duration::from_secs(10), modified).await?
}

/// TS 24.501, 6.3.2.4: the UE rejects the command. Its flows stay as they were, and the PCF learns
/// that its rule is not enforced (TS 29.512, 4.2.4.15).
#[test]
fn rejected_modification_is_reverted_and_reported() {
    in_namespace(|| async {
        let supi = "imsi-001010000000001";
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut config = core.ue_config(1);
        // The UE discards the first command, so that the test can answer it.
        config.modifications_lost = 1;
        let ue = gnb.new_ue(config)?;
        core.register_with_session(&ue).await?;
        let mut events = ue.subscribe().await?;
        let policy = |flows| martlet_pcf::PcfConfig { flows, ..core.config().pcf.clone() };
        core.reload("pcf", policy(vec![voice(supi)]))?;
        let discarded = async {
            while !matches!(events.recv().await?, UeEvent::Nas(Event::Discarded(_))) {}
            anyhow::Ok(())
        };
        tokio::time::timeout(Duration::from_secs(10), discarded).await??;
        let reports = || core.sbi_record.calls("npcf-smpolicycontrol UpdateSMPolicy");
        let before = reports();
        let cause = NasFGsmCause::from_cause(GsmCause::InsufficientResources);
        let reject = NasPduSessionModificationCommandReject::new(cause);
        let mut at_gnb = gnb.subscribe();
        ue.send_session_message(1, Nas5gsMessage::new_5gsm(reject, 1, 0)).await?;
        // The gNB, which has set the flow up, is asked to release it (TS 38.413, 8.2.3).
        modified_at(&mut at_gnb).await?;
        let reported = || (reports() > before).then_some(());
        eventually("the PCF has a rule report", reported, || reports().to_string()).await?;
        ensure!(session(&ue, 1).await?.flows == [(1, 9)], "{:?}", session(&ue, 1).await?);
        reaches(&ue, 1, GATEWAY).await?;
        // The next change is enforced.
        core.reload("pcf", policy(Vec::new()))?;
        core.reload("pcf", policy(vec![voice(supi)]))?;
        until(&ue, 1, "the UE has the flow", |session| session.flows == [(1, 9), (2, 1)]).await?;
        core.sbi_record.check(&["npcf-smpolicycontrol UpdateSMPolicy"]).await
    });
}

/// TS 24.501, 6.5.3: a 5GSM STATUS with cause #97 aborts the modification as a rejection does.
#[test]
fn modification_that_a_5gsm_status_aborts_is_reverted() {
    in_namespace(|| async {
        let supi = "imsi-001010000000001";
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut config = core.ue_config(1);
        // The UE discards the first command, so that the test can answer it.
        config.modifications_lost = 1;
        let ue = gnb.new_ue(config)?;
        core.register_with_session(&ue).await?;
        let mut events = ue.subscribe().await?;
        let flows = vec![voice(supi)];
        core.reload("pcf", martlet_pcf::PcfConfig { flows, ..core.config().pcf.clone() })?;
        let discarded = async {
            while !matches!(events.recv().await?, UeEvent::Nas(Event::Discarded(_))) {}
            anyhow::Ok(())
        };
        tokio::time::timeout(Duration::from_secs(10), discarded).await??;
        let cause = NasFGsmCause::from_cause(GsmCause::MessageTypeNonExistentOrNotImplemented);
        let mut at_gnb = gnb.subscribe();
        // The PTI of another procedure aborts nothing.
        ue.send_session_message(1, Nas5gsMessage::new_5gsm(NasFGsmStatus::new(cause), 1, 9))
            .await?;
        let early = tokio::time::timeout(Duration::from_secs(1), modified_at(&mut at_gnb)).await;
        ensure!(early.is_err(), "the modification was aborted");
        let cause = NasFGsmCause::from_cause(GsmCause::MessageTypeNonExistentOrNotImplemented);
        ue.send_session_message(1, Nas5gsMessage::new_5gsm(NasFGsmStatus::new(cause), 1, 0))
            .await?;
        modified_at(&mut at_gnb).await?;
        ensure!(session(&ue, 1).await?.flows == [(1, 9)], "{:?}", session(&ue, 1).await?);
        reaches(&ue, 1, GATEWAY).await
    });
}

/// An idle UE answers neither the paging nor, before T3591 has expired for the last time, the
/// command (TS 24.501, 6.3.2.5 a). It gets the flow when it is connected again.
#[test]
fn a_ue_that_was_not_reached_gets_the_modification_later() {
    in_namespace(|| async {
        let log = LogLines::record();
        let core = TestCore::start(Sbi::Http, |config| {
            (config.amf.timers.t3513_ms, config.amf.timers.paging_attempts) = (100, 1);
            config.smf.t3591_ms = 200;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let ue = gnb.new_ue(manual(core.ue_config(1)))?;
        core.register_with_session(&ue).await?;
        ue.release_to_idle().await?;
        core.until("the UE is in CM-IDLE", |counts| counts.connected == 0).await?;
        let flows = vec![voice("imsi-001010000000001")];
        core.reload("pcf", martlet_pcf::PcfConfig { flows, ..core.config().pcf.clone() })?;
        let lines = || log.with_message("modification command without answer");
        let aborted = || (!lines().is_empty()).then_some(());
        eventually("the SMF aborts the modification", aborted, String::new).await?;
        let notified =
            || core.sbi_record.calls("nsmf-callback N1N2TransferFailureNotification") > 0;
        eventually("the paging fails", || notified().then_some(()), String::new).await?;
        ue.service_request_for(ServicePurpose::Data, &[1]).await?;
        until(&ue, 1, "the UE has the flow", |session| {
            session.flows == [(1, 9), (2, 1)] && session.rules == [(1, 1), (2, 2)]
        })
        .await?;
        reaches(&ue, 1, GATEWAY).await
    });
}

/// TS 24.501, 6.3.2.4: the UE rejects another bit rate. The next command has it again.
#[test]
fn rejected_bit_rate_is_part_of_the_next_modification() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut config = core.ue_config(1);
        // The UE discards the first command, so that the test can answer it.
        config.modifications_lost = 1;
        let ue = gnb.new_ue(config)?;
        core.register_with_session(&ue).await?;
        let mut events = ue.subscribe().await?;
        core.subscribe(1, |subscriber| {
            let dnn = &mut subscriber.slices[0].dnns[0];
            (dnn.ambr_downlink, dnn.ambr_uplink) = ("20 Mbps".into(), "5 Mbps".into());
        })?;
        let discarded = async {
            while !matches!(events.recv().await?, UeEvent::Nas(Event::Discarded(_))) {}
            anyhow::Ok(())
        };
        tokio::time::timeout(Duration::from_secs(10), discarded).await??;
        let cause = NasFGsmCause::from_cause(GsmCause::InsufficientResources);
        let reject = NasPduSessionModificationCommandReject::new(cause);
        ue.send_session_message(1, Nas5gsMessage::new_5gsm(reject, 1, 0)).await?;
        core.subscribe(1, |subscriber| {
            let dnn = &mut subscriber.slices[0].dnns[0];
            (dnn.ambr_downlink, dnn.ambr_uplink, dnn.five_qi) =
                ("20 Mbps".into(), "5 Mbps".into(), 6);
        })?;
        until(&ue, 1, "the UE has the bit rate", |session| {
            session.ambr_kbps == Some((20_000, 5_000)) && session.flows == [(1, 6)]
        })
        .await?;
        reaches(&ue, 1, GATEWAY).await
    });
}

/// TS 24.501, 6.3.2: the policy changes again before the UE has answered. The second command waits
/// for the answer to the first one, which is sent again because the UE did not receive it.
#[test]
fn a_second_modification_waits_for_the_answer_to_the_first() {
    in_namespace(|| async {
        let supi = "imsi-001010000000001";
        let core = TestCore::start(Sbi::Http, |config| config.smf.t3591_ms = 1500).await?;
        let gnb = core.gnb(1).await?;
        let mut config = core.ue_config(1);
        config.modifications_lost = 1;
        let ue = gnb.new_ue(config)?;
        core.register_with_session(&ue).await?;
        let mut events = ue.subscribe().await?;
        let policy = |flows| martlet_pcf::PcfConfig { flows, ..core.config().pcf.clone() };
        core.reload("pcf", policy(vec![voice(supi)]))?;
        let discarded = async {
            while !matches!(events.recv().await?, UeEvent::Nas(Event::Discarded(_))) {}
            anyhow::Ok(())
        };
        tokio::time::timeout(Duration::from_secs(10), discarded).await??;
        let video = FlowConfig {
            name: "video".into(),
            five_qi: 7,
            filters: vec!["permit out 6 from any 443 to assigned".into()],
            precedence: 20,
            ..FlowConfig::default()
        };
        core.reload("pcf", policy(vec![voice(supi), video]))?;
        until(&ue, 1, "the UE has both flows", |session| session.flows == [(1, 9), (2, 1), (3, 7)])
            .await?;
        reaches(&ue, 1, GATEWAY).await
    });
}

/// TS 24.501, 6.3.2.5 a: T3591 expires, and the UE gets its command again, although the session has
/// an event more often than that.
#[test]
fn events_of_a_session_do_not_delay_the_retransmission_of_a_command() {
    in_namespace(|| async {
        let supi = "imsi-001010000000001";
        let core = TestCore::start(Sbi::Http, |config| config.smf.t3591_ms = 2000).await?;
        let gnb = core.gnb(1).await?;
        let mut config = core.ue_config(1);
        config.modifications_lost = 1;
        let ue = gnb.new_ue(config)?;
        core.register_with_session(&ue).await?;
        let mut events = ue.subscribe().await?;
        let policy = |flows| martlet_pcf::PcfConfig { flows, ..core.config().pcf.clone() };
        let changes = async {
            for five_qi in [1, 2].into_iter().cycle() {
                core.reload("pcf", policy(vec![FlowConfig { five_qi, ..voice(supi) }]))?;
                tokio::time::sleep(Duration::from_millis(400)).await;
            }
            anyhow::Ok(())
        };
        let modified = async {
            while !matches!(events.recv().await?, UeEvent::Nas(Event::SessionModified { .. })) {}
            anyhow::Ok(())
        };
        tokio::select! {
            ended = changes => bail!("the policy does not change any more: {ended:?}"),
            modified = tokio::time::timeout(Duration::from_secs(10), modified) => modified??,
        }
        core.reload("pcf", policy(Vec::new()))?;
        until(&ue, 1, "the flow is removed", |session| session.flows == [(1, 9)]).await?;
        reaches(&ue, 1, GATEWAY).await
    });
}

/// TS 23.502, 4.3.2.2.1, steps 12 to 15: the policy changes while the gNB sets the session up. The
/// gNB gets the change, too.
#[test]
fn a_modification_waits_until_the_gnb_has_set_the_session_up() {
    const UPDATE: &str = "nsmf-pdusession UpdateSmContext";
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        // The SMF does not get the gNB's answer yet.
        core.sbi_gate.close(UPDATE, 0);
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let answered = || (core.sbi_gate.held(UPDATE) == 1).then_some(());
        eventually("the gNB has answered", answered, String::new).await?;
        let flows = vec![voice("imsi-001010000000001")];
        core.reload("pcf", martlet_pcf::PcfConfig { flows, ..core.config().pcf.clone() })?;
        let calls = || core.sbi_record.calls("nsmf-callback SmPolicyUpdateNotify");
        let notified = || (calls() == 1).then_some(());
        eventually("the SMF has the policy", notified, || calls().to_string()).await?;
        core.sbi_gate.open();
        until(&ue, 1, "the UE has the flow", |session| session.flows == [(1, 9), (2, 1)]).await?;
        // One request has the command for the UE and the change for the gNB.
        let both = || Some(n2_kinds(&core)).filter(|kinds| kinds.len() == 2);
        let describe = || format!("{:?}", n2_kinds(&core));
        let kinds = eventually("the AMF has both", both, describe).await?;
        ensure!(kinds == ["PDU_RES_SETUP_REQ", "PDU_RES_MOD_REQ"], "{kinds:?}");
        reaches(&ue, 1, GATEWAY).await
    });
}

/// The types of N2 information in the messages that the AMF got; empty without any.
fn n2_kinds(core: &TestCore) -> Vec<String> {
    let kind = |body: &serde_json::Value| {
        let kind = body.pointer("/n2InfoContainer/smInfo/n2InfoContent/ngapIeType");
        kind.and_then(|kind| kind.as_str()).unwrap_or_default().to_owned()
    };
    let transfers = core.sbi_record.requests("namf-comm N1N2MessageTransfer");
    transfers.iter().map(|(_, body)| kind(body)).collect()
}

/// TS 23.502, 4.2.3.3: the policy changes while the UE is paged for downlink data. The AMF has the
/// setup request for the gNB, with the earlier QoS. The gNB gets the change when it has answered.
#[test]
fn a_gnb_that_sets_a_session_up_with_an_earlier_qos_gets_the_change() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| config.amf.timers.t3513_ms = 20_000).await?;
        let gnb = core.gnb(1).await?;
        let (one, from) = core.ue_with_session(&gnb, 1).await?;
        let two = gnb.new_ue(manual(core.ue_config(2)))?;
        let to = core.register_with_session(&two).await?;
        two.release_to_idle().await?;
        send(&one, from, to, 1..=1).await?;
        two.wait_for_paging().await?;
        let describe = || format!("{:?}", n2_kinds(&core));
        // The setup requests of both sessions, and that for downlink data.
        let paged = || (n2_kinds(&core).len() == 3).then_some(());
        eventually("the AMF has the setup request", paged, describe).await?;
        let flows = vec![voice("imsi-001010000000002")];
        core.reload("pcf", martlet_pcf::PcfConfig { flows, ..core.config().pcf.clone() })?;
        let last = || n2_kinds(&core).pop();
        // A command for the UE alone.
        let modified = || last().filter(String::is_empty);
        eventually("the AMF has the command", modified, describe).await?;
        two.service_request().await?;
        until(&two, 1, "the UE has the flow", |session| session.flows == [(1, 9), (2, 1)]).await?;
        let updated = || last().filter(|kind| kind == "PDU_RES_MOD_REQ");
        eventually("the gNB gets the change", updated, describe).await?;
        receives(&two, 1..=1).await?;
        reaches(&two, 1, GATEWAY).await
    });
}

/// TS 29.512, 4.2.4.15: the UPF has no room for a flow. The session keeps its QoS, and the PCF
/// learns that its rule is not enforced.
#[test]
fn modification_that_the_upf_rejects_is_reported() {
    in_namespace(|| async {
        let supi = "imsi-001010000000001";
        // Room for the default flow and one other.
        let core = TestCore::start(Sbi::Http, |config| config.upf.rules.pdrs = 4).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        reaches(&ue, 1, GATEWAY).await?;
        let policy = |flows| martlet_pcf::PcfConfig { flows, ..core.config().pcf.clone() };
        let reports = || core.sbi_record.calls("npcf-smpolicycontrol UpdateSMPolicy");
        let before = reports();
        let video = FlowConfig {
            name: "video".into(),
            five_qi: 7,
            guaranteed_uplink: None,
            guaranteed_downlink: None,
            ..voice(supi)
        };
        core.reload("pcf", policy(vec![voice(supi), video]))?;
        let reported = || (reports() > before).then_some(());
        eventually("the PCF has a rule report", reported, || reports().to_string()).await?;
        let now = session(&ue, 1).await?;
        ensure!(now.flows == [(1, 9)], "{now:?}");
        // The next change is compared with what UE and UPF have.
        core.reload("pcf", policy(Vec::new()))?;
        core.reload("pcf", policy(vec![voice(supi)]))?;
        until(&ue, 1, "the UE has the flow", |session| session.flows == [(1, 9), (2, 1)]).await?;
        reaches(&ue, 1, GATEWAY).await
    });
}

/// TS 38.413, 8.2.4: the gNB releases a flow. It ends at UPF and UE, and the PCF learns that its
/// rule is not enforced (TS 29.512, 4.2.4.15).
#[test]
fn flow_that_a_gnb_releases_is_removed_and_reported() {
    in_namespace(|| async {
        let supi = "imsi-001010000000001";
        let core =
            TestCore::start(Sbi::Http, |config| config.pcf.flows = vec![voice(supi)]).await?;
        let gnb = core.gnb(1).await?;
        let mut messages = gnb.subscribe();
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let (amf_id, ran_id) = ue_ngap_ids(&mut messages).await?;
        reaches(&ue, 1, GATEWAY).await?;
        let both = session(&ue, 1).await?;
        ensure!(both.flows == [(1, 9), (2, 1)], "{both:?}");
        let reports = || core.sbi_record.calls("npcf-smpolicycontrol UpdateSMPolicy");
        let before = reports();
        let cause = Cause::radioNetwork(CauseRadioNetwork::radio_resources_not_available);
        let released_flows = vec![FailedFlow { qfi: 2, cause }];
        let transfer = Notify { notified: Vec::new(), released_flows }.encode()?;
        let item = PDUSessionResourceNotifyItem::new(PDUSessionID(1), transfer.into(), None);
        let notify = build_ngap!(
            InitiatingMessage,
            PDUSessionResourceNotify,
            PDUSessionResourceNotify,
            AMF_UE_NGAP_ID(amf_id),
            RAN_UE_NGAP_ID(ran_id),
            PDUSessionResourceNotifyList(PDUSessionResourceNotifyList(vec![item])),
        )?;
        gnb.send_raw_ngap(1, notify.encode()?).await?;
        until(&ue, 1, "the flow is removed", |session| {
            session.flows == [(1, 9)] && session.rules == [(1, 1)]
        })
        .await?;
        let reported = || (reports() > before).then_some(());
        eventually("the PCF has a rule report", reported, || reports().to_string()).await?;
        // The other flow remains.
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}
