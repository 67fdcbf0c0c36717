//! One round: simultaneous UEs go through registration, PDU session establishment, handover, paging
//! and deregistration.
use super::metric::Metric;
use super::testbed::Testbed;
use crate::Output;
use crate::core::Variant;
use anyhow::{Context, Result, bail, ensure};
use martlet_ran::{PduSession, Sample, Ue, UeError};
use std::future::Future;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;

/// UDP port of the UE to which downlink data is sent.
const PORT: u16 = 9;
/// Timeout for downlink data to an idle UE.
const DELIVERY_TIMEOUT: Duration = Duration::from_secs(20);
/// Time in which data of a failed round may still arrive.
const LATE: Duration = Duration::from_millis(100);

/// One latency. Times are in milliseconds.
#[derive(Debug, Clone)]
pub(super) struct Latency {
    pub(super) metric: Metric,
    subject: String,
    /// From the first uplink to the final downlink message.
    pub(super) latency: f64,
    /// From the first to the last message of the procedure.
    total: f64,
    /// Part of it spent waiting for the core.
    pub(super) core: f64,
}

/// The latencies of one round.
#[derive(Debug, Default)]
pub(super) struct Latencies(pub(super) Vec<Latency>);

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

impl Latencies {
    fn add(&mut self, samples: Vec<Sample>) -> Result<()> {
        for sample in samples {
            if let Some(failure) = sample.failure {
                bail!("{} of {} failed: {failure}", sample.procedure.name(), sample.subject);
            }
            let Some(metric) = Metric::of(sample.procedure) else { continue };
            let (latency, total, core) = (ms(sample.latency), ms(sample.total), ms(sample.core));
            self.0.push(Latency {
                metric,
                subject: sample.subject.to_string(),
                latency,
                total,
                core,
            });
        }
        Ok(())
    }

    /// The latencies of one metric.
    pub(super) fn of(&self, metric: Metric) -> impl Iterator<Item = &Latency> {
        self.0.iter().filter(move |latency| latency.metric == metric)
    }

    pub(super) fn write(
        &self,
        output: &mut Output,
        suffix: &str,
        (variant, ues, round): (Variant, u32, u32),
    ) -> Result<()> {
        for l in &self.0 {
            let (metric, sbi) = (l.metric.name(), variant.name());
            let (latency, total, core) = (l.latency * 1e3, l.total * 1e3, l.core * 1e3);
            output.row(format_args!(
                "{metric}{suffix},{sbi},{ues},{round},{},{latency:.1},{total:.1},{core:.1}",
                l.subject
            ))?;
        }
        Ok(())
    }
}

/// Time between the release of the UEs' connections and data for them. The gNB has released them,
/// but a core may not have: free5GC's AMF sends messages to such connections for some milliseconds
/// for each UE, and does not page a UE of which it did so.
fn settling(ue_count: usize) -> Duration {
    Duration::from_millis(50 + 5 * ue_count as u64)
}

/// Runs a procedure on all UEs at the same time.
async fn all<T>(ues: &[Ue], act: impl AsyncFn(&Ue) -> Result<T, UeError>) -> Result<Vec<T>> {
    let act = &act;
    join(ues.iter().map(|ue| async move { act(ue).await.with_context(|| ue.supi().to_string()) }))
        .await
}

/// Waits for all futures; the first error ends the wait.
async fn join<T>(futures: impl Iterator<Item = impl Future<Output = Result<T>>>) -> Result<Vec<T>> {
    futures_util::future::try_join_all(futures).await
}

/// Runs one round with `ue_count` simultaneous UEs. A round without one kind of handover moves the
/// UEs back at its end.
pub(super) async fn run(testbed: &Testbed, ue_count: usize) -> Result<Latencies> {
    let ues = testbed.ues.get(..ue_count).context("the testbed has too few UEs")?;
    let wanted = |metric| testbed.metrics.contains(&metric);
    let mut latencies = Latencies::default();
    testbed.samples.take();
    all(ues, Ue::forget_registration).await?;
    all(ues, Ue::register).await?;
    if testbed.metrics.iter().any(|metric| *metric != Metric::Registration) {
        let request = || testbed.session.clone();
        let sessions = all(ues, async |ue| ue.establish_pdu_session(request()).await).await?;
        if wanted(Metric::Handover) {
            all(ues, async |ue| ue.handover_to(&testbed.target_gnb).await).await?;
        }
        if wanted(Metric::PathSwitch) {
            let is_away = wanted(Metric::Handover);
            let target = if is_away { &testbed.gnb } else { &testbed.target_gnb };
            all(ues, async |ue| ue.xn_handover_to(target).await).await?;
        }
        if wanted(Metric::Paging) || wanted(Metric::FirstPacket) {
            all(ues, Ue::release_to_idle).await?;
            tokio::time::sleep(settling(ue_count)).await;
            let deliveries = wake_up(ues, &sessions).await?;
            latencies.0.extend(deliveries.into_iter().filter(|l| wanted(l.metric)));
        }
    }
    all(ues, Ue::deregister).await?;
    if wanted(Metric::Handover) != wanted(Metric::PathSwitch) {
        all(ues, async |ue| ue.move_to(&testbed.gnb).await).await?;
    }
    latencies.add(testbed.samples.take())?;
    latencies.0.retain(|latency| wanted(latency.metric));
    for metric in &testbed.metrics {
        let n = latencies.of(*metric).count();
        ensure!(n == ue_count, "{n} of {ue_count} UEs completed: {}", metric.title());
    }
    Ok(latencies)
}

/// Brings the UEs of a failed round into the state in which a round begins.
///
/// # Errors
/// A UE no longer exists, or is not released.
pub(super) async fn reset(testbed: &Testbed, ue_count: usize) -> Result<()> {
    let ues = testbed.ues.get(..ue_count).context("the testbed has too few UEs")?;
    join(ues.iter().map(|ue| async move {
        // A UE that is not registered has nothing to end.
        let _ = ue.deregister().await;
        ue.forget_registration().await?;
        ue.move_to(&testbed.gnb).await?;
        // Data that arrived late would be that of the next round.
        while tokio::time::timeout(LATE, ue.recv_ip()).await.is_ok_and(|received| received.is_ok())
        {
        }
        anyhow::Ok(())
    }))
    .await?;
    Ok(())
}

/// Sends a packet to each idle UE, and waits until all have theirs.
async fn wake_up(ues: &[Ue], sessions: &[PduSession]) -> Result<Vec<Latency>> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await?;
    let deliveries = ues.iter().zip(sessions).map(|(ue, session)| {
        let (socket, address) = (&socket, session.ipv4);
        async move {
            let address = address.context("a session without an IPv4 address")?;
            let sent = Instant::now();
            socket.send_to(b"wake up", (address, PORT)).await?;
            let received = tokio::time::timeout(DELIVERY_TIMEOUT, ue.recv_ip()).await;
            let (_, packet) = received.context("downlink data did not reach an idle UE")??;
            ensure!(packet.ends_with(b"wake up"), "an unexpected packet arrived: {packet:02x?}");
            let elapsed = ms(sent.elapsed());
            let subject = ue.supi().to_string();
            Ok(Latency {
                metric: Metric::FirstPacket,
                subject,
                latency: elapsed,
                total: elapsed,
                core: elapsed,
            })
        }
    });
    join(deliveries).await
}
