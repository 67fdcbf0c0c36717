//! More service requests than a function accepts at a time (TS 29.500, 6.4).
use crate::bystander::Bystander;
use crate::security::scas::peer;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_sbi_api::nudm_sdm::{AmDataQuery, UdmSubscriberDataManagementClient};
use martlet_tests::{MetricDelta, TestCore, in_namespace};
use std::time::Duration;

/// Requests above `sbi.max_requests` are answered with 503 and Retry-After.
#[test]
fn excess_requests_are_answered_503_with_retry_after() {
    const MANY: usize = 400;
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| config.sbi.max_requests = 40).await?;
        let bystander = Bystander::at(&core).await?;
        let counted =
            MetricDelta::of("martlet_sbi_http_refused_total", &[("reason", "too many requests")]);
        let udm = UdmSubscriberDataManagementClient::new(peer(12)?);
        let asked: Vec<_> = (0..MANY)
            .map(|_| {
                let udm = udm.clone();
                tokio::spawn(async move {
                    udm.get_am_data("imsi-001010000000001", AmDataQuery::default()).await
                })
            })
            .collect();
        bystander.expect_undisturbed().await?;
        let (mut served, mut rejected) = (0, 0);
        for asked in asked {
            match asked.await? {
                Ok(_) => served += 1,
                Err(problem) if problem.status() == 503 => {
                    // From the UDM or from the UDR behind it.
                    ensure!(problem.cause() == "NF_CONGESTION", "{problem}");
                    rejected += usize::from(problem.retry_after == Some(1));
                }
                Err(problem) => anyhow::bail!("{problem}"),
            }
        }
        ensure!(served >= 40 && rejected > 0, "{served} answered, {rejected} rejected");
        ensure!(counted.get() >= 1.0, "the errors are not counted");
        tokio::time::sleep(Duration::from_millis(50)).await;
        bystander.expect_core_works().await
    });
}
