//! gNBs that come and go.
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_tests::{TestCore, in_namespace, internet};
use std::time::Duration;

#[test]
fn a_gnb_that_vanishes_leaves_nothing_behind() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let phone = gnb.new_ue(core.phone(1))?;
        phone.register().await?;
        phone.establish_pdu_session(internet()).await?;
        gnb.vanish();
        // The association ends after SCTP's own time; a gNB that comes back is set up all the same.
        let second = core.gnb(2).await?;
        let again = second.new_ue(core.phone(1))?;
        again.register().await?;
        again.establish_pdu_session(internet()).await?;
        tokio::time::sleep(Duration::from_millis(200)).await;
        ensure!(core.status("smf")["sessions"] == 1, "the old session is gone: {}", core.status("smf"));
        Ok(())
    });
}
