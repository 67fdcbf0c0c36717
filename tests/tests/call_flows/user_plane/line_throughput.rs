//! Throughput of the lines between gNBs, UPFs and data networks agrees with what UEs sent.
use crate::handover::two_gnbs;
use crate::session::{until_both_upfs_are_associated, with_second_upf};
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_amf::TaiConfig;
use martlet_oam::monitor::{Monitor, Overview};
use martlet_oam::traffic::LineInterface::{self, N3, N6, N9};
use martlet_ran::{Gnb, Ue};
use martlet_smf::BranchingConfig;
use martlet_tests::{GATEWAY, SeparateUpf, TestCore, in_namespace, ping, reaches};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

/// Bytes of a packet of [`ping`].
const PACKET: u64 = 52;
/// Time between two polls: UPFs count again after half a second.
const INTERVAL: Duration = Duration::from_millis(700);

/// The monitor of the northbound API, which polls a core and further UPFs.
struct Meter {
    monitor: Monitor,
    /// Milliseconds of each UPF's clock at the last two polls, by N4 address.
    clocks: Vec<(String, u64, u64)>,
    /// When each of the last two polls began and ended; the monitor takes the time between them.
    polls: [(Instant, Instant); 2],
    overview: Overview,
}

impl Meter {
    async fn start(core: &TestCore, upf: Option<&SeparateUpf>) -> Self {
        // Other readers of the status have had packets counted just now.
        tokio::time::sleep(INTERVAL).await;
        let overview = Overview::default();
        let polls = [(Instant::now(), Instant::now()); 2];
        let mut meter = Meter { monitor: Monitor::default(), clocks: Vec::new(), polls, overview };
        meter.take(core, upf);
        meter
    }

    fn take(&mut self, core: &TestCore, upf: Option<&SeparateUpf>) {
        let mut status: Value = (core.core.status_source())();
        if let (Some(upf), Some(nfs)) = (upf, status["nfs"].as_array_mut()) {
            nfs.push(json!({"name": "upf", "status": upf.status()}));
        }
        for nf in status["nfs"].as_array().into_iter().flatten().filter(|nf| nf["name"] == "upf") {
            let n4 = nf["status"]["n4"].as_str().unwrap_or_default();
            let at = nf["status"]["volumes"]["atMs"].as_u64().unwrap_or(0);
            match self.clocks.iter_mut().find(|(known, ..)| known == n4) {
                // A restarted UPF begins at 0.
                Some((_, before, now)) => (*before, *now) = (if at < *now { 0 } else { *now }, at),
                None => self.clocks.push((n4.into(), 0, at)),
            }
        }
        let begun = Instant::now();
        self.monitor.take(&status, &[]);
        self.polls = [self.polls[1], (begun, Instant::now())];
        self.overview = self.monitor.overview();
    }

    /// Polls after an interval.
    async fn poll(&mut self, core: &TestCore, upf: Option<&SeparateUpf>) {
        tokio::time::sleep(INTERVAL).await;
        self.take(core, upf);
    }

    /// Packets of a line between the last two polls, from its rates. `None` without such a line.
    fn packets(&self, interface: LineInterface, upf: &str, peer: &str) -> Option<[u64; 2]> {
        let of_it = |line: &&martlet_oam::traffic::LineFigures| {
            line.interface == interface && line.upf.starts_with(upf) && line.peer.starts_with(peer)
        };
        let line = self.overview.lines.iter().find(of_it)?;
        let (_, before, now) = self.clocks.iter().find(|(n4, ..)| n4 == upf)?;
        let seconds = now.saturating_sub(*before) as f64 / 1e3;
        let packets = |bps: f64| (bps * seconds / 8.0 / PACKET as f64).round() as u64;
        Some([packets(line.uplink_bps), packets(line.downlink_bps)])
    }

    fn expect(
        &self,
        interface: LineInterface,
        upf: &str,
        peer: &str,
        wanted: [u64; 2],
    ) -> Result<()> {
        let found = self.packets(interface, upf, peer);
        ensure!(
            found == Some(wanted),
            "{interface:?} of {upf} and {peer}: {found:?} packets, {wanted:?} were sent; {:#?}",
            self.overview.lines
        );
        Ok(())
    }
}

