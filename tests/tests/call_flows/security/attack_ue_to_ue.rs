//! A UE attacks others of its data network, where that denies packets between UEs.
use crate::user_plane::ethernet::{of, subscribed};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_nas::PduSessionTypeValue;
use martlet_ran::Ue;
use martlet_store::{SessionType, SubscribedDnn};
use martlet_tests::{
    GATEWAY, TestCore, add_lan, configure6, in_namespace, internet, is_installed, ping, ping6,
    reaches, reaches6, without_switch,
};
use martlet_upf::UpfConfig;
use martlet_upf::config::{DatapathChoice, DnnConfig, UeToUe};
use std::net::Ipv6Addr;
use std::time::Duration;

/// How long something may take to arrive that must not.
const SILENCE: Duration = Duration::from_millis(500);

fn with(config: &mut UpfConfig, datapath: DatapathChoice, dnn: &str, ue_to_ue: UeToUe) {
    without_switch(config);
    config.datapath = datapath;
    config.dnns = vec![DnnConfig { name: dnn.into(), ue_to_ue, ..DnnConfig::default() }];
}

fn drops(core: &TestCore) -> u64 {
    core.status("upf")["drops"]["ue_to_ue"].as_u64().unwrap_or(0)
}

/// Whether a UE receives a packet or frame that ends with `end`.
async fn receives(ue: &Ue, end: &[u8]) -> bool {
    let found = async {
        while let Ok((_, packet)) = ue.recv_ip().await {
            if packet.ends_with(end) {
                return true;
            }
        }
        false
    };
    tokio::time::timeout(SILENCE, found).await.unwrap_or(false)
}

/// Whether packets pass between UEs.
async fn of_ip(datapath: DatapathChoice, ue_to_ue: UeToUe) -> Result<()> {
    let core =
        TestCore::start(Sbi::Local, |config| with(&mut config.upf, datapath, "internet", ue_to_ue))
            .await?;
    let mut ues: Vec<(Ue, _, Ipv6Addr)> = Vec::new();
    let gnb = core.gnb(1).await?;
    for n in [1, 2] {
        core.subscribe(n, |subscriber| {
            let session_types = vec![SessionType::Ipv4v6];
            subscriber.slices[0].dnns =
                vec![SubscribedDnn { session_types, ..SubscribedDnn::new("internet") }];
        })?;
        let ue = gnb.new_ue(core.ue_config(n))?;
        ue.register().await?;
        let mut request = internet();
        request.session_type = PduSessionTypeValue::Ipv4v6;
        let session = ue.establish_pdu_session(request).await?;
        let six = configure6(&ue, session.psi).await?;
        reaches(&ue, session.psi, GATEWAY).await?;
        reaches6(&ue, session.psi, six, "fd45::1".parse()?).await?;
        ues.push((ue, session.ipv4.context("an address")?, six));
    }
    let [(one, four1, six1), (two, four2, six2)] = &ues[..] else { anyhow::bail!("two UEs") };
    let before = drops(&core);
    for packet in [ping(*four1, *four2, 77), ping6(*six1, *six2, 78)] {
        one.send_ip(1, packet.clone()).await?;
        let end = &packet[packet.len() - 8..];
        let arrives = receives(two, end).await;
        ensure!(arrives == (ue_to_ue != UeToUe::Deny), "arrives: {arrives}");
    }
    let due = if ue_to_ue == UeToUe::Deny { 2 } else { 0 };
    ensure!(drops(&core) == before + due, "{}", core.status("upf"));
    reaches(one, 1, GATEWAY).await?;
    reaches(two, 1, GATEWAY).await
}

#[test]
fn attack_ue_reaches_another_ue_where_that_is_denied() {
    if is_installed("nft") {
        in_namespace(|| of_ip(DatapathChoice::Kernel, UeToUe::Deny));
    }
}

#[test]
fn attack_ue_reaches_another_ue_where_that_is_denied_with_xdp() {
    if is_installed("nft") {
        in_namespace(|| of_ip(DatapathChoice::Xdp, UeToUe::Deny));
    }
}

/// With `hairpin` the kernel of this machine, which routes N6, returns the packets.
#[test]
fn ues_reach_each_other_where_that_is_allowed_or_returned() {
    if is_installed("nft") {
        for ue_to_ue in [UeToUe::Allow, UeToUe::Hairpin] {
            in_namespace(move || of_ip(DatapathChoice::Kernel, ue_to_ue));
            in_namespace(move || of_ip(DatapathChoice::Xdp, ue_to_ue));
        }
    }
}

/// The same for frames: unicast, once its destination was learnt, and broadcast.
async fn of_frames(datapath: DatapathChoice, ue_to_ue: UeToUe) -> Result<()> {
    let core = TestCore::start(Sbi::Local, |config| {
        with(&mut config.upf, datapath, "lan", ue_to_ue);
        add_lan(config);
    })
    .await?;
    let gnb = core.gnb(1).await?;
    let mut ues = Vec::new();
    for n in [1, 2] {
        let dnns = vec![subscribed("lan", vec![SessionType::Ethernet])];
        core.subscribe(n, |subscriber| subscriber.slices[0].dnns = dnns)?;
        let ue = gnb.new_ue(core.ue_config(n))?;
        ue.register().await?;
        ue.establish_pdu_session(of("lan", PduSessionTypeValue::Ethernet)).await?;
        ues.push(ue);
    }
    let [one, two] = &ues[..] else { anyhow::bail!("two UEs") };
    let macs: [[u8; 6]; 2] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
    let frame =
        |to: [u8; 6], from: [u8; 6], text: &[u8]| [&to[..], &from, &[0x88, 0xb5], text].concat();
    // Both addresses are learnt.
    one.send_ip(1, frame([0xff; 6], macs[0], b"hello one")).await?;
    let broadcast = receives(two, b"hello one").await;
    two.send_ip(1, frame([0xff; 6], macs[1], b"hello two")).await?;
    receives(one, b"hello two").await;
    let before = drops(&core);
    one.send_ip(1, frame(macs[1], macs[0], b"unicast")).await?;
    let unicast = receives(two, b"unicast").await;
    let allowed = ue_to_ue == UeToUe::Allow;
    ensure!((broadcast, unicast) == (allowed, allowed), "{broadcast} {unicast}");
    let due = u64::from(ue_to_ue == UeToUe::Deny);
    ensure!(drops(&core) == before + due, "{}", core.status("upf"));
    Ok(())
}

#[test]
fn attack_ue_sends_frames_to_another_ue_where_that_is_denied() {
    in_namespace(|| of_frames(DatapathChoice::Kernel, UeToUe::Deny));
    in_namespace(|| of_frames(DatapathChoice::Xdp, UeToUe::Deny));
}

#[test]
fn frames_between_ues_pass_or_leave_as_configured() {
    in_namespace(|| of_frames(DatapathChoice::Kernel, UeToUe::Allow));
    in_namespace(|| of_frames(DatapathChoice::Kernel, UeToUe::Hairpin));
}
