//! What is not allowed, or not there, is refused with the cause that the specifications have for it.
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::ue::{OperatorKey, PduSessionRequest};
use martlet_tests::{TestCore, in_namespace, internet};

#[test]
fn who_may_not_register_is_told_why() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        // Not a subscriber: #7, 5GS services not allowed, or #3 as the AMF sees it.
        let stranger = gnb.new_ue(core.phone(999))?.register().await.expect_err("a stranger is not let in");
        ensure!(matches!(stranger.cause(), Some(3 | 7)), "{stranger}");
        // Another key: the phone refuses the network's challenge, and is rejected.
        let mut config = core.phone(2);
        config.operator_key = OperatorKey::Opc([0; 16]);
        ensure!(gnb.new_ue(config)?.register().await.is_err(), "a wrong key is not let in");
        // A sequence number ahead of the network's is made up for.
        let mut config = core.phone(3);
        config.sqn = 1 << 20;
        gnb.new_ue(config)?.register().await?;
        // The others are not disturbed.
        gnb.new_ue(core.phone(1))?.register().await?;
        Ok(())
    });
}

#[test]
fn what_is_not_subscribed_is_refused_and_an_exhausted_pool_too() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| config.smf.dnns[0].pool = "10.45.0.0/30".into()).await?;
        let gnb = core.gnb(1).await?;
        let (one, two) = (gnb.new_ue(core.phone(1))?, gnb.new_ue(core.phone(2))?);
        one.register().await?;
        two.register().await?;
        let other = PduSessionRequest { dnn: Some("ims".into()), ..PduSessionRequest::default() };
        ensure!(one.establish_pdu_session(other).await.is_err(), "an unknown data network is refused");
        one.establish_pdu_session(internet()).await?;
        let refused = two.establish_pdu_session(internet()).await.expect_err("the pool has one address");
        ensure!(refused.cause() == Some(26), "insufficient resources: {refused}");
        one.release_pdu_session(1).await?;
        core.until("the address is free again", |counts| counts.addresses == 0).await?;
        two.establish_pdu_session(internet()).await?;
        Ok(())
    });
}
