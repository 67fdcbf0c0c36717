//! A function or the whole core is killed or restarted: UEs stay registered, and sessions stay
//! active.
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_ran::{Gnb, PduSessionRequest, ServicePurpose};
use martlet_store::testing::TestPostgres;
use martlet_tests::{GATEWAY, in_namespace, ping, reaches, sequence_of};
use std::time::Duration;

#[test]
fn a_crashed_function_of_a_split_core_is_restarted() {
    in_namespace(|| async {
        let site = Site::new("split")?;
        let core = site.start(&["--split"])?;
        ensure!(
            core.usage().processes == 13,
            "ten functions, the API, the supervisor and its fork server: {:?}",
            core.usage()
        );
        let gnb = gnb().await?;
        let ue = ue(&gnb, 1)?;
        registration_cycle(&ue).await?;

        let udm = core.process_of("nf udm").context("the UDM has a process")?;
        nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(udm as i32),
            nix::sys::signal::Signal::SIGKILL,
        )?;
        let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
        loop {
            ue.forget_registration().await?;
            let Err(error) = registration_cycle(&ue).await else { break };
            ensure!(
                tokio::time::Instant::now() < give_up,
                "the core does not recover from the UDM's death: {error:#}"
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let pid_after = core.process_of("nf udm").context("the UDM was restarted")?;
        ensure!(pid_after != udm, "the UDM has another process ID");
        gnb.shutdown().await;
        core.stop()
    });
}
/// A core whose AMF and SMF are killed one after the other, with a connected UE that sends and an
/// idle one.
async fn keeps_ues_and_sessions(site: &Site) -> Result<()> {
    let core = site.start(&["--split"])?;
    // It does not notice by itself that its association is gone.
    let mut config = gnb_config(1, "127.0.0.5:38412")?;
    config.procedure_timeout = Duration::from_secs(30);
    config.sctp_options.heartbeat = Duration::from_secs(3600);
    let first = Gnb::connect(config).await?;
    let (active, idle) = (ue(&first, 1)?, ue(&first, 2)?);
    let internet =
        || PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
    let mut addresses = Vec::new();
    for ue in [&active, &idle] {
        ue.register().await?;
        addresses.push(ue.establish_pdu_session(internet()).await?.ipv4.context("an address")?);
    }
    reaches(&active, 1, GATEWAY).await?;
    idle.release_to_idle().await?;
    let guti = active.status().await?.guti;
    until_stored(&core).await?;

    // The SMF: packets are forwarded meanwhile, and the sessions' procedures work afterwards.
    kill(&core, "smf")?;
    reaches(&active, 1, GATEWAY).await?;
    until(&core, "smf", "the SMF has its sessions again", |smf| {
        smf["sessions"] == 2 && smf["upfs"][0]["associated"] == true
    })
    .await?;
    ensure!(
        status_of(&core, "upf")["sessionCount"] == 2,
        "the UPF has retained its sessions: {}",
        status_of(&core, "upf")
    );
    reaches(&active, 1, GATEWAY).await?;
    active.send_ip(1, ping(addresses[0], addresses[1], 7)).await?;
    let (_, packet) = idle.recv_ip().await?;
    ensure!(
        sequence_of(&packet) == Some(7),
        "the idle UE was paged and received its packet: {packet:02x?}"
    );
    idle.release_to_idle().await?;
    let more = active.establish_pdu_session(internet()).await?;
    ensure!(
        more.ipv4.is_some_and(|new| !addresses.contains(&new)),
        "no address is assigned twice: {more:?}"
    );
    active.release_pdu_session(more.psi).await?;
    until_stored(&core).await?;

    // The AMF: the gNB sets up its association again, and UEs stay connected or idle.
    kill(&core, "amf")?;
    first.lost().await;
    let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
    let second = loop {
        match first.connect_again().await {
            Ok(second) => break second,
            Err(error) => ensure!(tokio::time::Instant::now() < give_up, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    until(&core, "amf", "the AMF has its UEs again", |amf| amf["ues"]["registered"] == 2).await?;
    for ue in [&active, &idle] {
        ue.move_to(&second).await?;
    }
    active.service_request_for(ServicePurpose::Data, &[1]).await?;
    reaches(&active, 1, GATEWAY).await?;
    active.send_ip(1, ping(addresses[0], addresses[1], 8)).await?;
    let (_, packet) = idle.recv_ip().await?;
    ensure!(sequence_of(&packet) == Some(8), "{packet:02x?}");
    // A paged UE gets a new 5G-GUTI (TS 33.501, 6.12.3); the other one has that of its
    // registration.
    ensure!(active.status().await?.guti == guti, "the UE registered again");
    deregister_all(&core, &[&active, &idle]).await?;
    second.shutdown().await;
    core.stop()
}

#[test]
fn ues_stay_registered_and_sessions_active_when_amf_and_smf_crash() {
    in_namespace(|| async { keeps_ues_and_sessions(&Site::new("kill")?).await });
}

#[test]
fn ues_stay_registered_and_sessions_active_when_amf_and_smf_crash_on_postgresql() {
    in_namespace(|| async {
        let Some(server) = TestPostgres::start("kill")? else { return Ok(()) };
        keeps_ues_and_sessions(&Site::on("kill-pg", Some(&server.url()))?).await
    });
}

/// The AMF no longer serves the UE's 5G-GUTI: what other functions have of the UE is released.
fn guami_changes(name: &'static str, guamis: &'static str) {
    in_namespace(move || async move {
        let site = Site::new(name)?;
        let core = site.start(&[])?;
        let first = gnb().await?;
        let known = ue(&first, 1)?;
        known.register().await?;
        known.establish_pdu_session(PduSessionRequest::default()).await?;
        ensure!(status_of(&core, "upf")["sessionCount"] == 1, "{}", status_of(&core, "upf"));
        until_stored(&core).await?;
        core.kill()?;

        let config = std::fs::read_to_string(site.config())?;
        std::fs::write(site.config(), format!("{config}amf: {{ guamis: {guamis} }}\n"))?;
        let core = site.start(&[])?;
        let is_released = |smf: &serde_json::Value| smf["sessions"] == 0;
        until(&core, "smf", "the SMF has released the session", is_released).await?;
        until(&core, "upf", "the UPF has released it", |upf| upf["sessionCount"] == 0).await?;
        until(&core, "amf", "the AMF has no UE", |amf| amf["ues"]["registered"] == 0).await?;
        first.lost().await;
        let second = first.connect_again().await?;
        registration_cycle(&ue(&second, 1)?).await?;
        second.shutdown().await;
        core.stop()
    });
}

#[test]
fn sessions_are_released_when_the_amf_set_changes_over_a_restart() {
    guami_changes("guami-set", "[{ plmn: \"00101\", region: 1, set: 2, pointer: 0 }]");
}

/// The address of a session is in no pool after a restart: what other functions have of the session
/// is released, and the UE gets an address of the new pool.
#[test]
fn sessions_are_released_when_the_address_pool_changes_over_a_restart() {
    in_namespace(|| async {
        let site = Site::new("pool")?;
        let core = site.start(&[])?;
        let first = gnb().await?;
        let known = ue(&first, 1)?;
        known.register().await?;
        let internet =
            || PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
        let old = known.establish_pdu_session(internet()).await?.ipv4.context("an address")?;
        ensure!(old.octets()[..3] == [10, 45, 0], "{old}");
        known.release_to_idle().await?;
        // Changes within the flush interval are lost.
        tokio::time::sleep(Duration::from_millis(300)).await;
        core.kill()?;

        let config = std::fs::read_to_string(site.config())?;
        let dnns = "[{ name: internet, pool: 10.45.128.0/17 }]";
        std::fs::write(site.config(), format!("{config}smf: {{ dnns: {dnns} }}\n"))?;
        let core = site.start(&[])?;
        let is_released = |smf: &serde_json::Value| smf["sessions"] == 0;
        until(&core, "smf", "the SMF has released the session", is_released).await?;
        until(&core, "upf", "the UPF has released it", |upf| upf["sessionCount"] == 0).await?;
        ensure!(status_of(&core, "amf")["ues"]["registered"] == 1, "the UE is not registered");
        first.lost().await;
        let second = first.connect_again().await?;
        known.move_to(&second).await?;
        // The AMF does not have it either, and the UE learns so.
        known.service_request_for(ServicePurpose::Signalling, &[]).await?;
        let new = known.establish_pdu_session(internet()).await?;
        ensure!(new.ipv4.is_some_and(|address| address.octets()[2] >= 128), "{new:?}");
        reaches(&known, new.psi, GATEWAY).await?;
        deregister_all(&core, &[&known]).await?;
        second.shutdown().await;
        core.stop()
    });
}

fn restarted(name: &'static str, arguments: &'static [&'static str]) {
    in_namespace(move || async move {
        let site = Site::new(name)?;
        let core = site.start(arguments)?;
        let first = gnb().await?;
        let known = ue(&first, 1)?;
        // The UE is registered when the core ends: the database holds its serving AMF.
        known.register().await?;
        core.stop()?;
        first.lost().await;

        let core = site.start(arguments)?;
        let second = first.connect_again().await?;
        known.move_to(&second).await?;
        // The new AMF has its 5G-GUTI.
        ensure!(known.status().await?.guti.is_some(), "the UE has a 5G-GUTI");
        registration_cycle(&known).await?;
        registration_cycle(&ue(&second, 2)?).await?;
        second.shutdown().await;
        core.stop()
    });
}

#[test]
fn a_restarted_core_serves_its_ues_again() {
    restarted("again", &[]);
}

#[test]
fn a_restarted_split_core_serves_its_ues_again() {
    restarted("again-split", &["--split"]);
}
