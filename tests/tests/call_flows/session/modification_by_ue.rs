//! Sessions that their phones ask to be changed (TS 24.501, 6.4.2).
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_nas::{
    GsmCause, QosFlowBitRate, QosFlowDescription, QosFlowOpCode, QosFlowParameter, QosPacketFilter,
    QosPacketFilterComponent, QosPacketFilterDirection, QosRule, QosRuleOpCode,
};
use martlet_pcf::UeRequestConfig;
use martlet_ran::gnb::UeError;
use martlet_ran::ue::Event;
use martlet_ran::ue::{ModificationRequest, SessionCause};
use martlet_ran::{Ue, UeEvent};
use martlet_tests::{GATEWAY, TestCore, in_namespace, reaches};

fn to_port(port: u16) -> QosPacketFilter {
    QosPacketFilter::Match {
        direction: QosPacketFilterDirection::Bidirectional,
        identifier: 0,
        components: vec![
            QosPacketFilterComponent::ProtocolIdentifierOrNextHeader(17),
            QosPacketFilterComponent::SingleRemotePort(port),
        ],
    }
}

fn rule(id: u8, operation: QosRuleOpCode, filters: Vec<QosPacketFilter>) -> QosRule {
    let rule = QosRule::new(id, operation);
    match operation {
        QosRuleOpCode::Delete => rule,
        QosRuleOpCode::ModifyDelete => rule.with_packet_filters(filters),
        _ => rule.with_packet_filters(filters).with_precedence(70).with_qfi(0),
    }
}

fn new_flow(five_qi: u8, guaranteed_kbps: Option<u64>) -> Vec<QosFlowDescription> {
    let mut parameters = vec![QosFlowParameter::FiveQi(five_qi)];
    if let Some(rate) = guaranteed_kbps.and_then(|kbps| QosFlowBitRate::from_kbps(kbps).ok()) {
        parameters.extend([QosFlowParameter::GfbrUl(rate), QosFlowParameter::GfbrDl(rate)]);
    }
    vec![QosFlowDescription::new(0, QosFlowOpCode::Create, true, parameters)]
}

fn asking(rule: QosRule, flows: Vec<QosFlowDescription>) -> ModificationRequest {
    ModificationRequest { rules: vec![rule], flows, always_on: false }
}

/// Has a request refused with a cause.
async fn refused(phone: &Ue, request: ModificationRequest, wanted: GsmCause) -> Result<()> {
    let outcome = phone.modify_pdu_session(1, request).await;
    let right = matches!(&outcome, Err(UeError::Session(SessionCause::Sm(cause))) if *cause == wanted.as_u8());
    ensure!(right, "{wanted:?} is the cause: {outcome:?}");
    Ok(())
}

