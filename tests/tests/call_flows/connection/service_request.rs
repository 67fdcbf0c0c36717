//! Service request by the UE (TS 23.502, 4.2.3.2; TS 24.501, 5.6.1).
use crate::connection::paging::receives;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_ran::ue::ServicePurpose;
use martlet_tests::{GATEWAY, TestCore, in_namespace, ping, reaches};

#[test]
fn uplink_data_of_an_idle_ue_activates_its_user_plane() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (phone, address) = core.phone_with_session(&gnb, 1).await?;
        phone.release_to_idle().await?;
        core.until("the phone is idle", |counts| counts.connected == 0).await?;
        // The phone asks for service by itself, and the packet waits for it.
        phone.send_ip(1, ping(address, GATEWAY, 1)).await?;
        receives(&phone, 1..=1).await?;
        // Signalling alone leaves the user plane as it is.
        phone.release_to_idle().await?;
        phone.service_request_for(ServicePurpose::Signalling, &[]).await?;
        ensure!(
            phone.status().await?.active_user_planes.is_empty(),
            "nobody asked for a user plane"
        );
        reaches(&phone, 1, GATEWAY).await?;
        ensure!(phone.status().await?.active_user_planes == [1], "now somebody did");
        Ok(())
    });
}

#[test]
fn service_request_for_an_active_session_changes_nothing() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        phone.service_request_for(ServicePurpose::Data, &[1]).await?;
        ensure!(phone.status().await?.active_user_planes == [1], "its user plane stays");
        reaches(&phone, 1, GATEWAY).await
    });
}
