//! More PFCP messages than a UPF can handle.
use crate::bystander::Bystander;
use crate::n4::malformed::{ATTACKER, UPF};
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_pfcp::Packet;
use martlet_pfcp::ie::RecoveryTimeStamp;
use martlet_pfcp::*;
use martlet_tests::{TestCore, in_namespace};
use tokio::net::UdpSocket;

/// An unknown peer sends PFCP messages as fast as possible.
#[test]
fn pfcp_flood_disturbs_no_session() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, crate::n4::malformed::allow_all).await?;
        let bystander = Bystander::at(&core).await?;
        let attacker = UdpSocket::bind((ATTACKER, 8805)).await?;
        let (mut sent, mut answers) = (0, 0);
        let mut buffer = [0; 4096];
        for round in 0..20_u32 {
            for n in 0..250 {
                let sequence = round * 1000 + n;
                let bytes = match n % 3 {
                    0 => {
                        Packet::node(sequence, HeartbeatRequest { recovery: RecoveryTimeStamp(1) })
                            .encode()
                    }
                    // A request for an unknown session, and bytes that are not PFCP.
                    1 => crate::n4::malformed::raw(54, Some(u64::from(sequence)), sequence, &[]),
                    _ => vec![0x20; 30],
                };
                if attacker.send_to(&bytes, UPF).await.is_ok() {
                    sent += 1;
                }
            }
            bystander.expect_undisturbed().await?;
            while attacker.try_recv(&mut buffer).is_ok() {
                answers += 1;
            }
        }
        ensure!(sent > 4000 && answers > 0, "{sent} sent, {answers} answers");
        bystander.expect_core_works().await
    });
}
