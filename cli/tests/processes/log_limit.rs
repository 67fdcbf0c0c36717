//! Log lines about bad input: at most one a second for each reason and peer, on every interface.
use crate::fuzz_stateful::{Grammar, LMF, exchange, guti_octets};
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_ran::Gnb;
use martlet_ran::gnb::N2Link;
use martlet_tests::{RawGnb, in_namespace_within};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::{UdpSocket, UnixStream};

/// Number of the gNB that sends junk.
const ATTACKER: u8 = 10;
/// Messages on each interface.
const MESSAGES: usize = 3000;
/// Connections, which take longer than messages.
const CONNECTIONS: usize = 400;
/// The user with the least rights.
const UNPRIVILEGED: u32 = 65534;
/// The UPF's N3 address.
const N3: &str = "127.0.0.8:2152";

/// Bytes without a meaning, those of the grammar, and a wrong payload protocol; associations that
/// come and go.
async fn n2(grammar: &mut Grammar) -> Result<()> {
    let connect = async || -> Result<RawGnb> {
        let link = N2Link::connect(&gnb_config(ATTACKER, "127.0.0.5:38412")?).await?;
        Ok(RawGnb::over(link, ATTACKER))
    };
    let mut gnb = connect().await?;
    for n in 0..MESSAGES {
        // The first messages come without NG SETUP.
        if n == MESSAGES / 10 {
            gnb.send(gnb.ng_setup("001", 1)).await?;
        }
        let sent = match n % 10 {
            0 => gnb.send(grammar.bytes(40)).await,
            1 => gnb.send_with_ppid(7, grammar.bytes(40)).await,
            _ => {
                let message = grammar.ngap(&gnb);
                gnb.send(message).await
            }
        };
        gnb.drain().await;
        if sent.is_err() {
            gnb.abort();
            gnb = connect().await?;
            gnb.send(gnb.ng_setup("001", 1)).await?;
        }
    }
    gnb.abort();
    for _ in 0..CONNECTIONS / 4 {
        let Ok(gnb) = connect().await else { continue };
        let _ = gnb.send(gnb.ng_setup("001", 1)).await;
        let _ = tokio::time::timeout(Duration::from_millis(100), gnb.next()).await;
        gnb.abort();
    }
    Ok(())
}

/// Datagrams to UPF and SMF, and to the UPF's N3.
async fn n4_and_n3(grammar: &mut Grammar) -> Result<()> {
    let neighbour = UdpSocket::bind("127.0.0.99:0").await?;
    for n in 0..MESSAGES {
        let message = if n % 4 == 0 { grammar.bytes(30) } else { grammar.pfcp() };
        for to in ["127.0.0.8:8805", "127.0.0.7:8805"] {
            let _ = neighbour.send_to(&message, to).await;
        }
        let mut gtpu = grammar.bytes(24);
        if n % 2 == 0 {
            // G-PDU, Error Indication, Echo Request and others, with a TEID.
            let kind = [255, 26, 1, 254, 31, 2][n / 2 % 6];
            gtpu.splice(..4, [0x30, kind, 0, 16]);
        }
        let _ = neighbour.send_to(&gtpu, N3).await;
        if n % 64 == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    Ok(())
}

/// Connections to the SBI, the LMF's port for UEs, OAM and the API.
async fn connections(grammar: &mut Grammar, folder: &Path) -> Result<()> {
    let udp = UdpSocket::bind("0.0.0.0:0").await?;
    let nrf = SocketAddr::from(([127, 0, 0, 10], 7777));
    let oam = SocketAddr::from(([127, 0, 0, 1], 9090));
    let sockets: Vec<_> = std::fs::read_dir(folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|kind| kind == "sock"))
        .collect();
    ensure!(sockets.len() > 1, "{sockets:?}");
    for n in 0..CONNECTIONS {
        let (sbi, lcs_upp) = (grammar.sbi(), grammar.lcs_upp());
        exchange(nrf, &sbi).await;
        exchange(LMF, &lcs_upp).await;
        udp.send_to(&lcs_upp, LMF).await?;
        exchange(oam, &sbi).await;
        if let Ok(mut socket) = UnixStream::connect(&sockets[n % sockets.len()]).await {
            let _ = socket.write_all(&grammar.bytes(60)).await;
        }
    }
    Ok(())
}

/// Another user joins the fabric again and again.
fn fabric(socket: &Path) -> Result<()> {
    let program = format!(
        "import socket\nfor _ in range({MESSAGES}):\n  s = socket.socket(socket.AF_UNIX, \
         socket.SOCK_SEQPACKET)\n  s.connect({:?})\n  s.recv(1000)\n  s.close()\n",
        socket.display().to_string()
    );
    let mut command = Command::new("python3");
    command.args(["-c", &program]).uid(UNPRIVILEGED).gid(UNPRIVILEGED);
    let output = command.output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// The lines of the log since this one, by function, event and reason.
fn lines(log: &str, since: usize) -> Result<BTreeMap<String, usize>> {
    let mut counts = BTreeMap::new();
    for line in log.lines().skip(since) {
        let event: serde_json::Value =
            serde_json::from_str(line).with_context(|| format!("no event: {line}"))?;
        let of = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
        let name = [of("target"), of("message"), of("reason"), of("why")].join(" ");
        *counts.entry(name).or_default() += 1;
    }
    Ok(counts)
}

async fn junk_on_every_interface() -> Result<()> {
    let site = Site::new("log-limit")?;
    let config = std::fs::read_to_string(site.config())?;
    let config = config.replace("oam: {", "oam: { listen: \"127.0.0.1:9090\",");
    std::fs::write(site.config(), config)?;
    let mut config = std::fs::OpenOptions::new().append(true).open(site.config())?;
    writeln!(config, "sbi: {{ listen: true }}")?;
    let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&site.0, everyone)?;
    let core = site.start(&["--split", "--log", "info", "--log-format", "json"])?;
    let gnb = Gnb::connect(gnb_config(1, "127.0.0.5:38412")?).await?;
    let bystander = ue(&gnb, 1)?;
    bystander.register().await?;
    let guti = bystander.status().await?.guti.context("a 5G-GUTI")?;
    let mut grammar = Grammar::new(1, guti_octets(guti)?);

    let log = || std::fs::read_to_string(site.0.join("core.log"));
    let (before, started) = (log()?.lines().count(), Instant::now());
    n2(&mut grammar).await?;
    n4_and_n3(&mut grammar).await?;
    connections(&mut grammar, &site.0).await?;
    fabric(&site.0.join("sbi.sock"))?;
    let seconds = started.elapsed().as_secs() as usize + 2;

    let counts = lines(&log()?, before)?;
    let total: usize = counts.values().sum();
    println!("{total} lines in {seconds} s: {counts:#?}");
    let excess: Vec<_> = counts.iter().filter(|(_, lines)| **lines > seconds).collect();
    ensure!(excess.is_empty(), "more than one line a second, in {seconds} s: {excess:#?}");
    // Each interface has met junk, so that a test that no function reads fails.
    for target in ["martlet_amf", "martlet_smf", "martlet_upf_n4", "martlet_lmf", "martlet_fabric"]
    {
        ensure!(counts.keys().any(|name| name.starts_with(target)), "no line of {target}");
    }
    bystander.deregister().await?;
    gnb.shutdown().await;
    core.stop()
}

#[test]
fn attack_junk_fills_the_log() {
    in_namespace_within(Duration::from_secs(400), junk_on_every_interface);
}
