//! More service requests than a function accepts at a time (TS 29.500, 6.4).
use crate::bystander::Witness;
use crate::security::scas::peer;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_pfcp::*;
use martlet_sbi_api::nudm_sdm::{AmDataQuery, UdmSubscriberDataManagementClient};
use martlet_tests::{Growth, TestCore, in_namespace};
use std::time::Duration;

/// Requests to one function beyond those that it answers at a time: 503 with Retry-After.
#[test]
fn excess_requests_are_answered_503_with_retry_after() {
    const MANY: usize = 400;
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| config.sbi.max_requests = 40).await?;
        let witness = Witness::at(&core).await?;
        let shed = Growth::of("martlet_sbi_http_refused_total", &[("reason", "too many requests")]);
        let udm = UdmSubscriberDataManagementClient::new(peer(12)?);
        let asked: Vec<_> = (0..MANY)
            .map(|_| {
                let udm = udm.clone();
                tokio::spawn(async move {
                    udm.get_am_data("imsi-001010000000001", AmDataQuery::default()).await
                })
            })
            .collect();
        witness.is_untouched().await?;
        let (mut served, mut told) = (0, 0);
        for asked in asked {
            match asked.await? {
                Ok(_) => served += 1,
                Err(problem) if problem.status() == 503 => {
                    // Of the UDM itself, or of the UDR behind it.
                    ensure!(problem.cause() == "NF_CONGESTION", "{problem}");
                    told += usize::from(problem.retry_after == Some(1));
                }
                Err(problem) => anyhow::bail!("{problem}"),
            }
        }
        ensure!(served >= 40 && told > 0, "{served} were answered, {told} told to come back");
        ensure!(shed.so_far() >= 1.0, "they are counted");
        tokio::time::sleep(Duration::from_millis(50)).await;
        witness.and_all_is_well().await
    });
}
