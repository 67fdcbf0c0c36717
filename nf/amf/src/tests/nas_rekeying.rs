//! NAS messages under the previous security context during security mode control.
use super::core::{Core, ue};
use super::n2::nas_lost;
use super::script::Script;
use bytes::Bytes;
use martlet_ausf::Ausf;
use martlet_nas::*;
use martlet_ran::{Gnb, IdleBehaviour, Ue};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A UE that is being authenticated for new keys. The AUSF has its response, and answers when the
/// script continues: what the UE sends before is read during security mode control.
struct Rekeying {
    core: Core,
    script: Arc<Script>,
    ue_1: Ue,
    gnb: Gnb,
}

impl Rekeying {
    async fn start() -> Self {
        Self::start_through(|message| message).await
    }

    /// Of a UE whose gNB sends messages through `between`.
    async fn start_through(between: impl FnMut(Bytes) -> Bytes + Send + 'static) -> Self {
        const CONFIRM: &str = "Confirm5gAka";
        let core = Core::start_with(|config| config.security.rekey_at_count = 8).await;
        let gnb = core.gnb_through(between, |_| {}).await.unwrap();
        let mut config = ue(1);
        config.idle = IdleBehaviour::Manual;
        let ue_1 = core.with_session(&gnb, config).await;
        let script = Script::new();
        core.start_scripted::<Ausf>(13, &script).await;
        script.hold(CONFIRM);
        // Messages without an answer, each with a NAS COUNT.
        for _ in 0..8 {
            let status = reaction::status(GmmCause::ProtocolErrorUnspecified);
            ue_1.send_nas(status).await.unwrap();
        }
        script.wait_for(CONFIRM).await;
        Rekeying { core, script, ue_1, gnb }
    }
}

#[tokio::test]
async fn a_message_under_the_previous_keys_is_handled_after_security_mode_control() {
    let Rekeying { core, script, ue_1, gnb: _gnb } = Rekeying::start().await;
    let complete = Nas5gsMessage::new_5gsm(NasPduSessionReleaseComplete::new(), 1, 1);
    ue_1.send_session_message(1, complete).await.unwrap();
    script.release();
    core.smf.wait_for("update 1 release complete").await;
    // The UE has its new keys.
    ue_1.deregister().await.unwrap();
    core.wait_for((1, 0, 0)).await;
}

#[tokio::test]
async fn security_mode_reject_under_the_previous_keys_ends_security_mode_control() {
    let Rekeying { core, script, ue_1, gnb: _gnb } = Rekeying::start().await;
    let cause = NasFGmmCause::from_cause(GmmCause::SecurityModeRejectedUnspecified);
    ue_1.send_nas(Nas5gsMessage::new_5gmm(NasSecurityModeReject::new(cause))).await.unwrap();
    script.release();
    core.wait_for((1, 1, 0)).await;
}

/// SECURITY MODE COMPLETE is lost, and the UE sends its next message under the new keys.
#[tokio::test]
async fn a_message_under_the_new_keys_is_answered_under_them() {
    let is_lost = Arc::new(AtomicBool::new(true));
    let loss = is_lost.clone();
    let between = move |message: Bytes| {
        let lost = nas_lost(message.clone());
        match lost != message && !loss.swap(true, Ordering::Relaxed) {
            true => lost,
            false => message,
        }
    };
    let Rekeying { core, script, ue_1, gnb: _gnb } = Rekeying::start_through(between).await;
    is_lost.store(false, Ordering::Relaxed);
    script.release();
    let complete = async {
        while !is_lost.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), complete).await.expect("an answer to lose");
    // Sooner than T3521 of the UE and T3560 of the AMF.
    let accepted = tokio::time::timeout(Duration::from_secs(5), ue_1.deregister()).await;
    accepted.expect("an answer that the UE can open").unwrap();
    core.wait_for((1, 0, 0)).await;
}
