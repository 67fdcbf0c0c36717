//! Service request by the UE (TS 23.502, 4.2.3.2; TS 24.501, 5.6.1).
use crate::connection::paging::receives;
use anyhow::{Context, ensure};
use martlet::core::Sbi;
use martlet_ran::ue::{RegistrationType, ServicePurpose};
use martlet_tests::{GATEWAY, TestCore, in_namespace, ping, reaches};

#[test]
fn uplink_data_of_an_idle_ue_activates_its_user_plane() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, address) = core.ue_with_session(&gnb, 1).await?;
        ue.release_to_idle().await?;
        core.until("the UE is in CM-IDLE", |counts| counts.connected == 0).await?;
        // The UE sends a SERVICE REQUEST by itself and then the packet.
        ue.send_ip(1, ping(address, GATEWAY, 1)).await?;
        receives(&ue, 1..=1).await?;
        // A service request for signalling activates no user plane.
        ue.release_to_idle().await?;
        ue.service_request_for(ServicePurpose::Signalling, &[]).await?;
        ensure!(
            ue.status().await?.active_user_planes.is_empty(),
            "signalling activated a user plane"
        );
        reaches(&ue, 1, GATEWAY).await?;
        ensure!(ue.status().await?.active_user_planes == [1], "the user plane is not active");
        // A registration follows before the AMF answers: K_gNB is that of the service request.
        ue.release_to_idle().await?;
        let update = ue.register_as(RegistrationType::MobilityRegistrationUpdating);
        let (served, updated) = tokio::join!(ue.service_request(), update);
        served.context("the service request")?;
        updated.context("the registration after it")?;
        reaches(&ue, 1, GATEWAY).await
    });
}

#[test]
fn service_request_for_an_active_session_changes_nothing() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        ue.service_request_for(ServicePurpose::Data, &[1]).await?;
        ensure!(ue.status().await?.active_user_planes == [1], "the user plane is not active");
        reaches(&ue, 1, GATEWAY).await
    });
}
