//! A core whose UPF has a programmable switch in its wires, which carries all that it can: what
//! UEs go through changes the session's rules, and the switch follows.
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, reaches, switch_program};
use martlet_upf::config::DatapathChoice;
use serde_json::Value;

/// What the UPF says of its switch.
fn switch(core: &TestCore) -> Value {
    fn find(value: &Value) -> Option<&Value> {
        match value {
            Value::Object(map) => map
                .get("switch")
                .filter(|s| s.get("movedOn").is_some())
                .or_else(|| map.values().find_map(find)),
            Value::Array(all) => all.iter().find_map(find),
            _ => None,
        }
    }
    find(&core.status("upf")).cloned().unwrap_or_default()
}

/// Waits until so many sessions are on the switch.
pub async fn on_switch(core: &TestCore, sessions: u64) -> Result<()> {
    let there = || (switch(core)["sessions"]["onSwitch"] == sessions).then_some(());
    eventually("sessions on the switch", there, || switch(core).to_string()).await
}

#[test]
fn session_stays_on_the_switch_through_handover_and_paging() {
    if switch_program().is_none() {
        martlet_tests::skip("martlet-switch is not built; cargo build -p martlet-switch-target");
        return;
    }
    in_namespace(|| async {
        let core =
            TestCore::start(Sbi::Local, |config| config.upf.datapath = DatapathChoice::Switch)
                .await?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (ue, _) = core.ue_with_session(&one, 1).await?;
        reaches(&ue, 1, GATEWAY).await?;
        on_switch(&core, 1).await?;
        let before = core.upf_forwarded();
        for _ in 0..20 {
            reaches(&ue, 1, GATEWAY).await?;
        }
        // They are counted as all others, when the manager looks.
        let counted = || (core.upf_forwarded() >= before + 20).then_some(());
        eventually("the switch's packets are counted", counted, || {
            core.upf_forwarded().to_string()
        })
        .await?;
        ue.xn_handover_to(&other).await?;
        reaches(&ue, 1, GATEWAY).await?;
        on_switch(&core, 1).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.handover_to(&one).await?;
        reaches(&ue, 1, GATEWAY).await?;
        // Idle, its downlink waits at the native UPF.
        ue.release_to_idle().await?;
        reaches(&ue, 1, GATEWAY).await?;
        let (second, _) = core.ue_with_session(&other, 2).await?;
        reaches(&second, 1, GATEWAY).await?;
        on_switch(&core, 2).await?;
        reaches(&ue, 1, GATEWAY).await?;
        ue.deregister().await?;
        second.deregister().await?;
        core.until_all_released().await?;
        on_switch(&core, 0).await?;
        ensure!(switch(&core)["movedOn"].as_u64() >= Some(4), "{}", switch(&core));
        Ok(())
    });
}
