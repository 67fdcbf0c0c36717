//! Registration and deregistration (TS 23.502, 4.2.2).
use martlet::core::Sbi;
use martlet_tests::{TestCore, in_namespace, internet};

#[test]
fn ten_phones_at_once_all_get_through() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let mut tasks = tokio::task::JoinSet::new();
        for n in 1..=10 {
            let phone = gnb.new_ue(core.phone(n))?;
            tasks.spawn(async move {
                phone.register().await?;
                phone.establish_pdu_session(internet()).await?;
                phone.deregister().await
            });
        }
        while let Some(done) = tasks.join_next().await {
            done??;
        }
        core.until_nothing_is_left().await
    });
}
