//! Network-induced location request (TS 23.273, 6.1): choice of carrier and method.
use super::*;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_lcs_protocol::UeState;
use martlet_lpp::{Body, CommonIEsAbort, CommonIEsAbortAbortCause};
use martlet_ran::ue::{Event, PositioningKind};
use martlet_ran::{PositioningConfig, UeEvent};
use martlet_sbi::{ApiRoot, CallPolicy, Peer};
use martlet_sbi_api::namf_location::*;
use martlet_sbi_api::nlmf_location::*;
use martlet_sbi_http::{ClientLimits, HttpBinding};
use martlet_tests::in_namespace;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::broadcast;

/// A GMLC's client of the AMF.
fn gmlc() -> Result<AmfLocationClient> {
    let (root, _) = ApiRoot::split("http://127.0.0.17:7777").context("not an API root")?;
    let binding = Arc::new(HttpBinding::new(ClientLimits::default()));
    let peer = Peer::new(binding, root, "GMLC", CallPolicy::default());
    Ok(AmfLocationClient::new(peer.within(LIMIT)))
}

/// A testbed whose AMF serves requests over HTTP.
async fn testbed_with_http() -> Result<Testbed> {
    Testbed::around(async |configure| TestCore::start_on(Sbi::Http, configure).await, |_| {}).await
}

/// The body of the next LPP message to a UE over NAS.
async fn next_lpp(events: &mut broadcast::Receiver<UeEvent>) -> Result<Body> {
    let message = async {
        loop {
            let event = events.recv().await?;
            if let UeEvent::Nas(Event::Positioning { kind, message, .. }) = event
                && kind == PositioningKind::Lpp
            {
                return anyhow::Ok(message);
            }
        }
    };
    let message = tokio::time::timeout(LIMIT, message).await.context("no LPP message")??;
    Body::of(martlet_lpp::decode(&message)?).context("no body")
}

#[test]
fn best_available_method_is_used() {
    in_namespace(|| async {
        let testbed = Testbed::start(Sbi::Local, |_| {}).await?;
        let there = place(120.0, 140.0);
        for carrier in [true, false] {
            // DL-TDOA with a deviation of 1 m: a small error and a small uncertainty.
            let n = if carrier { 1 } else { 3 };
            let tdoa = |config: &mut PositioningConfig| {
                (config.environment.dl_tdoa, config.environment.timing_deviation_m) = (true, 1.0);
            };
            let (_ue, _positioning) = testbed
                .positioning_ue_with(n, there, true, carrier, testbed.trust()?, tdoa)
                .await?;
            let (found, method, within) = testbed.locate(n).await?;
            let error = found.distance(&there);
            ensure!(
                method == "DL_TDOA" && error < 6.0 && (1.0..12.0).contains(&within),
                "{method} {error} {within}"
            );

            let result = testbed
                .core
                .query(&format!("locate/imsi-{:015}", 1_010_000_000_000u64 + n))
                .await?;
            ensure!(result["userPlane"].is_object() == carrier, "wrong carrier: {result}");

            // A GNSS receiver with a deviation of 3 m; it writes its true position to a file.
            let folder = std::env::temp_dir();
            let gnss = |config: &mut PositioningConfig| {
                config.environment.gnss_deviation_m = Some(3.0);
                config.truth = Some(folder.clone());
            };
            let (_ue, _positioning) = testbed
                .positioning_ue_with(n + 1, there, true, carrier, testbed.trust()?, gnss)
                .await?;
            let (found, method, within) = testbed.locate(n + 1).await?;
            let error = found.distance(&there);
            ensure!(
                method == "GPS" && error < 15.0 && (7.0..9.0).contains(&within),
                "{method} {error} {within}"
            );
            let left = folder.join(format!("imsi-{:015}", 1_010_000_000_000u64 + n + 1));
            let truth = std::fs::read_to_string(&left)?;
            std::fs::remove_file(left)?;
            ensure!(truth == format!("{} {}\n", there.lat, there.lon), "{truth}");
        }
        testbed.core.sbi_record.check(OPERATIONS).await
    });
}

#[test]
fn ue_without_user_plane_is_located_over_nas_or_by_cell() {
    in_namespace(|| async {
        let testbed = Testbed::start(Sbi::Local, |_| {}).await?;
        let there = place(120.0, 140.0);
        let before = served("control plane");
        let (ue, positioning) = testbed.ue(1, there, true, false).await?;
        let mut events = ue.subscribe().await?;
        let (found, method, within) = testbed.locate(1).await?;
        ensure!(
            method == "NR_ECID" && found.distance(&there) < within,
            "{method}, {}",
            found.distance(&there)
        );
        ensure!(positioning.state() == UeState::Idle && served("control plane") > before);
        // The UE has less time than the LMF waits, 10 s.
        next_lpp(&mut events).await?;
        let Body::RequestLocationInformation(request) = next_lpp(&mut events).await? else {
            anyhow::bail!("no RequestLocationInformation after RequestCapabilities");
        };
        let common = request.common_ies_request_location_information;
        let time = common.and_then(|it| it.qos?.response_time);
        ensure!(time.as_ref().is_some_and(|it| it.time == 9 && it.unit_r15.is_none()), "{time:?}");

        // The gNB of this UE knows only its cell.
        let none = testbed.gnb.new_ue(testbed.core.ue_config(2))?;
        testbed.core.register_with_session(&none).await?;
        let (found, method, within) = testbed.locate(2).await?;
        ensure!(
            method == "CELLID" && found.distance(&MIDDLE) < 0.1 && within == 500.0,
            "{method}, {within}"
        );
        testbed.core.sbi_record.check(OPERATIONS).await
    });
}

