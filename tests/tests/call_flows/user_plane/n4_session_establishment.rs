//! N4 session establishment (TS 23.502, 4.4.1.2; TS 29.244, 6.3.2).
#[cfg(debug_assertions)]
use crate::function_restart::{ALONE, restart};
use anyhow::ensure;
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_pfcp::ie::{Cause, FSeid, FTeid, NodeId, RecoveryTimeStamp};
use martlet_pfcp::{
    AssociationSetupResponse, HeartbeatResponse, Message, Packet, SessionDeletionResponse,
    SessionEstablishmentResponse, SessionModificationResponse,
};
use martlet_tests::{
    GATEWAY, Impairments, LossyLink, SeparateUpf, TestCore, eventually, in_namespace, reaches,
};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::UdpSocket;

#[test]
fn session_that_a_upf_establishes_too_late_is_deleted() {
    in_namespace(|| async {
        let (near, far) = (Ipv4Addr::new(127, 0, 0, 40), Ipv4Addr::new(127, 0, 0, 41));
        let upf = SeparateUpf::start_with(|upf| {
            upf.n4.allow = vec![format!("{far}/32").parse().expect("a network")];
        })
        .await?;
        let link = LossyLink::between(near.into(), far.into(), SeparateUpf::n4(), 1)?;
        let core = TestCore::start(Sbi::Local, |config| {
            SeparateUpf::replace_core_upf(config);
            config.smf.upfs[0].n4 = (near, 8805).into();
            (config.smf.n4.heartbeat_s, config.smf.n4.t1_ms, config.smf.n4.n1) = (60, 50, 2);
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (first, _) = core.ue_with_session(&gnb, 1).await?;
        let delay = Duration::from_secs(2);
        link.impair(Impairments { reorder: 1.0, delay, ..Impairments::default() });
        let late = gnb.new_ue(core.ue_config(2))?;
        late.register().await?;
        // Most responses come after both transmissions have timed out.
        let mut refused = 0;
        for _ in 0..10 {
            match late.establish_pdu_session(martlet_tests::internet()).await {
                Err(_) => refused += 1,
                Ok(session) => late.release_pdu_session(session.psi).await?,
            }
        }
        ensure!(refused > 0, "each session was established in time");
        link.impair(Impairments::default());
        // The session of the first UE stays.
        upf.until_sessions(1).await?;
        reaches(&first, 1, GATEWAY).await
    });
}

/// The SEID of each session of [`UpfWithoutFteids`].
const ITS_SEID: u64 = 0x5e1d;

/// As free5GC's UPF: it announces no features, and accepts sessions without allocating the F-TEID
/// that they ask for.
struct UpfWithoutFteids {
    socket: UdpSocket,
    /// The SEID of the last deletion.
    deleted: Arc<AtomicU64>,
    /// The F-TEIDs of the PDRs that it got.
    got: Arc<Mutex<Vec<FTeid>>>,
}

impl UpfWithoutFteids {
    async fn run(self) {
        let mut buffer = [0; 4096];
        while let Ok((length, from)) = self.socket.recv_from(&mut buffer).await {
            let Ok(packet) = Packet::decode(&buffer[..length]) else { continue };
            if let Some(answer) = self.answer(packet) {
                let _ = self.socket.send_to(&answer.encode(), from).await;
            }
        }
    }

    fn answer(&self, Packet { seid, sequence, message }: Packet) -> Option<Packet> {
        let (cause, recovery) = (Cause::ACCEPTED, RecoveryTimeStamp(1));
        let node_id = NodeId::Ip(SeparateUpf::address());
        Some(match message {
            Message::HeartbeatRequest(_) => Packet::node(sequence, HeartbeatResponse { recovery }),
            Message::AssociationSetupRequest(_) => Packet::node(
                sequence,
                AssociationSetupResponse {
                    node_id,
                    cause,
                    recovery,
                    up_features: None,
                    cp_features: None,
                    ip_resources: vec![],
                    flags: None,
                },
            ),
            Message::SessionEstablishmentRequest(request) => {
                let fteids = request.create_pdrs.iter().filter_map(|pdr| pdr.pdi.local_fteid);
                self.got.lock().expect("not poisoned").extend(fteids);
                let answer = SessionEstablishmentResponse {
                    node_id,
                    cause,
                    offending_ie: None,
                    up_fseid: Some(FSeid::new(ITS_SEID, SeparateUpf::address())),
                    created_pdrs: vec![],
                    load: None,
                    overload: None,
                    failed_rule: None,
                    created_traffic_endpoints: vec![],
                };
                Packet::session(request.cp_fseid.seid, sequence, answer)
            }
            Message::SessionModificationRequest(_) => {
                let answer = SessionModificationResponse {
                    cause,
                    offending_ie: None,
                    created_pdrs: vec![],
                    load: None,
                    overload: None,
                    usage_reports: vec![],
                    failed_rule: None,
                    created_traffic_endpoints: vec![],
                };
                Packet::session(1, sequence, answer)
            }
            Message::SessionDeletionRequest(_) => {
                self.deleted.store(seid.unwrap_or(0), Ordering::SeqCst);
                let answer = SessionDeletionResponse {
                    cause,
                    offending_ie: None,
                    load: None,
                    overload: None,
                    usage_reports: vec![],
                };
                Packet::session(1, sequence, answer)
            }
            _ => return None,
        })
    }
}

#[test]
fn session_without_an_fteid_is_deleted_at_its_upf() {
    in_namespace(|| async {
        let deleted = Arc::new(AtomicU64::new(0));
        let socket = UdpSocket::bind(SeparateUpf::n4()).await?;
        let upf = UpfWithoutFteids { socket, deleted: deleted.clone(), got: Arc::default() };
        tokio::spawn(upf.run());
        let core = TestCore::start(Sbi::Local, SeparateUpf::replace_core_upf).await?;
        let gnb = core.gnb(1).await?;
        let ue = gnb.new_ue(core.ue_config(1))?;
        ue.register().await?;
        let session = ue.establish_pdu_session(martlet_tests::internet()).await;
        ensure!(session.is_err(), "{session:?}");
        let seen = || (deleted.load(Ordering::SeqCst) == ITS_SEID).then_some(());
        eventually("the session is deleted at its UPF", seen, || "no deletion".into()).await
    });
}

#[test]
fn session_at_a_upf_without_ftup_has_an_fteid_of_the_smf() {
    in_namespace(|| async {
        let (deleted, got) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::default()));
        let socket = UdpSocket::bind(SeparateUpf::n4()).await?;
        let upf = UpfWithoutFteids { socket, deleted: deleted.clone(), got: got.clone() };
        tokio::spawn(upf.run());
        let core = TestCore::start(Sbi::Local, |config| {
            SeparateUpf::replace_core_upf(config);
            config.smf.upfs[0].n3_address = Some(SeparateUpf::address());
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let ue = gnb.new_ue(core.ue_config(1))?;
        ue.register().await?;
        ue.establish_pdu_session(martlet_tests::internet()).await?;
        let fteids = got.lock().expect("not poisoned").clone();
        let [FTeid::Given { teid, ipv4: Some(address), ipv6: None }] = fteids[..] else {
            anyhow::bail!("{fteids:?}");
        };
        ensure!(teid != 0 && IpAddr::from(address) == SeparateUpf::address(), "{fteids:?}");
        ue.deregister().await?;
        let seen = || (deleted.load(Ordering::SeqCst) == ITS_SEID).then_some(());
        eventually("the session is deleted at its UPF", seen, || "no deletion".into()).await
    });
}

/// The SMF allocates the F-TEIDs of all UPFs that have one address for N3 and N4.
pub fn smf_allocates_fteids(config: &mut Config) {
    for upf in &mut config.smf.upfs {
        (upf.allocate_fteids, upf.n3_address) = (true, Some(upf.n4.ip()));
    }
}

/// The TEIDs of all sessions of a UPF.
fn teids(upf: &SeparateUpf) -> Vec<String> {
    let sessions = upf.status()["sessions"].as_array().cloned().unwrap_or_default();
    let mut teids: Vec<_> =
        sessions.iter().map(|session| session["localTeids"].to_string()).collect();
    teids.sort();
    teids
}

#[test]
fn fteids_of_the_smf_carry_data() {
    in_namespace(|| async {
        let upf = SeparateUpf::start().await?;
        let core = TestCore::start(Sbi::Http, |config| {
            SeparateUpf::replace_core_upf(config);
            smf_allocates_fteids(config);
            config.smf.n4.heartbeat_s = 1;
        })
        .await?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (ue, _) = core.ue_with_session(&one, 1).await?;
        let second = ue.establish_pdu_session(martlet_tests::internet()).await?.psi;
        // With indirect forwarding.
        for to in [&other, &one] {
            ue.handover_to(to).await?;
            reaches(&ue, 1, GATEWAY).await?;
            reaches(&ue, second, GATEWAY).await?;
        }
        // The tunnels for forwarding are removed after a second.
        let two = || (teids(&upf).iter().all(|of| !of.contains(','))).then_some(());
        eventually("a tunnel of each session", two, || format!("{:?}", teids(&upf))).await?;
        let tunnels = teids(&upf);
        ensure!(tunnels.len() == 2 && tunnels[0] != tunnels[1], "{tunnels:?}");
        // The sessions keep them over a restart of the UPF.
        let upf = upf.restart().await?;
        upf.until_sessions(2).await?;
        ensure!(teids(&upf) == tunnels, "{tunnels:?} became {:?}", teids(&upf));
        reaches(&ue, 1, GATEWAY).await?;
        reaches(&ue, second, GATEWAY).await?;
        ue.deregister().await?;
        core.until_all_released().await?;
        upf.until_sessions(0).await
    });
}

#[cfg(debug_assertions)]
#[test]
fn fteids_of_the_smf_outlive_its_restart() {
    in_namespace(|| async {
        let _alone = ALONE.lock().await;
        let upf = SeparateUpf::start().await?;
        let core = TestCore::start(Sbi::Local, |config| {
            SeparateUpf::replace_core_upf(config);
            smf_allocates_fteids(config);
            config.smf.n4.heartbeat_s = 1;
        })
        .await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let before = teids(&upf);
        // Longer than the flush interval of the store.
        tokio::time::sleep(Duration::from_millis(500)).await;
        restart(&core, "smf").await?;
        let up = || (core.status("smf")["upfs"][0]["associated"] == true).then_some(());
        eventually("the UPF is associated", up, || core.status("smf").to_string()).await?;
        reaches(&ue, 1, GATEWAY).await?;
        let (other, _) = core.ue_with_session(&gnb, 2).await?;
        let tunnels = teids(&upf);
        ensure!(tunnels.len() == 2 && tunnels.contains(&before[0]), "{before:?}, {tunnels:?}");
        ensure!(tunnels[0] != tunnels[1], "{tunnels:?}");
        // Both are restored with what this process knows of them.
        let upf = upf.restart().await?;
        upf.until_sessions(2).await?;
        ensure!(teids(&upf) == tunnels, "{tunnels:?} became {:?}", teids(&upf));
        reaches(&ue, 1, GATEWAY).await?;
        reaches(&other, 1, GATEWAY).await?;
        ue.deregister().await?;
        other.deregister().await?;
        core.until_all_released().await?;
        upf.until_sessions(0).await
    });
}
