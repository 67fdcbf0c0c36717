//! Location reporting by the gNB (TS 38.413, 8.12; TS 29.518, 5.5.2.3).
use anyhow::{Context, ensure};
use martlet::core::Sbi;
use martlet_sbi::{ApiRoot, CallPolicy, Peer};
use martlet_sbi_api::namf_location::{AmfLocationClient, RequestLocInfo};
use martlet_sbi_http::{ClientLimits, HttpBinding};
use martlet_tests::{TestCore, in_namespace};
use std::sync::Arc;

#[test]
fn location_is_reported_at_once_and_the_last_known_one_when_idle() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(7).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let (root, _) = ApiRoot::split("http://127.0.0.17:7777").context("not an API root")?;
        let binding = Arc::new(HttpBinding::new(ClientLimits::default()));
        let amf = AmfLocationClient::new(Peer::new(binding, root, "GMLC", CallPolicy::default()));
        let asked = RequestLocInfo {
            req5gs_loc: Some(true),
            req_current_loc: Some(true),
            req_rat_type: Some(true),
            ..Default::default()
        };
        let ask = || {
            let (amf, asked) = (&amf, asked.clone());
            async move {
                let result = amf.provide_location_info("imsi-001010000000001", asked).await;
                result.map_err(|problem| anyhow::anyhow!("{problem}"))
            }
        };
        let here = ask().await?;
        let place = |info: &martlet_sbi_api::namf_location::ProvideLocInfo| {
            Some(info.location.as_ref()?.nr_location.as_ref()?.ncgi.nr_cell_id.to_string())
        };
        ensure!(here.current_loc == Some(true) && here.rat_type.is_some(), "{here:?}");
        // The gNB's identity makes the first 24 bits of the cell's.
        ensure!(place(&here).is_some_and(|cell| cell.starts_with("000007")), "{here:?}");
        ue.release_to_idle().await?;
        let last = ask().await?;
        ensure!(last.current_loc == Some(false) && place(&last) == place(&here), "{last:?}");
        core.sbi_record.check(&["namf-loc ProvideLocationInfo"]).await?;
        ue.deregister().await?;
        Ok(())
    });
}
