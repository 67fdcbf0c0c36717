//! PDU session establishment (TS 23.502, 4.3.2.2; TS 24.501, 6.4.1).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_nas::PduSessionTypeValue;
use martlet_ran::ue::PduSessionRequest;
use martlet_store::{SessionType, SubscribedDnn};
use martlet_tests::{
    GATEWAY, TestCore, configure6, in_namespace, internet, ping6, reaches, reaches6,
};
use std::net::{Ipv4Addr, Ipv6Addr};

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

/// The name of a data network is the same in upper and lower case (TS 23.003, 9.1).
#[test]
fn a_data_network_in_another_case_is_served() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let ue = gnb.new_ue(core.ue_config(1))?;
        ue.register().await?;
        let request = PduSessionRequest { dnn: Some("Internet".into()), ..internet() };
        let session = ue.establish_pdu_session(request).await?;
        reaches(&ue, session.psi, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
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
