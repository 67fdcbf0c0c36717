//! NRPPa: measurements of gNBs for the LMF, and invalid messages (TS 38.455).
use super::*;
use bytes::Bytes;
use martlet_amf::CipheringName;
use martlet_ngap::ngap::NGAP_PDU;
use martlet_ngap::{NgapPduKind, build_ngap};
use martlet_tests::{LiveCapture, in_order};
use martlet_wire_testing::oracle;
use tokio::sync::broadcast;

/// Service operations of multi-RTT.
const ROUND_TRIPS: &[&str] = &[
    "namf-comm N1N2MessageSubscribe",
    "namf-comm N1N2MessageTransfer",
    "namf-comm NonUeN2InfoSubscribe",
    "namf-comm NonUeN2MessageTransfer",
    "nlmf-callback N2InfoNotify",
    "nlmf-callback NonUeN2InfoNotify",
];

/// NRPPa messages on N2 for multi-RTT (TS 38.305, 8.10.3).
const MESSAGES: &[&str] = &[
    "id-tRPInformationExchange",
    "id-tRPInformationExchange",
    "id-positioningInformationExchange",
    "id-positioningInformationExchange",
    "id-positioningActivation",
    "id-positioningActivation",
    "id-Measurement",
    "id-Measurement",
    "id-positioningDeactivation",
    // A UE without LPP.
    "id-e-CIDMeasurementInitiation",
    "id-e-CIDMeasurementInitiation",
    "id-e-CIDMeasurementReport",
    "id-e-CIDMeasurementTermination",
];

fn round_trips(config: &mut PositioningConfig) {
    (config.environment.multi_rtt, config.environment.timing_deviation_m) = (true, 1.0);
}

async fn by_round_trips(sbi: Sbi) -> Result<()> {
    let testbed = Testbed::start(sbi, |_| {}).await?;
    // The other two cells belong to another gNB.
    let other = Gnb::connect(with_trps(testbed.core.gnb_config(2), 2..4)).await?;
    let there = place(120.0, 140.0);
    for (n, user_plane) in [(1, true), (2, false)] {
        let (_ue, _positioning) = testbed
            .positioning_ue_with(n, there, true, user_plane, testbed.trust()?, round_trips)
            .await?;
        let (found, method, within) = testbed.locate(n).await?;
        let error = found.distance(&there);
        ensure!(
            method == "MULTI-RTT" && error < 5.0 && (0.5..6.0).contains(&within),
            "{method} {error} {within}"
        );
    }
    other.shutdown().await;
    testbed.core.sbi_record.check_members()?;
    testbed.core.sbi_record.check(ROUND_TRIPS).await
}

#[test]
fn multi_rtt_locates_the_ue_in_one_process() {
    in_namespace(|| by_round_trips(Sbi::Local));
}

#[test]
fn multi_rtt_locates_the_ue_over_http() {
    in_namespace(|| by_round_trips(Sbi::Http));
}

#[test]
fn too_few_round_trips_fall_back_to_another_method() {
    in_namespace(|| async {
        let testbed = Testbed::start(Sbi::Local, |_| {}).await?;
        let there = place(120.0, 140.0);
        let (_ue, _positioning) = testbed
            .positioning_ue_with(1, there, true, true, testbed.trust()?, round_trips)
            .await?;
        let (found, method, within) = testbed.locate(1).await?;
        ensure!(method == "NR_ECID" && found.distance(&there) < within, "{method}");
        Ok(())
    });
}

#[test]
fn trps_are_requested_once_a_minute() {
    in_namespace(|| async {
        let testbed = Testbed::start(Sbi::Local, |_| {}).await?;
        let there = place(120.0, 140.0);
        let (ue, _first) = testbed
            .positioning_ue_with(1, there, true, false, testbed.trust()?, round_trips)
            .await?;
        let (_other, _second) = testbed
            .positioning_ue_with(2, there, true, false, testbed.trust()?, round_trips)
            .await?;
        // Two TRPs are too few for MEASUREMENT REQUEST, which is not UE-associated either.
        let requests = || testbed.core.sbi_record.calls("namf-comm NonUeN2MessageTransfer");
        let (first, second) = tokio::join!(testbed.locate(1), testbed.locate(2));
        first?;
        second?;
        ensure!(requests() == 1, "{} requests at the same time", requests());
        // The gNB has no TRP at this cell, which the AMF gets with the UE's next messages.
        ue.change_cell(2).await?;
        testbed.locate(1).await?;
        testbed.locate(1).await?;
        ensure!(requests() == 1, "{} requests within a minute", requests());
        Ok(())
    });
}

