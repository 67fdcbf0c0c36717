//! A stateful fuzzer: sequences of NAS, NGAP, PFCP, SBI and LCS-UPP messages from a grammar, out of
//! order, mutated and replayed, from several gNBs, hosts and UEs, against a running core.
//!
//! | protocol | who sends it |
//! | --- | --- |
//! | NAS | radios without keys under any identity (see `model`); a UE with keys |
//! | NGAP | gNBs that the AMF admits; associations without NG SETUP |
//! | PFCP | a host that `upf.n4.allow` does not have; an additional SMF, for its own sessions |
//! | GTP-U | a host on N3 |
//! | SBI | a host that reaches the functions over TCP |
//! | LCS-UPP | hosts that are no TLS clients; peers with a channel, bound to no UE |
//!
//! Meanwhile two bystanders have to be served, and at its end no process may have grown.
//!
//! Half of the time the core tolerates the deviations of `docs/interop.md`, which is the default;
//! in the other half it has `strict: true`, with sequences of their own. The same has to hold.
//!
//! Some seconds here, split over the fabric; `make fuzz-stateful SECONDS=1800 SEED=7 BINDING=http`
//! runs for longer, and on another binding. `MARTLET_FUZZ_SEED` repeats the messages of a run;
//! their timing against the core differs. The SBI is open over TCP, without certificates.
mod grammar;
mod model;

pub use grammar::Grammar;

use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_lab::CoreProcess;
use martlet_lcs_channel::{AsyncConnector, Identity, Kind, Options, Trust};
use martlet_nas::Nas5gsMessage;
use martlet_ran::gnb::N2Link;
use martlet_ran::{Gnb, PduSessionRequest, Ue};
use martlet_tests::{GATEWAY, RawGnb, in_namespace_within, reaches};
use rand::Rng;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

/// Numbers of the gNBs that send anything; the bystanders' gNB is number 1.
const ATTACKERS: [u8; 3] = [10, 11, 12];
/// The port of the LMF for UEs.
pub const LMF: SocketAddr = SocketAddr::new(IpAddr::V4(GATEWAY), 9127);
/// The address of an SMF that the UPF serves beside that of the core.
const ADDITIONAL_SMF: [u8; 4] = [127, 0, 0, 98];
/// How long a bystander may wait for the end of a procedure.
const SERVED: Duration = Duration::from_secs(60);
/// What a process may grow after the first third of the run, in kilobytes and file descriptors.
const GROWTH_KB: u64 = 48 * 1024;
const GROWTH_FDS: usize = 64;

/// Answers of the core to attackers, so that a run whose messages no function reads fails.
#[derive(Debug, Clone, Copy, Default)]
struct Answers {
    n1: u64,
    n2: u64,
    n4: u64,
    /// Accepted session establishments of the additional SMF.
    n4_sessions: u64,
    sbi: u64,
    lcs_upp: u64,
    /// Channels of LCS-UPP.
    channels: u64,
}

/// Memory in kilobytes and file descriptors of each process.
fn resources(core: &CoreProcess) -> BTreeMap<u32, (u64, usize)> {
    let of = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        let memory = line.split_whitespace().next()?.parse().ok()?;
        Some((pid, (memory, std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count())))
    };
    core.family().into_iter().filter_map(of).collect()
}

fn internet() -> PduSessionRequest {
    PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() }
}

/// A bystander that does one procedure after the other.
async fn active(ue: &Ue, cycles: &Cell<u32>) -> Result<()> {
    loop {
        let cycle = tokio::time::timeout(SERVED, registration_cycle(ue)).await;
        cycle
            .context("a bystander was not served in time")?
            .context("a bystander was not served")?;
        cycles.update(|cycles| cycles + 1);
    }
}

