//! A stateful fuzzer: sequences of NAS, NGAP, PFCP, SBI and LCS-UPP messages from a grammar, out of
//! order, mutated and replayed, from several gNBs and hosts, against a running core.
//! Meanwhile two bystanders have to be served, and at its end no process may have grown.
//!
//! Some seconds here, split over the fabric; `make fuzz-stateful SECONDS=1800 SEED=7 BINDING=http`
//! runs for longer, and on another binding. `MARTLET_FUZZ_SEED` repeats the messages of a run;
//! their timing against the core differs. The SBI is open over TCP, without certificates.
use crate::site::*;
use anyhow::{Context, Result, ensure};
use martlet_lab::CoreProcess;
use martlet_ran::gnb::N2Link;
use martlet_ran::{Gnb, PduSessionRequest, Ue};
use martlet_tests::{GATEWAY, RawGnb, in_namespace_within, reaches};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

/// Numbers of the gNBs that send anything; the bystanders' gNB is number 1.
const ATTACKERS: [u8; 3] = [10, 11, 12];
/// Messages that are kept to be replayed.
const REPLAYED: usize = 256;
/// How long a bystander may wait for the end of a procedure.
const SERVED: Duration = Duration::from_secs(20);
/// What a process may grow after the first third of the run, in kilobytes and file descriptors.
const GROWTH_KB: u64 = 48 * 1024;
const GROWTH_FDS: usize = 64;

/// What a message may change that arrives without valid NAS security for the UE whose identity it
/// names (TS 24.501, 4.4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// It starts a procedure in a new context. The context of the named UE is unchanged.
    OwnContext,
    /// It is answered or discarded, and nothing changes.
    None,
}

/// An unprotected NAS message: its name, the clause, its effect, and its bytes. `T` stands for the
/// 5G-TMSI with AMF set and pointer, `G` for the 5G-GUTI, `S` for a random subscriber, `R` for
/// random bytes.
type Unprotected = (&'static str, &'static str, Effect, &'static str);

/// The model: the effects of an attacker's message that has the 5G-GUTI of a bystander. Other
/// messages, and these with a wrong MAC, have no more effects.
const UNPROTECTED: [Unprotected; 14] = [
    (
        "Registration Request, SUCI",
        "4.4.4.3",
        Effect::OwnContext,
        "7e004179 000d01 00f110 0000 0000 S 2e02f0f0",
    ),
    ("Registration Request, 5G-GUTI", "5.5.1.2", Effect::OwnContext, "7e004101 000b G 2e02f0f0"),
    ("Mobility registration, 5G-GUTI", "5.5.1.3", Effect::OwnContext, "7e004102 000b G 2e02f0f0"),
    ("Service Request", "5.6.1.7", Effect::None, "7e004c00 0007 T"),
    ("Control Plane Service Request", "5.6.1.7", Effect::None, "7e004f00 0007 T"),
    ("Deregistration Request", "4.4.4.3", Effect::None, "7e004509 000b G"),
    ("Deregistration Accept", "4.4.4.3", Effect::None, "7e0046"),
    ("Identity Response", "4.4.4.3", Effect::OwnContext, "7e005c 000d01 00f110 0000 0000 S"),
    ("Authentication Response", "4.4.4.3", Effect::OwnContext, "7e00572d10 RRRR"),
    ("Authentication Failure", "4.4.4.3", Effect::OwnContext, "7e005915300e RRR 0000"),
    ("Security Mode Complete", "4.4.4.3", Effect::None, "7e005e"),
    ("Security Mode Reject", "4.4.4.3", Effect::OwnContext, "7e005f18"),
    ("UL NAS Transport", "4.4.4.3", Effect::None, "7e0067010004 2e0101c1 1201"),
    ("Registration Complete", "4.4.4.3", Effect::None, "7e0043"),
];

/// Messages of the tests of NGAP and NAS, from another implementation.
fn vectors(text: &str) -> Vec<Vec<u8>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| hex::decode(line.split_whitespace().last()?).ok()).collect()
}

