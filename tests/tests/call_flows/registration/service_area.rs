//! Service area restrictions (TS 24.501, 5.3.5).
use anyhow::{Result, ensure};
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_ran::ue::RegistrationType;
use martlet_ran::{Gnb, ServicePurpose, Ue};
use martlet_store::ServiceArea;
use martlet_tests::{GATEWAY, TestCore, in_namespace, internet, reaches};
use std::time::Duration;

/// A second tracking area, and what phones are told beside.
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

/// Waits until a phone has what it is to have.
pub async fn until(
    phone: &Ue,
    what: &str,
    is: impl Fn(&martlet_ran::ue::Given) -> bool,
) -> Result<()> {
    let give_up = tokio::time::Instant::now() + Duration::from_secs(10);
    loop {
        let given = phone.status().await?.given;
        if is(&given) {
            return Ok(());
        }
        ensure!(tokio::time::Instant::now() < give_up, "{what}: {given:?}");
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
        let (phone, _) = core.phone_with_session(&here, 1).await?;
        let given = phone.status().await?.given;
        ensure!(given.without_service == [2], "{given:?}");
        ensure!(given.equivalent_plmns == ["00102", "310410"], "{given:?}");
        ensure!(given.t3502 == Some(Duration::from_secs(300)), "{given:?}");
        reaches(&phone, 1, GATEWAY).await?;
        phone.release_to_idle().await?;
        phone.move_to(&there).await?;
        // Restricted service area.
        let refused = phone.service_request_for(ServicePurpose::Data, &[1]).await;
        ensure!(
            refused.as_ref().is_err_and(|error| error.cause() == Some(28)),
            "no service here: {refused:?}"
        );
        phone.wait_idle().await?;
        core.until("it is registered still", |c| (c.registered, c.sessions) == (1, 1)).await?;
        // It registers there, and its session waits; another one it does not get.
        phone.register_as(RegistrationType::MobilityRegistrationUpdating).await?;
        ensure!(phone.status().await?.active_user_planes.is_empty(), "{:?}", phone.status().await?);
        let refused = phone.establish_pdu_session(internet()).await;
        ensure!(
            refused.as_ref().is_err_and(|error| error.cause() == Some(28)),
            "no session here: {refused:?}"
        );
        // The subscriber may be served there now, and the phone is told.
        core.subscribe(1, |_| {})?;
        until(&phone, "there is service everywhere", |given| given.without_service.is_empty())
            .await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}