/// A bystander that does nothing but send packets: what attackers send under its 5G-GUTI has no
/// effect on it.
async fn quiet(ue: &Ue, replies: &Cell<u32>) -> Result<()> {
    let before = ue.status().await?.guti;
    loop {
        let reached = tokio::time::timeout(SERVED, reaches(ue, 1, GATEWAY)).await;
        reached.context("packets of a bystander were lost")??;
        let status = ue.status().await?;
        ensure!(
            status.connected && status.guti == before && status.active_user_planes == [1],
            "an unprotected message changed a bystander: {status:?}"
        );
        replies.update(|replies| replies + 1);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Sends messages of the grammar forever.
async fn attackers(
    grammar: &RefCell<Grammar>,
    sent: &Cell<u64>,
    answers: &Cell<Answers>,
) -> Result<()> {
    let mut gnbs: Vec<Option<RawGnb>> = ATTACKERS.iter().map(|_| None).collect();
    let pfcp = UdpSocket::bind("127.0.0.99:0").await?;
    let udp = UdpSocket::bind("0.0.0.0:0").await?;
    let upf: SocketAddr = "127.0.0.8:8805".parse()?;
    let smf: SocketAddr = "127.0.0.7:8805".parse()?;
    let lmf = LMF;
    loop {
        let choice = grammar.borrow_mut().random.random_range(0..22);
        match choice {
            0..13 => {
                let n = grammar.borrow_mut().random.random_range(0..gnbs.len());
                if gnbs[n].is_none() {
                    let config = gnb_config(ATTACKERS[n], "127.0.0.5:38412")?;
                    if let Ok(link) = N2Link::connect(&config).await {
                        let gnb = RawGnb::over(link, ATTACKERS[n]);
                        // Some begin without NG SETUP.
                        if grammar.borrow_mut().random.random_bool(0.8) {
                            let _ = gnb.send(gnb.ng_setup("001", 1)).await;
                        }
                        gnbs[n] = Some(gnb);
                    }
                }
                if let Some(gnb) = &gnbs[n] {
                    let message = grammar.borrow_mut().ngap(gnb);
                    let ended = gnb.send(message).await.is_err();
                    let drained = gnb.drain().await;
                    answers.update(|answers| Answers { n2: answers.n2 + drained, ..answers });
                    if ended || grammar.borrow_mut().random.random_bool(0.002) {
                        gnb.abort();
                        gnbs[n] = None;
                    }
                }
            }
            13..16 => {
                let message = grammar.borrow_mut().pfcp();
                let to = if grammar.borrow_mut().random.random_bool(0.7) { upf } else { smf };
                let _ = pfcp.send_to(&message, to).await;
                let mut buffer = [0; 2048];
                while pfcp.try_recv(&mut buffer).is_ok() {
                    answers.update(|answers| Answers { n4: answers.n4 + 1, ..answers });
                }
            }
            16..18 => {
                let message = grammar.borrow_mut().sbi();
                let function = grammar.borrow_mut().random.random_range(10..20);
                let to = SocketAddr::from(([127, 0, 0, function], 7777));
                let answered = u64::from(exchange(to, &message).await);
                answers.update(|answers| Answers { sbi: answers.sbi + answered, ..answers });
            }
            18 => {
                let message = grammar.borrow_mut().lcs_upp();
                let answered = u64::from(exchange(lmf, &message).await);
                answers
                    .update(|answers| Answers { lcs_upp: answers.lcs_upp + answered, ..answers });
            }
            19 => {
                let message = grammar.borrow_mut().lcs_upp();
                let _ = udp.send_to(&message, lmf).await;
            }
            _ => {
                let message = grammar.borrow_mut().gtpu();
                let _ = udp.send_to(&message, "127.0.0.8:2152").await;
            }
        }
        sent.set(sent.get() + 1);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A UE with keys sends anything within its security context, and starts again when the AMF has
/// released it.
async fn insider(gnb: &Gnb, mut grammar: Grammar, sent: &Cell<u64>, answers: &Cell<Answers>) {
    loop {
        let Ok(ue) = ue(gnb, 3) else { return };
        let started = async {
            ue.register().await?;
            ue.establish_pdu_session(internet()).await
        };
        if matches!(tokio::time::timeout(SERVED, started).await, Ok(Ok(_))) {
            answers.update(|answers| Answers { n1: answers.n1 + 1, ..answers });
        }
        for _ in 0..grammar.random.random_range(10..100) {
            sent.set(sent.get() + 1);
            let message = async {
                match grammar.random.random_range(0..10) {
                    0..5 => match grammar.decoded() {
                        Some(message @ Nas5gsMessage::Gsm(..)) => {
                            let psi = grammar.random.random_range(0..4);
                            ue.send_session_message(psi, message).await
                        }
                        Some(message) => ue.send_nas(message).await,
                        None => Ok(()),
                    },
                    5 => ue.send_raw_nas(grammar.nas()).await,
                    6 => ue.replay_last_nas().await,
                    7 => ue.send_ip(1, grammar.bytes(60)).await,
                    8 => ue.release_to_idle().await,
                    _ => ue.service_request().await,
                }
            };
            let _ = tokio::time::timeout(Duration::from_millis(100), message).await;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// An additional SMF sends anything about sessions of its own. It has no sessions at the end.
async fn additional_smf(
    mut grammar: Grammar,
    sent: &Cell<u64>,
    answers: &Cell<Answers>,
) -> Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::from(ADDITIONAL_SMF), 8805)).await?;
    let mut buffer = [0; 4096];
    loop {
        let message = grammar.pfcp_of_smf(ADDITIONAL_SMF);
        let _ = socket.send_to(&message, "127.0.0.8:8805").await;
        sent.set(sent.get() + 1);
        tokio::time::sleep(Duration::from_millis(5)).await;
        while let Ok(length) = socket.try_recv(&mut buffer) {
            // The UP F-SEID of a session establishment response: IPv4, of 13 bytes.
            let element = buffer[..length].windows(13).find(|at| at[..5] == [0, 57, 0, 13, 2]);
            if let Some(seid) = element.and_then(|at| at[5..].first_chunk()) {
                grammar.seids.push(*seid);
                answers
                    .update(|answers| Answers { n4_sessions: answers.n4_sessions + 1, ..answers });
            }
        }
    }
}

/// A peer of the LMF has channels, and sends anything over them.
async fn channels(
    trust: &Trust,
    mut grammar: Grammar,
    sent: &Cell<u64>,
    answers: &Cell<Answers>,
) -> Result<()> {
    let options = Options { timeout: Duration::from_secs(2), ..Options::default() };
    let kinds = [Kind::Rustls, Kind::Quinn];
    let connectors: Vec<_> = kinds
        .into_iter()
        .map(|kind| AsyncConnector::new(kind, trust, &options))
        .collect::<Result<_, _>>()?;
    loop {
        let n = grammar.random.random_range(0..connectors.len());
        let Some(connector) = connectors.get(n) else { continue };
        let channel = async { connector.connect(connector.open_socket(LMF)?).await };
        if let Ok(mut channel) = channel.await {
            answers.update(|answers| Answers { channels: answers.channels + 1, ..answers });
            let mut received = Vec::new();
            for _ in 0..grammar.random.random_range(1..20) {
                sent.set(sent.get() + 1);
                if channel.send(&grammar.lcs_upp_message()).await.is_err() {
                    break;
                }
                let receive = channel.receive(&mut received);
                let ended = tokio::time::timeout(Duration::from_millis(10), receive).await;
                if matches!(ended, Ok(Ok(false) | Err(_))) {
                    break;
                }
            }
            if grammar.random.random_bool(0.5) {
                channel.close().await;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Sends bytes over a connection, reads for a moment, and closes it. Returns whether bytes came
/// back.
pub async fn exchange(to: SocketAddr, message: &[u8]) -> bool {
    let talk = async {
        let mut stream = TcpStream::connect(to).await?;
        stream.write_all(message).await?;
        let mut buffer = [0; 4096];
        stream.read(&mut buffer).await
    };
    let talked = tokio::time::timeout(Duration::from_millis(20), talk).await;
    talked.is_ok_and(|read: std::io::Result<usize>| read.is_ok_and(|length| length > 0))
}

/// Arguments of the core for a binding of the SBI.
fn arguments(binding: &str) -> Result<&'static [&'static str]> {
    match binding {
        "local" => Ok(&[]),
        "fabric" => Ok(&["--split"]),
        "http" => Ok(&["--split", "--sbi", "http"]),
        other => anyhow::bail!("MARTLET_FUZZ_BINDING must be local, fabric or http, not {other:?}"),
    }
}

async fn fuzz(binding: &str, seed: u64, strict: bool, length: Duration) -> Result<()> {
    let site = Site::new(if strict { "fuzz-strict" } else { "fuzz-stateful" })?;
    let mut config = std::fs::OpenOptions::new().append(true).open(site.config())?;
    writeln!(config, "sbi: {{ listen: true }}")?;
    writeln!(config, "strict: {strict}")?;
    writeln!(
        config,
        "upf: {{ n4: {{ allow: [127.0.0.7, {}] }} }}",
        Ipv4Addr::from(ADDITIONAL_SMF)
    )?;
    let (certificate, key) = (site.0.join("lmf.pem"), site.0.join("lmf.key"));
    let identity = Identity::self_signed(&[&GATEWAY.to_string()])?;
    std::fs::write(&certificate, &identity.certificates)?;
    std::fs::write(&key, &identity.key)?;
    writeln!(config, "lmf: {{ user_plane: {{ certificate: {certificate:?}, key: {key:?} }} }}")?;
    site.subscribe(3, 1)?;
    let core = site.start(arguments(binding)?)?;
    let pids = core.family();
    let gnb = Gnb::connect(gnb_config(1, "127.0.0.5:38412")?).await?;
    let (one, two) = (ue(&gnb, 1)?, ue(&gnb, 2)?);
    one.register().await?;
    one.establish_pdu_session(internet()).await?;
    let guti = one.status().await?.guti.context("a 5G-GUTI")?;
    let guti = guti_octets(guti)?;
    // Each has messages of its own, whatever the timing.
    let first = u64::from(strict) * 4;
    let grammar = |n| Grammar::new(seed.wrapping_mul(8).wrapping_add(first + n), guti);
    let of_attackers = RefCell::new(grammar(0));
    let attackers_gnb = gnb_that_waits(2, Duration::from_secs(1)).await?;
    let trust = identity.trust(&GATEWAY.to_string());
    let (sent, answers) = (Cell::new(0), Cell::new(Answers::default()));
    let (cycles, replies) = (Cell::new(0), Cell::new(0));
    let started = Instant::now();
    let mut warm = BTreeMap::new();
    let measure = async {
        tokio::time::sleep(length / 3).await;
        warm = resources(&core);
        tokio::time::sleep(length - length / 3).await;
    };
    tokio::select! {
        () = measure => {}
        outcome = attackers(&of_attackers, &sent, &answers) => outcome?,
        () = insider(&attackers_gnb, grammar(1), &sent, &answers) => {}
        outcome = additional_smf(grammar(2), &sent, &answers) => outcome?,
        outcome = channels(&trust, grammar(3), &sent, &answers) => outcome?,
        outcome = quiet(&one, &replies) => outcome?,
        outcome = active(&two, &cycles) => outcome?,
    }
    let messages = sent.get();
    let answers = answers.get();
    let (cycles, replies) = (cycles.get(), replies.get());
    println!(
        "{binding}, seed {seed}, strict {strict}: {messages} messages in {:?}, {answers:?}; \
         bystanders: {cycles} registrations with a session, {replies} echo replies",
        started.elapsed()
    );
    let is_served = messages > 100 && cycles > 0 && replies > 0;
    ensure!(is_served, "{messages} messages, {cycles} registrations, {replies} echo replies");
    ensure!(answers.n2 > messages / 20, "{answers:?} to {messages} messages: they are not read");
    ensure!(answers.sbi > 0 && answers.lcs_upp > 0, "{answers:?}: no answer over TCP");
    let inside = [answers.n1, answers.n4_sessions, answers.channels];
    ensure!(!inside.contains(&0), "{answers:?}: no attacker with a session or channel");
    ensure!(core.family() == pids, "a process has ended and another one was started");
    // Connections and contexts of attackers end by their time limits.
    let give_up = Instant::now() + Duration::from_secs(60);
    loop {
        let grown: Vec<_> = resources(&core)
            .into_iter()
            .filter_map(|(pid, (memory, fds))| {
                let (memory_before, fds_before) = *warm.get(&pid)?;
                let grown = memory > memory_before + GROWTH_KB || fds > fds_before + GROWTH_FDS;
                grown.then_some((pid, memory_before, memory, fds_before, fds))
            })
            .collect();
        if grown.is_empty() {
            break report(&core, &warm);
        }
        ensure!(
            Instant::now() < give_up,
            "PID, kilobytes before and after, descriptors: {grown:?}"
        );
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    one.deregister().await?;
    attackers_gnb.shutdown().await;
    gnb.shutdown().await;
    core.stop()
}

/// The value of a 5GS mobile identity with a 5G-GUTI (TS 24.501, 9.11.3.4).
pub fn guti_octets(guti: martlet_nas::Guti) -> Result<[u8; 11]> {
    guti.to_nas_octets()[..].try_into().context("a 5G-GUTI has eleven bytes")
}

/// Prints what each process has grown since it was warm.
fn report(core: &CoreProcess, warm: &BTreeMap<u32, (u64, usize)>) {
    for (pid, (memory, fds)) in resources(core) {
        let Some((memory_before, fds_before)) = warm.get(&pid) else { continue };
        let arguments = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let name = arguments.split('\0').skip_while(|word| *word != "nf").nth(1).unwrap_or("up");
        println!("{name}: {memory_before} to {memory} KB, {fds_before} to {fds} descriptors");
    }
}

fn number(variable: &str, default: u64) -> Result<u64> {
    match std::env::var(variable) {
        Ok(text) => text.parse().with_context(|| format!("{variable} is not a number: {text:?}")),
        Err(_) => Ok(default),
    }
}

#[test]
fn bystanders_are_served_while_attackers_send_anything() -> Result<()> {
    let (seed, seconds) = (number("MARTLET_FUZZ_SEED", 1)?, number("MARTLET_FUZZ_SECONDS", 12)?);
    let length = Duration::from_secs(seconds);
    let binding = std::env::var("MARTLET_FUZZ_BINDING").unwrap_or_else(|_| "fabric".into());
    in_namespace_within(length + Duration::from_secs(240), move || async move {
        for strict in [false, true] {
            let outcome = fuzz(&binding, seed, strict, length / 2).await;
            outcome.with_context(|| {
                format!("MARTLET_FUZZ_SEED={seed}, binding {binding}, strict {strict}")
            })?;
        }
        Ok(())
    });
    Ok(())
}