/// Sends echo requests and receives their replies.
async fn echo(ue: &Ue, from: Ipv4Addr, count: u16) -> Result<()> {
    for sequence in 1..=count {
        ue.send_ip(1, ping(from, GATEWAY, sequence)).await?;
        let reply = tokio::time::timeout(Duration::from_secs(30), ue.recv_ip()).await;
        reply.with_context(|| format!("no reply to packet {sequence}"))??;
    }
    Ok(())
}

const OWN: &str = "127.0.0.8";
const SECOND: &str = "127.0.0.9";
const ONE: &str = "00101-000001";
const OTHER: &str = "00101-000002";

#[test]
fn lines_have_the_throughput_of_the_ues_of_each_gnb() {
    in_namespace(|| async {
        let (core, one, other, first, from) = two_gnbs(Sbi::Local).await?;
        let (second, beside) = core.ue_with_session(&other, 2).await?;
        reaches(&first, 1, GATEWAY).await?;
        reaches(&second, 1, GATEWAY).await?;
        let mut meter = Meter::start(&core, None).await;
        echo(&first, from, 40).await?;
        echo(&second, beside, 15).await?;
        meter.poll(&core, None).await;
        meter.expect(N3, OWN, ONE, [40, 40])?;
        meter.expect(N3, OWN, OTHER, [15, 15])?;
        meter.expect(N6, OWN, "internet", [55, 55])?;
        ensure!(meter.overview.lines.len() == 3, "{:#?}", meter.overview.lines);
        agrees(&meter, 55)?;

        // From the handover on, bytes count at the other gNB.
        first.xn_handover_to(&other).await?;
        meter.poll(&core, None).await;
        echo(&first, from, 25).await?;
        meter.poll(&core, None).await;
        meter.expect(N3, OWN, ONE, [0, 0])?;
        meter.expect(N3, OWN, OTHER, [25, 25])?;
        first.handover_to(&one).await?;
        echo(&first, from, 5).await?;
        meter.poll(&core, None).await;
        meter.expect(N3, OWN, ONE, [5, 5])?;
        meter.expect(N3, OWN, OTHER, [0, 0])?;
        let ues = |id: &str| {
            let gnbs = meter.overview.gnb_figures.iter();
            gnbs.filter(|gnb| gnb.id == id).map(|gnb| gnb.ues_connected).sum::<u64>()
        };
        ensure!((ues(ONE), ues(OTHER)) == (1, 1), "{:#?}", meter.overview.gnb_figures);

        // A UE that has left leaves its bytes.
        echo(&second, beside, 3).await?;
        first.deregister().await?;
        second.deregister().await?;
        meter.poll(&core, None).await;
        meter.expect(N3, OWN, OTHER, [3, 3])?;
        core.until_all_released().await
    });
}

/// The figures of gNB, UPF and data network are those of their lines. The UPF's own come from
/// other counters, whose time is that between two polls; so many packets are sent in that time.
fn agrees(meter: &Meter, packets: u64) -> Result<()> {
    let overview = &meter.overview;
    let sum = |interface: LineInterface| {
        let lines = overview.lines.iter().filter(|line| line.interface == interface);
        lines.map(|line| line.uplink_bps).sum::<f64>()
    };
    let gnbs = overview.gnb_figures.iter().filter_map(|gnb| gnb.uplink_bps).sum::<f64>();
    let networks = overview.data_networks.iter().filter_map(|n| n.uplink_bps).sum::<f64>();
    ensure!(gnbs == sum(N3) && networks == sum(N6), "{overview:#?}");
    let upf = overview.upfs.first().and_then(|upf| upf.uplink_bps).context("no rate of the UPF")?;
    let bits = (packets * PACKET * 8) as f64;
    let [before, now] = meter.polls;
    let shortest = now.0.duration_since(before.1).as_secs_f64();
    let longest = now.1.duration_since(before.0).as_secs_f64();
    let possible = 0.999 * bits / longest..1.001 * bits / shortest;
    ensure!(possible.contains(&upf), "the UPF has {upf} bit/s, not in {possible:?}");
    let pps = overview.upfs.first().and_then(|upf| upf.uplink_pps).unwrap_or(0.0);
    ensure!((pps * 8.0 * PACKET as f64 - upf).abs() < 1.0, "{pps} packets/s, {upf} bit/s");
    Ok(())
}

