//! PDU session establishment (TS 23.502, 4.3.2.2; TS 24.501, 6.4.1).
use anyhow::{Context, ensure};
use martlet::core::Sbi;
use martlet_nas::PduSessionTypeValue;
use martlet_ran::gnb::UeEvent;
use martlet_ran::ue::{Event, PduSessionRequest, SessionCause};
use martlet_store::{SessionType, SubscribedDnn};
use martlet_tests::{
    GATEWAY, TestCore, configure6, in_namespace, internet, ping6, reaches, reaches6,
};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

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

/// A UE with a dynamic address that is another subscriber's static one establishes its session
/// again, when that subscriber comes.
#[test]
fn static_address_that_another_session_has_is_reclaimed() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.smf.dnns[0].static_pool = "10.45.255.0/24".into();
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (one, first) = core.ue_with_session(&gnb, 1).await?;
        core.subscribe(2, |subscriber| {
            subscriber.slices[0].dnns =
                vec![SubscribedDnn { static_ipv4: Some(first), ..SubscribedDnn::new("internet") }];
        })?;
        let mut events = one.subscribe().await?;
        let (two, of_two) = core.ue_with_session(&gnb, 2).await?;
        ensure!(of_two == first, "{of_two} is not the static address {first}");
        let released = async {
            loop {
                if let UeEvent::Nas(Event::SessionReleased { psi: 1, cause }) =
                    events.recv().await?
                {
                    return Ok::<_, anyhow::Error>(cause);
                }
            }
        };
        let cause = tokio::time::timeout(Duration::from_secs(10), released)
            .await
            .context("the UE receives no release")??;
        ensure!(cause == SessionCause::Sm(39), "expected #39, reactivation requested: {cause:?}");
        core.until("its session is released", |counts| counts.sessions == 1).await?;
        reaches(&two, 1, GATEWAY).await?;
        let again = one.establish_pdu_session(internet()).await?;
        let again_address = again.ipv4.context("no IPv4 address")?;
        ensure!(again_address != first, "{again_address} is the static address");
        reaches(&one, again.psi, GATEWAY).await?;
        // A static address is not taken from its owner.
        core.subscribe(3, |subscriber| {
            subscriber.slices[0].dnns =
                vec![SubscribedDnn { static_ipv4: Some(first), ..SubscribedDnn::new("internet") }];
        })?;
        let three = gnb.new_ue(core.ue_config(3))?;
        three.register().await?;
        let refused = three.establish_pdu_session(internet()).await.err();
        ensure!(refused.is_some_and(|e| e.cause() == Some(26)), "the static address is in use");
        reaches(&two, 1, GATEWAY).await?;
        for ue in [&one, &two, &three] {
            ue.deregister().await?;
        }
        core.until_all_released().await
    });
}

/// A dynamic prefix is reclaimed also from a session that has a static IPv4 address.
#[test]
fn dynamic_prefix_beside_a_static_address_is_reclaimed() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let dual = || SubscribedDnn {
            session_types: vec![SessionType::Ipv4v6, SessionType::Ipv6],
            ..SubscribedDnn::new("internet")
        };
        let fixed = Ipv4Addr::new(10, 45, 7, 7);
        core.subscribe(1, |subscriber| {
            subscriber.slices[0].dnns = vec![SubscribedDnn { static_ipv4: Some(fixed), ..dual() }];
        })?;
        let gnb = core.gnb(1).await?;
        let (one, two) = (gnb.new_ue(core.ue_config(1))?, gnb.new_ue(core.ue_config(2))?);
        one.register().await?;
        let first = one.establish_pdu_session(session_of_type(PduSessionTypeValue::Ipv4v6)).await?;
        ensure!(first.ipv4 == Some(fixed), "{first:?}");
        let address = configure6(&one, 1).await?;
        let prefix = Ipv6Addr::from(address.to_bits() & (u128::MAX << 64));
        core.subscribe(2, |subscriber| {
            subscriber.slices[0].dnns = vec![SubscribedDnn { static_ipv6: Some(prefix), ..dual() }];
        })?;
        two.register().await?;
        two.establish_pdu_session(session_of_type(PduSessionTypeValue::Ipv6)).await?;
        let of_two = configure6(&two, 1).await?;
        ensure!(of_two.segments()[..4] == prefix.segments()[..4], "{of_two} is not in {prefix}/64");
        core.until("the other session is released", |counts| counts.sessions == 1).await?;
        for ue in [&one, &two] {
            ue.deregister().await?;
        }
        core.until_all_released().await
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
