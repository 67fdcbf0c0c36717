//! AMF status indication (TS 38.413, 8.7.6), and AMF status change notification (TS 29.518,
//! 5.2.2.5).
use crate::security::scas::{peer, problem};
use anyhow::{Context, ensure};
use martlet::core::Sbi;
use martlet_sbi::{Problem, Router};
use martlet_sbi_api::namf_communication::*;
use martlet_sbi_http::HttpServer;
use martlet_tests::{TestCore, eventually, in_namespace};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

#[test]
fn amf_status_indication_is_sent_at_shutdown() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        core.core.shut_down();
        eventually(
            "AMF STATUS INDICATION",
            || (gnb.unavailable_guamis() == 1).then_some(()),
            || format!("{} GUAMIs", gnb.unavailable_guamis()),
        )
        .await?;
        gnb.lost().await;
        Ok(())
    });
}

/// A consumer of the AMF's state.
struct Consumer(mpsc::UnboundedSender<AmfStatusChangeNotification>);

impl AmfStatusCallback for Consumer {
    async fn amf_status_change_notify(
        &self,
        _: &str,
        body: AmfStatusChangeNotification,
    ) -> Result<(), Problem> {
        let _ = self.0.send(body);
        Ok(())
    }
}

/// AMFStatusChangeSubscribe, Notify and UnSubscribe (TS 29.518, 5.2.2.5).
#[test]
fn subscribed_consumers_are_notified_of_the_shutdown() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| {
            // The consumer is not registered with the NRF.
            config.sbi.callbacks.allow = vec!["127.0.0.78".into()];
        })
        .await?;
        let (sender, mut received) = mpsc::unbounded_channel();
        let routes = NAMF_STATUS_CALLBACK.routes(Arc::new(Consumer(sender)));
        let router = Arc::new(Router::new().serve(routes));
        let server =
            HttpServer::bind("127.0.0.78:7777".parse()?, router, Default::default()).await?;
        tokio::spawn(server.run());
        let amf = AmfCommunicationClient::new(peer(17)?);
        let subscription = |id: &str| SubscriptionData {
            amf_status_uri: format!(
                "http://127.0.0.78:7777/namf-status-callback/v1/amf-status/{id}"
            ),
            guami_list: None,
        };
        let wrong = SubscriptionData { amf_status_uri: "nowhere".into(), guami_list: None };
        let refused = amf.amf_status_change_subscribe(wrong).await.err().map(|e| e.status());
        ensure!(refused == Some(400), "{refused:?}");
        let ended = amf.amf_status_change_subscribe(subscription("1")).await.map_err(problem)?;
        amf.amf_status_change_subscribe(subscription("2")).await.map_err(problem)?;
        let id = ended.location.rsplit('/').next().context("a location")?;
        amf.amf_status_change_unsubscribe(id).await.map_err(problem)?;
        core.core.shut_down();
        let body = tokio::time::timeout(Duration::from_secs(10), received.recv()).await?;
        let list = body.context("no notification")?.amf_status_info_list;
        ensure!(
            list.len() == 1
                && list[0].status_change == StatusChange::AmfUnavailable
                && list[0].guami_list.len() == 1,
            "{list:?}"
        );
        // Without configuration the AMF pointer is 0: UERANSIM 3.3 reads any other one wrongly, and
        // then answers no paging.
        let own = martlet_sbi_api::common::AmfId::from_parts(1, 1, 0);
        ensure!(list[0].guami_list[0].amf_id == own, "{list:?}");
        Ok(())
    });
}