/// A classifier, the second UPF, before the core's own UPF for the first of two tracking areas.
async fn classified() -> Result<Option<(SeparateUpf, TestCore, Gnb, Gnb)>> {
    let second = with_second_upf(Sbi::Local, |config| {
        config.smf.branching = vec![BranchingConfig {
            dnn: "internet".into(),
            tacs: vec![1],
            via: SeparateUpf::n4(),
            local: vec![format!("permit out ip from {GATEWAY} to assigned")],
        }];
        config.amf.tais.push(TaiConfig { tac: 2, ..config.amf.tais[0].clone() });
        (config.smf.n4.heartbeat_s, config.smf.n4.t1_ms, config.smf.n4.n1) = (1, 100, 2);
    });
    let Some((upf, core)) = second.await? else { return Ok(None) };
    let one = core.gnb(1).await?;
    let mut config = core.gnb_config(2);
    config.tac = 2;
    let other = Gnb::connect(config).await?;
    Ok(Some((upf, core, one, other)))
}

#[test]
fn lines_of_a_classifier_and_its_anchor_are_apart() {
    in_namespace(|| async {
        let Some((upf, core, one, other)) = classified().await? else { return Ok(()) };
        let (first, from) = core.ue_with_session(&one, 1).await?;
        let (second, to) = core.ue_with_session(&other, 2).await?;
        upf.until_sessions(1).await?;
        reaches(&first, 1, GATEWAY).await?;
        let mut meter = Meter::start(&core, Some(&upf)).await;
        echo(&first, from, 30).await?;
        for sequence in 1..=10 {
            first.send_ip(1, ping(from, to, sequence)).await?;
            tokio::time::timeout(Duration::from_secs(30), second.recv_ip()).await??;
        }
        meter.poll(&core, Some(&upf)).await;
        meter.expect(N3, SECOND, ONE, [40, 30])?;
        meter.expect(N6, SECOND, "internet", [30, 30])?;
        meter.expect(N9, SECOND, OWN, [10, 0])?;
        meter.expect(N3, OWN, OTHER, [0, 10])?;

        // The second UPF is one of another vendor: its figures are not known, rather than 0.
        let mut without = Meter::start(&core, None).await;
        without.poll(&core, None).await;
        let rates = |overview: &Overview| -> Vec<bool> {
            overview.upfs.iter().map(|upf| upf.uplink_bps.is_some()).collect()
        };
        ensure!(rates(&meter.overview) == [true, true], "{:#?}", meter.overview.upfs);
        ensure!(rates(&without.overview) == [true, false], "{:#?}", without.overview.upfs);
        ensure!(without.packets(N3, OWN, OTHER).is_some(), "{:#?}", without.overview.lines);

        // After a restart nothing is negative or absurd, and lines go on.
        let upf = upf.restart().await?;
        until_both_upfs_are_associated(&core).await?;
        upf.until_sessions(1).await?;
        reaches(&first, 1, GATEWAY).await?;
        meter.poll(&core, Some(&upf)).await;
        let max = 8.0 * 200.0 * PACKET as f64;
        let rates = meter.overview.lines.iter().map(|line| [line.uplink_bps, line.downlink_bps]);
        ensure!(rates.flatten().all(|bps| (0.0..max).contains(&bps)), "{:#?}", meter.overview);
        ensure!((0.0..max).contains(&meter.overview.uplink_bps), "{:#?}", meter.overview);
        echo(&first, from, 7).await?;
        meter.poll(&core, Some(&upf)).await;
        meter.expect(N3, SECOND, ONE, [7, 7])?;
        first.deregister().await?;
        second.deregister().await?;
        core.until_all_released().await
    });
}
