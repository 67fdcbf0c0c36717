//! UPFs that are out of reach or fail: another UPF takes their sessions over (TS 23.527, 4.2; TS
//! 29.244, 6.2.2).
use crate::session::with_second_upf;
use anyhow::{Result, ensure};
use martlet::core::Sbi;
use martlet_ran::{Gnb, Ue};
use martlet_tests::{
    GATEWAY, SeparateUpf, TestCore, eventually, in_namespace, ping, reaches, sequence_of,
};
use std::net::Ipv4Addr;
use std::time::Duration;

#[test]
fn unreachable_upf_rejects_new_sessions_and_keeps_others() {
    in_namespace(|| async {
        let upf = SeparateUpf::start().await?;
        let core = TestCore::start(Sbi::Local, |config| {
            SeparateUpf::replace_core_upf(config);
            (config.smf.n4.heartbeat_s, config.smf.n4.t1_ms, config.smf.n4.n1) = (1, 100, 2);
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (one, _) = core.ue_with_session(&gnb, 1).await?;
        reaches(&one, 1, GATEWAY).await?;
        let filter = martlet_tests::PacketFilter::drop_udp_port(8805)?;
        let associated = |wanted: bool| {
            let core = &core;
            move || (core.status("smf")["upfs"][0]["associated"] == wanted).then_some(())
        };
        eventually("the association is lost", associated(false), || core.status("smf").to_string())
            .await?;
        let two = gnb.new_ue(core.ue_config(2))?;
        two.register().await?;
        let refused = two.establish_pdu_session(martlet_tests::internet()).await;
        ensure!(
            refused.as_ref().is_err_and(|e| e.cause() == Some(38)),
            "expected cause #38, network failure: {refused:?}"
        );
        reaches(&one, 1, GATEWAY).await?;
        drop(filter);
        eventually("the association is set up again", associated(true), || {
            core.status("smf").to_string()
        })
        .await?;
        upf.until_sessions(1).await?;
        reaches(&one, 1, GATEWAY).await?;
        core.use_session_and_deregister(&two).await?;
        // The release ends after the deregistration.
        core.until("one session", |counts| (counts.sessions, counts.addresses) == (1, 1)).await
    });
}

/// What [`sessions_at_first_upf`] returns.
pub type AtFirstUpf = (SeparateUpf, TestCore, Gnb, (Ue, Ipv4Addr), (Ue, Ipv4Addr));

/// A core whose UPF took over the sessions of another UPF, which has stopped.
pub struct SessionsAtAnotherUpf {
    pub core: TestCore,
    pub gnb: Gnb,
    /// A UE in CM-CONNECTED and its address.
    pub active: (Ue, Ipv4Addr),
    /// A UE in CM-IDLE and its address.
    pub idle: (Ue, Ipv4Addr),
}

impl SessionsAtAnotherUpf {
    pub async fn until_moved(&self) -> Result<()> {
        let core = &self.core;
        let moved = || (core.status("upf")["sessionCount"] == 2).then_some(());
        eventually("the other UPF has the sessions", moved, || core.status("upf").to_string()).await
    }

    /// Starts the first UPF again, to which the sessions return.
    pub async fn return_to_their_upf(self) -> Result<()> {
        let SessionsAtAnotherUpf { core, gnb, active, idle } = self;
        let ((active, from), (idle, to)) = (active, idle);
        let at_other = |wanted: u64| {
            let core = &core;
            move || (core.status("upf")["sessionCount"] == wanted).then_some(())
        };
        let describe = || core.status("upf").to_string();
        let upf = SeparateUpf::start().await?;
        // The session of the idle UE returns, that of the connected one stays.
        eventually("one session has left the other UPF", at_other(1), describe).await?;
        upf.until_sessions(1).await?;
        let (new, _) = core.ue_with_session(&gnb, 3).await?;
        upf.until_sessions(2).await?;
        // Only the UPF that is back has N6: its gateway responds. The UE's address is the same.
        reaches(&new, 1, GATEWAY).await?;
        idle.service_request().await?;
        reaches(&idle, 1, GATEWAY).await?;
        // The connected UE's session returns after its AN release, and the UE is paged through it.
        active.release_to_idle().await?;
        eventually("no session is at the other UPF", at_other(0), describe).await?;
        upf.until_sessions(3).await?;
        until_packet_passes(&idle, to, &active, from, 3).await?;
        until_packet_passes(&active, from, &idle, to, 4).await?;
        reaches(&active, 1, GATEWAY).await?;
        for ue in [&active, &idle, &new] {
            ue.deregister().await?;
        }
        upf.until_sessions(0).await?;
        core.until_all_released().await
    }
}

/// A UPF, a core with another one, and two UEs with sessions at the first: one in CM-CONNECTED, one
/// in CM-IDLE, each with its address. `None` where the test is skipped.
pub async fn sessions_at_first_upf() -> Result<Option<AtFirstUpf>> {
    let second = with_second_upf(Sbi::Local, |config| {
        config.smf.upfs.reverse();
        (config.smf.n4.heartbeat_s, config.smf.n4.t1_ms, config.smf.n4.n1) = (1, 100, 2);
    });
    let Some((upf, core)) = second.await? else { return Ok(None) };
    let gnb = core.gnb(1).await?;
    let active = core.ue_with_session(&gnb, 1).await?;
    let idle = core.ue_with_session(&gnb, 2).await?;
    reaches(&active.0, 1, GATEWAY).await?;
    idle.0.release_to_idle().await?;
    core.until("one UE is in CM-IDLE", |counts| counts.connected == 1).await?;
    upf.until_sessions(2).await?;
    Ok(Some((upf, core, gnb, active, idle)))
}

/// `None` where the test is skipped.
pub async fn sessions_at_another_upf() -> Result<Option<SessionsAtAnotherUpf>> {
    let Some((upf, core, gnb, active, idle)) = sessions_at_first_upf().await? else {
        return Ok(None);
    };
    upf.stop().await?;
    let lost = SessionsAtAnotherUpf { core, gnb, active, idle };
    lost.until_moved().await?;
    Ok(Some(lost))
}

#[test]
fn sessions_of_a_lost_upf_move_to_another() {
    in_namespace(|| async {
        let Some(lost) = sessions_at_another_upf().await? else { return Ok(()) };
        let SessionsAtAnotherUpf { core, active, idle, .. } = lost;
        let ((active, from), (idle, to)) = (active, idle);
        // The addresses are the same, and the idle UE is paged. Packets are lost until the gNB
        // knows the new tunnel.
        until_packet_passes(&active, from, &idle, to, 3).await?;
        until_packet_passes(&idle, to, &active, from, 4).await?;
        active.deregister().await?;
        idle.deregister().await?;
        core.until_all_released().await
    });
}

/// Sends packets from one UE to the other until one arrives.
pub async fn until_packet_passes(
    from: &Ue,
    source: Ipv4Addr,
    to: &Ue,
    destination: Ipv4Addr,
    sequence: u16,
) -> Result<()> {
    for _ in 0..200 {
        from.send_ip(1, ping(source, destination, sequence)).await?;
        while let Ok(received) =
            tokio::time::timeout(Duration::from_millis(250), to.recv_ip()).await
        {
            if sequence_of(&received?.1) == Some(sequence) {
                return Ok(());
            }
        }
    }
    anyhow::bail!("no packet from {source} to {destination}")
}
