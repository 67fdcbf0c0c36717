//! One round: UEs at once go through registration, PDU session establishment, paging, and
//! deregistration.
use super::{Variant, bed::Bed};
use crate::Output;
use anyhow::{Context, Result, bail, ensure};
use martlet_ran::{PduSessionRequest, Procedure, Sample, Ue, UeError};
use std::future::Future;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;

/// UDP port at the phone to which downlink data goes.
const PORT: u16 = 9;
/// How long downlink data may take to reach an idle phone.
const DELIVERY: Duration = Duration::from_secs(20);

/// What is measured, in the order of figures and plots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measured {
    Registration,
    PduSession,
    /// N2 handover: HANDOVER REQUIRED sent until the source's context is released.
    Handover,
    /// Xn handover: PATH SWITCH REQUEST sent to its ACKNOWLEDGE received.
    PathSwitch,
    /// PAGING received to SERVICE ACCEPT received.
    Paging,
    /// From the arrival of a packet for an idle phone at the UPF until the phone has it.
    FirstPacket,
}

impl Measured {
    pub(super) const ALL: [Measured; 6] = [
        Measured::Registration,
        Measured::PduSession,
        Measured::Handover,
        Measured::PathSwitch,
        Measured::Paging,
        Measured::FirstPacket,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Measured::Registration => "registration",
            Measured::PduSession => "pdu_session",
            Measured::Handover => "handover",
            Measured::PathSwitch => "path_switch",
            Measured::Paging => "paging",
            Measured::FirstPacket => "first_packet",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Measured::Registration => "registration",
            Measured::PduSession => "PDU session establishment",
            Measured::Handover => "N2 handover",
            Measured::PathSwitch => "path switch after an Xn handover",
            Measured::Paging => "service request after paging",
            Measured::FirstPacket => "first packet to an idle UE",
        }
    }

    fn of(procedure: Procedure) -> Option<Measured> {
        match procedure {
            Procedure::Registration => Some(Measured::Registration),
            Procedure::PduSessionEstablishment => Some(Measured::PduSession),
            Procedure::Handover => Some(Measured::Handover),
            Procedure::PathSwitch => Some(Measured::PathSwitch),
            Procedure::PagingResponse => Some(Measured::Paging),
            _ => None,
        }
    }
}

/// One latency, in milliseconds.
#[derive(Debug, Clone)]
pub(super) struct Latency {
    pub(super) what: Measured,
    subject: String,
    /// Until the final downlink message.
    pub(super) latency: f64,
    /// Until the last message of the procedure.
    total: f64,
    /// Spent waiting for the core.
    pub(super) core: f64,
}

/// What a round gave.
#[derive(Debug, Default)]
pub(super) struct Taken(pub(super) Vec<Latency>);

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

impl Taken {
    fn add(&mut self, samples: Vec<Sample>) -> Result<()> {
        for sample in samples {
            if let Some(failure) = sample.failure {
                bail!("{} of {} failed: {failure}", sample.procedure.name(), sample.subject);
            }
            let Some(what) = Measured::of(sample.procedure) else { continue };
            let (latency, total, core) = (ms(sample.latency), ms(sample.total), ms(sample.core));
            self.0.push(Latency {
                what,
                subject: sample.subject.to_string(),
                latency,
                total,
                core,
            });
        }
        Ok(())
    }

    /// The latencies of one kind.
    pub(super) fn of(&self, what: Measured) -> impl Iterator<Item = &Latency> {
        self.0.iter().filter(move |latency| latency.what == what)
    }

    pub(super) fn write(
        &self,
        output: &mut Output,
        variant: Variant,
        ues: u32,
        round: u32,
    ) -> Result<()> {
        for l in &self.0 {
            let (what, sbi) = (l.what.name(), variant.name());
            let (latency, total, core) = (l.latency * 1e3, l.total * 1e3, l.core * 1e3);
            output.row(format_args!(
                "{what},{sbi},{ues},{round},{},{latency:.1},{total:.1},{core:.1}",
                l.subject
            ))?;
        }
        Ok(())
    }
}

/// Lets the first phones of the bed do the same thing at once.
async fn all<T>(phones: &[Ue], act: impl AsyncFn(&Ue) -> Result<T, UeError>) -> Result<Vec<T>> {
    let act = &act;
    join(
        phones
            .iter()
            .map(|phone| async move { act(phone).await.with_context(|| phone.supi().to_string()) }),
    )
    .await
}

/// Waits for all; the first error ends it.
async fn join<T>(futures: impl Iterator<Item = impl Future<Output = Result<T>>>) -> Result<Vec<T>> {
    futures_util::future::try_join_all(futures).await
}

/// One round with so many UEs at once.
pub(super) async fn run(bed: &Bed, ues: usize) -> Result<Taken> {
    let phones = bed.phones.get(..ues).context("the bed has too few phones")?;
    bed.samples.take();
    all(phones, Ue::forget_registration).await?;
    all(phones, Ue::register).await?;
    let request =
        || PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
    let sessions = all(phones, async |phone| phone.establish_pdu_session(request()).await).await?;
    // Through the core to the other gNB, and back without asking it.
    all(phones, async |phone| phone.handover_to(&bed.other).await).await?;
    all(phones, async |phone| phone.xn_handover_to(&bed.gnb).await).await?;
    all(phones, Ue::release_to_idle).await?;

    let mut taken = Taken::default();
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await?;
    let deliveries = phones.iter().zip(&sessions).map(|(phone, session)| {
        let (socket, address) = (&socket, session.ipv4);
        async move {
            let address = address.context("a session without an IPv4 address")?;
            let sent = Instant::now();
            socket.send_to(b"wake up", (address, PORT)).await?;
            let received = tokio::time::timeout(DELIVERY, phone.recv_ip()).await;
            let (_, packet) = received.context("downlink data did not reach an idle phone")??;
            ensure!(packet.ends_with(b"wake up"), "another packet came: {packet:02x?}");
            let took = ms(sent.elapsed());
            let subject = phone.supi().to_string();
            Ok(Latency {
                what: Measured::FirstPacket,
                subject,
                latency: took,
                total: took,
                core: took,
            })
        }
    });
    taken.0.extend(join(deliveries).await?);
    all(phones, Ue::deregister).await?;
    taken.add(bed.samples.take())?;
    for what in Measured::ALL {
        let n = taken.of(what).count();
        ensure!(n == ues, "{n} of {ues} UEs went through {}", what.title());
    }
    Ok(taken)
}
