//! PDU session establishment (TS 23.502, 4.3.2.2; TS 24.501, 6.4.1).
use anyhow::{Context, ensure};
use martlet::core::Sbi;
use martlet_nas::PduSessionTypeValue;
use martlet_ran::ue::PduSessionRequest;
use martlet_smf::DnnConfig;
use martlet_store::{SessionType, SubscribedDnn, SubscribedSlice};
use martlet_tests::{
    GATEWAY, TestCore, configure6, in_namespace, internet, ping, ping6, reaches, reaches6,
    without_switch,
};
use std::net::{Ipv4Addr, Ipv6Addr};

#[test]
fn fifteen_sessions_are_established_and_reactivated() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let ue = gnb.new_ue(core.ue_config(1))?;
        ue.register().await?;
        for psi in 1..=15 {
            let session = ue.establish_pdu_session(internet()).await?;
            ensure!(session.psi == psi, "{session:?}");
            reaches(&ue, psi, GATEWAY).await?;
        }
        // All sessions are kept in CM-IDLE and activated again.
        ue.release_to_idle().await?;
        ue.service_request_for(martlet_ran::ServicePurpose::Data, &(1..=15).collect::<Vec<_>>())
            .await?;
        for psi in 1..=15 {
            reaches(&ue, psi, GATEWAY).await?;
        }
        ue.deregister().await?;
        core.until_all_released().await
    });
}

#[test]
fn static_address_is_assigned_and_foreign_sources_are_dropped() {
    in_namespace(|| async {
        let fixed = Ipv4Addr::new(10, 45, 7, 7);
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        core.subscribe(2, |subscriber| {
            subscriber.slices[0].dnns =
                vec![SubscribedDnn { static_ipv4: Some(fixed), ..SubscribedDnn::new("internet") }];
        })?;
        let gnb = core.gnb(1).await?;
        let (one, address) = core.ue_with_session(&gnb, 1).await?;
        let (two, of_two) = core.ue_with_session(&gnb, 2).await?;
        ensure!(of_two == fixed && address != fixed, "{of_two}");
        one.send_ip(1, martlet_tests::ping(address, fixed, 1)).await?;
        let (psi, packet) = two.recv_ip().await?;
        ensure!(psi == 1 && packet[12..16] == address.octets(), "{packet:02x?}");
        // Packets with a source address of another UE are dropped and counted.
        one.send_ip(1, martlet_tests::ping(Ipv4Addr::new(10, 45, 9, 9), fixed, 2)).await?;
        let counted =
            || core.status("upf")["drops"]["foreign_source"].as_u64().filter(|count| *count == 1);
        martlet_tests::eventually("the packet is dropped", counted, || {
            core.status("upf").to_string()
        })
        .await?;
        // The subscribed data network is the default.
        let session = two.establish_pdu_session(PduSessionRequest::default()).await.err();
        ensure!(session.is_some_and(|e| e.cause() == Some(26)), "the static address is in use");
        Ok(())
    });
}

/// IPv6 address of the UPF on N6.
const GATEWAY6: Ipv6Addr = Ipv6Addr::new(0xfd45, 0, 0, 0, 0, 0, 0, 1);

pub fn session_of_type(session_type: PduSessionTypeValue) -> PduSessionRequest {
    PduSessionRequest { session_type, ..internet() }
}

