//! Phones that change from one gNB to another while they are connected (TS 23.502, 4.9.1).
use anyhow::{Context, Result, bail, ensure};
use martlet::core::Sbi;
use martlet_ran::{Gnb, HandoverPlan, HandoverTurn, Ue};
use martlet_tests::{
    GATEWAY, TestCore, in_namespace, internet, metric, ping, reaches, sequence_of,
};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

/// A core with two gNBs, and a phone with a session at the first.
async fn two_gnbs(sbi: Sbi) -> Result<(TestCore, Gnb, Gnb, Ue, Ipv4Addr)> {
    let core = TestCore::start(sbi, |_| {}).await?;
    let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
    let (phone, address) = core.phone_with_session(&one, 1).await?;
    Ok((core, one, other, phone, address))
}

/// The phone is connected at this gNB alone, and its session carries packets.
async fn is_served(core: &TestCore, phone: &Ue, by: &Gnb) -> Result<()> {
    reaches(phone, 1, GATEWAY).await?;
    core.until("one connection", |c| (c.registered, c.connected, c.sessions) == (1, 1, 1)).await?;
    ensure!(by.ue_counts().0 == 1, "the phone is at {}", by.name());
    Ok(())
}

#[test]
fn a_phone_is_handed_over_by_its_gnbs_and_the_core_follows() {
    in_namespace(|| async {
        let (core, one, other, phone, _) = two_gnbs(Sbi::Http).await?;
        for round in 0..4 {
            let to = if round % 2 == 0 { &other } else { &one };
            let outcome = phone.xn_handover_to(to).await?;
            ensure!(outcome.sessions == [1], "{outcome:?}");
            is_served(&core, &phone, to).await?;
        }
        ensure!(other.ue_counts().0 == 0, "the gNB that it has left has forgotten it");
        // Idle, back, and gone: everything else works as before.
        phone.xn_handover_to(&other).await?;
        phone.release_to_idle().await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await?;
        core.bodies.check(&["nsmf-pdusession UpdateSmContext"]).await
    });
}

#[test]
fn a_phone_is_handed_over_through_the_core() {
    in_namespace(|| async {
        let (core, one, other, phone, _) = two_gnbs(Sbi::Http).await?;
        for round in 0..4 {
            let to = if round % 2 == 0 { &other } else { &one };
            let outcome = phone.handover_to(to).await?;
            ensure!(outcome.sessions == [1], "{outcome:?}");
            is_served(&core, &phone, to).await?;
        }
        ensure!(other.ue_counts().0 == 0, "the gNB that it has left has forgotten it");
        phone.handover_to(&other).await?;
        phone.xn_handover_to(&one).await?;
        phone
            .handover(&other, HandoverPlan { direct_forwarding: true, ..Default::default() })
            .await?;
        phone
            .handover(&one, HandoverPlan { without_forwarding: true, ..Default::default() })
            .await?;
        phone.release_to_idle().await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await?;
        ensure!(
            one.error_indications() == 0 && other.error_indications() == 0,
            "errors were indicated"
        );
        core.bodies.check(&["nsmf-pdusession UpdateSmContext"]).await
    });
}

