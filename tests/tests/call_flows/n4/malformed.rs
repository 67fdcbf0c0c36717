//! Malformed and unexpected PFCP messages to UPF and SMF (TS 29.244, 7.6).
use crate::bystander::Bystander;
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_pfcp::ie::*;
use martlet_pfcp::*;
use martlet_tests::{MetricDelta, TestCore, in_namespace};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use tokio::net::UdpSocket;

pub const ATTACKER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 99);
pub const UPF: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(127, 0, 0, 8)), 8805);
const SMF: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(127, 0, 0, 7)), 8805);

/// Requests of others than the core's SMF are answered, too.
pub fn allow_all(config: &mut martlet::config::Config) {
    config.upf.n4.allow = vec!["127.0.0.0/8".parse().expect("a network")];
}

/// A PFCP peer whose messages the test writes.
struct Attacker(UdpSocket);

impl Attacker {
    async fn open() -> Result<Attacker> {
        Ok(Attacker(UdpSocket::bind((ATTACKER, 8805)).await?))
    }

    /// Sends bytes and returns the answer, if any.
    async fn request(&self, to: SocketAddr, bytes: &[u8]) -> Result<Option<Packet>> {
        self.request_within(to, bytes, Duration::from_millis(300)).await
    }

    async fn request_within(
        &self,
        to: SocketAddr,
        bytes: &[u8],
        limit: Duration,
    ) -> Result<Option<Packet>> {
        self.0.send_to(bytes, to).await?;
        let mut buffer = [0; 4096];
        let received = tokio::time::timeout(limit, self.0.recv_from(&mut buffer)).await;
        let Ok(received) = received else { return Ok(None) };
        let (length, from) = received?;
        ensure!(from == to, "{from} answered a request to {to}");
        Ok(Some(Packet::decode(&buffer[..length])?))
    }

    /// Sends bytes and expects an answer.
    async fn answer(&self, to: SocketAddr, bytes: &[u8]) -> Result<Packet> {
        let answer = self.request_within(to, bytes, Duration::from_secs(30)).await?;
        answer.with_context(|| format!("no answer of {to} to {bytes:02x?}"))
    }
}

/// A message with these bytes as its information elements.
pub fn raw(message_type: u8, seid: Option<u64>, sequence: u32, elements: &[u8]) -> Vec<u8> {
    Header { message_type, seid, sequence, priority: None }
        .encode(|out| out.extend_from_slice(elements))
}

/// The information element Node ID, 127.0.0.99.
const NODE_ID: [u8; 9] = [0, 60, 0, 5, 0, 127, 0, 0, 99];

/// Checks the answers to bytes that are not valid PFCP messages.
async fn check_junk(attacker: &Attacker, to: SocketAddr) -> Result<()> {
    for junk in [
        &b""[..],
        b"\x20",
        b"\x20\x01\xff\xff",
        b"\x21\x32\x00\x04\x00\x00\x00\x00",
        b"\x20\xf0\x00\x04\x00\x00\x01\x00",
    ] {
        ensure!(attacker.request(to, junk).await?.is_none(), "{junk:02x?} must not be answered");
    }
    // Another version: Version Not Supported, with the sequence number of the request.
    let answer = attacker
        .answer(to, b"\x40\x01\x00\x0c\x00\x00\x07\x00\x00\x60\x00\x04\x00\x00\x00\x01")
        .await?;
    ensure!(answer == Packet::node(7, VersionNotSupported {}), "{answer:?}");
    // A heartbeat needs no association.
    let beat = Packet::node(8, HeartbeatRequest { recovery: RecoveryTimeStamp(1) }).encode();
    let answer = attacker.answer(to, &beat).await?;
    ensure!(
        matches!(answer.message, Message::HeartbeatResponse(_)) && answer.sequence == 8,
        "{answer:?}"
    );
    Ok(())
}

