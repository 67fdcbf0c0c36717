//! Identification in a registration (TS 23.502, 4.2.2.2.2, steps 6 and 7; TS 24.501, 5.4.3).
use super::general_registration::AUTHENTICATE;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::UeEvent;
use martlet_tests::{TestCore, in_namespace};
use tokio::sync::broadcast::Receiver;

/// IDENTITY REQUEST for the SUCI, not protected.
const IDENTITY_REQUEST: [u8; 4] = [0x7e, 0x00, 0x5b, 0x01];

/// Whether the UE has received an IDENTITY REQUEST for its SUCI.
pub fn received_identity_request(events: &mut Receiver<UeEvent>) -> bool {
    std::iter::from_fn(|| events.try_recv().ok())
        .any(|event| matches!(event, UeEvent::NasReceived(nas) if nas[..] == IDENTITY_REQUEST))
}

#[test]
fn unknown_5g_guti_triggers_an_identity_request() {
    in_namespace(|| async {
        // The AMF deletes the context at deregistration, so it does not know the 5G-GUTI later.
        let core =
            TestCore::start(Sbi::Local, |config| config.amf.timers.deregistered_s = 0).await?;
        let gnb = core.gnb(1).await?;
        let ue = gnb.new_ue(core.ue_config(1))?;
        ue.register().await?;
        ue.deregister().await?;
        core.until("the AMF has deleted the context", |counts| counts.contexts == 0).await?;
        let mut events = ue.subscribe().await?;
        ue.register().await?;
        ensure!(received_identity_request(&mut events), "no IDENTITY REQUEST");
        ensure!(core.sbi_record.calls(AUTHENTICATE) == 2, "an unknown UE must be authenticated");
        core.use_session_and_deregister(&ue).await?;
        core.until_all_released().await
    });
}
