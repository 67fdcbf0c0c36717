//! A UE with a session that tests of malformed input and overload must not disturb.
use anyhow::{Result, ensure};
use martlet_ran::{Gnb, Ue};
use martlet_tests::{Counts, GATEWAY, TestCore, internet, reaches};

/// The UE, its gNB, and the counts of the core before the test.
pub struct Bystander<'a> {
    pub core: &'a TestCore,
    pub ue: Ue,
    pub gnb: Gnb,
    pub before: Counts,
}

impl<'a> Bystander<'a> {
    /// Registers the last subscriber's UE at its own gNB.
    pub async fn at(core: &'a TestCore) -> Result<Bystander<'a>> {
        let gnb = core.gnb(9).await?;
        let (ue, _) = core.ue_with_session(&gnb, martlet_tests::SUBSCRIBERS).await?;
        reaches(&ue, 1, GATEWAY).await?;
        Ok(Bystander { core, ue, gnb, before: core.counts() })
    }

    /// Checks that the UE is connected and its session carries packets.
    pub async fn expect_undisturbed(&self) -> Result<()> {
        reaches(&self.ue, 1, GATEWAY).await?;
        let status = self.ue.status().await?;
        ensure!(
            status.connected && status.active_user_planes == [1],
            "the bystander was disturbed: {status:?}"
        );
        Ok(())
    }

    /// Checks that another session and another UE work, and that no other state is left.
    pub async fn expect_core_works(&self) -> Result<()> {
        self.expect_undisturbed().await?;
        let session = self.ue.establish_pdu_session(internet()).await?;
        reaches(&self.ue, session.psi, GATEWAY).await?;
        self.ue.release_pdu_session(session.psi).await?;
        self.core.register_use_session_and_deregister(&self.gnb, 1).await?;
        let same = |counts: &Counts| {
            Counts { gnbs: 0, contexts: 0, ..*counts }
                == Counts { gnbs: 0, contexts: 0, ..self.before }
        };
        self.core.until("the counts are as before", same).await
    }
}
