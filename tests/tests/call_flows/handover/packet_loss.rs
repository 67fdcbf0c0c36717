//! Packets during handovers: none is lost or reordered (TS 23.502, 4.9.1).
use crate::handover::two_gnbs;
use anyhow::{Context, Result, bail, ensure};
use martlet::core::Sbi;
use martlet_ran::{Gnb, HandoverPlan, Ue};
use martlet_tests::{in_namespace, ping, sequence_of};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

/// Packets of a stream to the phone in the order in which they came, with the time since the one
/// before.
struct Stream {
    arrivals: Vec<(u16, Instant)>,
}

impl Stream {
    /// Pings `to` from `friend` each `pace` while `during` runs, and a while longer; what came at
    /// `phone`.
    async fn of<F: Future<Output = Result<()>>>(
        (friend, from): (&Ue, Ipv4Addr),
        (phone, to): (&Ue, Ipv4Addr),
        count: u16,
        during: F,
    ) -> Result<Stream> {
        let send = async {
            let mut pace = tokio::time::interval(Duration::from_millis(1));
            for sequence in 1..=count {
                pace.tick().await;
                friend.send_ip(1, ping(from, to, sequence)).await?;
            }
            anyhow::Ok(())
        };
        let receive = async {
            let mut arrivals = Vec::new();
            while arrivals.len() < usize::from(count) {
                let Ok(packet) =
                    tokio::time::timeout(Duration::from_secs(2), phone.recv_ip()).await
                else {
                    break;
                };
                let (_, packet) = packet?;
                if packet.get(12..16) == Some(&from.octets()) {
                    arrivals.push((sequence_of(&packet).context("a ping")?, Instant::now()));
                }
            }
            anyhow::Ok(arrivals)
        };
        let (sent, arrivals, done) = tokio::join!(send, receive, during);
        sent?;
        done?;
        Ok(Stream { arrivals: arrivals? })
    }

    /// All came, once each, in whatever order.
    fn is_complete(&self, count: u16) -> Result<()> {
        let mut sequences: Vec<u16> = self.arrivals.iter().map(|(sequence, _)| *sequence).collect();
        sequences.sort_unstable();
        let missing: Vec<_> =
            (1..=count).filter(|sequence| sequences.binary_search(sequence).is_err()).collect();
        ensure!(
            missing.is_empty() && sequences.len() == usize::from(count),
            "{} came; missing {missing:?}",
            sequences.len()
        );
        Ok(())
    }

    /// All came, once each and in order; the longest time between two.
    fn is_whole(&self, count: u16) -> Result<Duration> {
        let sequences: Vec<u16> = self.arrivals.iter().map(|(sequence, _)| *sequence).collect();
        let due: Vec<u16> = (1..=count).collect();
        if sequences != due {
            let missing: Vec<_> =
                due.iter().filter(|sequence| !sequences.contains(sequence)).collect();
            let turned: Vec<_> =
                sequences.windows(2).filter(|pair| pair[1] != pair[0] + 1).collect();
            bail!(
                "{} of {count} packets came; missing {missing:?}, out of order at {turned:?}",
                sequences.len()
            );
        }
        let gaps = self.arrivals.windows(2).map(|pair| pair[1].1 - pair[0].1);
        gaps.max().context("packets")
    }
}

/// The most that a handover may keep packets from a phone.
const INTERRUPTION: Duration = Duration::from_millis(10);

/// A phone is handed over several times while packets go to it and from it, one a millisecond each
/// way: all come, once each and in order. Gives the longest time between two packets, downlink and
/// uplink.
pub async fn gaps<F: Future<Output = Result<()>>>(
    friend: (&Ue, Ipv4Addr),
    phone: (&Ue, Ipv4Addr),
    count: u16,
    handovers: F,
) -> Result<(Duration, Duration)> {
    let uplink = Stream::of(phone, friend, count, async { Ok(()) });
    let (downlink, uplink) = tokio::join!(Stream::of(friend, phone, count, handovers), uplink);
    Ok((downlink?.is_whole(count).context("downlink")?, uplink?.is_whole(count).context("uplink")?))
}

/// The same where the way changes with the gNB: nothing marks the end of what a phone sends on the
/// way of before (TS 23.502, 4.9.1), so that what it sends next by the new one may be there first.
pub async fn none_is_lost<F: Future<Output = Result<()>>>(
    friend: (&Ue, Ipv4Addr),
    phone: (&Ue, Ipv4Addr),
    count: u16,
    handovers: F,
) -> Result<()> {
    let uplink = Stream::of(phone, friend, count, async { Ok(()) });
    let (downlink, uplink) = tokio::join!(Stream::of(friend, phone, count, handovers), uplink);
    downlink?.is_whole(count).context("downlink")?;
    uplink?.is_complete(count).context("uplink")
}

