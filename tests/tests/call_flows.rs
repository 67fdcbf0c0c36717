//! Whole call flows: simulated gNBs and phones against a whole core, on each binding of the service-based interface.
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ran::Gnb;
use martlet_ran::ue::{OperatorKey, PduSessionRequest};
use martlet_tests::{TestCore, in_namespace};
use std::time::Duration;

fn internet() -> PduSessionRequest {
    PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() }
}

/// An ICMP echo request.
fn ping(from: [u8; 4], to: [u8; 4], sequence: u16) -> Vec<u8> {
    let mut icmp = vec![8, 0, 0, 0, 0x12, 0x34];
    icmp.extend(sequence.to_be_bytes());
    icmp.extend([0xa5; 24]);
    let checksum = |octets: &[u8]| {
        let sum: u32 = octets.chunks(2).map(|c| u32::from(u16::from_be_bytes([c[0], *c.get(1).unwrap_or(&0)]))).sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        !(((sum & 0xffff) + (sum >> 16)) as u16)
    };
    let sum = checksum(&icmp);
    icmp[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut ip = vec![0x45, 0];
    ip.extend((20 + icmp.len() as u16).to_be_bytes());
    ip.extend([0, 1, 0, 0, 64, 1, 0, 0]);
    ip.extend(from);
    ip.extend(to);
    let sum = checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    ip.extend(icmp);
    ip
}

/// The gateway of the address pool, which is the UPF's own interface on N6 and answers pings.
const GATEWAY: [u8; 4] = [10, 45, 0, 1];

/// Service operations that a phone's day takes, beginning with the start of the core.
const OF_A_DAY: &[&str] = &[
    "namf-callback SmContextStatusNotify",
    "namf-comm N1N2MessageTransfer",
    "nausf-auth Authenticate",
    "nausf-auth Confirm5gAka",
    "nnrf-disc SearchNFInstances",
    "nnrf-nfm CreateSubscription",
    "nnrf-nfm RegisterNFInstance",
    "nnssf-nsselection NSSelectionGet",
    "npcf-am-policy-control CreateIndividualAMPolicyAssociation",
    "npcf-am-policy-control DeleteIndividualAMPolicyAssociation",
    "npcf-smpolicycontrol CreateSMPolicy",
    "npcf-smpolicycontrol DeleteSMPolicy",
    "nsmf-pdusession PostSmContexts",
    "nsmf-pdusession ReleaseSmContext",
    "nsmf-pdusession UpdateSmContext",
    "nudm-sdm GetDataSets",
    "nudm-sdm GetSmData",
    "nudm-sdm Subscribe",
    "nudm-ueau ConfirmAuth",
    "nudm-ueau GenerateAuthData",
    "nudm-uecm 3GppRegistration",
    "nudm-uecm Registration",
    "nudm-uecm SmfDeregistration",
    "nudr-dr CreateAmfContext3gpp",
    "nudr-dr CreateAuthenticationStatus",
    "nudr-dr CreateOrUpdateSmfRegistration",
    "nudr-dr CreateSdmSubscriptions",
    "nudr-dr DeleteSmfRegistration",
    "nudr-dr ModifyAuthenticationSubscription",
    "nudr-dr QueryAmData",
    "nudr-dr QueryAmfContext3gpp",
    "nudr-dr QueryAuthSubsData",
    "nudr-dr QuerySmData",
    "nudr-dr QuerySmfRegistration",
    "nudr-dr QuerySmfSelectData",
    "nudr-dr ReadAccessAndMobilityPolicyData",
    "nudr-dr ReadSessionManagementPolicyData",
];

/// A phone registers, gets a session, sends traffic, goes idle, comes back, is paged, and leaves.
async fn a_phones_day(sbi: Sbi) -> Result<()> {
    let core = TestCore::start(sbi, |_| {}).await?;
    let gnb = core.gnb(1).await?;
    let phone = gnb.new_ue(core.phone(1))?;
    phone.register().await?;
    let session = phone.establish_pdu_session(internet()).await?;
    let address = session.ipv4.expect("an IPv4 session has an address").octets();

    phone.send_ip(1, ping(address, GATEWAY, 1)).await?;
    let (_, answer) = phone.recv_ip().await?;
    ensure!(answer[12..16] == GATEWAY && answer[20] == 0, "the gateway answers the ping: {answer:02x?}");

    // Idle, and back by itself.
    phone.release_to_idle().await?;
    phone.service_request_for(martlet_ran::ue::ServicePurpose::Data, &[1]).await?;
    phone.send_ip(1, ping(address, GATEWAY, 2)).await?;
    ensure!(phone.recv_ip().await?.1[20] == 0, "the gateway answers after the service request");

    phone.release_pdu_session(1).await?;
    phone.deregister().await?;
    tokio::time::sleep(Duration::from_millis(100)).await;
    ensure!(core.status("smf")["sessions"] == 0, "no session is left: {}", core.status("smf"));
    ensure!(core.status("upf")["sessionCount"] == 0, "no session is left: {}", core.status("upf"));

    core.bodies.check(OF_A_DAY)?;
    Ok(())
}

#[test]
fn a_phones_day_in_one_process() {
    in_namespace(|| a_phones_day(Sbi::Local));
}

#[test]
fn a_phones_day_over_http() {
    in_namespace(|| a_phones_day(Sbi::Http));
}

#[test]
fn downlink_data_page_an_idle_phone_and_arrive_in_order() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (one, two) = (gnb.new_ue(core.phone(1))?, gnb.new_ue(core.phone(2))?);
        let mut addresses = Vec::new();
        for phone in [&one, &two] {
            phone.register().await?;
            let session = phone.establish_pdu_session(internet()).await?;
            addresses.push(session.ipv4.expect("an IPv4 session has an address").octets());
        }
        two.release_to_idle().await?;
        // The second phone answers paging by itself, as phones do.
        for sequence in 1..=5 {
            one.send_ip(1, ping(addresses[0], addresses[1], sequence)).await?;
        }
        for sequence in 1..=5u16 {
            let (_, packet) = tokio::time::timeout(Duration::from_secs(10), two.recv_ip()).await??;
            ensure!(packet[26..28] == sequence.to_be_bytes(), "packet {sequence} is due, and {packet:02x?} came");
        }
        Ok(())
    });
}

