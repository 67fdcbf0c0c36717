//! Kinds of PDU sessions, their QoS flows, and changes of them while they are there (TS 23.501, 5.6
//! to 5.8; TS 23.502, 4.3.3).
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_nas::PduSessionTypeValue;
use martlet_pcf::FlowConfig;
use martlet_ran::Ue;
use martlet_ran::ue::{PduSession, PduSessionRequest, ServicePurpose};
use martlet_smf::DnnConfig;
use martlet_store::{SessionType, SubscribedDnn, SubscribedSlice};
use martlet_tests::{
    GATEWAY, TestCore, configure6, eventually, in_namespace, internet, ping, ping6, reaches,
    reaches6, without_a_switch,
};
use std::net::Ipv6Addr;
use std::time::Duration;

/// The UPF's own address on N6.
const GATEWAY6: Ipv6Addr = Ipv6Addr::new(0xfd45, 0, 0, 0, 0, 0, 0, 1);

fn of_type(session_type: PduSessionTypeValue) -> PduSessionRequest {
    PduSessionRequest { session_type, ..internet() }
}

async fn session(phone: &Ue, psi: u8) -> Result<PduSession> {
    let status = phone.status().await?;
    status.sessions.into_iter().find(|session| session.psi == psi).context("the session is there")
}

/// Waits until a phone's session is as wanted.
async fn until(
    phone: &Ue,
    psi: u8,
    what: &str,
    is: impl Fn(&PduSession) -> bool,
) -> Result<PduSession> {
    let give_up = tokio::time::Instant::now() + Duration::from_secs(10);
    loop {
        let now = session(phone, psi).await?;
        if is(&now) {
            return Ok(now);
        }
        ensure!(tokio::time::Instant::now() < give_up, "{what}: {now:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[test]
fn a_phone_gets_a_prefix_and_reaches_the_network_and_others_over_ipv6() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let own: Ipv6Addr = "fd45:0:0:77::".parse()?;
        for n in [1, 2] {
            core.subscribe(n, |subscriber| {
                let session_types = vec![SessionType::Ipv4v6, SessionType::Ipv6, SessionType::Ipv4];
                let static_ipv6 = (n == 2).then_some(own);
                subscriber.slices[0].dnns = vec![SubscribedDnn {
                    session_types,
                    static_ipv6,
                    ..SubscribedDnn::new("internet")
                }];
            })?;
        }
        let gnb = core.gnb(1).await?;
        let (one, two) = (gnb.new_ue(core.phone(1))?, gnb.new_ue(core.phone(2))?);
        for phone in [&one, &two] {
            phone.register().await?;
        }
        let v6 = one.establish_pdu_session(of_type(PduSessionTypeValue::Ipv6)).await?;
        ensure!(v6.ipv4.is_none() && v6.ipv6_interface_id.is_some(), "{v6:?}");
        let dual = two.establish_pdu_session(of_type(PduSessionTypeValue::Ipv4v6)).await?;
        ensure!(
            dual.ipv4.is_some() && dual.ipv6_interface_id.is_some() && dual.cause.is_none(),
            "{dual:?}"
        );
        core.bodies
            .check(&["nsmf-pdusession PostSmContexts", "npcf-smpolicycontrol CreateSMPolicy"])
            .await?;
        reaches(&two, 1, GATEWAY).await?;
        let (from, to) = (configure6(&one, 1).await?, configure6(&two, 1).await?);
        ensure!(
            to.segments()[..4] == own.segments()[..4],
            "the prefix is the subscriber's own: {to}"
        );
        ensure!(from.segments()[..4] != to.segments()[..4], "{from} and {to}");
        one.send_ip(1, ping6(from, to, 1)).await?;
        let (psi, packet) = two.recv_ip().await?;
        ensure!(psi == 1 && packet[8..24] == from.octets(), "{packet:02x?}");
        // A prefix that the phone does not have goes nowhere.
        one.send_ip(1, ping6("fd45::99:0:0:0:1".parse()?, to, 2)).await?;
        reaches6(&one, 1, from, GATEWAY6).await?;
        // Idle, it is paged for IPv6 as for IPv4.
        two.release_to_idle().await?;
        core.until("one phone is idle", |counts| counts.connected == 1).await?;
        one.send_ip(1, ping6(from, to, 3)).await?;
        let (_, packet) = two.recv_ip().await?;
        ensure!(packet[46..48] == [0, 3], "{packet:02x?}");
        one.deregister().await?;
        two.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn a_phone_is_told_why_it_does_not_get_the_type_that_it_asked_for() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let phone = gnb.new_ue(core.phone(1))?;
        phone.register().await?;
        // The subscription has IPv4 alone.
        let lesser = phone.establish_pdu_session(of_type(PduSessionTypeValue::Ipv4v6)).await?;
        ensure!(lesser.ipv4.is_some() && lesser.cause == Some(50), "{lesser:?}");
        let refused = phone.establish_pdu_session(of_type(PduSessionTypeValue::Ipv6)).await;
        ensure!(refused.as_ref().is_err_and(|error| error.cause() == Some(50)), "{refused:?}");
        let refused = phone.establish_pdu_session(of_type(PduSessionTypeValue::Ethernet)).await;
        ensure!(refused.as_ref().is_err_and(|error| error.cause() == Some(28)), "{refused:?}");
        Ok(())
    });
}

