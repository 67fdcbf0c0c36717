//! Session type of a PDU session: requested, subscribed and supported (TS 24.501, 6.4.1.3).
use crate::establishment::pdu_session_establishment::session_of_type;
use crate::registration::rejection::refused;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_nas::PduSessionTypeValue;
use martlet_ran::Gnb;
use martlet_ran::ue::PduSessionRequest;
use martlet_store::SessionType;
use martlet_tests::{GATEWAY, TestCore, in_namespace, internet, reaches};

/// 5GSM cause #50, PDU session type IPv4 only allowed (TS 24.501, 9.11.4.2).
const IPV4_ONLY: u8 = 50;

#[test]
fn unsupported_session_type_is_rejected_or_becomes_ipv4() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let ue = gnb.new_ue(core.ue_config(1))?;
        ue.register().await?;
        let of = |session_type| PduSessionRequest { session_type, ..internet() };
        refused(ue.establish_pdu_session(of(PduSessionTypeValue::Ipv6)).await, IPV4_ONLY)?;
        let both = ue.establish_pdu_session(of(PduSessionTypeValue::Ipv4v6)).await?;
        ensure!(both.cause == Some(IPV4_ONLY) && both.ipv4.is_some(), "{both:?}");
        ue.deregister().await?;
        core.until_all_released().await
    });
}

#[test]
fn session_type_that_is_not_allowed_has_its_cause() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let ue = gnb.new_ue(core.ue_config(1))?;
        ue.register().await?;
        // The subscription allows IPv4 only.
        let lesser = ue.establish_pdu_session(session_of_type(PduSessionTypeValue::Ipv4v6)).await?;
        ensure!(lesser.ipv4.is_some() && lesser.cause == Some(50), "{lesser:?}");
        let refused = ue.establish_pdu_session(session_of_type(PduSessionTypeValue::Ipv6)).await;
        ensure!(refused.as_ref().is_err_and(|error| error.cause() == Some(50)), "{refused:?}");
        let refused =
            ue.establish_pdu_session(session_of_type(PduSessionTypeValue::Ethernet)).await;
        ensure!(refused.as_ref().is_err_and(|error| error.cause() == Some(28)), "{refused:?}");
        Ok(())
    });
}

/// The gNBs of srsRAN and OCUDU set up no session of type IPv4v6, which UEs request.
#[test]
fn a_ue_requests_ipv4_at_a_gnb_without_sessions_of_both_versions() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        core.subscribe(1, |subscriber| {
            subscriber.slices[0].dnns[0].session_types = vec![SessionType::Ipv4v6];
        })?;
        let mut config = core.gnb_config(1);
        config.unsupported_session_types = vec![martlet_ngap::transfer::SessionType::Ipv4v6];
        let gnb = Gnb::connect(config).await?;
        let ue = gnb.new_ue(core.ue_config(1))?;
        ue.register().await?;
        let both = session_of_type(PduSessionTypeValue::Ipv4v6);
        refused(ue.establish_pdu_session(both).await, IPV4_ONLY)?;
        core.until("the session is released", |counts| counts.sessions == 0).await?;
        let session = ue.establish_pdu_session(session_of_type(PduSessionTypeValue::Ipv4)).await?;
        reaches(&ue, session.psi, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}
