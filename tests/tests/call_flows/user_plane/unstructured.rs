//! Unstructured sessions (TS 23.501, 5.6.10.3).
use crate::user_plane::ethernet::{of, subscribed};
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_nas::PduSessionTypeValue;
use martlet_store::SessionType;
use martlet_tests::{TestCore, in_namespace, without_switch};
use std::net::{SocketAddrV6, UdpSocket};
use std::time::Duration;

#[test]
fn unstructured_data_is_exchanged_with_the_server() {
    in_namespace(|| async {
        let server: SocketAddrV6 = "[fd45::1]:4000".parse()?;
        let core = TestCore::start(Sbi::Http, |config| {
            without_switch(&mut config.upf);
            config.smf.dnns[0].unstructured = Some(server);
        })
        .await?;
        for n in [1, 2] {
            let dnns =
                vec![subscribed("internet", vec![SessionType::Ipv4, SessionType::Unstructured])];
            core.subscribe(n, |subscriber| subscriber.slices[0].dnns = dnns)?;
        }
        let socket = UdpSocket::bind(server)?;
        socket.set_read_timeout(Some(Duration::from_secs(30)))?;
        let gnb = core.gnb(1).await?;
        let (one, two) = (gnb.new_ue(core.ue_config(1))?, gnb.new_ue(core.ue_config(2))?);
        for ue in [&one, &two] {
            ue.register().await?;
            let session =
                ue.establish_pdu_session(of("internet", PduSessionTypeValue::Unstructured)).await?;
            ensure!(
                session.kind == PduSessionTypeValue::Unstructured
                    && session.ipv6_interface_id.is_none(),
                "{session:?}"
            );
        }
        core.sbi_record.check(&["nsmf-pdusession PostSmContexts"]).await?;
        one.send_ip(1, &b"21.5 degrees"[..]).await?;
        let mut buffer = [0; 64];
        let (length, from) = socket.recv_from(&mut buffer)?;
        ensure!(&buffer[..length] == b"21.5 degrees", "{:02x?}", &buffer[..length]);
        // Datagrams of other peers and from other ports are dropped.
        let other_host = UdpSocket::bind("[fd45::1]:4001")?;
        other_host.send_to(b"boo", from)?;
        socket.send_to(b"thank you", from)?;
        let (_, answer) = one.recv_ip().await?;
        ensure!(&answer[..] == b"thank you", "{answer:02x?}");
        // Each UE has its own address; data page an idle UE.
        two.send_ip(1, &b"x"[..]).await?;
        let (_, other) = socket.recv_from(&mut buffer)?;
        ensure!(other != from, "both UEs have the address {other}");
        one.release_to_idle().await?;
        core.until("one UE is in CM-IDLE", |counts| counts.connected == 1).await?;
        socket.send_to(b"are you there?", from)?;
        let (_, question) = one.recv_ip().await?;
        ensure!(&question[..] == b"are you there?", "{question:02x?}");
        one.deregister().await?;
        two.deregister().await?;
        core.until_all_released().await
    });
}