#[test]
fn sessions_of_several_slices_and_data_networks_are_apart() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            // The wires of a switch know the way to one data network's phones alone.
            without_a_switch(&mut config.upf);
            let slices = vec![
                martlet_sbi_api::common::Snssai::new(1, None),
                martlet_sbi_api::common::Snssai::new(2, Some(7)),
            ];
            config.network.slices = slices.clone();
            config.nssf.slices = slices.clone();
            config.amf.plmns[0].slices = slices;
            config.smf.slices.push(martlet_smf::SliceConfig { sst: 2, sd: Some(7) });
            config.smf.dnns.push(DnnConfig {
                name: "ims".into(),
                pool: "10.46.0.0/24".into(),
                pcscf: vec!["10.46.0.1".parse().expect("an address")],
                always_on: true,
                ..DnnConfig::default()
            });
        })
        .await?;
        core.subscribe(1, |subscriber| {
            subscriber.slices.push(SubscribedSlice {
                sst: 2,
                sd: Some(7),
                default: false,
                dnns: vec![SubscribedDnn::new("ims")],
            });
        })?;
        let mut config = core.gnb_config(1);
        config.slices.push(martlet_ran::ue::Slice { sst: 2, sd: Some([0, 0, 7]) });
        let gnb = martlet_ran::Gnb::connect(config).await?;
        let mut config = core.phone(1);
        config.requested_nssai = vec![
            martlet_ran::ue::Slice { sst: 1, sd: None },
            martlet_ran::ue::Slice { sst: 2, sd: Some([0, 0, 7]) },
        ];
        let phone = gnb.new_ue(config)?;
        phone.register().await?;
        let web = phone.establish_pdu_session(internet()).await?;
        let slice = Some(martlet_ran::ue::Slice { sst: 2, sd: Some([0, 0, 7]) });
        let request =
            PduSessionRequest { dnn: Some("ims".into()), slice, ..PduSessionRequest::default() };
        let voice = phone.establish_pdu_session(request).await?;
        let (of_web, of_voice) = (web.ipv4.context("IPv4")?, voice.ipv4.context("IPv4")?);
        ensure!(of_web.octets()[1] == 45 && of_voice.octets()[1] == 46, "{of_web} and {of_voice}");
        ensure!(
            voice.always_on && !web.always_on,
            "sessions with the data network ims are always on"
        );
        reaches(&phone, web.psi, GATEWAY).await?;
        // Between the two, by way of the UPF.
        phone.send_ip(web.psi, ping(of_web, of_voice, 5)).await?;
        // An answer to what was asked twice may come late.
        let psi = loop {
            let (psi, packet) = phone.recv_ip().await?;
            if packet.get(12..16) == Some(&of_web.octets()) || packet.get(20) != Some(&0) {
                ensure!(
                    packet.get(16..20) == Some(&of_voice.octets()),
                    "another packet: {packet:02x?}"
                );
                break psi;
            }
        };
        ensure!(psi == voice.psi, "it comes in the other session");
        // A data network that the slice does not have.
        let request = PduSessionRequest {
            dnn: Some("ims".into()),
            slice: Some(martlet_ran::ue::Slice { sst: 1, sd: None }),
            ..PduSessionRequest::default()
        };
        ensure!(
            phone.establish_pdu_session(request).await.is_err(),
            "ims is not subscribed in slice 1"
        );
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

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
fn dedicated_flows_come_with_the_session_and_change_with_the_policy() {
    in_namespace(|| async {
        let (supi, video) = ("imsi-001010000000001", "permit out 6 from any 443 to assigned");
        let core =
            TestCore::start(Sbi::Http, |config| config.pcf.flows = vec![voice(supi)]).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        let (other, _) = core.phone_with_session(&gnb, 2).await?;
        let now = session(&phone, 1).await?;
        ensure!(
            (now.flows.as_slice(), now.rules.as_slice())
                == (&[(1, 9), (2, 1)][..], &[(1, 1), (2, 2)][..]),
            "{now:?}"
        );
        ensure!(session(&other, 1).await?.flows == [(1, 9)], "the flow is one subscriber's");
        reaches(&phone, 1, GATEWAY).await?;

        // The policy changes: another flow, without a guarantee, beside the first.
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
            until(&phone, 1, "the phone has three flows", |session| session.flows.len() == 3)
                .await?;
        ensure!(
            both.flows == [(1, 9), (2, 1), (3, 7)] && both.rules == [(1, 1), (2, 2), (3, 3)],
            "{both:?}"
        );
        until(&other, 1, "the other one has two", |session| session.flows == [(1, 9), (2, 7)])
            .await?;
        reaches(&phone, 1, GATEWAY).await?;
        // They outlive idleness.
        phone.release_to_idle().await?;
        phone.service_request_for(ServicePurpose::Data, &[1]).await?;
        reaches(&phone, 1, GATEWAY).await?;

        // The first goes, also for an idle phone, which is paged for it.
        other.release_to_idle().await?;
        core.until("one phone is idle", |counts| counts.connected == 1).await?;
        policy.flows.clear();
        core.reload("pcf", policy)?;
        until(&phone, 1, "the flows are gone", |session| {
            session.flows == [(1, 9)] && session.rules == [(1, 1)]
        })
        .await?;
        until(&other, 1, "the flow is gone", |session| session.flows == [(1, 9)]).await?;
        reaches(&phone, 1, GATEWAY).await?;
        core.bodies.check(&["nsmf-callback SmPolicyUpdateNotify"]).await
    });
}