#[test]
fn upf_answers_invalid_requests_with_their_cause() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, allow_all).await?;
        let bystander = Bystander::at(&core).await?;
        let (attacker, dropped) =
            (Attacker::open().await?, MetricDelta::of("martlet_upf_n4_dropped_total", &[]));
        check_junk(&attacker, UPF).await?;
        ensure!(dropped.get() >= 4.0, "drops are not counted");

        // A heartbeat response has no cause, so a heartbeat without its time stamp is dropped.
        ensure!(attacker.request(UPF, &raw(1, None, 20, &[])).await?.is_none());
        // An association setup without a recovery time stamp.
        let answer = attacker.answer(UPF, &raw(5, None, 21, &NODE_ID)).await?;
        let Message::AssociationSetupResponse(answer) = answer.message else {
            anyhow::bail!("{answer:?}")
        };
        ensure!(answer.cause == Cause::MANDATORY_IE_MISSING, "{answer:?}");
        // Session requests without an association, for an unknown session, and with a malformed
        // element.
        let node_id = NodeId::Ip(ATTACKER.into());
        let establishment =
            [&NODE_ID[..], &[0, 57, 0, 13, 2, 0, 0, 0, 0, 0, 0, 0, 5, 127, 0, 0, 99]].concat();
        let answer = attacker.answer(UPF, &raw(50, Some(0), 22, &establishment)).await?;
        ensure!(answer.seid == Some(5), "wrong SEID: {answer:?}");
        let Message::SessionEstablishmentResponse(answer) = answer.message else {
            anyhow::bail!("{answer:?}")
        };
        ensure!(answer.cause == Cause::NO_ESTABLISHED_ASSOCIATION, "{answer:?}");
        let answer = attacker.answer(UPF, &raw(54, Some(42), 23, &[])).await?;
        let Message::SessionDeletionResponse(answer) = answer.message else {
            anyhow::bail!("{answer:?}")
        };
        ensure!(answer.cause == Cause::SESSION_CONTEXT_NOT_FOUND, "{answer:?}");
        let broken = [&NODE_ID[..], &[0, 57, 0, 2, 2, 0]].concat();
        let answer = attacker.answer(UPF, &raw(50, Some(0), 24, &broken)).await?;
        let Message::SessionEstablishmentResponse(answer) = answer.message else {
            anyhow::bail!("{answer:?}")
        };
        ensure!(
            (answer.cause, answer.offending_ie) == (Cause::INVALID_LENGTH, Some(OffendingIe(57))),
            "{answer:?}"
        );
        // The release of an association that does not exist.
        let release = Packet::node(25, AssociationReleaseRequestMessage { node_id }).encode();
        let answer = attacker.answer(UPF, &release).await?;
        let Message::AssociationReleaseResponse(answer) = answer.message else {
            anyhow::bail!("{answer:?}")
        };
        ensure!(answer.cause == Cause::NO_ESTABLISHED_ASSOCIATION, "{answer:?}");
        bystander.expect_core_works().await
    });
}

#[test]
fn smf_answers_invalid_requests_and_ignores_unknown_peers() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, allow_all).await?;
        let bystander = Bystander::at(&core).await?;
        let attacker = Attacker::open().await?;
        let (malformed, foreign) = (
            MetricDelta::of("martlet_smf_n4_total", &[("event", "malformed")]),
            MetricDelta::of("martlet_smf_n4_total", &[("event", "report for unknown session")]),
        );
        check_junk(&attacker, SMF).await?;

        // A report of an unknown session.
        let report = |report_type| SessionReportRequest {
            report_type,
            downlink_data: None,
            usage_reports: vec![],
            error_indication: None,
            load: None,
            overload: None,
        };
        let not_found = |answer: Packet| -> Result<()> {
            ensure!(answer.seid == Some(0), "{answer:?}");
            let Message::SessionReportResponse(response) = answer.message else {
                anyhow::bail!("{answer:?}")
            };
            ensure!(response.cause == Cause::SESSION_CONTEXT_NOT_FOUND, "{response:?}");
            Ok(())
        };
        not_found(
            attacker
                .answer(SMF, &Packet::session(42, 20, report(ReportType::DLDR)).encode())
                .await?,
        )?;
        // A forged Error Indication Report for the session of the bystander.
        let seid =
            core.status("upf")["sessions"][0]["cpSeid"].as_u64().context("the SMF's SEID")?;
        not_found(
            attacker
                .answer(SMF, &Packet::session(seid, 21, report(ReportType::ERIR)).encode())
                .await?,
        )?;
        ensure!(foreign.get() >= 2.0, "the errors are not counted");
        // A report without its mandatory element: the SEID of the bystander's UPF is not in the
        // answer either.
        for (seid, sequence) in [(42, 22), (seid, 27)] {
            not_found(attacker.answer(SMF, &raw(56, Some(seid), sequence, &[])).await?)?;
        }
        // Nothing of the attacker is stored, so that its second request is no repeated one.
        let again = MetricDelta::of("martlet_smf_n4_total", &[("event", "malformed")]);
        for _ in 0..2 {
            attacker.answer(SMF, &raw(56, Some(42), 28, &[])).await?;
        }
        ensure!(again.get() >= 2.0, "a request of an unknown peer is stored");
        let answer = attacker.answer(SMF, &raw(12, None, 23, &NODE_ID)).await?;
        let Message::NodeReportResponse(answer) = answer.message else {
            anyhow::bail!("{answer:?}")
        };
        ensure!(
            answer.cause == Cause::MANDATORY_IE_MISSING && answer.offending_ie.is_some(),
            "{answer:?}"
        );
        ensure!(malformed.get() >= 5.0, "the errors are not counted");
        // Requests that only a UPF accepts, or only from configured UPFs.
        let setup = [&NODE_ID[..], &[0, 96, 0, 4, 0, 0, 0, 1]].concat();
        let answer = attacker.answer(SMF, &raw(5, None, 24, &setup)).await?;
        let Message::AssociationSetupResponse(answer) = answer.message else {
            anyhow::bail!("{answer:?}")
        };
        ensure!(answer.cause == Cause::SERVICE_NOT_SUPPORTED, "{answer:?}");
        let update = raw(7, None, 25, &NODE_ID);
        let answer = attacker.answer(SMF, &update).await?;
        let Message::AssociationUpdateResponse(answer) = answer.message else {
            anyhow::bail!("{answer:?}")
        };
        ensure!(answer.cause == Cause::NO_ESTABLISHED_ASSOCIATION, "{answer:?}");
        ensure!(
            attacker.request(SMF, &raw(54, Some(seid), 26, &[])).await?.is_none(),
            "the SMF answered a session deletion"
        );
        bystander.expect_core_works().await
    });
}