/// A gNB reports TRPs at the cells of another one, which would displace the UEs there.
#[test]
fn attack_trps_at_the_cells_of_another_gnb_are_ignored() {
    in_namespace(|| async {
        let testbed = Testbed::start(Sbi::Local, |_| {}).await?;
        let mut config = with_trps(testbed.core.gnb_config(2), 2..4);
        for (n, cell) in cells().into_iter().take(2).enumerate() {
            // Cells of gNB 1 whose positions are not configured at the LMF.
            let (identity, position) = ((1 << 12) | (0x70 + n as u64), place(3_000.0, 0.0));
            config.trps.push(Trp { id: 7 + n as u16, cell: Cell { identity, position, ..cell } });
        }
        let other = Gnb::connect(config).await?;
        let before = refused("nrppa_other_cell");
        let there = place(120.0, 140.0);
        let (_ue, _positioning) = testbed
            .positioning_ue_with(1, there, true, true, testbed.trust()?, round_trips)
            .await?;
        let (found, method, _) = testbed.locate(1).await?;
        ensure!(method == "MULTI-RTT" && found.distance(&there) < 5.0, "{method}");
        let ignored = refused("nrppa_other_cell") - before;
        ensure!(ignored == 2.0, "{ignored} TRPs were ignored");
        other.shutdown().await;
        Ok(())
    });
}

/// A core whose gNB does not support NRPPa.
async fn without_nrppa() -> Result<Testbed> {
    let mut testbed = Testbed::start(Sbi::Local, |config| {
        config.lmf.nrppa_timeout_ms = 300;
    })
    .await?;
    testbed.gnb.shutdown().await;
    testbed.core.until("the gNB is removed", |counts| counts.gnbs == 0).await?;
    // The same gNB, at other addresses: its former ones are not free yet.
    let mut config = testbed.core.gnb_config(1);
    let elsewhere = testbed.core.gnb_config(3);
    (config.n2_local, config.n3) = (elsewhere.n2_local, elsewhere.n3);
    config.deviations.no_nrppa = true;
    testbed.gnb = Gnb::connect(config).await?;
    Ok(testbed)
}

/// Whether the UE is located by its own measurements, although it supports multi-RTT.
async fn by_its_own_method(testbed: &Testbed) -> Result<()> {
    let there = place(120.0, 140.0);
    let (_ue, _positioning) =
        testbed.positioning_ue_with(1, there, true, false, testbed.trust()?, round_trips).await?;
    let (found, method, within) = testbed.locate(1).await?;
    ensure!(method == "NR_ECID" && found.distance(&there) < within, "{method}");
    Ok(())
}

#[test]
fn gnb_without_nrppa_leaves_the_methods_of_the_ue() {
    in_namespace(|| async { by_its_own_method(&without_nrppa().await?).await });
}

/// The TRPs of another gNB are known, but the UE's gNB does not configure its SRS.
#[test]
fn gnb_without_nrppa_beside_another_leaves_the_methods_of_the_ue() {
    in_namespace(|| async {
        let testbed = without_nrppa().await?;
        let other = Gnb::connect(with_trps(testbed.core.gnb_config(2), 1..4)).await?;
        by_its_own_method(&testbed).await?;
        other.shutdown().await;
        Ok(())
    });
}

async fn by_what_the_gnb_knows(reports: u32) -> Result<()> {
    let testbed = Testbed::start(Sbi::Local, |config| config.lmf.ecid_reports = reports).await?;
    let there = place(120.0, 140.0);
    let noisy = |config: &mut PositioningConfig| config.environment.path_loss.deviation_db = 1.0;
    let (_ue, _positioning) =
        testbed.positioning_ue_with(1, there, false, false, testbed.trust()?, noisy).await?;
    let (found, method, within) = testbed.locate(1).await?;
    ensure!(
        method == "NR_ECID" && found.distance(&there) < within,
        "{method} {}",
        found.distance(&there)
    );
    Ok(())
}

#[test]
fn ue_without_lpp_is_located_by_e_cid_measurements_of_the_gnb() {
    in_namespace(|| by_what_the_gnb_knows(1));
}

#[test]
fn periodic_e_cid_reports_end_on_request() {
    in_namespace(|| by_what_the_gnb_knows(3));
}

/// Waits until a gNB receives another UE-associated NRPPa message.
async fn next_of_ue(messages: &mut broadcast::Receiver<Bytes>) -> Result<()> {
    let message = async {
        while NGAP_PDU::decode(&messages.recv().await?)?.kind()
            != NgapPduKind::Initiating_DownlinkUEAssociatedNRPPaTransport
        {}
        anyhow::Ok(())
    };
    tokio::time::timeout(LIMIT, message).await.context("no NRPPa message about the UE")?
}

