//! The AMF moves the user plane connection of a UE to another AMF, or terminates it.
use super::*;
use martlet_sbi::{ApiRoot, CallPolicy, Peer, Problem};
use martlet_sbi_api::namf_communication::AmfCommunicationClient;
use martlet_sbi_api::nlmf_location::{LcsUpConnectionInd, LmfLocationClient, UpConfig};
use martlet_sbi_http::{ClientLimits, HttpBinding};
use std::sync::Arc;

fn config(n: u64) -> UpConfig {
    let mut config =
        UpConfig::new("http://127.0.0.17:7777/namf-callback/v1/up-status/unknown".into());
    config.supi = format!("imsi-{:015}", 1_010_000_000_000u64 + n).parse().ok();
    config
}

/// The function at an API root, as one of type `client` calls it.
fn peer(root: &str, client: &str) -> Result<Peer> {
    let (root, _) = ApiRoot::split(root).context("not an API root")?;
    let binding = Arc::new(HttpBinding::new(ClientLimits::default()));
    Ok(Peer::new(binding, root, client, CallPolicy::default()))
}

/// A client of the LMF, as the AMF has one.
fn client() -> Result<LmfLocationClient> {
    peer("http://127.0.0.18:7777", "AMF").map(LmfLocationClient::new)
}

#[test]
fn connection_continues_at_another_amf_and_ends_with_the_registration() {
    in_namespace(|| async {
        let testbed = Testbed::around(
            async |configure| TestCore::start_on(Sbi::Http, configure).await,
            |_| {},
        )
        .await?;
        let lmf = client()?;
        let there = place(120.0, 140.0);
        let (_ue, positioning) = testbed.ue(1, there, true, true).await?;
        let mut moves = config(1);
        moves.amf_reallocation_ind = Some(true);
        let none = lmf.up_config(moves.clone()).await.err().context("a connection exists")?;
        ensure!(none.cause() == "CONTEXT_NOT_FOUND", "{none}");
        testbed.locate(1).await?;

        // The command and the answer of the UE use NAS; the channel is kept.
        let notified = || testbed.core.sbi_record.calls("nlmf-callback N1MessageNotify");
        let before = notified();
        lmf.up_config(moves).await.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        for _ in 0..1500 {
            if notified() > before {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        ensure!(notified() == before + 1, "the UE answered {} times", notified() - before);
        let (found, ..) = testbed.locate(1).await?;
        ensure!(found.distance(&there) < 20.0 && positioning.state() == UeState::Established);
        ensure!(notified() == before + 1, "the position did not use the existing connection");

        let mut ends = config(1);
        ends.lcs_up_connection_ind = Some(LcsUpConnectionInd::Termination);
        lmf.up_config(ends).await.map_err(|problem| anyhow::anyhow!("{problem}"))?;
        ensure!(positioning.wait_for(UeState::Idle, LIMIT).await, "{:?}", positioning.state());
        testbed.core.sbi_record.check(&["nlmf-loc UpConfig"]).await
    });
}

/// Waits until an operation was called this often.
async fn called(testbed: &Testbed, operation: &str, times: usize) -> Result<()> {
    for _ in 0..1500 {
        if testbed.core.sbi_record.calls(operation) >= times {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let calls = testbed.core.sbi_record.calls(operation);
    anyhow::bail!("{operation} was called {calls} times, not {times}")
}

#[test]
fn connection_that_is_requested_during_a_release_begins_after_it() {
    in_namespace(|| async {
        let testbed = Testbed::around(
            async |configure| TestCore::start_on(Sbi::Http, configure).await,
            |_| {},
        )
        .await?;
        let (lmf, other) = (client()?, testbed.core.gnb(2).await?);
        let wrong = |problem: Problem| anyhow::anyhow!("{problem}");
        let (ue, positioning) = testbed.ue(1, place(120.0, 140.0), true, true).await?;
        testbed.locate(1).await?;
        let (notify, subscribe) =
            ("nlmf-callback N1MessageNotify", "namf-comm N1N2MessageSubscribe");
        let [notified, subscribed] =
            [notify, subscribe].map(|operation| testbed.core.sbi_record.calls(operation));

        // The UE gets RELEASE COMMAND after its handover.
        let mut messages = testbed.gnb.subscribe();
        ue.withhold_nas(1).await?;
        let mut ends = config(1);
        ends.lcs_up_connection_ind = Some(LcsUpConnectionInd::Termination);
        lmf.up_config(ends).await.map_err(wrong)?;
        tokio::time::timeout(LIMIT, messages.recv()).await.context("no RELEASE COMMAND")??;
        let mut begins = config(1);
        begins.lcs_up_connection_ind = Some(LcsUpConnectionInd::Setup);
        lmf.up_config(begins).await.map_err(wrong)?;
        // One for each of the two requests.
        called(&testbed, subscribe, subscribed + 2).await?;
        ensure!(positioning.state() == UeState::Established, "{:?}", positioning.state());
        ue.handover_to(&other).await?;

        // RELEASE COMPLETE, and ESTABLISHMENT COMPLETE of the next connection.
        called(&testbed, notify, notified + 2).await?;
        ensure!(
            positioning.wait_for(UeState::Established, LIMIT).await,
            "the UE is not connected again: {:?}",
            positioning.state()
        );
        Ok(())
    });
}

#[test]
fn connection_is_released_through_an_amf_without_subscription() {
    in_namespace(|| async {
        let testbed = Testbed::around(
            async |configure| TestCore::start_on(Sbi::Http, configure).await,
            |_| {},
        )
        .await?;
        let (_ue, positioning) = testbed.ue(1, place(120.0, 140.0), true, true).await?;
        testbed.locate(1).await?;
        // As after a change of AMF.
        let amf = AmfCommunicationClient::new(peer("http://127.0.0.17:7777", "LMF")?);
        let supi = "imsi-001010000000001";
        let mut ended = 0;
        for id in 1..10 {
            let unsubscribed = amf.n1_n2_message_unsubscribe(supi, &id.to_string()).await;
            ended += usize::from(unsubscribed.is_ok());
        }
        ensure!(ended > 0, "the LMF has not subscribed to the UE's messages");
        let configured = testbed.core.sbi_record.calls("nlmf-loc UpConfig");
        positioning.release().await;
        ensure!(positioning.wait_for(UeState::Idle, LIMIT).await, "{:?}", positioning.state());
        // RELEASE COMPLETE reaches the LMF.
        called(&testbed, "nlmf-callback N1MessageNotify", 2).await?;
        ensure!(testbed.core.sbi_record.calls("nlmf-loc UpConfig") == configured + 1);
        testbed.locate(1).await?;
        ensure!(positioning.state() == UeState::Established, "the UE did not connect again");
        Ok(())
    });
}
