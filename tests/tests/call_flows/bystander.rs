//! Input that is not as it should be, from every side: it is answered as the specifications say,
//! counted, and disturbs nobody. In each test a phone with a session looks on, and goes on.
use anyhow::{Result, ensure};
use martlet_ran::{Gnb, Ue};
use martlet_tests::{Counts, GATEWAY, TestCore, internet, reaches};

/// A phone that has nothing to do with it.
pub struct Witness<'a> {
    pub core: &'a TestCore,
    pub phone: Ue,
    pub gnb: Gnb,
    pub before: Counts,
}

impl<'a> Witness<'a> {
    /// The last subscriber's phone, at a gNB of its own.
    pub async fn at(core: &'a TestCore) -> Result<Witness<'a>> {
        let gnb = core.gnb(9).await?;
        let (phone, _) = core.phone_with_session(&gnb, martlet_tests::SUBSCRIBERS).await?;
        reaches(&phone, 1, GATEWAY).await?;
        Ok(Witness { core, phone, gnb, before: core.counts() })
    }

    /// Nothing of it has changed: its session carries traffic.
    pub async fn is_untouched(&self) -> Result<()> {
        reaches(&self.phone, 1, GATEWAY).await?;
        let status = self.phone.status().await?;
        ensure!(
            status.connected && status.active_user_planes == [1],
            "the witness was disturbed: {status:?}"
        );
        Ok(())
    }

    /// The whole core still works, and has nothing more than before.
    pub async fn and_all_is_well(&self) -> Result<()> {
        self.is_untouched().await?;
        let session = self.phone.establish_pdu_session(internet()).await?;
        reaches(&self.phone, session.psi, GATEWAY).await?;
        self.phone.release_pdu_session(session.psi).await?;
        self.core.use_session_and_leave_as(&self.gnb, 1).await?;
        let same = |counts: &Counts| {
            Counts { gnbs: 0, contexts: 0, ..*counts }
                == Counts { gnbs: 0, contexts: 0, ..self.before }
        };
        self.core.until("all is as before", same).await
    }
}