#[test]
fn ue_whose_measurements_give_no_position_is_located_by_its_cell() {
    in_namespace(|| async {
        let testbed = Testbed::start(Sbi::Local, |config| config.lmf.lpp_timeout_ms = 1000).await?;
        let there = place(120.0, 140.0);
        for (n, lcs_upp) in [(1, true), (2, false)] {
            let (_ue, _positioning) = testbed
                .positioning_ue_with(n, there, true, lcs_upp, testbed.trust()?, among_unknown_cells)
                .await?;
            let (found, method, within) = testbed.locate(n).await?;
            ensure!(
                method == "CELLID" && found.distance(&MIDDLE) < 0.1 && within == 500.0,
                "{method}, {within}"
            );
        }
        // This UE supports LPP, but does not answer.
        let mut silent = testbed.core.ue_config(3);
        silent.lpp = true;
        let silent = testbed.gnb.new_ue(silent)?;
        testbed.core.register_with_session(&silent).await?;
        let mut events = silent.subscribe().await?;
        let (_, method, _) = testbed.locate(3).await?;
        ensure!(method == "CELLID", "{method}");
        let (asked, aborted) = (next_lpp(&mut events).await?, next_lpp(&mut events).await?);
        ensure!(matches!(asked, Body::RequestCapabilities(_)), "{}", asked.name());
        let Body::Abort(abort) = aborted else { anyhow::bail!("{} is no Abort", aborted.name()) };
        let cause = CommonIEsAbort { abort_cause: CommonIEsAbortAbortCause::NetworkAbort };
        ensure!(abort.common_ies_abort == Some(cause), "{abort:?}");
        Ok(())
    });
}

#[test]
fn unknown_ue_is_not_located() {
    in_namespace(|| async {
        let testbed = Testbed::start(Sbi::Local, |config| config.lmf.cells.clear()).await?;
        let error = testbed.locate(9).await.unwrap_err().to_string();
        ensure!(error.contains("USER_UNKNOWN") || error.contains("does not know"), "{error}");
        let (_ue, _positioning) = testbed.ue(1, place(1.0, 1.0), true, true).await?;
        let error = testbed.locate(1).await.unwrap_err().to_string();
        ensure!(error.contains("a cell whose position is configured"), "{error}");
        Ok(())
    });
}

#[test]
fn ue_is_located_at_the_amf_that_serves_it() {
    in_namespace(|| async {
        let mut testbed = Testbed::start(Sbi::Local, |_| {}).await?;
        let second = testbed.core.second_amf(|_| {}).await?;
        let there = place(120.0, 140.0);
        let (_first_ue, _first_positioning) = testbed.ue(1, there, true, false).await?;
        let other = Gnb::connect(second.gnb_config(&testbed.core, 2)).await?;
        let _first_gnb = std::mem::replace(&mut testbed.gnb, other);
        let (_second_ue, _second_positioning) = testbed.ue(2, there, true, true).await?;
        ensure!(second.ues().1 == 1, "the second AMF does not serve the UE");
        // Discovery names equally good AMFs in turn.
        for n in [1, 1, 2, 2, 2] {
            let (found, ..) = testbed.locate(n).await?;
            ensure!(found.distance(&there) < 20.0, "UE {n}: {} m", found.distance(&there));
        }
        testbed.core.sbi_record.check(&["nudm-uecm Get3GppRegistration"]).await
    });
}