#[test]
fn requested_flow_is_created_modified_and_deleted() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            let guaranteed = Some("1 Mbps".into());
            config.pcf.ue_requests = UeRequestConfig { five_qis: vec![3, 7], most: 2, guaranteed };
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        use QosRuleOpCode as Op;

        let create = rule(0, Op::Create, vec![to_port(5000)]);
        let now = phone.modify_pdu_session(1, asking(create.clone(), new_flow(7, None))).await?;
        ensure!(now.flows == [(1, 9), (2, 7)] && now.rules == [(1, 1), (2, 2)], "{now:?}");
        reaches(&phone, 1, GATEWAY).await?;
        // Another one with a guarantee, which the gNB has to have room for.
        let now =
            phone.modify_pdu_session(1, asking(create.clone(), new_flow(3, Some(500)))).await?;
        ensure!(
            now.flows == [(1, 9), (2, 7), (3, 3)] && now.rules == [(1, 1), (2, 2), (3, 3)],
            "{now:?}"
        );
        // Filters come and go; there is always one.
        phone
            .modify_pdu_session(1, asking(rule(2, Op::ModifyAdd, vec![to_port(5001)]), vec![]))
            .await?;
        let gone = |identifier| vec![QosPacketFilter::Delete { identifier }];
        phone.modify_pdu_session(1, asking(rule(2, Op::ModifyDelete, gone(1)), vec![])).await?;
        let (semantic, syntactical) =
            (GsmCause::SemanticErrorInTheQosOperation, GsmCause::SyntacticalErrorInTheQosOperation);
        refused(&phone, asking(rule(2, Op::ModifyDelete, gone(2)), vec![]), semantic).await?;
        refused(&phone, asking(rule(2, Op::ModifyDelete, gone(9)), vec![]), syntactical).await?;
        phone
            .modify_pdu_session(1, asking(rule(2, Op::ModifyReplace, vec![to_port(6000)]), vec![]))
            .await?;
        // Idle, it asks for service first; the flows are there afterwards.
        phone.release_to_idle().await?;
        core.until("the phone is idle", |counts| counts.connected == 0).await?;
        let now = phone.modify_pdu_session(1, asking(rule(2, Op::Delete, vec![]), vec![])).await?;
        ensure!(now.flows == [(1, 9), (3, 3)] && now.rules == [(1, 1), (3, 3)], "{now:?}");
        // One that is gone already is no error.
        phone.modify_pdu_session(1, asking(rule(2, Op::Delete, vec![]), vec![])).await?;
        // The flow's QoS alone, and then the flow with its rule.
        let mut change = new_flow(7, None);
        (change[0].qfi, change[0].op_code) = (3, QosFlowOpCode::Modify);
        let change = ModificationRequest { flows: change, ..Default::default() };
        let now = phone.modify_pdu_session(1, change).await?;
        ensure!(now.flows == [(1, 9), (3, 7)], "{now:?}");
        let end = QosFlowDescription::new(3, QosFlowOpCode::Delete, false, vec![]);
        let now = phone
            .modify_pdu_session(1, ModificationRequest { flows: vec![end], ..Default::default() })
            .await?;
        ensure!(now.flows == [(1, 9)] && now.rules == [(1, 1)], "{now:?}");
        // Whether the session is always on is the network's to say.
        let now = phone
            .modify_pdu_session(1, ModificationRequest { always_on: true, ..Default::default() })
            .await?;
        ensure!(!now.always_on, "{now:?}");
        phone.service_request().await?;
        reaches(&phone, 1, GATEWAY).await?;
        core.bodies.check(&["npcf-smpolicycontrol UpdateSMPolicy"]).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn disallowed_modifications_are_rejected_with_their_cause() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| config.pcf.ue_requests.most = 1).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        use QosRuleOpCode as Op;
        let create = |filters| rule(0, Op::Create, filters);
        let not_granted = GsmCause::FiveGsQosNotAccepted;
        refused(&phone, asking(create(vec![to_port(1)]), new_flow(1, None)), not_granted).await?;
        refused(&phone, asking(create(vec![to_port(1)]), new_flow(7, Some(1))), not_granted)
            .await?;
        let semantic = GsmCause::SemanticErrorInTheQosOperation;
        refused(
            &phone,
            asking(create(vec![to_port(1)]).with_default_rule(true), new_flow(7, None)),
            semantic,
        )
        .await?;
        refused(&phone, asking(rule(1, Op::Delete, vec![]), vec![]), semantic).await?;
        let unknown = rule(9, Op::ModifyAdd, vec![to_port(1)]);
        refused(&phone, asking(unknown, vec![]), GsmCause::SyntacticalErrorInTheQosOperation)
            .await?;
        let ethernet = QosPacketFilter::Match {
            direction: QosPacketFilterDirection::Uplink,
            identifier: 0,
            components: vec![QosPacketFilterComponent::Ethertype(0x88f7)],
        };
        let wrong = GsmCause::SemanticErrorsInPacketFilters;
        refused(&phone, asking(create(vec![ethernet]), new_flow(7, None)), wrong).await?;
        let now = phone
            .modify_pdu_session(1, asking(create(vec![to_port(1)]), new_flow(7, None)))
            .await?;
        ensure!(now.flows == [(1, 9), (2, 7)], "{now:?}");
        // One is all that this operator gives.
        refused(&phone, asking(create(vec![to_port(2)]), new_flow(7, None)), not_granted).await?;
        let now = phone.status().await?.sessions;
        ensure!(now.len() == 1 && now[0].flows == [(1, 9), (2, 7)], "{now:?}");
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

/// TS 24.501, 6.3.2.5 c: the network changes the session as the phone asks for a change of its own.
/// The network's goes first, and the phone gives its own up.
#[test]
fn network_modification_takes_precedence_over_a_concurrent_request() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            config.pcf.ue_requests.most = 2;
            config.smf.t3591_ms = 700;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let mut config = core.phone(1);
        // It does not hear the network's command the first time: that is when its own is underway.
        config.modifications_lost = 1;
        let phone = gnb.new_ue(config)?;
        core.register_with_session(&phone).await?;
        let mut policy = core.config().pcf.clone();
        policy.flows = vec![martlet_pcf::FlowConfig {
            name: "video".into(),
            dnn: "internet".into(),
            five_qi: 7,
            filters: vec!["permit out 6 from any 443 to assigned".into()],
            precedence: 20,
            ..Default::default()
        }];
        let mut events = phone.subscribe().await?;
        core.reload("pcf", policy)?;
        let lost = async {
            loop {
                let event = events.recv().await?;
                if matches!(&event, UeEvent::Nas(Event::Discarded(why)) if why.contains("MODIFICATION COMMAND"))
                {
                    return anyhow::Ok(());
                }
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(10), lost).await??;
        let create = rule(0, QosRuleOpCode::Create, vec![to_port(5000)]);
        let outcome = phone.modify_pdu_session(1, asking(create.clone(), new_flow(6, None))).await;
        ensure!(matches!(outcome, Err(UeError::Session(SessionCause::Collision))), "{outcome:?}");
        let now = phone.status().await?.sessions;
        ensure!(now[0].flows == [(1, 9), (2, 7)], "the network's change, and it alone: {now:?}");
        // Afterwards the phone may have its own.
        let now = phone.modify_pdu_session(1, asking(create, new_flow(6, None))).await?;
        ensure!(now.flows == [(1, 9), (2, 7), (3, 6)], "{now:?}");
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}
