//! GTP-U error indication of a gNB (TS 23.527, 5.3.2; TS 29.281, 7.3.1).
use crate::connection::paging::{receives, send};
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_tests::{GATEWAY, TestCore, in_namespace, reaches};

#[test]
fn gtpu_error_indication_sets_the_tunnel_up_again() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (one, from) = core.ue_with_session(&gnb, 1).await?;
        let (two, to) = core.ue_with_session(&gnb, 2).await?;
        reaches(&two, 1, GATEWAY).await?;
        let tunnels = || -> Vec<String> {
            let status = core.status("upf");
            let sessions = status["sessions"].as_array().into_iter().flatten();
            let of_two = sessions.filter(|session| session["ue"][0] == to.to_string());
            of_two
                .map(|session| session["remote"][0].as_str().unwrap_or_default().to_owned())
                .collect()
        };
        let before = tunnels();
        let teid = before[0].trim_start_matches("0x").split('@').next().unwrap_or_default();
        let teid = u32::from_str_radix(teid, 16)?;
        // An Error Indication of the gNB (TS 29.281, 7.3.1).
        let address = core.gnb_config(1).n3.expect("the gNB has an address");
        let socket = tokio::net::UdpSocket::bind((address, 0)).await?;
        socket
            .send_to(&martlet_gtpu::error_indication(teid, address), core.config().upf.n3.address)
            .await?;
        let buffers = || {
            let status = core.status("upf");
            status["sessions"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|session| session["buffers"] == true)
                .then_some(())
        };
        martlet_tests::eventually("downlink is buffered", buffers, || {
            core.status("upf").to_string()
        })
        .await?;
        // Packets are buffered until the gNB has set the session up again.
        send(&one, from, to, 1..=3).await?;
        receives(&two, 1..=3).await?;
        ensure!(tunnels() != before, "the tunnel is unchanged: {:?}", tunnels());
        reaches(&two, 1, GATEWAY).await?;
        core.sbi_record.check(&["namf-comm N1N2MessageTransfer"]).await
    });
}