/// The AMF does not notify UEs. So it locates none whose privacy profile requires that, and none at
/// once whose location is requested later (TS 23.273, 6.1.2).
#[test]
fn location_request_that_needs_a_notification_or_is_deferred_is_denied() {
    in_namespace(|| async {
        let testbed = testbed_with_http().await?;
        let (_ue, _) = testbed.core.ue_with_session(&testbed.gnb, 1).await?;
        let amf = gmlc()?;
        let cause = |location: LocationType, auth: Option<LcsServiceAuth>, code_word: bool| {
            let mut asked = RequestPosInfo::new(ExternalClientType::ValueAddedServices, location);
            asked.ue_privacy_requirements = Some(UePrivacyRequirements {
                lcs_service_auth_info: auth,
                code_word_check: Some(code_word),
            });
            let amf = &amf;
            async move {
                let answer = amf.provide_positioning_info("imsi-001010000000001", asked).await;
                answer.err().map(|problem| problem.cause().to_string())
            }
        };
        let now = || LocationType::CurrentLocation;
        let allowed = Some(LcsServiceAuth::AllowedWithoutNotification);
        for auth in [None, allowed] {
            let found = cause(now(), auth, false).await;
            ensure!(found.is_none(), "{found:?}");
        }
        for auth in [
            LcsServiceAuth::AllowedWithNotification,
            LcsServiceAuth::AllowedWithoutResponse,
            LcsServiceAuth::RestrictedWithoutResponse,
            LcsServiceAuth::NotificationOnly,
            LcsServiceAuth::NotificationAndVerificationOnly,
        ] {
            let found = cause(now(), Some(auth), false).await;
            ensure!(found.as_deref() == Some("POSITIONING_DENIED"), "{found:?}");
        }
        let found = cause(now(), None, true).await;
        ensure!(found.as_deref() == Some("POSITIONING_DENIED"), "{found:?}");
        for location in [LocationType::DeferredLocation, LocationType::NotificationVerificationOnly]
        {
            let found = cause(location, None, false).await;
            ensure!(found.as_deref() == Some("UNSPECIFIED"), "{found:?}");
        }
        Ok(())
    });
}

#[test]
fn requested_quality_decides_the_method_and_the_time() {
    in_namespace(|| async {
        let testbed = testbed_with_http().await?;
        let there = place(120.0, 140.0);
        // Satellites give 73 m, DL-TDOA gives less than 12 m.
        let (_ue, _positioning) = testbed
            .positioning_ue_with(1, there, true, false, testbed.trust()?, |config| {
                config.environment.gnss_deviation_m = Some(30.0);
                config.environment.dl_tdoa = true;
                config.environment.timing_deviation_m = 1.0;
            })
            .await?;
        let amf = gmlc()?;
        let ask = |n: u64, qos: LocationQoS, max_resp_time: Option<u32>| {
            let client = ExternalClientType::ValueAddedServices;
            let mut asked = RequestPosInfo::new(client, LocationType::CurrentLocation);
            (asked.lcs_qos, asked.max_resp_time) = (Some(qos), max_resp_time);
            let (amf, supi) = (&amf, format!("imsi-{:015}", 1_010_000_000_000u64 + n));
            async move { amf.provide_positioning_info(&supi, asked).await }
        };
        let answered = |answer: Result<ProvidePosInfo, martlet_sbi::Problem>| {
            let answer = answer.map_err(|problem| anyhow::anyhow!("{problem}"))?;
            let method = answer.positioning_data_list.unwrap_or_default().pop();
            anyhow::Ok((method.map(|it| it.method), answer.accuracy_fulfilment_indicator))
        };
        let fulfilled = Some(AccuracyFulfilmentIndicator::RequestedAccuracyFulfilled);
        let not_fulfilled = Some(AccuracyFulfilmentIndicator::RequestedAccuracyNotFulfilled);
        let within = |metres: f64, class: LcsQosClass| LocationQoS {
            h_accuracy: Some(metres),
            lcs_qos_class: Some(class),
            ..Default::default()
        };
        // GNSS, which is not in this list of methods, suffices, or DL-TDOA does, or none does.
        let found = answered(ask(1, within(200.0, LcsQosClass::Assured), None).await)?;
        ensure!(found == (None, fulfilled.clone()), "{found:?}");
        let found = answered(ask(1, within(20.0, LcsQosClass::Assured), None).await)?;
        ensure!(found == (Some(PositioningMethod::DlTdoa), fulfilled), "{found:?}");
        let found = answered(ask(1, within(0.1, LcsQosClass::BestEffort), None).await)?;
        ensure!(found == (Some(PositioningMethod::DlTdoa), not_fulfilled), "{found:?}");
        let refused = ask(1, within(0.1, LcsQosClass::Assured), None).await.err();
        let cause = refused.map(|problem| problem.cause().to_string());
        ensure!(cause.as_deref() == Some("POSITIONING_FAILED"), "{cause:?}");

        // What is known at once.
        let at_once =
            LocationQoS { response_time: Some(ResponseTime::NoDelay), ..Default::default() };
        let found = answered(ask(1, at_once, None).await)?;
        ensure!(found == (Some(PositioningMethod::Cellid), None), "{found:?}");

        // A UE that neither connects to the LMF (10 s) nor answers over NAS (10 s).
        let mut silent = testbed.core.ue_config(2);
        (silent.lpp, silent.lcs_upp) = (true, true);
        let silent = testbed.gnb.new_ue(silent)?;
        testbed.core.register_with_session(&silent).await?;
        let start = Instant::now();
        let found = answered(ask(2, LocationQoS::default(), Some(2)).await)?;
        ensure!(found == (Some(PositioningMethod::Cellid), None), "{found:?}");
        ensure!(start.elapsed() < Duration::from_secs(8), "{:?}", start.elapsed());
        Ok(())
    });
}
