//! Messages to several UEs of a gNB share SCTP packets (RFC 9260, 6.10).
use anyhow::{Context, Result, ensure};
use futures_util::future::try_join_all;
use martlet::core::Sbi;
use martlet_ran::Ue;
use martlet_tests::{TestCore, in_namespace};
use std::path::Path;

/// Simultaneous registrations, as many as an AMF runs by default.
const UES: u64 = 16;
/// NGAP messages of a registration between gNB and AMF, at least: the initial UE message,
/// authentication, security mode, context setup and the completion.
const MESSAGES: u64 = 8;

/// The IP packets that this namespace has sent.
fn sent_packets() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/net/snmp")?;
    let mut lines = text.lines().filter(|line| line.starts_with("Ip:"));
    let (names, values) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
    let at = names.split(' ').position(|name| name == "OutRequests").context("OutRequests")?;
    Ok(values.split(' ').nth(at).context("a value")?.parse()?)
}

#[test]
fn messages_to_several_ues_share_packets() {
    // The kernel's SCTP bundles by its own rules.
    if Path::new("/proc/net/sctp").exists() {
        return;
    }
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Local, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let ues =
            (1..=UES).map(|n| gnb.new_ue(core.ue_config(n))).collect::<Result<Vec<_>, _>>()?;
        let before = sent_packets()?;
        try_join_all(ues.iter().map(Ue::register)).await?;
        let packets = sent_packets()? - before;
        let alone = UES * MESSAGES;
        // 24 to 45; 99 where the AMF pauses after each message.
        ensure!(packets < alone * 5 / 8, "{packets} packets for {alone} messages and more");
        try_join_all(ues.iter().map(Ue::deregister)).await?;
        core.until_all_released().await
    });
}
