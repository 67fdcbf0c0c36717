//! PDU session modification requested by the UE (TS 24.501, 6.4.2).
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

/// Checks that a request is rejected with this cause.
async fn expect_rejected(ue: &Ue, request: ModificationRequest, wanted: GsmCause) -> Result<()> {
    let outcome = ue.modify_pdu_session(1, request).await;
    let right = match &outcome {
        Err(UeError::Session(SessionCause::Sm(cause))) => *cause == wanted.as_u8(),
        _ => false,
    };
    ensure!(right, "expected cause {wanted:?}: {outcome:?}");
    Ok(())
}

#[test]
fn requested_flow_is_created_modified_and_deleted() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            let guaranteed = Some("1 Mbps".into());
            config.pcf.ue_requests =
                UeRequestConfig { five_qis: vec![3, 7], max_flows: 2, guaranteed };
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        use QosRuleOpCode as Op;

        let create = rule(0, Op::Create, vec![to_port(5000)]);
        let now = ue.modify_pdu_session(1, asking(create.clone(), new_flow(7, None))).await?;
        ensure!(now.flows == [(1, 9), (2, 7)] && now.rules == [(1, 1), (2, 2)], "{now:?}");
        reaches(&ue, 1, GATEWAY).await?;
        // A GBR flow, which the gNB must admit.
        let now = ue.modify_pdu_session(1, asking(create.clone(), new_flow(3, Some(500)))).await?;
        ensure!(
            now.flows == [(1, 9), (2, 7), (3, 3)] && now.rules == [(1, 1), (2, 2), (3, 3)],
            "{now:?}"
        );
        // Packet filters are added and removed; one must remain.
        ue.modify_pdu_session(1, asking(rule(2, Op::ModifyAdd, vec![to_port(5001)]), vec![]))
            .await?;
        let gone = |identifier| vec![QosPacketFilter::Delete { identifier }];
        ue.modify_pdu_session(1, asking(rule(2, Op::ModifyDelete, gone(1)), vec![])).await?;
        let (semantic, syntactical) =
            (GsmCause::SemanticErrorInTheQosOperation, GsmCause::SyntacticalErrorInTheQosOperation);
        expect_rejected(&ue, asking(rule(2, Op::ModifyDelete, gone(2)), vec![]), semantic).await?;
        expect_rejected(&ue, asking(rule(2, Op::ModifyDelete, gone(9)), vec![]), syntactical)
            .await?;
        ue.modify_pdu_session(1, asking(rule(2, Op::ModifyReplace, vec![to_port(6000)]), vec![]))
            .await?;
        // An idle UE sends a service request first; its flows remain.
        ue.release_to_idle().await?;
        core.until("the UE is in CM-IDLE", |counts| counts.connected == 0).await?;
        let now = ue.modify_pdu_session(1, asking(rule(2, Op::Delete, vec![]), vec![])).await?;
        ensure!(now.flows == [(1, 9), (3, 3)] && now.rules == [(1, 1), (3, 3)], "{now:?}");
        // The deletion of an unknown rule is no error.
        ue.modify_pdu_session(1, asking(rule(2, Op::Delete, vec![]), vec![])).await?;
        // The QoS of the flow changes; then the flow is deleted with its rule.
        let mut change = new_flow(7, None);
        (change[0].qfi, change[0].op_code) = (3, QosFlowOpCode::Modify);
        let change = ModificationRequest { flows: change, ..Default::default() };
        let now = ue.modify_pdu_session(1, change).await?;
        ensure!(now.flows == [(1, 9), (3, 7)], "{now:?}");
        let end = QosFlowDescription::new(3, QosFlowOpCode::Delete, false, vec![]);
        let now = ue
            .modify_pdu_session(1, ModificationRequest { flows: vec![end], ..Default::default() })
            .await?;
        ensure!(now.flows == [(1, 9)] && now.rules == [(1, 1)], "{now:?}");
        // The network decides whether the session is always-on.
        let now = ue
            .modify_pdu_session(1, ModificationRequest { always_on: true, ..Default::default() })
            .await?;
        ensure!(!now.always_on, "{now:?}");
        ue.service_request().await?;
        reaches(&ue, 1, GATEWAY).await?;
        core.sbi_record.check(&["npcf-smpolicycontrol UpdateSMPolicy"]).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

