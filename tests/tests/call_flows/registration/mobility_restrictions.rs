//! Service area restrictions (TS 24.501, 5.3.5).
use anyhow::{Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ran::ue::RegistrationType;
use martlet_ran::{Gnb, ServicePurpose, Ue};
use martlet_store::ServiceArea;
use martlet_tests::{GATEWAY, TestCore, in_namespace, internet, reaches};
use std::time::Duration;

/// Adds a second tracking area, equivalent PLMNs and T3502.
pub fn two_areas(config: &mut Config) {
    let mut second = config.amf.tais[0].clone();
    second.tac = 2;
    config.amf.tais.push(second);
    config.amf.equivalent_plmns = vec!["00102".into(), "310410".into()];
    config.amf.timers.t3502_s = 300;
}

async fn gnb_of_area(core: &TestCore, number: u8, tac: u32) -> Result<Gnb> {
    let mut config = core.gnb_config(number);
    config.tac = tac;
    Ok(Gnb::connect(config).await?)
}

/// Waits until the configuration that the network gave a UE matches.
pub async fn until(
    ue: &Ue,
    what: &str,
    is: impl Fn(&martlet_ran::ue::NetworkSettings) -> bool,
) -> Result<()> {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    loop {
        let given = ue.status().await?.settings;
        if is(&given) {
            return Ok(());
        }
        ensure!(tokio::time::Instant::now() < deadline, "{what}: {given:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn ue_in_a_non_allowed_area_is_registered_without_service() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Http, two_areas).await?;
        core.subscribe(1, |subscriber| {
            subscriber.service_area = Some(ServiceArea::Allowed(vec![1]))
        })?;
        let (here, there) = (gnb_of_area(&core, 1, 1).await?, gnb_of_area(&core, 2, 2).await?);
        let (ue, _) = core.ue_with_session(&here, 1).await?;
        let given = ue.status().await?.settings;
        ensure!(given.without_service == [2], "{given:?}");
        ensure!(given.equivalent_plmns == ["00102", "310410"], "{given:?}");
        ensure!(given.t3502 == Some(Duration::from_secs(300)), "{given:?}");
        reaches(&ue, 1, GATEWAY).await?;
        ue.release_to_idle().await?;
        ue.move_to(&there).await?;
        // Cause #28: restricted service area.
        let refused = ue.service_request_for(ServicePurpose::Data, &[1]).await;
        ensure!(
            refused.as_ref().is_err_and(|error| error.cause() == Some(28)),
            "service in a non-allowed area: {refused:?}"
        );
        ue.wait_idle().await?;
        core.until("the UE stays registered", |c| (c.registered, c.sessions) == (1, 1)).await?;
        // It registers there without an active user plane, and gets no further session.
        ue.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        ensure!(ue.status().await?.active_user_planes.is_empty(), "{:?}", ue.status().await?);
        let refused = ue.establish_pdu_session(internet()).await;
        ensure!(
            refused.as_ref().is_err_and(|error| error.cause() == Some(28)),
            "session in a non-allowed area: {refused:?}"
        );
        // The subscription now allows the area; the UE is notified.
        core.subscribe(1, |_| {})?;
        until(&ue, "no area is restricted", |given| given.without_service.is_empty()).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await
    });
}