#[test]
fn periodic_e_cid_reports_end_with_a_cancelled_request() {
    in_namespace(|| async {
        // They take 7.7 s.
        let testbed =
            Testbed::start_within_one_process(|config| config.lmf.ecid_reports = 64).await?;
        let there = place(120.0, 140.0);
        let (_ue, _positioning) =
            testbed.positioning_ue_with(1, there, false, false, testbed.trust()?, |_| {}).await?;
        let mut messages = testbed.gnb.subscribe();
        let request = tokio::time::timeout(Duration::from_secs(1), testbed.locate(1));
        ensure!(request.await.is_err(), "64 reports arrived within a second");
        next_of_ue(&mut messages).await.context("E-CID MEASUREMENT INITIATION REQUEST")?;
        next_of_ue(&mut messages).await.context("E-CID MEASUREMENT TERMINATION COMMAND")
    });
}

#[test]
fn nrppa_encoding_equals_pycrate() {
    in_namespace(|| async {
        let Some(capture) = LiveCapture::start()? else { return Ok(()) };
        // With HTTP, tshark would dissect NRPPa in a multipart body as NGAP.
        let testbed = Testbed::start_within_one_process(|config| {
            config.lmf.ecid_reports = 2;
            // NAS with the null cipher can be dissected.
            config.amf.security.ciphering = vec![CipheringName::NEA0];
        })
        .await?;
        let other = Gnb::connect(with_trps(testbed.core.gnb_config(2), 2..4)).await?;
        let there = place(120.0, 140.0);
        let (_ue, _positioning) = testbed
            .positioning_ue_with(1, there, true, false, testbed.trust()?, round_trips)
            .await?;
        testbed.locate(1).await?;
        let (_silent, _) =
            testbed.positioning_ue_with(2, there, false, false, testbed.trust()?, |_| {}).await?;
        testbed.locate(2).await?;
        other.shutdown().await;
        testbed.gnb.shutdown().await;
        testbed.core.until("the gNBs are removed", |counts| counts.gnbs == 0).await?;
        drop(testbed);
        let recording = capture.finish().await?;
        recording.expect_well_formed().await?;
        in_order(&recording.infos("nrppa").await?, MESSAGES)?;
        let mut messages = Vec::new();
        for line in recording.fields("nrppa", &["ngap.NRPPa_PDU"]).await? {
            for bytes in line.split(',') {
                let digits: String = bytes.chars().filter(char::is_ascii_hexdigit).collect();
                let bytes = (0..digits.len() / 2)
                    .map(|n| u8::from_str_radix(&digits[2 * n..2 * n + 2], 16));
                messages.push((
                    "nrppa".to_owned(),
                    digits.clone(),
                    bytes.collect::<Result<Vec<u8>, _>>()?,
                ));
            }
        }
        ensure!(messages.len() >= MESSAGES.len(), "only {} messages", messages.len());
        if let Some(wrong) = oracle::recode(&messages) {
            ensure!(wrong.is_empty(), "pycrate encodes these differently:\n{}", wrong.join("\n"));
        }
        Ok(())
    });
}

/// Messages that the LMF rejected for a reason.
fn refused(why: &str) -> f64 {
    metric("martlet_lmf_rejected_total", &[("reason", why)])
}

#[test]
fn invalid_nrppa_from_a_gnb_is_rejected_and_disturbs_no_other() {
    in_namespace(|| async {
        let testbed = Testbed::start(Sbi::Local, |_| {}).await?;
        let other = Gnb::connect(with_trps(testbed.core.gnb_config(2), 2..4)).await?;
        let there = place(120.0, 140.0);
        let (_ue, _positioning) = testbed
            .positioning_ue_with(1, there, true, true, testbed.trust()?, round_trips)
            .await?;
        testbed.locate(1).await?;
        let (garbage, unknown) = (refused("nrppa_malformed"), refused("nrppa_unknown_transaction"));
        // Bytes that are not NRPPa, an unexpected response, and an unknown routing ID.
        let answer = vec![0x20, 0x10, 0x00, 0x7f, 0xff, 0x04, 0x00, 0x00, 0x01, 0x00];
        for message in [vec![0xff; 5], vec![], answer] {
            let pdu = build_ngap!(
                InitiatingMessage,
                UplinkNonUEAssociatedNRPPaTransport,
                UplinkNonUEAssociatedNRPPaTransport,
                RoutingID(vec![1, 2, 3]),
                NRPPa_PDU(message),
            );
            other.send_raw_ngap(0, pdu?.encode()?).await?;
        }
        let all_counted = || {
            refused("nrppa_malformed") + refused("nrppa_unknown_transaction")
                >= garbage + unknown + 3.0
        };
        for _ in 0..1500 {
            if all_counted() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        ensure!(all_counted(), "the rejections are not counted");
        let (found, method, _) = testbed.locate(1).await?;
        ensure!(method == "MULTI-RTT" && found.distance(&there) < 5.0, "{method}");
        Ok(())
    });
}
