//! PDU session establishment, the part of the AMF (TS 23.502, 4.3.2.2.1; TS 24.501, 5.4.5.2).
use crate::registration::rejection::{mm, refused};
use anyhow::{Context, ensure};
use martlet::core::Sbi;
use martlet_ran::ue::PduSessionRequest;
use martlet_smf::DnnConfig;
use martlet_store::{SubscribedDnn, SubscribedSlice};
use martlet_tests::{GATEWAY, TestCore, in_namespace, internet, ping, reaches, without_switch};

#[test]
fn unsubscribed_and_unknown_data_networks_are_rejected() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        core.subscribe(2, |subscriber| {
            let other = SubscribedDnn { default: false, ..SubscribedDnn::new("other") };
            subscriber.slices[0].dnns.push(other);
        })?;
        let gnb = core.gnb(1).await?;
        let (one, two) = (gnb.new_ue(core.ue_config(1))?, gnb.new_ue(core.ue_config(2))?);
        one.register().await?;
        two.register().await?;
        let other_dnn =
            || PduSessionRequest { dnn: Some("other".into()), ..PduSessionRequest::default() };
        refused(one.establish_pdu_session(other_dnn()).await, mm::DNN_NOT_SUBSCRIBED)?;
        // Subscribed, but no SMF serves the data network.
        refused(two.establish_pdu_session(other_dnn()).await, mm::PAYLOAD_NOT_FORWARDED)?;
        core.use_session_and_deregister(&one).await
    });
}

/// TS 24.501, 6.4.1.2: the request type "existing PDU session", as of a UE that comes from LTE.
#[test]
fn existing_session_is_established_again() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let existing = |psi| PduSessionRequest { psi: Some(psi), existing: true, ..internet() };
        let again = ue.establish_pdu_session(existing(1)).await?;
        ensure!(again.psi == 1 && again.ipv4.is_some(), "{again:?}");
        reaches(&ue, 1, GATEWAY).await?;
        // The network has no such session.
        refused(ue.establish_pdu_session(existing(2)).await, mm::PAYLOAD_NOT_FORWARDED)?;
        ue.deregister().await?;
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