#[test]
fn who_may_not_register_is_told_why() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        // Not a subscriber: #7, 5GS services not allowed, or #3 as the AMF sees it.
        let stranger = gnb.new_ue(core.phone(999))?.register().await.expect_err("a stranger is not let in");
        ensure!(matches!(stranger.cause(), Some(3 | 7)), "{stranger}");
        // Another key: the phone refuses the network's challenge, and is rejected.
        let mut config = core.phone(2);
        config.operator_key = OperatorKey::Opc([0; 16]);
        ensure!(gnb.new_ue(config)?.register().await.is_err(), "a wrong key is not let in");
        // A sequence number ahead of the network's is made up for.
        let mut config = core.phone(3);
        config.sqn = 1 << 20;
        gnb.new_ue(config)?.register().await?;
        // The others are not disturbed.
        gnb.new_ue(core.phone(1))?.register().await?;
        Ok(())
    });
}

#[test]
fn what_is_not_subscribed_is_refused_and_an_exhausted_pool_too() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| config.smf.dnns[0].pool = "10.45.0.0/30".into()).await?;
        let gnb = core.gnb(1).await?;
        let (one, two) = (gnb.new_ue(core.phone(1))?, gnb.new_ue(core.phone(2))?);
        one.register().await?;
        two.register().await?;
        let other = PduSessionRequest { dnn: Some("ims".into()), ..PduSessionRequest::default() };
        ensure!(one.establish_pdu_session(other).await.is_err(), "an unknown data network is refused");
        one.establish_pdu_session(internet()).await?;
        let refused = two.establish_pdu_session(internet()).await.expect_err("the pool has one address");
        ensure!(refused.cause() == Some(26), "insufficient resources: {refused}");
        one.release_pdu_session(1).await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
        two.establish_pdu_session(internet()).await?;
        Ok(())
    });
}

#[test]
fn a_gnb_that_vanishes_leaves_nothing_behind() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let phone = gnb.new_ue(core.phone(1))?;
        phone.register().await?;
        phone.establish_pdu_session(internet()).await?;
        gnb.vanish();
        // The association ends after SCTP's own time; a gNB that comes back is set up all the same.
        let second = core.gnb(2).await?;
        let again = second.new_ue(core.phone(1))?;
        again.register().await?;
        again.establish_pdu_session(internet()).await?;
        tokio::time::sleep(Duration::from_millis(200)).await;
        ensure!(core.status("smf")["sessions"] == 1, "the old session is gone: {}", core.status("smf"));
        Ok(())
    });
}

#[test]
fn broken_messages_disturb_nobody() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb: Gnb = core.gnb(1).await?;
        let phone = gnb.new_ue(core.phone(1))?;
        phone.register().await?;
        for octets in
            [&b"\x00\x15\x00"[..], b"\xff\xff\xff\xff\xff\xff", b"\x00\x0f\x40\x03\x00\x00\x00", &[0x55; 3000]]
        {
            gnb.send_raw_ngap(0, octets.to_vec()).await?;
        }
        phone.establish_pdu_session(internet()).await?;
        gnb.new_ue(core.phone(2))?.register().await?;
        Ok(())
    });
}

#[test]
fn ten_phones_at_once_all_get_through() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut tasks = tokio::task::JoinSet::new();
        for n in 1..=10 {
            let phone = gnb.new_ue(core.phone(n))?;
            tasks.spawn(async move {
                phone.register().await?;
                phone.establish_pdu_session(internet()).await?;
                phone.deregister().await
            });
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        ensure!(core.status("smf")["sessions"] == 0, "no session is left: {}", core.status("smf"));
        Ok(())
    });
}