#[test]
fn disallowed_modifications_are_rejected_with_their_cause() {
    in_namespace(|| async {
        let core =
            TestCore::start(Sbi::Local, |config| config.pcf.ue_requests.max_flows = 1).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        use QosRuleOpCode as Op;
        let create = |filters| rule(0, Op::Create, filters);
        let not_granted = GsmCause::FiveGsQosNotAccepted;
        expect_rejected(&ue, asking(create(vec![to_port(1)]), new_flow(1, None)), not_granted)
            .await?;
        expect_rejected(&ue, asking(create(vec![to_port(1)]), new_flow(7, Some(1))), not_granted)
            .await?;
        let semantic = GsmCause::SemanticErrorInTheQosOperation;
        expect_rejected(
            &ue,
            asking(create(vec![to_port(1)]).with_default_rule(true), new_flow(7, None)),
            semantic,
        )
        .await?;
        expect_rejected(&ue, asking(rule(1, Op::Delete, vec![]), vec![]), semantic).await?;
        let unknown = rule(9, Op::ModifyAdd, vec![to_port(1)]);
        expect_rejected(&ue, asking(unknown, vec![]), GsmCause::SyntacticalErrorInTheQosOperation)
            .await?;
        let ethernet = QosPacketFilter::Match {
            direction: QosPacketFilterDirection::Uplink,
            identifier: 0,
            components: vec![QosPacketFilterComponent::Ethertype(0x88f7)],
        };
        let wrong = GsmCause::SemanticErrorsInPacketFilters;
        expect_rejected(&ue, asking(create(vec![ethernet]), new_flow(7, None)), wrong).await?;
        let now =
            ue.modify_pdu_session(1, asking(create(vec![to_port(1)]), new_flow(7, None))).await?;
        ensure!(now.flows == [(1, 9), (2, 7)], "{now:?}");
        // The operator allows one flow.
        expect_rejected(&ue, asking(create(vec![to_port(2)]), new_flow(7, None)), not_granted)
            .await?;
        let now = ue.status().await?.sessions;
        ensure!(now.len() == 1 && now[0].flows == [(1, 9), (2, 7)], "{now:?}");
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}

/// TS 24.501, 6.3.2.5 c: a modification by the network collides with a request of the UE. The UE
/// aborts its request.
#[test]
fn network_modification_takes_precedence_over_a_concurrent_request() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| {
            config.pcf.ue_requests.max_flows = 2;
            config.smf.t3591_ms = 700;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let mut config = core.ue_config(1);
        // The UE discards the first command of the network: its own procedure is pending.
        config.modifications_lost = 1;
        let ue = gnb.new_ue(config)?;
        core.register_with_session(&ue).await?;
        let mut policy = core.config().pcf.clone();
        policy.flows = vec![martlet_pcf::FlowConfig {
            name: "video".into(),
            dnn: "internet".into(),
            five_qi: 7,
            filters: vec!["permit out 6 from any 443 to assigned".into()],
            precedence: 20,
            ..Default::default()
        }];
        let mut events = ue.subscribe().await?;
        core.reload("pcf", policy)?;
        let lost = async {
            loop {
                let event = events.recv().await?;
                if let UeEvent::Nas(Event::Discarded(why)) = event
                    && why.contains("MODIFICATION COMMAND")
                {
                    return anyhow::Ok(());
                }
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(10), lost).await??;
        let create = rule(0, QosRuleOpCode::Create, vec![to_port(5000)]);
        let outcome = ue.modify_pdu_session(1, asking(create.clone(), new_flow(6, None))).await;
        ensure!(matches!(outcome, Err(UeError::Session(SessionCause::Collision))), "{outcome:?}");
        let now = ue.status().await?.sessions;
        ensure!(now[0].flows == [(1, 9), (2, 7)], "not only the change of the network: {now:?}");
        // Afterwards the request of the UE is accepted.
        let now = ue.modify_pdu_session(1, asking(create, new_flow(6, None))).await?;
        ensure!(now.flows == [(1, 9), (2, 7), (3, 6)], "{now:?}");
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}