#[test]
fn a_session_that_the_target_does_not_take_stays_without_a_user_plane() {
    in_namespace(|| async {
        let (core, one, other, phone, _) = two_gnbs(Sbi::Local).await?;
        let second = phone.establish_pdu_session(internet()).await?.psi;
        let plan = HandoverPlan { refused: vec![second], ..Default::default() };
        let outcome = phone.handover(&other, plan).await?;
        ensure!(outcome.sessions == [1], "{outcome:?}");
        ensure!(phone.status().await?.active_user_planes == [1], "{:?}", phone.status().await?);
        reaches(&phone, 1, GATEWAY).await?;
        // It comes back when it is needed.
        reaches(&phone, second, GATEWAY).await?;
        let outcome = phone.xn_handover_without(&one, &[1]).await?;
        ensure!(outcome.sessions == [second], "{outcome:?}");
        reaches(&phone, second, GATEWAY).await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn a_handover_that_is_not_prepared_leaves_the_phone_where_it_is() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            config.amf.timers.ngap_ms = 300;
            config.amf.timers.handover_ms = 500;
        })
        .await?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let (phone, _) = core.phone_with_session(&one, 1).await?;
        let failed = |turn| HandoverPlan { turn, ..Default::default() };
        for turn in [
            HandoverTurn::TargetFull,
            HandoverTurn::TargetSilent,
            HandoverTurn::Cancelled,
            HandoverTurn::CancelledAtOnce,
        ] {
            let outcome = phone.handover(&other, failed(turn)).await;
            ensure!(outcome.is_err(), "{turn:?}: {outcome:?}");
            is_served(&core, &phone, &one).await?;
            core.until("the target has let go", |c| c.connected == 1).await?;
        }
        // No session is taken, and none is handed over.
        let nothing = HandoverPlan { refused: vec![1], ..Default::default() };
        ensure!(phone.handover(&other, nothing).await.is_err());
        is_served(&core, &phone, &one).await?;
        // A phone that does not come is waited for, and no longer.
        let stays = tokio::time::timeout(
            Duration::from_secs(2),
            phone.handover(&other, failed(HandoverTurn::Stays)),
        );
        ensure!(stays.await.is_err(), "nobody answers");
        core.until("the target has let go", |c| c.connected == 1).await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn a_target_that_vanishes_is_no_target() {
    in_namespace(|| async {
        let (core, one, other, phone, _) = two_gnbs(Sbi::Local).await?;
        other.vanish();
        other.lost().await;
        core.until("one gNB", |c| c.gnbs == 1).await?;
        let outcome = phone.handover_to(&other).await;
        ensure!(outcome.is_err(), "{outcome:?}");
        is_served(&core, &phone, &one).await?;
        // A source that vanishes with the phone on its way: the phone is idle, and comes back.
        let back = other.connect_again().await?;
        phone.handover_to(&back).await?;
        back.vanish();
        back.lost().await;
        phone.wait_idle().await?;
        phone.move_to(&one).await?;
        reaches(&phone, 1, GATEWAY).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

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
fn no_packet_is_lost_or_overtaken_while_a_phone_is_handed_over_between_amfs() {
    in_namespace(|| async {
        let (core, _second, here, there) =
            crate::registration::amf_change::two_areas(Sbi::Http, |_| {}).await?;
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
fn no_packet_is_lost_or_overtaken_while_a_phone_is_handed_over() {
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

#[test]
fn a_phone_in_another_tracking_area_is_handed_over_and_then_registers() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |config| {
            let mut tai = config.amf.tais[0].clone();
            tai.tac = 2;
            config.amf.tais.push(tai);
        })
        .await?;
        let one = core.gnb(1).await?;
        let mut config = core.gnb_config(2);
        config.tac = 2;
        let other = Gnb::connect(config).await?;
        let (phone, _) = core.phone_with_session(&one, 1).await?;
        phone.handover_to(&other).await?;
        let kind = martlet_ran::RegistrationType::MobilityRegistrationUpdating;
        phone.register_as(kind).await?;
        reaches(&phone, 1, GATEWAY).await?;
        // Where the core does not serve, nobody is brought to.
        let mut config = core.gnb_config(3);
        config.tac = 3;
        let nowhere = Gnb::connect(config).await?;
        ensure!(phone.handover_to(&nowhere).await.is_err());
        is_served(&core, &phone, &other).await?;
        phone.deregister().await?;
        core.until_nothing_is_left().await
    });
}

#[test]
fn rounds_of_attach_handover_and_detach_leave_nothing_behind() {
    in_namespace(|| async {
        let core =
            TestCore::start(Sbi::Local, |config| config.amf.timers.deregistered_s = 0).await?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let rounds: u64 =
            std::env::var("MARTLET_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
        let mut early = 0;
        for round in 0..rounds {
            let phone = one.new_ue(core.phone(round % 50 + 1))?;
            core.register_with_session(&phone).await?;
            phone.handover_to(&other).await?;
            phone.xn_handover_to(&one).await?;
            phone.deregister().await?;
            core.bodies.forget();
            if round == rounds / 4 {
                core.until_nothing_is_left().await?;
                early = resident()?;
            }
        }
        core.until_nothing_is_left().await?;
        core.until("the AMF keeps no context", |c| c.contexts == 0).await?;
        let late = resident()?;
        println!("{rounds} rounds: {early} kB after a quarter, {late} kB at the end");
        // What is left is the allocator's: far less than one UE each round would take.
        ensure!(late < early + early / 10 + 4096, "memory grows: {early} kB, then {late} kB");
        ensure!(
            metric("martlet_amf_procedures_total", &[("procedure", "handover"), ("result", "ok")])
                >= rounds as f64
        );
        Ok(())
    });
}

/// Resident size of this process, kB.
fn resident() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("VmRSS")?;
    Ok(line.split_whitespace().nth(1).context("a number")?.parse()?)
}

#[test]
fn a_handover_takes_about_as_long_as_a_registration() {
    in_namespace(|| async {
        let core = TestCore::start(Sbi::Local, |_| {}).await?;
        let (one, other) = (core.gnb(1).await?, core.gnb(2).await?);
        let phone = one.new_ue(core.phone(1))?;
        let (mut registrations, mut handovers) = (Vec::new(), Vec::new());
        for round in 0..20 {
            let started = Instant::now();
            phone.register().await?;
            registrations.push(started.elapsed());
            phone.establish_pdu_session(internet()).await?;
            let to = if round % 2 == 0 { &other } else { &one };
            handovers.push(phone.handover_to(to).await?.total);
            phone.deregister().await?;
            phone.forget_registration().await?;
        }
        let median = |times: &mut Vec<Duration>| {
            times.sort_unstable();
            times[times.len() / 2]
        };
        let (registration, handover) = (median(&mut registrations), median(&mut handovers));
        let ratio = handover.as_secs_f64() / registration.as_secs_f64();
        println!(
            "a registration takes {registration:?}, an N2 handover {handover:?}: {ratio:.2} times \
             as long"
        );
        // Unoptimised and beside other tests: the promise is half of this (`martlet lab
        // control-plane`). On a switch, N4 takes the session off it first.
        let most = if martlet_tests::a_switch_carries_packets() { 9.0 } else { 3.0 };
        ensure!(ratio < most, "{ratio:.2} times as long");
        core.until("the phone has gone", |c| c.registered == 0).await
    });
}