#[test]
fn ipv6_prefix_is_assigned_and_carries_traffic() {
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
        let (one, two) = (gnb.new_ue(core.ue_config(1))?, gnb.new_ue(core.ue_config(2))?);
        for ue in [&one, &two] {
            ue.register().await?;
        }
        let v6 = one.establish_pdu_session(session_of_type(PduSessionTypeValue::Ipv6)).await?;
        ensure!(v6.ipv4.is_none() && v6.ipv6_interface_id.is_some(), "{v6:?}");
        let dual = two.establish_pdu_session(session_of_type(PduSessionTypeValue::Ipv4v6)).await?;
        ensure!(
            dual.ipv4.is_some() && dual.ipv6_interface_id.is_some() && dual.cause.is_none(),
            "{dual:?}"
        );
        core.sbi_record
            .check(&["nsmf-pdusession PostSmContexts", "npcf-smpolicycontrol CreateSMPolicy"])
            .await?;
        reaches(&two, 1, GATEWAY).await?;
        let (from, to) = (configure6(&one, 1).await?, configure6(&two, 1).await?);
        ensure!(to.segments()[..4] == own.segments()[..4], "not the static prefix: {to}");
        ensure!(from.segments()[..4] != to.segments()[..4], "{from} and {to} have the same prefix");
        one.send_ip(1, ping6(from, to, 1)).await?;
        let (psi, packet) = two.recv_ip().await?;
        ensure!(psi == 1 && packet[8..24] == from.octets(), "{packet:02x?}");
        // Packets with another prefix as source are dropped.
        one.send_ip(1, ping6("fd45::99:0:0:0:1".parse()?, to, 2)).await?;
        reaches6(&one, 1, from, GATEWAY6).await?;
        // IPv6 packets page an idle UE.
        two.release_to_idle().await?;
        core.until("one UE is in CM-IDLE", |counts| counts.connected == 1).await?;
        one.send_ip(1, ping6(from, to, 3)).await?;
        let (_, packet) = two.recv_ip().await?;
        ensure!(packet[46..48] == [0, 3], "{packet:02x?}");
        one.deregister().await?;
        two.deregister().await?;
        core.until_all_released().await
    });
}

#[test]
fn sessions_of_several_slices_and_data_networks_are_separate() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            // `SwitchWiring` has routes for one data network only.
            without_switch(&mut config.upf);
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
        let mut config = core.ue_config(1);
        config.requested_nssai = vec![
            martlet_ran::ue::Slice { sst: 1, sd: None },
            martlet_ran::ue::Slice { sst: 2, sd: Some([0, 0, 7]) },
        ];
        let ue = gnb.new_ue(config)?;
        ue.register().await?;
        let web = ue.establish_pdu_session(internet()).await?;
        let slice = Some(martlet_ran::ue::Slice { sst: 2, sd: Some([0, 0, 7]) });
        let request =
            PduSessionRequest { dnn: Some("ims".into()), slice, ..PduSessionRequest::default() };
        let voice = ue.establish_pdu_session(request).await?;
        let (of_web, of_voice) = (web.ipv4.context("IPv4")?, voice.ipv4.context("IPv4")?);
        ensure!(of_web.octets()[1] == 45 && of_voice.octets()[1] == 46, "{of_web} and {of_voice}");
        ensure!(
            voice.always_on && !web.always_on,
            "only sessions with the data network ims are always-on"
        );
        reaches(&ue, web.psi, GATEWAY).await?;
        // From one session to the other through the UPF.
        ue.send_ip(web.psi, ping(of_web, of_voice, 5)).await?;
        // A reply to a repeated echo request may still arrive.
        let psi = loop {
            let (psi, packet) = ue.recv_ip().await?;
            if packet.get(12..16) == Some(&of_web.octets()) || packet.get(20) != Some(&0) {
                ensure!(
                    packet.get(16..20) == Some(&of_voice.octets()),
                    "unexpected packet: {packet:02x?}"
                );
                break psi;
            }
        };
        ensure!(psi == voice.psi, "the packet arrived in session {psi}");
        // The data network is not subscribed in this slice.
        let request = PduSessionRequest {
            dnn: Some("ims".into()),
            slice: Some(martlet_ran::ue::Slice { sst: 1, sd: None }),
            ..PduSessionRequest::default()
        };
        ensure!(
            ue.establish_pdu_session(request).await.is_err(),
            "ims is not subscribed in slice 1"
        );
        ue.deregister().await?;
        core.until_all_released().await
    });
}
