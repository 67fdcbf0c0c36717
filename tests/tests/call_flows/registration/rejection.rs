//! Registrations that the network rejects (TS 24.501, 5.5.1.2.5).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::ue::OperatorKey;
use martlet_ran::{Gnb, UeError};
use martlet_tests::{TestCore, in_namespace};

/// 5GMM causes (TS 24.501, 9.11.3.2).
pub mod mm {
    pub const ILLEGAL_UE: u8 = 3;
    pub const NO_SUITABLE_CELLS: u8 = 15;
    pub const CONGESTION: u8 = 22;
    pub const NO_NETWORK_SLICES: u8 = 62;
    pub const MAXIMUM_OF_SESSIONS: u8 = 65;
    pub const PAYLOAD_NOT_FORWARDED: u8 = 90;
    pub const DNN_NOT_SUBSCRIBED: u8 = 91;
}

/// Checks that a procedure was rejected with this cause.
pub fn refused<T>(outcome: Result<T, UeError>, cause: u8) -> anyhow::Result<()> {
    match outcome {
        Ok(_) => anyhow::bail!("expected rejection with cause #{cause}"),
        Err(error) => {
            ensure!(error.cause() == Some(cause), "expected cause #{cause}: {error}");
            Ok(())
        }
    }
}

#[test]
fn unknown_subscriber_and_wrong_key_are_rejected() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        refused(gnb.new_ue(core.ue_config(999))?.register().await, mm::ILLEGAL_UE)?;
        let mut config = core.ue_config(2);
        config.operator_key = OperatorKey::Opc([0; 16]);
        ensure!(gnb.new_ue(config)?.register().await.is_err(), "a wrong key is accepted");
        // Other UEs are not affected.
        core.register_use_session_and_deregister(&gnb, 1).await?;
        core.sbi_record.check(&["nausf-auth Authenticate"]).await
    });
}

#[test]
fn registration_is_rejected_when_the_amf_is_full() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| config.amf.limits.max_ues = 1).await?;
        let gnb = core.gnb(1).await?;
        let (one, _) = core.ue_with_session(&gnb, 1).await?;
        refused(gnb.new_ue(core.ue_config(2))?.register().await, mm::CONGESTION)?;
        one.deregister().await?;
        core.register_use_session_and_deregister(&gnb, 2).await?;
        core.until_all_released().await
    });
}

#[test]
fn registration_is_rejected_in_an_unserved_tracking_area() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let mut config = core.gnb_config(3);
        config.tac = 77;
        let gnb = Gnb::connect(config).await?;
        refused(gnb.new_ue(core.ue_config(1))?.register().await, mm::NO_SUITABLE_CELLS)?;
        core.until("no context is left", |counts| counts.contexts == 0).await
    });
}
