//! Xn handover: path switch (TS 23.502, 4.9.1.2; TS 38.413, 8.4.4).
use crate::handover::{expect_served_by, two_gnbs};
use crate::quirks::sbi::objects;
use crate::quirks::subscription_data::proxy;
use crate::registration::mobility_restrictions::two_areas;
use anyhow::ensure;
use martlet::core::Sbi;
use martlet_amf::XnNeighbours;
use martlet_ran::Gnb;
use martlet_sbi::{OperationInfo, Response};
use martlet_tests::{GATEWAY, MetricDelta, TestCore, in_namespace, reaches};

#[test]
fn xn_handover_switches_the_path() {
    in_namespace(|| async {
        let (core, one, other, ue, _) = two_gnbs(Sbi::Http).await?;
        for round in 0..4 {
            let to = if round % 2 == 0 { &other } else { &one };
            let outcome = ue.xn_handover_to(to).await?;
            ensure!(outcome.sessions == [1], "{outcome:?}");
            expect_served_by(&core, &ue, to).await?;
        }
        ensure!(other.ue_counts().0 == 0, "the former gNB still has a context");
        // CM-IDLE, service request and deregistration still work.
        ue.xn_handover_to(&other).await?;
        ue.release_to_idle().await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await?;
        core.sbi_record.check(&["nsmf-pdusession UpdateSmContext"]).await
    });
}

/// A subscription that forbids tracking area 2.
fn forbidding(_: &OperationInfo, response: Response) -> Response {
    objects(response, |members| {
        if members.contains_key("subscribedUeAmbr") {
            members.insert("forbiddenAreas".into(), serde_json::json!([{"tacs": ["000002"]}]));
        }
    })
}

/// TS 23.501, 5.3.4.1.1: neither N2 nor Xn handover takes a UE to a forbidden area.
#[test]
fn a_path_switch_into_a_forbidden_area_is_rejected() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| {
            two_areas(config);
            config.amf.n2.xn_neighbours = XnNeighbours::Any;
        })
        .await?;
        proxy(&core, forbidding).await?;
        let here = core.gnb(1).await?;
        let mut config = core.gnb_config(2);
        config.tac = 2;
        let there = Gnb::connect(config).await?;
        let (ue, _) = core.ue_with_session(&here, 1).await?;
        let outcome = ue.handover_to(&there).await;
        ensure!(outcome.is_err(), "N2 handover: {outcome:?}");
        expect_served_by(&core, &ue, &here).await?;
        let refused =
            MetricDelta::of("martlet_amf_ngap_errors_total", &[("reason", "path_switch")]);
        let outcome = ue.xn_handover_to(&there).await;
        ensure!(outcome.is_err(), "Xn handover: {outcome:?}");
        ensure!(refused.get() >= 1.0, "the rejection is not counted");
        Ok(())
    });
}
