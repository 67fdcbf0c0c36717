//! NGAP messages with information elements in another order than TS 38.413, 9.2, has, as
//! PacketRusher sends them.
use crate::handover::expect_served_by;
use crate::registration::authentication::five_g_aka::{REGISTRATION_REQUEST, from_hex};
use anyhow::{Context, Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ngap::*;
use martlet_ran::{ElementOrder, Gnb, Ue};
use martlet_tests::{
    GATEWAY, LogLines, MetricDelta, RawGnb, TestCore, cause_of, in_namespace, reaches,
};
use std::time::Duration;

#[test]
fn elements_in_any_order_are_accepted_and_counted() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let deviations = MetricDelta::of(
            "martlet_interop_quirks_total",
            &[("interface", "n2"), ("quirk", "element_order")],
        );
        let gnb = RawGnb::set_up(&core, 1).await?;
        gnb.send(gnb.disordered_initial_ue_message(1, &from_hex(REGISTRATION_REQUEST))).await?;
        let (_, nas) = gnb.next_nas().await?;
        ensure!(nas.starts_with(&[0x7e, 0x00, 0x56]), "expected AUTHENTICATION REQUEST");
        ensure!(deviations.get() >= 1.0, "not counted");
        let status = core.status("amf")["quirks"].clone();
        ensure!(status.to_string().contains("element_order"), "{status}");
        Ok(())
    });
}

#[test]
fn elements_out_of_order_are_rejected_if_strict() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| config.amf.n2.strict = true).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        gnb.send(gnb.disordered_initial_ue_message(1, &from_hex(REGISTRATION_REQUEST))).await?;
        let answer = gnb.next().await?;
        ensure!(answer.kind() == Kind::Initiating_ErrorIndication, "{answer:?}");
        let falsely = CauseProtocol::abstract_syntax_error_falsely_constructed_message;
        let cause = cause_of(&answer)?;
        ensure!(cause == Cause::protocol(falsely), "{cause:?}");
        Ok(())
    });
}

/// A core with two gNBs whose elements are in this order, and a UE with a session at the first.
async fn two_disordered_gnbs(
    order: ElementOrder,
    change: impl FnOnce(&mut Config),
) -> Result<(TestCore, Gnb, Gnb, Ue)> {
    let core = TestCore::start(Sbi::Local, change).await?;
    let config = |number| {
        let mut config = core.gnb_config(number);
        // Names that no gNB of another test has: deviations are reported once for each.
        config.name = format!("{order:?}-{number}");
        config.deviations.element_order = order;
        config.procedure_timeout = Duration::from_secs(2);
        config
    };
    let (one, other) = (Gnb::connect(config(1)).await?, Gnb::connect(config(2)).await?);
    let (ue, _) = core.ue_with_session(&one, 1).await?;
    Ok((core, one, other, ue))
}

/// PacketRusher's handovers: HANDOVER REQUIRED, HANDOVER REQUEST ACKNOWLEDGE, HANDOVER NOTIFY and
/// PATH SWITCH REQUEST have their elements in another order.
#[test]
fn handovers_with_elements_in_any_order_succeed_and_are_reported_once_for_each_gnb() {
    for order in [ElementOrder::ReversedInHandovers, ElementOrder::Reversed] {
        in_namespace(move || async move {
            let log = LogLines::record();
            let (core, one, other, ue) = two_disordered_gnbs(order, |_| {}).await?;
            let counted = || {
                let status = core.status("amf");
                let entries = status["quirks"].as_array().into_iter().flatten();
                let count = |name: &str| {
                    let of_gnb = entries
                        .clone()
                        .find(|entry| entry["quirk"] == "element_order" && entry["peer"] == name);
                    of_gnb.and_then(|entry| entry["count"].as_u64()).unwrap_or_default()
                };
                [count(one.name()), count(other.name())]
            };
            let before = counted();
            for round in 0..2 {
                let to = if round % 2 == 0 { &other } else { &one };
                ue.handover_to(to).await?;
                expect_served_by(&core, &ue, to).await?;
            }
            for round in 0..2 {
                let to = if round % 2 == 0 { &other } else { &one };
                ue.xn_handover_to(to).await?;
                expect_served_by(&core, &ue, to).await?;
            }
            // Of N2: REQUIRED and the status transfer of the source, ACKNOWLEDGE and NOTIFY of the
            // target. Of Xn: PATH SWITCH REQUEST.
            let after = counted();
            let increases = [after[0] - before[0], after[1] - before[1]];
            ensure!(increases.iter().all(|count| *count >= 5), "{increases:?}");
            if order == ElementOrder::ReversedInHandovers {
                ensure!(increases == [5, 5], "{increases:?}");
            }
            ensure!(one.error_indications() + other.error_indications() == 0);
            ue.release_to_idle().await?;
            reaches(&ue, 1, GATEWAY).await?;
            ue.deregister().await?;
            core.until_all_released().await?;
            let reported = log.with_message("deviation tolerated");
            let mut peers: Vec<_> = reported.iter().map(|line| line["peer"].as_str()).collect();
            peers.sort_unstable();
            ensure!(peers == [one.name(), other.name()], "{reported:?}");
            ensure!(reported.iter().all(|line| line["quirk"] == "element_order"), "{reported:?}");
            Ok(())
        });
    }
}

#[test]
fn handovers_with_elements_out_of_order_are_rejected_if_strict() {
    in_namespace(|| async {
        let strict = |config: &mut Config| config.amf.n2.strict = true;
        let (core, one, other, ue) =
            two_disordered_gnbs(ElementOrder::ReversedInHandovers, strict).await?;
        let refused = ue.handover_to(&other).await.err().context("the handover was accepted")?;
        let cause = refused.to_string();
        ensure!(cause.contains("falsely constructed"), "{cause}");
        // The UE stays where it is.
        expect_served_by(&core, &ue, &one).await?;
        ensure!(ue.xn_handover_to(&other).await.is_err(), "the path switch was accepted");
        ensure!(other.error_indications() == 1, "{}", other.error_indications());
        Ok(())
    });
}
