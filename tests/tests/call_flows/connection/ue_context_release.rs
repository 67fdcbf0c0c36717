//! UE context release by the AMF (TS 38.413, 8.3.3; TS 23.502, 4.2.6, steps 2 to 4).
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ngap::NgapPduKind as Kind;
use martlet_ngap::ie;
use martlet_ngap::ngap::ResetType;
use martlet_tests::{RawGnb, TestCore, in_namespace};
use std::time::Duration;

#[test]
fn unanswered_ue_context_release_is_followed_by_a_reset() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| config.amf.timers.ngap_ms = 200).await?;
        let gnb = RawGnb::set_up(&core, 1).await?;
        // A service request of an unknown UE: the AMF rejects it and releases the connection.
        let request = [0x7e, 0, 0x4c, 0x10, 0, 7, 0xf4, 0, 0x41, 0, 0, 0, 1];
        gnb.send(gnb.initial_ue_message(5, &request)).await?;
        let command = gnb.next_of(Kind::Initiating_UEContextRelease).await?;
        ensure!(command.ie::<ie::UE_NGAP_IDs>().is_some());
        let reset = gnb.next_of(Kind::Initiating_NGReset).await?;
        let Some(ResetType::partOfNG_Interface(part)) = reset.ie::<ie::ResetType>().transpose()?
        else {
            anyhow::bail!("not a reset of a part of the interface: {reset:?}");
        };
        let of = part.0.first().and_then(|item| item.ran_ue_ngap_id.as_ref()).map(|id| id.0);
        ensure!(part.0.len() == 1 && of == Some(5), "{part:?}");
        core.until("no UE is connected", |c| c.connected == 0).await?;
        ensure!(gnb.is_silent(Duration::from_millis(100)).await);
        Ok(())
    });
}
