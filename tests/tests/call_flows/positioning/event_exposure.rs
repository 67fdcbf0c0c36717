//! Events of a UE that the AMF reports: cells and presence in an area (TS 23.502, 4.15.4; TS
//! 29.518, 5.3).
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use martlet::core::Sbi;
use martlet_ngap::NgapPduKind;
use martlet_ngap::ngap::NGAP_PDU;
use martlet_ran::Gnb;
use martlet_sbi::{ApiRoot, CallPolicy, Peer, Problem, Router};
use martlet_sbi_api::common::{GNbId, GlobalRanNodeId, PresenceInfo, PresenceState, Tac, Tai};
use martlet_sbi_api::namf_event_exposure::*;
use martlet_sbi_http::{ClientLimits, HttpBinding, HttpServer};
use martlet_tests::{GATEWAY, TestCore, in_namespace, reaches};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{broadcast, mpsc};

/// The consumer of events.
struct Consumer(mpsc::UnboundedSender<AmfEventReport>);

impl AmfEventCallback for Consumer {
    async fn event_notify(&self, _: &str, body: AmfEventNotification) -> Result<(), Problem> {
        body.report_list.into_iter().flatten().for_each(|report| drop(self.0.send(report)));
        Ok(())
    }
}

/// The next report, within 30 s.
async fn next(reports: &mut mpsc::UnboundedReceiver<AmfEventReport>) -> Result<AmfEventReport> {
    tokio::time::timeout(Duration::from_secs(30), reports.recv())
        .await
        .context("no report")?
        .context("a report")
}

/// The state of each area in the next two reports.
async fn two_states(
    reports: &mut mpsc::UnboundedReceiver<AmfEventReport>,
) -> Result<BTreeMap<String, PresenceState>> {
    let mut states = BTreeMap::new();
    for _ in 0..2 {
        let areas = next(reports).await?.area_list.into_iter().flatten();
        for area in areas.filter_map(|it| it.presence_info) {
            let state = area.presence_state.context("a state")?;
            states.insert(area.pra_id.unwrap_or_default(), state);
        }
    }
    Ok(states)
}

/// Waits until the gNB receives another LOCATION REPORTING CONTROL.
async fn asked(messages: &mut broadcast::Receiver<Bytes>) -> Result<()> {
    let control = async {
        while NGAP_PDU::decode(&messages.recv().await?)?.kind()
            != NgapPduKind::Initiating_LocationReportingControl
        {}
        anyhow::Ok(())
    };
    tokio::time::timeout(Duration::from_secs(30), control)
        .await
        .context("no LOCATION REPORTING CONTROL")?
}

/// The gNB identifier and the last digit of the reported cell, which is its number at the gNB.
fn cell_of(report: &AmfEventReport) -> Result<(String, char)> {
    let place = report
        .location
        .as_ref()
        .and_then(|place| place.nr_location.as_ref())
        .context("a place in NR")?;
    let cell = place.ncgi.nr_cell_id.to_string();
    Ok((cell[..6].to_string(), cell.chars().last().context("digits")?))
}

