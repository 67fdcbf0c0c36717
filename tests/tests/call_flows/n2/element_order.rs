//! NGAP messages with information elements in another order than TS 38.413, 9.2, has, as
//! PacketRusher sends them.
use crate::security::five_g_aka::{REGISTRATION_REQUEST, from_hex};
use anyhow::{Result, ensure};
use bytes::Bytes;
use martlet::core::Sbi;
use martlet_ngap::ngap::*;
use martlet_ngap::{NgapPduKind as Kind, build_ngap, helpers};
use martlet_tests::{MetricDelta, RawGnb, TestCore, cause_of, in_namespace};

pub fn initial_ue_message() -> Result<Bytes> {
    let plmn = helpers::plmn("001", "01")?;
    let location = UserLocationInformationNR::new(
        helpers::nr_cgi(plmn, 1, 24, 1)?,
        helpers::tai(plmn, [0, 0, 1]),
        None,
        None,
    );
    let pdu = build_ngap!(
        InitiatingMessage,
        InitialUEMessage,
        InitialUEMessage,
        RRCEstablishmentCause(RRCEstablishmentCause::mo_Signalling),
        UserLocationInformation(UserLocationInformation::userLocationInformationNR(location)),
        NAS_PDU(from_hex(REGISTRATION_REQUEST)),
        RAN_UE_NGAP_ID(1u32),
    );
    Ok(pdu?.encode()?.into())
}

#[test]
fn elements_in_any_order_are_accepted_and_counted() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let deviations = MetricDelta::of(
            "martlet_interop_quirks_total",
            &[("interface", "n2"), ("quirk", "element_order")],
        );
        let gnb = RawGnb::set_up(&core, 1).await?;
        gnb.send(initial_ue_message()?).await?;
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
        gnb.send(initial_ue_message()?).await?;
        let answer = gnb.next().await?;
        ensure!(answer.kind() == Kind::Initiating_ErrorIndication, "{answer:?}");
        let falsely = CauseProtocol::abstract_syntax_error_falsely_constructed_message;
        let cause = cause_of(&answer)?;
        ensure!(cause == Cause::protocol(falsely), "{cause:?}");
        Ok(())
    });
}