/// Chooses messages.
struct Grammar {
    random: StdRng,
    ngap: Vec<Vec<u8>>,
    nas: Vec<Vec<u8>>,
    sent: Vec<Vec<u8>>,
    guti: [u8; 11],
}

impl Grammar {
    fn new(seed: u64, guti: [u8; 11]) -> Grammar {
        let ngap = [
            include_str!("../../../wire/ngap/tests/vectors/pycrate.tsv"),
            include_str!("../../../wire/ngap/tests/vectors/ours.tsv"),
        ];
        let nas = [
            include_str!("../../../wire/nas/tests/vectors/pycrate.tsv"),
            include_str!("../../../wire/nas/tests/vectors/ours.tsv"),
        ];
        Grammar {
            random: StdRng::seed_from_u64(seed),
            ngap: ngap.iter().flat_map(|text| vectors(text)).collect(),
            nas: nas.iter().flat_map(|text| vectors(text)).collect(),
            sent: Vec::new(),
            guti,
        }
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.random.random()).collect()
    }

    /// The bytes of a message of the model.
    fn unprotected(&mut self, text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        for word in text.split(' ') {
            match word {
                "G" => out.extend(self.guti),
                // AMF set and pointer, and 5G-TMSI.
                "T" => out.extend([&[0xf4], &self.guti[5..]].concat()),
                // Most are unknown; few are bystanders.
                "S" => {
                    let last = self.random.random_range(0..40u8);
                    out.extend([0, 0, 0, 0, 0, ((last % 10) << 4) | (last / 10)]);
                    out.truncate(out.len() - 1);
                }
                word if word.starts_with('R') => out.extend(self.bytes(word.len() * 4)),
                word => out.extend(hex::decode(word).expect("hexadecimal digits")),
            }
        }
        out
    }

    /// A NAS message: of the model, plain or under a wrong MAC, or any other; perhaps mutated.
    fn nas(&mut self) -> Vec<u8> {
        let mut message = match self.random.random_range(0..10) {
            0..7 => {
                let (_, _, _, text) = *UNPROTECTED.choose(&mut self.random).expect("messages");
                self.unprotected(text)
            }
            7 | 8 => self.nas.choose(&mut self.random).cloned().unwrap_or_default(),
            _ => {
                let length = self.random.random_range(0..64);
                self.bytes(length)
            }
        };
        if self.random.random_bool(0.4) {
            let header = self.random.random_range(1..5u8);
            message =
                [&[0x7e, header][..], &self.bytes(4), &[self.random.random()], &message].concat();
        }
        if self.random.random_bool(0.3) { self.mutated(message) } else { message }
    }

    fn mutated(&mut self, mut message: Vec<u8>) -> Vec<u8> {
        for _ in 0..self.random.random_range(1..4) {
            if message.is_empty() {
                break;
            }
            let at = self.random.random_range(0..message.len());
            match self.random.random_range(0..5) {
                0 => message[at] ^= 1 << self.random.random_range(0..8),
                1 => message[at] = *[0, 0x7f, 0x80, 0xff].choose(&mut self.random).unwrap_or(&0),
                2 => message.truncate(at),
                3 => message.insert(at, self.random.random()),
                _ => {
                    let tail = message.split_off(at);
                    message.extend_from_slice(&tail);
                    message.extend_from_slice(&tail);
                }
            }
        }
        message.truncate(4096);
        message
    }

    /// An NGAP message of a gNB.
    fn ngap(&mut self, gnb: &RawGnb) -> Vec<u8> {
        let ran_id = self.random.random_range(0..64u32);
        // Identifiers of UEs are counted up: those of other gNBs' UEs can be guessed.
        let amf_id = self.random.random_range(0..64u64);
        let message = match self.random.random_range(0..20) {
            0..7 => {
                let nas = self.nas();
                gnb.initial_ue_message(ran_id, &nas).to_vec()
            }
            7..10 => {
                let nas = self.nas();
                gnb.uplink_nas_transport(amf_id, ran_id, &nas).to_vec()
            }
            10 => gnb.release_complete(amf_id, ran_id).to_vec(),
            11 => gnb.ng_setup("001", 1).to_vec(),
            12..14 if !self.sent.is_empty() => {
                self.sent.choose(&mut self.random).cloned().unwrap_or_default()
            }
            14..17 => {
                let vector = self.ngap.choose(&mut self.random).cloned().unwrap_or_default();
                self.mutated(vector)
            }
            _ => self.ngap.choose(&mut self.random).cloned().unwrap_or_default(),
        };
        if self.sent.len() == REPLAYED {
            let at = self.random.random_range(0..REPLAYED);
            self.sent.swap_remove(at);
        }
        self.sent.push(message.clone());
        message
    }

    /// A PFCP message of a host that is no SMF, under its own node ID.
    fn pfcp(&mut self) -> Vec<u8> {
        let node = [0, 60, 0, 5, 0, 127, 0, 0, 99];
        let seid = self.random.random_range(0..64u64);
        let sequence = self.random.random_range(0..32u32);
        let (kind, has_seid, elements) = match self.random.random_range(0..8) {
            0 => (1, false, vec![0, 96, 0, 4, 0xe8, 0, 0, 1]),
            1 => (5, false, [&node[..], &[0, 96, 0, 4, 0xe8, 0, 0, 1]].concat()),
            2 => (9, false, node.to_vec()),
            3 => {
                let length = self.random.random_range(0..80);
                let more = self.bytes(length);
                let fseid =
                    [&[0, 57, 0, 13, 2][..], &seid.to_be_bytes(), &[127, 0, 0, 99]].concat();
                (50, true, [&node[..], &fseid, &more].concat())
            }
            4 => (52, true, self.bytes(24)),
            5 => (54, true, Vec::new()),
            6 => (57, true, self.bytes(6)),
            _ => (self.random.random_range(0..60), self.random.random(), self.bytes(16)),
        };
        let mut message = vec![0x20 | u8::from(has_seid), kind, 0, 0];
        if has_seid {
            message.extend(seid.to_be_bytes());
        }
        message.extend(&sequence.to_be_bytes()[1..]);
        message.push(0);
        message.extend(elements);
        let length = (message.len() - 4) as u16;
        message[2..4].copy_from_slice(&length.to_be_bytes());
        if self.random.random_bool(0.3) { self.mutated(message) } else { message }
    }

    /// What a host sends to a function's HTTP/2 port.
    fn sbi(&mut self) -> Vec<u8> {
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        let body = br#"{"nfInstanceId":"3fa85f64-5717-4562-b3fc-2c963f66afa6","nfType":"AMF"}"#;
        let paths = [
            "/nnrf-nfm/v1/nf-instances/x",
            "/nudm-ueau/v1/x/y",
            "/namf-comm/v1/ue-contexts",
            "/nausf-auth/v1/ue-authentications",
            "/nsmf-pdusession/v1/sm-contexts/9999/modify",
            "/npcf-am-policy-control/v1/policies/9999",
            "/nudr-dr/v2/subscription-data/imsi-001010000000099/authentication-data",
            "/nchf-convergedcharging/v3/chargingdata",
        ];
        let path = paths.choose(&mut self.random).copied().unwrap_or_default();
        let methods = ["PUT", "POST", "GET", "PATCH", "DELETE"];
        let method = methods.choose(&mut self.random).copied().unwrap_or_default();
        // Headers with literal names and values (RFC 7541, 6.2.2), then DATA.
        let mut block = Vec::new();
        for (name, value) in [(":method", method), (":scheme", "http"), (":path", path)] {
            block.push(0);
            for text in [name, value] {
                block.push(text.len() as u8);
                block.extend_from_slice(text.as_bytes());
            }
        }
        let stream = self.random.random_range(0..4u8) * 2 + 1;
        let frame = |kind: u8, flags: u8, payload: &[u8]| {
            let length = payload.len() as u32;
            [&length.to_be_bytes()[1..], &[kind, flags, 0, 0, 0, stream], payload].concat()
        };
        let mut frames = vec![frame(1, 4, &block), frame(0, 1, body)];
        for _ in 0..self.random.random_range(0..3) {
            let length = self.random.random_range(0..40);
            let payload = self.bytes(length);
            let (kind, flags) = (self.random.random_range(0..12), self.random.random());
            let at = self.random.random_range(0..=frames.len());
            frames.insert(at, frame(kind, flags, &payload));
        }
        let message = [&preface[..], &frames.concat()].concat();
        if self.random.random_bool(0.5) { self.mutated(message) } else { message }
    }

    /// What a host sends to the LMF's port: the start of a TLS handshake, or anything.
    fn lcs_upp(&mut self) -> Vec<u8> {
        let random = self.bytes(32);
        let hello = [&[1, 0, 0, 0x2b, 3, 3][..], &random, &[0, 0, 2, 0x13, 1, 1, 0, 0, 0]].concat();
        let record = [&[0x16, 3, 1, 0, hello.len() as u8][..], &hello].concat();
        if self.random.random_bool(0.8) { self.mutated(record) } else { record }
    }
}

