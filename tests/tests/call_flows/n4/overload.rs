//! More PFCP messages than a UPF can handle.
use crate::bystander::Witness;
use crate::n4::malformed::{STRANGER, UPF};
use crate::security::five_g_aka::octets;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_pfcp::Packet;
use martlet_pfcp::ie::RecoveryTimeStamp;
use martlet_pfcp::*;
use martlet_tests::{TestCore, in_namespace};
use tokio::net::UdpSocket;

/// PFCP of a stranger, as fast as it comes.
#[test]
fn pfcp_flood_disturbs_no_session() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let witness = Witness::at(&core).await?;
        let stranger = UdpSocket::bind((STRANGER, 8805)).await?;
        let (mut sent, mut answers) = (0, 0);
        let mut buffer = [0; 4096];
        for round in 0..20_u32 {
            for n in 0..250 {
                let sequence = round * 1000 + n;
                let octets = match n % 3 {
                    0 => {
                        Packet::node(sequence, HeartbeatRequest { recovery: RecoveryTimeStamp(1) })
                            .encode()
                    }
                    // A session of nobody, and none of PFCP.
                    1 => crate::n4::malformed::raw(54, Some(u64::from(sequence)), sequence, &[]),
                    _ => vec![0x20; 30],
                };
                if stranger.send_to(&octets, UPF).await.is_ok() {
                    sent += 1;
                }
            }
            witness.is_untouched().await?;
            while stranger.try_recv(&mut buffer).is_ok() {
                answers += 1;
            }
        }
        ensure!(sent > 4000 && answers > 0, "{sent} sent, {answers} answers");
        witness.and_all_is_well().await
    });
}
