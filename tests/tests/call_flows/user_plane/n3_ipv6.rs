//! N3 over IPv6, alone and beside IPv4 (TS 38.414, 5.1; TS 29.281, 4.4.1).
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_ran::{Gnb, Ue};
use martlet_tests::{GATEWAY, TestCore, in_namespace, ping, reaches, run, switch_datapath};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

const fn end(n: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd70, 0, 0, 0, 0, 0, 0, n)
}

const UPF: Ipv6Addr = end(8);

/// Gives this machine the addresses of all ends. With a switch its wires have them.
async fn addresses() {
    if switch_datapath() {
        return;
    }
    for address in [UPF, end(1), end(2)] {
        run("ip", &["-6", "addr", "add", &format!("{address}/128"), "dev", "lo", "nodad"])
            .await
            .expect("an address");
    }
}

async fn gnb(core: &TestCore, number: u8, n3: Option<IpAddr>) -> Result<Gnb> {
    let mut config = core.gnb_config(number);
    config.n3 = n3.or(config.n3);
    Ok(Gnb::connect(config).await?)
}

/// A UE that is idle is paged for a packet of another one, and gets it.
async fn is_paged(core: &TestCore, ue: (&Ue, Ipv4Addr), by: (&Ue, Ipv4Addr)) -> Result<()> {
    ue.0.release_to_idle().await?;
    core.until("one UE is in CM-IDLE", |counts| counts.connected == 1).await?;
    by.0.send_ip(1, ping(by.1, ue.1, 7)).await?;
    let received = async {
        loop {
            let (_, packet) = ue.0.recv_ip().await?;
            if packet.get(12..16) == Some(&by.1.octets()) {
                return anyhow::Ok(());
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), received)
        .await
        .context("the packet that waited")?
}

#[test]
fn ipv6_only_gnbs_are_served() {
    in_namespace(|| async {
        addresses().await;
        let core =
            TestCore::start(Sbi::Http, |config| config.upf.n3.address = (UPF, 2152).into()).await?;
        let (one, other) =
            (gnb(&core, 1, Some(end(1).into())).await?, gnb(&core, 2, Some(end(2).into())).await?);
        let (ue, address) = core.ue_with_session(&one, 1).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.handover_to(&other).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.xn_handover_to(&one).await?;
        reaches(&ue, 1, GATEWAY).await?;
        let (second, of_second) = core.ue_with_session(&other, 2).await?;
        is_paged(&core, (&ue, address), (&second, of_second)).await?;
        ensure!(
            one.error_indications() == 0 && other.error_indications() == 0,
            "a gNB received an ERROR INDICATION"
        );
        ue.deregister().await?;
        second.deregister().await?;
        core.until_all_released().await
    });
}

#[test]
fn one_upf_serves_ipv4_and_ipv6_gnbs() {
    in_namespace(|| async {
        addresses().await;
        let core = TestCore::start(Sbi::Http, |config| config.upf.n3.address6 = Some(UPF)).await?;
        let (one, other) = (gnb(&core, 1, None).await?, gnb(&core, 2, Some(end(2).into())).await?);
        let (ue, address) = core.ue_with_session(&one, 1).await?;
        let (second, of_second) = core.ue_with_session(&other, 2).await?;
        reaches(&ue, 1, GATEWAY).await?;
        reaches(&second, 1, GATEWAY).await?;
        is_paged(&core, (&ue, address), (&second, of_second)).await?;
        is_paged(&core, (&second, of_second), (&ue, address)).await?;
        // From a gNB of the one version to a gNB of the other: what is forwarded goes through the
        // UPF.
        for to in [&other, &one, &other] {
            ue.handover_to(to).await?;
            reaches(&ue, 1, GATEWAY).await?;
        }
        ensure!(
            one.error_indications() == 0 && other.error_indications() == 0,
            "a gNB received an ERROR INDICATION"
        );
        ue.deregister().await?;
        second.deregister().await?;
        core.until_all_released().await
    });
}
