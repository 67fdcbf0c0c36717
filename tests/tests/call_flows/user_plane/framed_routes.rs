//! Framed routes (TS 23.501, 5.6.14).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_tests::{TestCore, in_namespace, run, without_switch};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

#[test]
fn framed_route_reaches_the_network_behind_the_ue() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |config| without_switch(&mut config.upf)).await?;
        core.subscribe(1, |subscriber| {
            subscriber.slices[0].dnns[0].framed_routes = vec!["10.60.0.0/24".into()];
        })?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let (other, own) = core.ue_with_session(&gnb, 2).await?;
        // A packet to a host in the framed network reaches the UE.
        let socket = UdpSocket::bind("10.45.0.1:5353")?;
        socket.set_read_timeout(Some(Duration::from_secs(30)))?;
        socket.send_to(b"hello", "10.60.0.7:7")?;
        let (_, packet) = ue.recv_ip().await?;
        ensure!(packet[16..20] == [10, 60, 0, 7], "{packet:02x?}");
        // The UE may send with a source in that network; other UEs may not.
        let echo = martlet_tests::ping(Ipv4Addr::new(10, 60, 0, 7), own, 1);
        other.send_ip(1, echo.clone()).await?;
        ue.send_ip(1, martlet_tests::ping(Ipv4Addr::new(10, 60, 0, 7), own, 2)).await?;
        let (_, packet) = other.recv_ip().await?;
        ensure!(packet[12..16] == [10, 60, 0, 7] && packet[26..28] == [0, 2], "{packet:02x?}");
        core.sbi_record.check(&["nudm-sdm GetSmData"]).await?;
        let requests = core.sbi_record.requests("npcf-smpolicycontrol CreateSMPolicy");
        let routes = requests.iter().map(|(_, body)| &body["ipv4FrameRouteList"]);
        let routed = routes.filter(|routes| **routes == serde_json::json!(["10.60.0.0/24"]));
        ensure!(routed.count() == 1, "{requests:?}");
        // The route is removed with the session.
        ue.deregister().await?;
        core.until("one session is left", |counts| counts.sessions == 1).await?;
        let routes = run("ip", &["route", "show", "10.60.0.0/24"]).await?;
        ensure!(routes.trim().is_empty(), "{routes}");
        other.deregister().await?;
        core.until_all_released().await
    });
}