/// N2 handovers to these gNBs one after the other.
async fn hand_over(phone: &Ue, targets: [&Gnb; 4], plan: HandoverPlan) -> Result<()> {
    for to in targets {
        tokio::time::sleep(Duration::from_millis(100)).await;
        phone.handover(to, plan.clone()).await?;
    }
    Ok(())
}

/// No packet is lost or overtaken in handovers of a kind, each time; and once no gap is longer than
/// the promise and what the machine adds, which shows in the longest one at rest. One thread does
/// everything here, which has others beside it: several are let try.
async fn are_short<F: Future<Output = Result<()>>>(
    name: &str,
    friend: (&Ue, Ipv4Addr),
    phone: (&Ue, Ipv4Addr),
    handovers: impl Fn() -> F,
) -> Result<()> {
    const PACKETS: u16 = 600;
    const TRIES: usize = 4;
    // N4 takes a session off a switch, and when it moves back its packets wait there until the
    // native UPF has been silent for 10 ms, and while the switch is asked three times.
    let more = if martlet_tests::a_switch_carries_packets() { 6 } else { 1 };
    let mut all = Vec::new();
    for _ in 0..TRIES {
        let still = gaps(friend, phone, PACKETS / 2, async { Ok(()) }).await?;
        let (downlink, uplink) =
            gaps(friend, phone, PACKETS, handovers()).await.context(name.to_string())?;
        println!(
            "{name}: the longest gap of a packet each millisecond was {downlink:?} (downlink), \
             {uplink:?} (uplink); at rest {still:?}"
        );
        all.push((downlink, uplink, still));
        if downlink.max(uplink) <= more * (INTERRUPTION + still.0.max(still.1)) {
            return Ok(());
        }
    }
    bail!("{name}: {all:?} (downlink, uplink, both at rest)")
}

#[test]
fn handover_between_amfs_loses_and_reorders_no_packet() {
    in_namespace(|| async {
        let (core, _second, here, there) =
            crate::handover::amf_change::two_areas(Sbi::Http, |_| {}).await?;
        let (phone, to) = core.phone_with_session(&here, 1).await?;
        let (friend, from) = core.phone_with_session(&here, 2).await?;
        let (friend, phone) = ((&friend, from), (&phone, to));
        let hand_over = |plan: HandoverPlan| {
            let targets = [&there, &here, &there, &here];
            async move {
                for to in targets {
                    tokio::time::sleep(Duration::from_millis(80)).await;
                    phone.0.handover(to, plan.clone()).await?;
                    // It is in another tracking area.
                    phone
                        .0
                        .register_as(martlet_ran::RegistrationType::MobilityRegistrationUpdating)
                        .await?;
                }
                anyhow::Ok(())
            }
        };
        let direct = HandoverPlan { direct_forwarding: true, ..Default::default() };
        let forwarded = || hand_over(HandoverPlan::default());
        are_short("to another AMF, forwarded through the UPF", friend, phone, forwarded).await?;
        are_short("to another AMF, forwarded directly", friend, phone, || {
            hand_over(direct.clone())
        })
        .await?;
        phone.0.deregister().await?;
        friend.0.deregister().await?;
        core.until("no session is left", |counts| counts.sessions == 0).await
    });
}

#[test]
fn handover_loses_and_reorders_no_packet() {
    in_namespace(|| async {
        let (core, one, other, phone, to) = two_gnbs(Sbi::Local).await?;
        let (friend, from) = core.phone_with_session(&one, 2).await?;
        let (friend, phone) = ((&friend, from), (&phone, to));
        let targets = [&other, &one, &other, &one];
        let through_upf = HandoverPlan::default();
        let direct = HandoverPlan { direct_forwarding: true, ..Default::default() };
        let xn = || async {
            for to in targets {
                tokio::time::sleep(Duration::from_millis(100)).await;
                phone.0.xn_handover_to(to).await?;
            }
            anyhow::Ok(())
        };
        let n2 = |plan: &HandoverPlan| hand_over(phone.0, targets, plan.clone());
        are_short("N2, forwarded through the UPF", friend, phone, || n2(&through_upf)).await?;
        are_short("N2, forwarded directly", friend, phone, || n2(&direct)).await?;
        are_short("Xn", friend, phone, xn).await?;
        phone.0.deregister().await?;
        friend.0.deregister().await?;
        core.until_nothing_is_left().await
    });
}
