//! NGAP messages with information elements in another order than TS 38.413, 9.2, has, as
//! PacketRusher sends them.
use crate::registration::authentication::five_g_aka::{REGISTRATION_REQUEST, from_hex};
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ngap::*;
use martlet_tests::{MetricDelta, RawGnb, TestCore, cause_of, in_namespace};

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
