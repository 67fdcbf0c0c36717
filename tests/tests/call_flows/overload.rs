//! More than a core takes on: it is shed, with the word to come back later, and who is served goes
//! on.
use crate::bystander::Witness;
use crate::n4::malformed::{STRANGER, UPF};
use crate::security::five_g_aka::octets;
use crate::security::scas::peer;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_amf::Limit;
use martlet_pfcp::Packet;
use martlet_pfcp::ie::RecoveryTimeStamp;
use martlet_pfcp::*;
use martlet_sbi_api::nudm_sdm::{AmDataQuery, UdmSubscriberDataManagementClient};
use martlet_tests::{Growth, RawGnb, TestCore, in_namespace};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::net::UdpSocket;

/// REGISTRATION REQUESTs beyond those that may be at work and wait: each is answered, those beyond
/// with #22 and T3346.
#[test]
fn of_many_registrations_some_are_told_to_come_back_and_the_served_go_on() {
    const MANY: u32 = 300;
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.concurrency.registration = Limit::Fixed(8);
            config.amf.concurrency.queue = 40;
            config.amf.concurrency.patience_ms = 5000;
            config.amf.timers.t3560_ms = 1000;
            config.amf.timers.nas_attempts = 1;
        })
        .await?;
        let witness = Witness::at(&core).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        for ran_id in 1..=MANY {
            // Of a subscriber each, by SUCI with the null scheme.
            let digits: Vec<u8> =
                format!("{ran_id:010}").bytes().map(|digit| digit - b'0').collect();
            let mut request = octets("7e004179000d0100f1100000000000000000102e04f0f0f0f0");
            for (at, pair) in digits.chunks(2).enumerate() {
                request[14 + at] = pair[0] | pair[1] << 4;
            }
            gnb.send(gnb.initial(ran_id, &request)).await?;
        }
        witness.is_untouched().await?;
        let mut answered = BTreeMap::new();
        while answered.len() < MANY as usize {
            let (amf_id, nas) = gnb.next_nas().await?;
            answered.entry(amf_id).or_insert(nas);
        }
        // REGISTRATION REJECT with #22 and T3346 (0x5f, one octet).
        let told = answered
            .values()
            .filter(|nas| nas.starts_with(&[0x7e, 0x00, 0x44, 22, 0x5f, 1]))
            .count();
        ensure!(told > 100 && told < MANY as usize, "{told} of {MANY} were told to come back");
        let others = answered.values().filter(|nas| !nas.starts_with(&[0x7e, 0x00, 0x44, 22]));
        let served =
            others.filter(|nas| nas[2] == 0x56 || nas.starts_with(&[0x7e, 0x00, 0x44, 3])).count();
        ensure!(served + told == MANY as usize, "{served} were challenged, or are of nobody");
        witness.and_all_is_well().await
    });
}

/// PFCP of a stranger, as fast as it comes.
#[test]
fn a_flood_of_pfcp_disturbs_no_session() {
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

/// Requests to one function beyond those that it answers at a time: 503 with Retry-After.
#[test]
fn of_many_requests_some_are_told_to_come_back_and_the_served_go_on() {
    const MANY: usize = 400;
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| config.sbi.max_requests = 40).await?;
        let witness = Witness::at(&core).await?;
        let shed = Growth::of("martlet_sbi_http_refused_total", &[("reason", "too many requests")]);
        let udm = UdmSubscriberDataManagementClient::new(peer(12)?);
        let asked: Vec<_> = (0..MANY)
            .map(|_| {
                let udm = udm.clone();
                tokio::spawn(async move {
                    udm.get_am_data("imsi-001010000000001", AmDataQuery::default()).await
                })
            })
            .collect();
        witness.is_untouched().await?;
        let (mut served, mut told) = (0, 0);
        for asked in asked {
            match asked.await? {
                Ok(_) => served += 1,
                Err(problem) if problem.status() == 503 => {
                    // Of the UDM itself, or of the UDR behind it.
                    ensure!(problem.cause() == "NF_CONGESTION", "{problem}");
                    told += usize::from(problem.retry_after == Some(1));
                }
                Err(problem) => anyhow::bail!("{problem}"),
            }
        }
        ensure!(served >= 40 && told > 0, "{served} were answered, {told} told to come back");
        ensure!(shed.so_far() >= 1.0, "they are counted");
        tokio::time::sleep(Duration::from_millis(50)).await;
        witness.and_all_is_well().await
    });
}