/// The AMF reports changes of the cell, within a gNB and by N2 and Xn handovers, and presence in an
/// area (TS 23.502, 4.10 and 4.15.4).
#[test]
fn cell_changes_and_presence_in_an_area_are_reported() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| {
            let mut tai = config.amf.tais[0].clone();
            tai.tac = 2;
            config.amf.tais.push(tai);
            // The gNBs share no tracking area.
            config.amf.n2.xn_neighbours = martlet_amf::XnNeighbours::Any;
            // The consumer is not registered with the NRF.
            config.sbi.callbacks.allow = vec!["127.0.0.78".into()];
        })
        .await?;
        let one = core.gnb(7).await?;
        let mut config = core.gnb_config(8);
        config.tac = 2;
        let other = Gnb::connect(config).await?;
        let (ue, _) = core.ue_with_session(&one, 1).await?;
        let (sender, mut reports) = mpsc::unbounded_channel();
        let router =
            Arc::new(Router::new().serve(NAMF_EVTS_CALLBACK.routes(Arc::new(Consumer(sender)))));
        let server =
            HttpServer::bind("127.0.0.78:7777".parse()?, router, Default::default()).await?;
        tokio::spawn(server.run());
        let (root, _) = ApiRoot::split("http://127.0.0.17:7777").context("not an API root")?;
        let binding = Arc::new(HttpBinding::new(ClientLimits::default()));
        let amf =
            AmfEventExposureClient::new(Peer::new(binding, root, "NEF", CallPolicy::default()));
        let subscription = |event: AmfEvent| AmfCreateEventSubscription {
            subscription: AmfEventSubscription {
                event_list: vec![event],
                event_notify_uri: "http://127.0.0.78:7777/namf-evts-callback/v1/notify/1".into(),
                notify_correlation_id: "one".into(),
                nf_id: "6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f78".parse().expect("an identity"),
                supi: Some("imsi-001010000000001".parse().expect("a SUPI")),
                any_ue: None,
                options: None,
            },
            supported_features: None,
        };
        let wrong = |problem: Problem| anyhow::anyhow!("{problem}");

        // The current cell, and then each change.
        let mut messages = one.subscribe();
        let mut event = AmfEvent::new(AmfEventType::LocationReport);
        event.immediate_flag = Some(true);
        let made = amf.create_subscription(subscription(event)).await.map_err(wrong)?;
        ensure!(
            cell_of(&next(&mut reports).await?)? == ("000007".into(), '1'),
            "the current state is not reported"
        );
        asked(&mut messages).await?;
        ue.change_cell(2).await?;
        ensure!(
            cell_of(&next(&mut reports).await?)? == ("000007".into(), '2'),
            "not the other cell of the gNB"
        );
        ue.handover_to(&other).await?;
        ensure!(cell_of(&next(&mut reports).await?)?.0 == "000008", "not the other gNB");
        ue.change_cell(3).await?;
        ensure!(
            cell_of(&next(&mut reports).await?)? == ("000008".into(), '3'),
            "the handover did not request reports"
        );
        ue.xn_handover_to(&one).await?;
        ensure!(cell_of(&next(&mut reports).await?)? == ("000007".into(), '1'), "Xn");
        ue.release_to_idle().await?;
        reaches(&ue, 1, GATEWAY).await?;
        asked(&mut messages).await?;
        ue.change_cell(4).await?;
        ensure!(
            cell_of(&next(&mut reports).await?)? == ("000007".into(), '4'),
            "no report after CM-IDLE"
        );
        let id = made.location.rsplit('/').next().context("no identity")?.to_string();
        amf.delete_subscription(&id).await.map_err(wrong)?;
        ensure!(
            amf.delete_subscription(&id).await.is_err_and(|problem| problem.status() == 404),
            "the subscription still exists"
        );
        asked(&mut messages).await?;
        ue.change_cell(5).await?;

        // Presence in the second tracking area: now and with each change, up to the requested
        // number of reports.
        let mut event = AmfEvent::new(AmfEventType::PresenceInAoiReport);
        let network = core.config().amf.tais[1].plmn.parse()?;
        let area = PresenceInfo {
            pra_id: Some("second".into()),
            tracking_area_list: Some(vec![Tai::new(network, Tac::from_u32(2))]),
            ..Default::default()
        };
        let second = area.clone();
        event.area_list = Some(vec![AmfEventArea { presence_info: Some(area) }]);
        event.max_reports = Some(3);
        amf.create_subscription(subscription(event)).await.map_err(wrong)?;
        let presence = |report: AmfEventReport| -> Result<PresenceState> {
            let area = report
                .area_list
                .and_then(|list| list.into_iter().next()?.presence_info)
                .context("an area")?;
            area.presence_state.context("a state")
        };
        ensure!(
            presence(next(&mut reports).await?)? == PresenceState::OutOfArea,
            "the current state is not reported"
        );
        ue.handover_to(&other).await?;
        ensure!(
            presence(next(&mut reports).await?)? == PresenceState::InArea,
            "the UE entered the area"
        );
        ue.change_cell(2).await?;
        ue.xn_handover_to(&one).await?;
        let last = next(&mut reports).await?;
        ensure!(last.state.remain_reports == Some(0) && !last.state.active, "{last:?}");
        ensure!(presence(last)? == PresenceState::OutOfArea, "the UE left the area");
        ue.handover_to(&other).await?;
        tokio::time::sleep(Duration::from_millis(200)).await;
        ensure!(reports.try_recv().is_err(), "more than three reports");

        // A gNB as the area: the UE stays there in CM-IDLE.
        let mut gnb = GlobalRanNodeId::new(core.config().amf.tais[1].plmn.parse()?);
        gnb.g_nb_id = Some(GNbId { bit_length: 24, gnb_value: "000008".into() });
        let area = PresenceInfo {
            pra_id: Some("gnb".into()),
            global_ran_node_id_list: Some(vec![gnb]),
            ..Default::default()
        };
        let mut event = AmfEvent::new(AmfEventType::PresenceInAoiReport);
        event.area_list = Some(vec![
            AmfEventArea { presence_info: Some(area) },
            AmfEventArea { presence_info: Some(second) },
        ]);
        let made = amf.create_subscription(subscription(event)).await.map_err(wrong)?;
        let states = |report: AmfEventReport| -> Vec<Option<PresenceState>> {
            let areas = report.area_list.into_iter().flatten();
            areas.map(|area| area.presence_info?.presence_state).collect()
        };
        let both = |state: PresenceState| vec![Some(state.clone()), Some(state)];
        let first = states(next(&mut reports).await?);
        ensure!(first == both(PresenceState::InArea), "the UE is at the gNB: {first:?}");
        ue.release_to_idle().await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.handover_to(&one).await?;
        // Without a report of another gNB in CM-IDLE, this is the next one.
        let second = states(next(&mut reports).await?);
        ensure!(second == both(PresenceState::OutOfArea), "CM-IDLE changed the gNB: {second:?}");
        let id = made.location.rsplit('/').next().context("no identity")?.to_string();
        messages = one.subscribe();
        amf.delete_subscription(&id).await.map_err(wrong)?;
        asked(&mut messages).await?;
        ue.handover_to(&other).await?;

        // Two events of one type in a subscription: each is compared with its own last report.
        let event = |n: usize| -> Result<AmfEvent> {
            let tai = &core.config().amf.tais[n];
            let area = PresenceInfo {
                pra_id: Some(n.to_string()),
                tracking_area_list: Some(vec![Tai::new(tai.plmn.parse()?, Tac::from_u32(tai.tac))]),
                ..Default::default()
            };
            let mut event = AmfEvent::new(AmfEventType::PresenceInAoiReport);
            event.area_list = Some(vec![AmfEventArea { presence_info: Some(area) }]);
            Ok(event)
        };
        let mut both = subscription(event(0)?);
        both.subscription.event_list.push(event(1)?);
        amf.create_subscription(both).await.map_err(wrong)?;
        let expected = |first: PresenceState, second: PresenceState| {
            BTreeMap::from([("0".to_string(), first), ("1".to_string(), second)])
        };
        let states = two_states(&mut reports).await?;
        ensure!(
            states == expected(PresenceState::OutOfArea, PresenceState::InArea),
            "the current states are not reported: {states:?}"
        );
        ue.handover_to(&one).await?;
        let states = two_states(&mut reports).await?;
        ensure!(
            states == expected(PresenceState::InArea, PresenceState::OutOfArea),
            "not the changes alone: {states:?}"
        );
        core.sbi_record.check(&["namf-evts CreateSubscription"]).await?;
        ue.deregister().await?;
        Ok(())
    });
}