#[test]
fn a_change_of_the_subscription_takes_effect_while_the_phone_is_registered() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        let before = session(&phone, 1).await?;
        ensure!(before.ambr_kbps == Some((1_000_000, 1_000_000)), "{before:?}");
        core.subscribe(1, |subscriber| {
            let dnn = &mut subscriber.slices[0].dnns[0];
            (dnn.ambr_downlink, dnn.ambr_uplink, dnn.five_qi) =
                ("20 Mbps".into(), "5 Mbps".into(), 6);
        })?;
        let now = until(&phone, 1, "the phone has its new bit rate", |now| {
            now.ambr_kbps == Some((20_000, 5_000))
        })
        .await?;
        ensure!(now.flows == [(1, 6)], "{now:?}");
        reaches(&phone, 1, GATEWAY).await?;
        // The data network goes, and with it the session.
        core.subscribe(1, |subscriber| {
            subscriber.slices[0].dnns = vec![SubscribedDnn::new("other")]
        })?;
        core.until("the session is gone", |counts| (counts.sessions, counts.addresses) == (0, 0))
            .await?;
        // The subscriber goes, and with it the registration.
        core.unsubscribe(1)?;
        let gone = || (core.status("amf")["ues"]["registered"] == 0).then_some(());
        eventually("the phone is deregistered", gone, || core.status("amf").to_string()).await?;
        core.bodies
            .check(&["nudr-data-callback DataChangeNotify", "namf-callback SdmChangeNotify"])
            .await
    });
}
