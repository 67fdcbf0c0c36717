//! NF sets: a member is killed, and another one takes its contexts over (TS 23.501, 5.21 and 5.22;
//! TS 29.500, 6.12).
use crate::lease::until_member;
use crate::rolling::martlet;
use crate::{
    MARTLET, Site, deregister_all, gnb_at, gnb_config, has_stored, kill_process, status_of, ue,
    until,
};
use anyhow::{Context, Result, ensure};
use martlet_lab::CoreProcess;
use martlet_nas::{
    QosFlowDescription, QosFlowOpCode, QosFlowParameter, QosPacketFilter, QosPacketFilterComponent,
    QosPacketFilterDirection, QosRule, QosRuleOpCode,
};
use martlet_ran::ue::ModificationRequest;
use martlet_ran::{Gnb, GnbConfig, PduSessionRequest, Procedure, Ue};
use martlet_store::testing::TestPostgres;
use martlet_tests::{GATEWAY, in_namespace_within, ping, reaches, sequence_of};
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Time limit on a busy machine; an idle machine needs a tenth.
pub const LIMIT: Duration = Duration::from_secs(400);

/// Runs a test at a site with `ues` subscribers, over SQLite.
pub fn over_sqlite<T>(name: &'static str, ues: u64, test: T)
where
    T: AsyncFnOnce(&Site) -> Result<()> + Send + 'static,
{
    in_namespace_within(LIMIT, move || async move {
        let site = with_subscribers(Site::new(name)?, ues)?;
        test(&site).await
    });
}

/// The same over PostgreSQL. Skipped where there is none.
pub fn over_postgresql<T>(name: &'static str, ues: u64, test: T)
where
    T: AsyncFnOnce(&Site, &mut TestPostgres) -> Result<()> + Send + 'static,
{
    in_namespace_within(LIMIT, move || async move {
        let Some(mut server) = TestPostgres::start(name)? else { return Ok(()) };
        let site = with_subscribers(Site::on(name, Some(&server.url()))?, ues)?;
        test(&site, &mut server).await
    });
}

/// Adds subscribers to the two of each site.
fn with_subscribers(site: Site, ues: u64) -> Result<Site> {
    if ues > 2 {
        site.subscribe(3, ues - 2)?;
    }
    Ok(site)
}

/// Starts a core with one process for each function, over HTTP/2. `more` are further lines of the
/// configuration, which functions that are started later do not have.
pub fn start_split(site: &Site, more: &str) -> Result<CoreProcess> {
    let common = std::fs::read_to_string(site.config())?;
    std::fs::write(site.config(), format!("{common}{more}"))?;
    let core = site.start(&["--split", "--sbi", "http"])?;
    std::fs::write(site.config(), common)?;
    Ok(core)
}

/// A function in its own process beside the core, which is not restarted.
pub struct ExtraFunction(Child);

impl ExtraFunction {
    /// Starts it with the site's configuration and these additional lines.
    pub fn start(site: &Site, name: &str, more: &str) -> Result<ExtraFunction> {
        ExtraFunction::start_in_group(site, name, more, None)
    }

    /// The same with a group of users of its own, by which rules for packets can tell its packets.
    pub fn start_in_group(
        site: &Site,
        name: &str,
        more: &str,
        group: Option<u32>,
    ) -> Result<ExtraFunction> {
        let config = site.0.join(format!("other-{name}.yaml"));
        std::fs::write(
            &config,
            std::fs::read_to_string(site.config())?.replace(
                "oam: { history",
                &format!(
                    "oam: {{ socket: {:?}, history",
                    site.0.join(format!("other-{name}.sock"))
                ),
            ) + more,
        )?;
        let _ = std::fs::remove_file(site.0.join(format!("other-{name}.log")));
        ExtraFunction::start_again(site, name, group)
    }

    /// Starts it with the configuration that it had before, and continues its log.
    pub fn start_again(site: &Site, name: &str, group: Option<u32>) -> Result<ExtraFunction> {
        let config = site.0.join(format!("other-{name}.yaml"));
        let log = site.0.join(format!("other-{name}.log"));
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log)?;
        let level = std::env::var("MARTLET_CORE_LOG")
            .unwrap_or_else(|_| "warn,martlet::command::nf=info".into());
        let arguments = ["--log", &level, "nf", name, "-c", &config.display().to_string()];
        let mut command = Command::new(MARTLET);
        command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        if let Some(group) = group {
            command.gid(group);
        }
        Ok(ExtraFunction(command.spawn()?))
    }

    /// Whether it has this group: a process that becomes another user has that user's.
    pub fn has_group(&self, group: u32) -> bool {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()));
        status.is_ok_and(|text| {
            let line = text.lines().find(|line| line.starts_with("Gid:")).unwrap_or_default();
            line.split_whitespace().skip(1).all(|gid| gid.parse() == Ok(group))
        })
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: nix::sys::signal::Signal) -> Result<()> {
        Ok(nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.0.id() as i32), signal)?)
    }

    pub fn kill(&self) -> Result<()> {
        kill_process(self.0.id())
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> Result<bool> {
        Ok(self.0.try_wait()?.is_some())
    }

    /// Waits until it has ended.
    pub async fn ended(mut self) -> Result<()> {
        let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
        while self.0.try_wait()?.is_none() {
            ensure!(tokio::time::Instant::now() < give_up, "the function does not end");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }
}

impl Drop for ExtraFunction {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a function beside the core's, and waits until it is ready and registered at the NRF.
pub async fn start_member(
    site: &Site,
    core: &CoreProcess,
    name: &str,
    kind: &str,
    more: &str,
) -> Result<ExtraFunction> {
    start_member_in_group(site, core, name, kind, more, None).await
}

/// The same with a group of users of its own.
pub async fn start_member_in_group(
    site: &Site,
    core: &CoreProcess,
    name: &str,
    kind: &str,
    more: &str,
    group: Option<u32>,
) -> Result<ExtraFunction> {
    let other = ExtraFunction::start_in_group(site, name, more, group)?;
    let log = site.0.join(format!("other-{name}.log"));
    // The NRF may still have a previous instance with the same identity.
    let is_ready = || std::fs::read_to_string(&log).is_ok_and(|log| log.contains("function ready"));
    let of_kind = |nrf: &serde_json::Value| {
        let all = nrf["registered"].as_array().cloned().unwrap_or_default();
        all.iter().filter(|entry| entry["type"] == kind && entry["status"] == "REGISTERED").count()
    };
    until(core, "nrf", "the NRF has both instances of the set", |nrf| {
        is_ready() && of_kind(nrf) >= 2
    })
    .await?;
    Ok(other)
}

/// `martlet status --network` of the function with this OAM socket.
pub async fn network_from(socket: &std::path::Path) -> Result<String> {
    let mut command = tokio::process::Command::new(MARTLET);
    let output = command.args(["status", "--network", "--at"]).arg(socket).output().await?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// Functions of which an additional instance runs beside the core's: name, NF type, and last byte
/// of its address.
pub const SECOND_INSTANCES: [(&str, &str, u8); 5] = [
    ("udr", "UDR", 31),
    ("udm", "UDM", 32),
    ("ausf", "AUSF", 33),
    ("pcf", "PCF", 34),
    ("nssf", "NSSF", 35),
];

/// Starts an additional instance.
pub async fn start_second(
    site: &Site,
    core: &CoreProcess,
    (name, kind, host): (&str, &str, u8),
) -> Result<ExtraFunction> {
    let address = format!("sbi: {{ {name}: \"127.0.0.{host}:7777\" }}\n");
    start_member(site, core, name, kind, &address).await
}

pub fn internet() -> PduSessionRequest {
    PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() }
}

/// Sends packets to a UE, idle or connected, until it receives one.
pub async fn until_reached(
    from: (&Ue, Ipv4Addr),
    to: (&Ue, Ipv4Addr),
    sequence: u16,
) -> Result<()> {
    let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
    loop {
        from.0.send_ip(1, ping(from.1, to.1, sequence)).await?;
        let wait = Duration::from_millis(700);
        match tokio::time::timeout(wait, to.0.recv_ip()).await {
            Ok(Ok((_, packet))) if sequence_of(&packet) == Some(sequence) => return Ok(()),
            _ => ensure!(tokio::time::Instant::now() < give_up, "the UE is not reached"),
        }
    }
}

/// Registers UEs and establishes a session for each. Returns their addresses.
pub async fn with_sessions(ues: &[&Ue]) -> Result<Vec<Ipv4Addr>> {
    let mut addresses = Vec::new();
    for ue in ues {
        ue.register().await?;
        addresses.push(ue.establish_pdu_session(internet()).await?.ipv4.context("an address")?);
    }
    Ok(addresses)
}

/// The section `smf` of a member of the set, without a better priority than others.
pub fn smf_member(member: u8, pool: &str, more: &str) -> String {
    format!(
        "smf:\n  set: {{ id: \"1\", member: {member} }}\n  dnns: [{{ name: internet, pool: {pool} \
         }}]\n{more}"
    )
}

/// The configuration of the second AMF of the set, with more options of N2 and of the AMF.
pub fn second_amf(n2: &str, amf: &str) -> String {
    format!(
        "amf:\n  guamis: [{{ plmn: \"00101\", region: 1, set: 1, pointer: 2 }}]\n  n2: {{ bind: \
         [127.0.0.6]{n2} }}\n{amf}sbi: {{ amf: \"127.0.0.27:7777\" }}\n"
    )
}

/// A gNB of the second AMF. With SCTP in the kernel, it detects the AMF's end by the ABORT; without
/// it, by missing heartbeats, within some seconds.
pub fn gnb_of_second_amf() -> Result<GnbConfig> {
    let mut config = gnb_config(1, "127.0.0.6:38412")?;
    let ms = Duration::from_millis;
    (config.sctp_options.heartbeat, config.sctp_options.rto_max) = (ms(300), ms(500));
    config.sctp_options.path_max_retransmissions = 4;
    Ok(config)
}

/// A core and another AMF of its AMF's set, which serves the UEs.
pub struct TwoAmfs {
    pub core: CoreProcess,
    pub other: ExtraFunction,
    /// The gNB at the other AMF, and at the core's.
    pub gnbs: (Gnb, Gnb),
    /// Three UEs at the other AMF, of which the second is idle.
    pub ues: [Ue; 3],
    /// The addresses of those with a session.
    pub addresses: Vec<Ipv4Addr>,
}

/// Starts them. `sessions` UEs are registered, with a session.
pub async fn two_amfs(
    site: &Site,
    config: &str,
    gnb: GnbConfig,
    sessions: usize,
) -> Result<TwoAmfs> {
    let core = start_split(site, "")?;
    let other = start_member(site, &core, "amf", "AMF", config).await?;
    let first = Gnb::connect(gnb).await?;
    let second = first.connect_also("127.0.0.5:38412".parse()?).await?;
    let ues = [ue(&first, 1)?, ue(&first, 2)?, ue(&first, 3)?];
    let registered: Vec<&Ue> = ues.iter().take(sessions).collect();
    let addresses = with_sessions(&registered).await?;
    for ue in registered {
        ensure!(
            ue.status().await?.guti.is_some_and(|guti| guti.amf_pointer() == 2),
            "served by the other AMF"
        );
    }
    reaches(&ues[0], 1, GATEWAY).await?;
    ues[1].release_to_idle().await?;
    Ok(TwoAmfs { core, other, gnbs: (first, second), ues, addresses })
}

/// An AMF set of two; the AMF that serves the UEs is killed.
async fn amf_takeover(site: &Site) -> Result<()> {
    let amfs = two_amfs(site, &second_amf("", ""), gnb_of_second_amf()?, 3).await?;
    let TwoAmfs { core, other, gnbs: (first, second), ues, addresses } = amfs;
    let [active, idle, leaving] = ues;
    // Changes within the flush interval are lost.
    tokio::time::sleep(Duration::from_millis(300)).await;
    until_member(site, "amf", "the AMF has stored its contexts", has_stored).await?;
    ensure!(status_of(&core, "amf")["ues"]["registered"] == 0, "{}", status_of(&core, "amf"));

    other.kill()?;
    first.lost().await;
    // A connected UE sends a service request, with its packet pending.
    reaches(&active, 1, GATEWAY).await.context("the connected UE")?;
    let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
    while active.status().await?.guti.is_none_or(|guti| guti.amf_pointer() != 0) {
        ensure!(tokio::time::Instant::now() < give_up, "it has no 5G-GUTI of its new AMF");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // An idle UE is paged by an AMF that did not serve it before.
    until_reached((&active, addresses[0]), (&idle, addresses[1]), 7)
        .await
        .context("the idle UE")?;
    leaving.deregister().await.context("the UE that deregisters")?;
    until(&core, "amf", "both UEs stay registered", |amf| amf["ues"]["registered"] == 2).await?;
    let registered =
        first.samples().take().iter().filter(|s| s.procedure == Procedure::Registration).count();
    ensure!(registered == 3, "no UE had to register again: {registered}");
    reaches(&idle, 1, GATEWAY).await?;
    deregister_all(&core, &[&active, &idle]).await?;
    second.shutdown().await;
    core.stop()
}

#[test]
fn another_amf_of_the_set_takes_over_after_a_crash() {
    over_sqlite("amf-set", 3, amf_takeover);
}

#[test]
fn another_amf_of_the_set_takes_over_after_a_crash_on_postgresql() {
    over_postgresql("amf-set-pg", 3, async |site, _| amf_takeover(site).await);
}

/// A core and another SMF of its SMF's set, with one UPF. New sessions are established at the other
/// SMF.
pub struct TwoSmfs {
    pub core: CoreProcess,
    pub other: ExtraFunction,
    /// The configuration of the core without its SMF; of its SMF; and the additional lines of the
    /// other SMF.
    common: String,
    own: String,
    more: String,
}

/// Starts them.
pub async fn two_smfs(site: &Site) -> Result<TwoSmfs> {
    two_smfs_with(site, "", "").await
}

/// The same with further lines of both SMFs, and with further sections of the core.
async fn two_smfs_with(site: &Site, of_smfs: &str, of_core: &str) -> Result<TwoSmfs> {
    // The other SMF has a better priority, so the core's own is not selected.
    let set = |member: u8, pool: &str, priority: u8| {
        format!(
            "smf:\n  set: {{ id: \"1\", member: {member}, priority: {priority} }}\n  dnns: [{{ \
             name: internet, pool: {pool} }}]\n{of_smfs}"
        )
    };
    let common = std::fs::read_to_string(site.config())?;
    let own = set(1, "10.45.0.0/17", 10)
        + "upf:\n  n4: { allow: [127.0.0.7/32, 127.0.0.28/32] }\n"
        + of_core;
    let core = start_split(site, &own)?;
    let more = set(2, "10.45.128.0/17", 1)
        + "  n4: { bind: 127.0.0.28 }\nsbi: { smf: \"127.0.0.26:7777\" }\n";
    let other = start_member(site, &core, "smf", "SMF", &more).await?;
    until(&core, "upf", "both SMFs are associated", |upf| {
        upf["associations"].as_array().is_some_and(|all| all.len() == 2)
    })
    .await?;
    Ok(TwoSmfs { core, other, common, own, more })
}

/// An SMF set of two with one UPF; the SMF of the sessions is killed.
async fn smf_takeover(site: &Site) -> Result<()> {
    let TwoSmfs { core, other, common, own, more } = two_smfs(site).await?;
    let gnb = gnb_at(1, "127.0.0.5:38412").await?;
    let (active, idle, third) = (ue(&gnb, 1)?, ue(&gnb, 2)?, ue(&gnb, 3)?);
    let addresses = with_sessions(&[&active, &idle]).await?;
    ensure!(
        addresses.iter().all(|address| address.octets()[2] >= 128),
        "from the other SMF's pool: {addresses:?}"
    );
    reaches(&active, 1, GATEWAY).await?;
    idle.release_to_idle().await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    until_member(site, "smf", "the SMF has stored its contexts", has_stored).await?;
    ensure!(status_of(&core, "smf")["sessions"] == 0, "{}", status_of(&core, "smf"));

    other.kill()?;
    // Packets are forwarded meanwhile.
    reaches(&active, 1, GATEWAY).await?;
    // The AMF's request for a session reaches another SMF, which takes the session over.
    active.release_to_idle().await.context("the release")?;
    reaches(&active, 1, GATEWAY).await.context("the session at the other SMF")?;
    // A session without requests is taken over too, so that its UPF's reports have a receiver.
    until(&core, "smf", "it has taken over all sessions", |smf| smf["sessions"] == 2).await?;
    until_reached((&active, addresses[0]), (&idle, addresses[1]), 7)
        .await
        .context("the idle UE")?;
    // A policy change reaches a session at its new SMF: the association was taken over with it.
    let flow = "{ name: video, five_qi: 7, filters: [permit out 6 from any 443 to assigned] }";
    std::fs::write(site.config(), format!("{common}{own}pcf: {{ flows: [{flow}] }}\n"))?;
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(core.id() as i32),
        nix::sys::signal::Signal::SIGHUP,
    )?;
    let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
    while active.status().await?.sessions.iter().all(|session| session.flows != [(1, 9), (2, 7)]) {
        ensure!(
            tokio::time::Instant::now() < give_up,
            "the policy was not applied: {:?}",
            active.status().await?.sessions
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    std::fs::write(site.config(), &common)?;
    third.register().await?;
    let new = third.establish_pdu_session(internet()).await?;
    ensure!(
        new.ipv4.is_some_and(|address| address.octets()[2] < 128),
        "from the pool of the remaining SMF: {new:?}"
    );
    // The killed SMF restarts, and does not claim the sessions.
    let again = start_member(site, &core, "smf", "SMF", &more).await?;
    active.release_to_idle().await?;
    reaches(&active, 1, GATEWAY).await.context("after the return")?;
    drop(again);
    deregister_all(&core, &[&active, &idle, &third]).await?;
    gnb.shutdown().await;
    core.stop()
}

/// The CHF requests reauthorization from the SMF that has taken the session over, once that has
/// reported usage.
async fn charged_smf_takeover(site: &Site) -> Result<()> {
    let charging = "  charging: { mode: online }\n";
    let chf = "chf: { enabled: true, quota: 1000000, grant: 4000, threshold_percent: 50 }\n";
    let TwoSmfs { core, other, .. } = two_smfs_with(site, charging, chf).await?;
    let gnb = gnb_at(1, "127.0.0.5:38412").await?;
    let charged = ue(&gnb, 1)?;
    with_sessions(&[&charged]).await?;
    // Changes within the flush interval are lost.
    tokio::time::sleep(Duration::from_millis(300)).await;
    until_member(site, "smf", "the SMF has stored its contexts", has_stored).await?;
    other.kill()?;
    until(&core, "smf", "it has taken over the session", |smf| smf["sessions"] == 1).await?;

    let socket = site.0.join("oam-chf.sock").display().to_string();
    let reports = || {
        let shown = martlet(&["charging", "--json", "--at", &socket])?;
        let shown: serde_json::Value = serde_json::from_str(&shown)?;
        shown["records"][0]["reports"].as_u64().with_context(|| format!("no record: {shown}"))
    };
    let before = reports()?;
    let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
    while reports()? == before {
        ensure!(tokio::time::Instant::now() < give_up, "the SMF has not reported usage");
        reaches(&charged, 1, GATEWAY).await?;
    }
    // Without traffic, the next report is that of a reauthorization.
    let before = reports()?;
    martlet(&["charging", "--at", &socket, "001010000000001", "--set", "2000000"])?;
    let give_up = tokio::time::Instant::now() + Duration::from_secs(20);
    while reports()? == before {
        ensure!(tokio::time::Instant::now() < give_up, "the CHF has not notified the SMF");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    deregister_all(&core, &[&charged]).await?;
    gnb.shutdown().await;
    core.stop()
}

/// The new policy association has no flow that the UE requested: it ends, and the UE requests and
/// deletes another one.
async fn smf_takeover_with_requested_flow(site: &Site) -> Result<()> {
    let TwoSmfs { core, other, .. } = two_smfs(site).await?;
    let gnb = gnb_at(1, "127.0.0.5:38412").await?;
    let requester = ue(&gnb, 1)?;
    with_sessions(&[&requester]).await?;
    let filter = QosPacketFilter::Match {
        direction: QosPacketFilterDirection::Bidirectional,
        identifier: 0,
        components: vec![
            QosPacketFilterComponent::ProtocolIdentifierOrNextHeader(17),
            QosPacketFilterComponent::SingleRemotePort(5000),
        ],
    };
    let rule = QosRule::new(0, QosRuleOpCode::Create).with_packet_filters(vec![filter]);
    let flow = vec![QosFlowParameter::FiveQi(7)];
    let create = ModificationRequest {
        rules: vec![rule.with_precedence(70).with_qfi(0)],
        flows: vec![QosFlowDescription::new(0, QosFlowOpCode::Create, true, flow)],
        always_on: false,
    };
    let now = requester.modify_pdu_session(1, create.clone()).await?;
    ensure!(now.flows == [(1, 9), (2, 7)], "{now:?}");
    // Changes within the flush interval are lost.
    tokio::time::sleep(Duration::from_millis(300)).await;
    until_member(site, "smf", "the SMF has stored its contexts", has_stored).await?;
    other.kill()?;
    until(&core, "smf", "it has taken over the session", |smf| smf["sessions"] == 1).await?;
    let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
    loop {
        let sessions = requester.status().await?.sessions;
        if sessions.iter().any(|session| session.flows == [(1, 9)]) {
            break;
        }
        ensure!(tokio::time::Instant::now() < give_up, "the flow has not ended: {sessions:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let now = requester.modify_pdu_session(1, create).await?;
    let [_, (id, _)] = now.rules[..] else { anyhow::bail!("not one more rule: {now:?}") };
    let delete = ModificationRequest {
        rules: vec![QosRule::new(id, QosRuleOpCode::Delete)],
        ..Default::default()
    };
    let now = requester.modify_pdu_session(1, delete).await?;
    ensure!(now.flows == [(1, 9)] && now.rules == [(1, 1)], "{now:?}");
    reaches(&requester, 1, GATEWAY).await?;
    deregister_all(&core, &[&requester]).await?;
    gnb.shutdown().await;
    core.stop()
}

#[test]
fn flows_that_a_ue_requested_end_with_the_takeover() {
    over_sqlite("smf-set-requests", 1, smf_takeover_with_requested_flow);
}

#[test]
fn the_chf_notifies_the_smf_that_took_a_session_over() {
    over_sqlite("smf-set-charging", 1, charged_smf_takeover);
}

#[test]
fn another_smf_of_the_set_takes_over_after_a_crash() {
    over_sqlite("smf-set", 3, smf_takeover);
}

#[test]
fn another_smf_of_the_set_takes_over_after_a_crash_on_postgresql() {
    over_postgresql("smf-set-pg", 3, async |site, _| smf_takeover(site).await);
}