/// Answers of the core to attackers, so that a run whose messages no function reads fails.
#[derive(Debug, Clone, Copy, Default)]
struct Answers {
    n2: u64,
    n4: u64,
    sbi: u64,
    lcs_upp: u64,
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
async fn active(ue: &Ue, days: &Cell<u32>) -> Result<()> {
    loop {
        let day = tokio::time::timeout(SERVED, registration_cycle(ue)).await;
        day.context("a bystander was not served in time")?.context("a bystander was not served")?;
        days.set(days.get() + 1);
    }
}

/// A bystander that does nothing but send packets: what attackers send under its 5G-GUTI has no
/// effect on it.
async fn quiet(ue: &Ue) -> Result<()> {
    let before = ue.status().await?.guti;
    loop {
        let reached = tokio::time::timeout(SERVED, reaches(ue, 1, GATEWAY)).await;
        reached.context("packets of a bystander were lost")??;
        let status = ue.status().await?;
        ensure!(
            status.connected && status.guti == before && status.active_user_planes == [1],
            "an unprotected message changed a bystander: {status:?}"
        );
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
    let lmf = SocketAddr::new(GATEWAY.into(), 9127);
    loop {
        let choice = grammar.borrow_mut().random.random_range(0..20);
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
            _ => {
                let message = grammar.borrow_mut().lcs_upp();
                let _ = udp.send_to(&message, lmf).await;
            }
        }
        sent.set(sent.get() + 1);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Sends bytes over a connection, reads for a moment, and closes it. Returns whether bytes came
/// back.
async fn exchange(to: SocketAddr, message: &[u8]) -> bool {
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

async fn fuzz(binding: &str, seed: u64, length: Duration) -> Result<()> {
    let site = Site::new("fuzz-stateful")?;
    let mut config = std::fs::OpenOptions::new().append(true).open(site.config())?;
    writeln!(config, "sbi: {{ listen: true }}")?;
    let core = site.start(arguments(binding)?)?;
    let pids = core.family();
    let gnb = Gnb::connect(gnb_config(1, "127.0.0.5:38412")?).await?;
    let (one, two) = (ue(&gnb, 1)?, ue(&gnb, 2)?);
    one.register().await?;
    one.establish_pdu_session(internet()).await?;
    let guti = one.status().await?.guti.context("a 5G-GUTI")?;
    let grammar = RefCell::new(Grammar::new(seed, guti_octets(guti)?));
    let (sent, days, answers) = (Cell::new(0), Cell::new(0), Cell::new(Answers::default()));
    let started = Instant::now();
    let mut warm = BTreeMap::new();
    let measure = async {
        tokio::time::sleep(length / 3).await;
        warm = resources(&core);
        tokio::time::sleep(length - length / 3).await;
    };
    tokio::select! {
        () = measure => {}
        outcome = attackers(&grammar, &sent, &answers) => outcome?,
        outcome = quiet(&one) => outcome?,
        outcome = active(&two, &days) => outcome?,
    }
    let messages = sent.get();
    let answers = answers.get();
    println!(
        "{binding}, seed {seed}: {messages} messages in {:?}, {answers:?}, {} days of a bystander",
        started.elapsed(),
        days.get()
    );
    ensure!(messages > 100 && days.get() > 0, "{messages} messages, {} days", days.get());
    ensure!(answers.n2 > messages / 20, "{answers:?} to {messages} messages: they are not read");
    ensure!(answers.sbi > 0 && answers.lcs_upp > 0, "{answers:?}: no answer over TCP");
    ensure!(core.family() == pids, "a process has ended and another one was started");
    // Connections and contexts of attackers end by their time limits.
    let give_up = Instant::now() + Duration::from_secs(40);
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
    gnb.shutdown().await;
    core.stop()
}

/// The value of a 5GS mobile identity with a 5G-GUTI (TS 24.501, 9.11.3.4).
fn guti_octets(guti: martlet_nas::Guti) -> Result<[u8; 11]> {
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
    in_namespace_within(length + Duration::from_secs(120), move || async move {
        let outcome = fuzz(&binding, seed, length).await;
        outcome.with_context(|| format!("MARTLET_FUZZ_SEED={seed}, binding {binding}"))
    });
    Ok(())
}

/// Types of NAS messages with which the AMF starts a procedure: AUTHENTICATION REQUEST, IDENTITY
/// REQUEST, SECURITY MODE COMMAND.
const STARTED: [u8; 3] = [0x56, 0x5b, 0x5d];

#[test]
fn each_unprotected_message_has_the_effect_of_the_model() {
    in_namespace_within(Duration::from_secs(120), || async {
        let site = Site::new("fuzz-model")?;
        let core = site.start(&["--split"])?;
        let gnb = Gnb::connect(gnb_config(1, "127.0.0.5:38412")?).await?;
        let bystander = ue(&gnb, 1)?;
        bystander.register().await?;
        bystander.establish_pdu_session(internet()).await?;
        let link = N2Link::connect(&gnb_config(ATTACKERS[0], "127.0.0.5:38412")?).await?;
        let attacker = RawGnb::over(link, ATTACKERS[0]);
        attacker.send(attacker.ng_setup("001", 1)).await?;
        attacker.next().await?;
        let mut ran_id = 0;
        for idle in [false, true] {
            if idle {
                bystander.release_to_idle().await?;
            }
            let before = bystander.status().await?;
            let mut grammar = Grammar::new(1, guti_octets(before.guti.context("a 5G-GUTI")?)?);
            for (name, clause, effect, text) in UNPROTECTED {
                for protected in [false, true] {
                    let mut nas = grammar.unprotected(text);
                    if protected {
                        nas = [&[0x7e, 1, 1, 2, 3, 4, 0][..], &nas].concat();
                    }
                    ran_id += 1;
                    let answers =
                        attacker.answers_to(ran_id, &nas, Duration::from_millis(300)).await?;
                    let started = answers.iter().any(|kind| STARTED.contains(kind));
                    ensure!(
                        effect == Effect::OwnContext || !started,
                        "{name} ({clause}), idle {idle}, wrong MAC {protected}: {answers:02x?}"
                    );
                    let after = bystander.status().await?;
                    ensure!(
                        (after.connected, after.guti, &after.active_user_planes)
                            == (before.connected, before.guti, &before.active_user_planes),
                        "{name} ({clause}) changed the bystander: {after:?}"
                    );
                }
            }
            reaches(&bystander, 1, GATEWAY).await?;
        }
        bystander.deregister().await?;
        gnb.shutdown().await;
        core.stop()
    });
}

#[test]
fn messages_of_the_model_are_of_their_type() {
    let mut grammar = Grammar::new(1, [0xf2, 0, 0xf1, 0x10, 1, 0, 0x41, 1, 2, 3, 4]);
    for (name, clause, effect, text) in UNPROTECTED {
        let message = grammar.unprotected(text);
        assert_eq!(message[..2], [0x7e, 0], "{name}");
        let decoded = martlet_nas::Nas5gsMessage::decode(&message);
        assert!(decoded.is_ok(), "{name} ({clause}, {effect:?}): {decoded:?} {message:02x?}");
    }
}
