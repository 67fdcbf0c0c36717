//! The commands `martlet upf` and `martlet top` on a core with the XDP datapath: arguments and
//! output.
use super::{MARTLET, Site, gnb, ue};
use anyhow::{Context, Result, ensure};
use martlet_ran::PduSessionRequest;
use martlet_tests::{GATEWAY, in_namespace, ping, reaches};
use std::io::Write;
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// An address that no UE has.
const UNASSIGNED: Ipv4Addr = Ipv4Addr::new(10, 45, 77, 77);

impl Site {
    fn command(&self, words: &str) -> Result<Child> {
        let mut command = Command::new(MARTLET);
        command.args(words.split(' ')).arg("-c").arg(self.config());
        Ok(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
    }
}

/// The output of a command, which ends by itself at its time limit.
async fn output(child: Child) -> Result<(bool, String, String)> {
    let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await??;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((output.status.success(), text(&output.stdout), text(&output.stderr)))
}

/// The IP packets of a capture file (pcap, little-endian, LINKTYPE_RAW).
fn packets_of(file: &[u8]) -> Result<Vec<Vec<u8>>> {
    ensure!(
        file.get(..4) == Some(&[0x4d, 0x3c, 0xb2, 0xa1]),
        "a pcap with nanoseconds: {:02x?}",
        file.get(..24)
    );
    ensure!(
        file.get(20..24) == Some(&[101, 0, 0, 0]),
        "without link headers: {:02x?}",
        file.get(20..24)
    );
    let mut rest = file.get(24..).context("a header")?;
    let mut packets = Vec::new();
    while let Some((header, behind)) = rest.split_first_chunk::<16>() {
        let captured = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
        let (packet, next) = behind.split_at_checked(captured).context("a whole packet")?;
        packets.push(packet.to_vec());
        rest = next;
    }
    ensure!(rest.is_empty(), "{} trailing bytes", rest.len());
    Ok(packets)
}

#[test]
fn packets_of_a_running_core_are_captured_traced_and_counted() {
    in_namespace(|| look_at_packets(Site::new("user-plane")));
}

/// The same commands over the northbound API: the audit log names them.
#[test]
fn packets_are_captured_and_traced_over_the_api() {
    in_namespace(|| async { look_at_packets(crate::api::api_site("user-plane-api")).await });
}

/// The kernel datapath, which is the default, says what it does not support and what does.
#[test]
fn the_kernel_datapath_says_that_it_does_not_trace() {
    in_namespace(|| async { refuses_to_trace(Site::new("no-trace")?).await });
}

#[test]
fn the_kernel_datapath_says_over_the_api_that_it_does_not_trace() {
    in_namespace(|| async { refuses_to_trace(crate::api::api_site("no-trace-api")?).await });
}

async fn refuses_to_trace(site: Site) -> Result<()> {
    let core = site.start(&[])?;
    for command in ["upf trace --all --count 1 --seconds 5", "upf trace --count 1 --seconds 5"] {
        let (well, out, errors) = output(site.command(command)?).await?;
        ensure!(!well && out.is_empty(), "{command}: {out} {errors}");
        let says = "the datapath kernel does not support tracing: set upf.datapath to xdp";
        ensure!(errors.contains(says), "{command}: {errors}");
    }
    core.stop()
}

async fn look_at_packets(site: Result<Site>) -> Result<()> {
    let site = site?;
    let captures = site.0.join("captures");
    std::fs::create_dir(&captures)?;
    let upf = "upf: { datapath: xdp, xdp: { sessions: 1024, rules: 4096, filters: 1024 }, \
                   telemetry: { captures: ";
    let mut config = std::fs::OpenOptions::new().append(true).open(site.config())?;
    writeln!(config, "{upf}{captures:?} }} }}")?;
    let core = site.start(&[])?;
    let gnb = gnb().await?;
    let ue = ue(&gnb, 1)?;
    ue.register().await?;
    let request =
        PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
    let address = ue.establish_pdu_session(request).await?.ipv4.context("an address")?;
    reaches(&ue, 1, GATEWAY).await?;

    // Each command runs until it has its number of packets. Traces have independent conditions.
    let ended = async |children: Vec<Child>| -> Result<Vec<(bool, String, String)>> {
        let watched: Vec<_> =
            children.into_iter().map(|child| tokio::spawn(output(child))).collect();
        let give_up = tokio::time::Instant::now() + Duration::from_secs(60);
        while watched.iter().any(|task| !task.is_finished())
            && tokio::time::Instant::now() < give_up
        {
            ue.send_ip(1, ping(UNASSIGNED, GATEWAY, 1)).await?;
            reaches(&ue, 1, GATEWAY).await?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let mut all = Vec::new();
        for task in watched {
            all.push(task.await??);
        }
        Ok(all)
    };
    let capture = site.command("upf capture --packets 6 --seconds 30 --snap 40")?;
    let dropped = site.command("upf trace --reason foreign_source --count 2 --seconds 30")?;
    let [capture, dropped] =
        <[_; 2]>::try_from(ended(vec![capture, dropped]).await?).ok().context("two")?;

    let (well, out, errors) = capture;
    ensure!(
        well && out.contains(": 6 packets, ") && out.contains(" 0 packets did not fit"),
        "{out} {errors}"
    );
    let path = out.split(": ").next().context("a path")?;
    let packets = packets_of(&std::fs::read(path).context(path.to_string())?)?;
    ensure!(
        packets.len() == 6 && packets.iter().all(|packet| packet.len() == 40),
        "{packets:02x?}"
    );
    let is = |kind: u8, from: Ipv4Addr| {
        packets.iter().any(|p| p[9] == 1 && p[20] == kind && p[12..16] == from.octets())
    };
    ensure!(is(8, address) && is(0, GATEWAY) && !is(8, UNASSIGNED), "{packets:02x?}");

    let (well, out, errors) = dropped;
    ensure!(well && out.lines().count() == 2, "{out} {errors}");
    let line = out.lines().next().unwrap_or_default();
    ensure!(
        line.contains("dropped foreign_source") && line.contains(&UNASSIGNED.to_string()),
        "{line}"
    );
    ensure!(line.contains("[session 0x"), "{line}");

    let all = site.command("upf trace --all --json --ue 10.45.0.1 --count 2 --seconds 30")?;
    let (well, out, errors) = ended(vec![all]).await?.pop().context("one")?;
    let traced: Vec<serde_json::Value> =
        out.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    ensure!(well && traced.len() == 2, "{out} {errors}");
    ensure!(
        traced.iter().any(|packet| packet["reason"].is_null() && packet["far"].is_number()),
        "{out}"
    );

    let (well, out, errors) = output(site.command("top --once")?).await?;
    ensure!(
        well && out.contains(&address.to_string()) && out.contains("foreign_source"),
        "{out} {errors}"
    );
    let top = out;
    let (well, out, _) = output(site.command("upf renew")?).await?;
    ensure!(well && out.contains("reloaded"), "{out}");
    reaches(&ue, 1, GATEWAY).await?;
    // Stopping a command that has ended is reported.
    let (well, out, errors) = output(site.command("upf capture --stop")?).await?;
    ensure!(well && out.contains(": 6 packets, "), "{out} {errors}");
    if site.0.join("api.sock").exists() {
        let audit = crate::api::Caller::socket(&site).get("/audit?limit=1000")?.to_string();
        for what in ["capture.start", "capture.stop", "trace.start", "user-plane.renew"] {
            ensure!(audit.contains(what), "{what} is not in {audit}");
        }
        // The one-time look goes over the API, too, and shows whose session it is.
        ensure!(top.contains("001010000000001"), "{top}");
    }
    gnb.shutdown().await;
    core.stop()
}
