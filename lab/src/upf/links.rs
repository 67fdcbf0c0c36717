//! Packets over virtual links. Generator, UPF and receiver share one CPU, so that all work is
//! counted. Generator and receiver are programs in the kernel and cost the same for every datapath.
use super::dut::{self, configuration, ifindex, link_addresses, links, session};
use super::frames::Sender;
use super::onboard::arrivals::Arrivals;
use super::{Rules, UpfArgs};
use crate::pacer::Pacer;
use crate::progress::Progress;
use crate::stats::median;
use crate::{Figure, Output, namespace};
use anyhow::{Context, Result, anyhow};
use martlet_upf::Signals;
use martlet_upf::config::{DatapathChoice, OffloadPolicy, UpfConfig};
use martlet_upf::datapath::{Change, Datapath};
use martlet_upf_xdp::{Attachment, BenchPath, Received, Traffic};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// Bytes of the outer IP, UDP and GTP-U headers.
const TUNNEL: u32 = 44;
/// Lengths of UEs' packets in bytes.
pub(super) const LENGTHS: [u32; 6] = [64, 128, 256, 512, 1024, 1400];
pub(super) const VARIANTS: [(&str, DatapathChoice); 2] =
    [("kernel", DatapathChoice::Kernel), ("xdp", DatapathChoice::Xdp)];
pub(crate) const DIRECTIONS: [(&str, bool); 2] = [("uplink", true), ("downlink", false)];
/// Maximum share of lost packets at a rate that counts as carried.
const MAX_LOSS: f64 = 0.001;
/// Packets of a burst of the kernel generator. Bursts reduce its cost, and are shorter than the
/// kernel's queues.
const BURST: u32 = 256;
/// Maximum share of packets that a valid round fails to send.
pub(super) const MAX_MISSED: f64 = 0.05;

/// A datapath between two links, a generator and receivers.
pub(crate) struct Testbed {
    traffic: Traffic,
    pub datapath: Option<Box<dyn Datapath>>,
    has_datapath: bool,
    _signals: Option<Signals>,
    attached: Vec<Attachment>,
    sessions: u32,
}

/// The result of one round.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    pub sent: u64,
    pub received: Received,
    pub wall: Duration,
    /// CPU time of this process.
    pub cpu: Duration,
    /// The share of packets that were not sent because the thread was preempted.
    pub missed: f64,
}

impl Round {
    pub fn loss(&self) -> f64 {
        1.0 - self.received.packets as f64 / self.sent.max(1) as f64
    }

    /// Received packets per second.
    pub fn pps(&self) -> f64 {
        self.received.packets as f64 / self.wall.as_secs_f64()
    }
}

fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

impl Testbed {
    /// A testbed with a datapath and sessions. Without a datapath, packets go straight to a
    /// receiver.
    pub fn new(datapath: Option<DatapathChoice>, rules: Rules, sessions: u32) -> Result<Testbed> {
        Testbed::with_config(datapath, rules, sessions, |_| {})
    }

    /// A testbed whose UPF configuration is adapted by `change`.
    pub fn with_config(
        datapath: Option<DatapathChoice>,
        rules: Rules,
        sessions: u32,
        change: impl FnOnce(&mut UpfConfig),
    ) -> Result<Testbed> {
        let traffic = Traffic::load()?;
        let [up, down] = dut::GENERATORS.map(ifindex);
        let mut receivers = traffic.hold(up?, down?)?;
        receivers.extend([traffic.receive(ifindex("n3b")?)?, traffic.receive(ifindex("n6b")?)?]);
        let mut opened = (None, None);
        match datapath {
            Some(choice) => {
                let mut config = configuration(rules, sessions);
                config.datapath = choice;
                if choice == DatapathChoice::Switch {
                    dut::insert_switch(&mut config)?;
                }
                change(&mut config);
                let (mut datapath, signals) =
                    martlet_upf::open_datapath(&config).map_err(|error| anyhow!(error))?;
                for n in 0..sessions {
                    let mut session = session(rules, n);
                    session.resolve(&config.rules)?;
                    datapath.apply(&Change::to(&session))?;
                }
                if choice == DatapathChoice::Switch && config.switch.policy == OffloadPolicy::All {
                    wait_for(datapath.as_ref(), "/switch/sessions/onSwitch", sessions.into())?;
                } else if choice == DatapathChoice::Switch {
                    wait_for(datapath.as_ref(), "/switch/connections", 1)?;
                }
                opened = (Some(datapath), Some(signals));
            }
            None => {
                receivers.push(traffic.receive(ifindex("n3a")?)?);
                receivers.push(traffic.receive(ifindex("n6a")?)?);
            }
        }
        Ok(Testbed {
            traffic,
            has_datapath: datapath.is_some(),
            datapath: opened.0,
            _signals: opened.1,
            attached: receivers,
            sessions,
        })
    }

    /// A testbed whose threads stay on this CPU. The calling thread, which is the tester, moves to
    /// `tester_cpu`, if there is one.
    pub fn with_tester_on(
        datapath: Option<DatapathChoice>,
        rules: Rules,
        sessions: u32,
        tester_cpu: Option<usize>,
        change: impl FnOnce(&mut UpfConfig),
    ) -> Result<Testbed> {
        let testbed = Testbed::with_config(datapath, rules, sessions, change)?;
        if let Some(cpu) = tester_cpu {
            pin_to(cpu)?;
        }
        Ok(testbed)
    }

    /// Attaches a program that passes frames to the kernel. A veth end without an XDP program drops
    /// redirected frames.
    pub fn pass_to_kernel(&mut self) -> Result<()> {
        for interface in ["n3a", "n6a"] {
            self.attached.push(self.traffic.pass(ifindex(interface)?)?);
        }
        Ok(())
    }

    /// Number of sessions that were offloaded to the switch.
    pub fn offloaded(&self) -> u64 {
        self.datapath
            .as_ref()
            .map_or(0, |datapath| status_number(datapath.as_ref(), "/switch/movedOn"))
    }

    fn path(&self, uplink: bool, length: u32) -> Result<BenchPath> {
        let mut path = dut::path(length, ifindex(if uplink { "n3b" } else { "n6b" })?);
        path.link = link_addresses(uplink);
        let stamped = 14 + 28;
        path.stamp_at = match (uplink, self.has_datapath) {
            (true, true) | (false, false) => stamped,
            _ => stamped + TUNNEL,
        };
        Ok(path)
    }

    /// Sends packets at the full rate of the generator.
    pub fn full_rate(&self, uplink: bool, length: u32, packets: u32) -> Result<Round> {
        // Latency is not measured here.
        let path = BenchPath { stamp_at: 0, ..self.path(uplink, length)? };
        self.round(|| {
            self.traffic.send(uplink, self.sessions, &path, packets, 64, 12_345)?;
            Ok(packets.into())
        })
    }

    /// Sends packets at a constant rate, in packets per second, for a time.
    pub fn paced(&self, uplink: bool, length: u32, rate: f64, time: Duration) -> Result<Round> {
        self.paced_among(uplink, length, rate, time, || self.sessions)
    }

    /// As [`Testbed::paced`], with each batch spread over the first `sessions()` sessions.
    pub fn paced_among(
        &self,
        uplink: bool,
        length: u32,
        rate: f64,
        time: Duration,
        mut sessions: impl FnMut() -> u32,
    ) -> Result<Round> {
        let path = self.path(uplink, length)?;
        self.traffic.expect(&path);
        let mut pace = Pacer::new(rate, time);
        let mut round = self.round(|| {
            let (mut sent, mut sender) = (0u64, Sender::open()?);
            while let Some(due) = pace.wait() {
                sender.send(uplink, sessions(), &path, due)?;
                sent += u64::from(due);
            }
            Ok(sent)
        })?;
        round.missed = pace.missed();
        Ok(round)
    }

    /// Packets arrive at a constant rate at a queue that this thread empties: see [`Arrivals`]. All
    /// that arrive count as sent, so the load is offered in any case.
    pub fn queued(
        &self,
        uplink: bool,
        length: u32,
        rate: f64,
        time: Duration,
        mut sessions: impl FnMut() -> u32,
    ) -> Result<Round> {
        let path = self.path(uplink, length)?;
        self.traffic.expect(&path);
        let mut queue = Arrivals::new(rate, time);
        self.round(|| {
            let mut sender = Sender::open()?;
            while let Some(packets) = queue.wait() {
                sender.send(uplink, sessions(), &path, packets)?;
            }
            Ok(queue.arrived())
        })
    }

    /// Sends packets at a constant rate with the kernel generator, in bursts of some hundred: its
    /// cost is per burst rather than per packet. Latency is not measured.
    pub fn paced_in_bursts(
        &self,
        uplink: bool,
        length: u32,
        rate: f64,
        time: Duration,
        sessions: u32,
    ) -> Result<Round> {
        let path = BenchPath { stamp_at: 0, ..self.path(uplink, length)? };
        let mut pace = Pacer::in_bursts(rate, time, BURST);
        let mut round = self.round(|| {
            let mut sent = 0u64;
            while let Some(due) = pace.wait() {
                self.traffic.send(uplink, sessions, &path, due, 64, 12_345 + sent as u32)?;
                sent += u64::from(due);
            }
            Ok(sent)
        })?;
        round.missed = pace.missed();
        Ok(round)
    }

    /// Sends single packets at a constant rate, so that none queues behind another.
    pub fn paced_singly(
        &self,
        uplink: bool,
        length: u32,
        rate: f64,
        time: Duration,
        sessions: u32,
    ) -> Result<Round> {
        let path = self.path(uplink, length)?;
        let step = Duration::from_secs_f64(1.0 / rate);
        let mut sender = Sender::open()?;
        self.traffic.expect(&path);
        self.round(|| {
            let (start, mut sent) = (Instant::now(), 0u32);
            while start.elapsed() < time {
                sender.send(uplink, sessions, &path, 1)?;
                sent += 1;
                let next = step * sent;
                if let Some(left) = next.checked_sub(start.elapsed()) {
                    std::thread::sleep(left);
                }
            }
            Ok(sent.into())
        })
    }

    /// Runs a round. `send` returns the number of packets that it sent.
    fn round(&self, send: impl FnOnce() -> Result<u64>) -> Result<Round> {
        let before = self.traffic.received()?;
        let (start, cpu) = (Instant::now(), cpu_time());
        let sent = send()?;
        let sending = start.elapsed();
        // Waits for packets in queues of the kernel.
        let mut last = self.traffic.received()?.packets;
        let mut idle = Instant::now();
        let mut ended = sending;
        while last < before.packets + sent && idle.elapsed() < Duration::from_millis(100) {
            std::thread::sleep(Duration::from_millis(2));
            let now = self.traffic.received()?.packets;
            if now > last {
                (last, idle, ended) = (now, Instant::now(), start.elapsed());
            }
        }
        let received = self.traffic.received()?.since(&before);
        Ok(Round { sent, received, wall: ended, cpu: cpu_time().saturating_sub(cpu), missed: 0.0 })
    }
}

/// A number in the status of a datapath, by its JSON pointer.
fn status_number(datapath: &dyn Datapath, pointer: &str) -> u64 {
    datapath.details().pointer(pointer).and_then(|value| value.as_u64()).unwrap_or_default()
}

/// Waits until a number in the status of a datapath reaches a value.
fn wait_for(datapath: &dyn Datapath, pointer: &str, number: u64) -> Result<()> {
    let started = Instant::now();
    while status_number(datapath, pointer) < number {
        if started.elapsed() > Duration::from_secs(20) {
            return Err(anyhow!("the switch is not ready: {}", datapath.details()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Runs a closure on a thread that is pinned to one CPU, in a network namespace with links.
pub(crate) fn on_one_cpu<T: Send>(act: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let mut one = CpuSet::new();
            // The last CPU: interrupts tend to be handled by the first.
            let last = std::thread::available_parallelism().map_or(1, usize::from) - 1;
            one.set(last)?;
            sched_setaffinity(Pid::from_raw(0), &one)?;
            let _ = nix::sys::prctl::set_timerslack(1000);
            namespace::enter_new()?;
            links()?;
            act()
        });
        thread.join().unwrap_or_else(|_| Err(anyhow!("the measurement thread panicked")))
    })
}

fn pin_to(cpu: usize) -> Result<()> {
    let mut one = CpuSet::new();
    one.set(cpu)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &one)?)
}

/// Runs a closure on a thread that is pinned to the first CPU, in a network namespace with links
/// that take the longest frames. The closure gets the last CPU for its tester, if there are two or
/// more.
pub(crate) fn on_two_cpus<T: Send>(
    act: impl FnOnce(Option<usize>) -> Result<T> + Send,
) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let last = std::thread::available_parallelism().map_or(1, usize::from) - 1;
            pin_to(0)?;
            let _ = nix::sys::prctl::set_timerslack(1000);
            namespace::enter_new()?;
            links()?;
            dut::raise_n3_mtu()?;
            act((last > 0).then_some(last))
        });
        thread.join().unwrap_or_else(|_| Err(anyhow!("the measurement thread panicked")))
    })
}

/// Runs a measurement with a new testbed.
pub(crate) fn with_testbed<T: Send>(
    datapath: Option<DatapathChoice>,
    rules: Rules,
    sessions: u32,
    act: impl FnOnce(&mut Testbed) -> Result<T> + Send,
) -> Result<T> {
    on_one_cpu(|| act(&mut Testbed::new(datapath, rules, sessions)?))
}

/// A name, the datapath, its rules and sessions, and the packet lengths.
type Case = (String, Option<DatapathChoice>, Rules, u32, Vec<u32>);

/// Measures packets per second at full rate, by packet length, sessions and rules.
fn full_rate(output: &mut Output, args: &UpfArgs, progress: &mut Progress) -> Result<()> {
    let (rounds, packets) = args.pick((7, 1_000_000), (3, 100_000), (1, 5_000));
    let (many, max) = (1000, args.pick(100_000, 10_000, 1200));
    let cases: Vec<Case> = vec![
        ("generator".into(), None, Rules::Full, 1, vec![64]),
        ("xdp".into(), Some(DatapathChoice::Xdp), Rules::Full, 1, args.points(&LENGTHS)),
        (format!("xdp_{many}_sessions"), Some(DatapathChoice::Xdp), Rules::Full, many, vec![64]),
        (format!("xdp_{max}_sessions"), Some(DatapathChoice::Xdp), Rules::Full, max, vec![64]),
        ("xdp_32_pdrs".into(), Some(DatapathChoice::Xdp), Rules::Full32, 1, vec![64]),
    ];
    for (name, choice, rules, sessions, lengths) in cases {
        let all = with_testbed(choice, rules, sessions, |testbed| {
            let mut all = Vec::new();
            for round in 0..rounds {
                for &length in &lengths {
                    for (direction, uplink) in DIRECTIONS {
                        all.push((
                            round,
                            length,
                            direction,
                            testbed.full_rate(uplink, length, packets)?,
                        ));
                    }
                }
            }
            Ok(all)
        })?;
        for (round, length, direction, r) in &all {
            let (pps, loss) = (r.pps(), r.loss());
            output.row(format_args!(
                "full_rate,{name}_{length},{name},{direction},{round},{pps},{loss}"
            ))?;
        }
        for &length in &lengths {
            for (direction, _) in DIRECTIONS {
                let of = |what: fn(&Round) -> f64| -> Vec<f64> {
                    all.iter()
                        .filter(|r| r.1 == length && r.2 == direction)
                        .map(|r| what(&r.3))
                        .collect()
                };
                for (what, unit, sample) in
                    [("pps", "packets/s", of(Round::pps)), ("loss", "share", of(Round::loss))]
                {
                    let id = format!("{what}.{name}.{direction}_{length}.median");
                    output.figure(Figure::of(id, unit, median(&sample).context("no samples")?));
                }
            }
        }
        progress.step(&name);
    }
    // Cost of many sessions and rules for the whole path of a packet, not only for the programs.
    for (direction, _) in DIRECTIONS {
        for what in [format!("{max}_sessions"), "32_pdrs".into()] {
            let pps = |name: &str| {
                output.find(&format!("pps.{name}.{direction}_64.median")).map(|figure| figure.value)
            };
            let times = pps("xdp")
                .zip(pps(&format!("xdp_{what}")))
                .map_or(f64::NAN, |(one, many)| one / many);
            output.figure(Figure::once(
                format!("pps.xdp_1_over_{what}.{direction}"),
                "times",
                times,
            ));
        }
    }
    Ok(())
}

/// The search ends after this many consecutive rates that are not carried.
const MAX_FAILURES: usize = 3;

/// The highest rate with at most [`MAX_LOSS`], in packets per second. Rates are tried upwards, each
/// several times, and some more after a failure, since other work on the machine can cause losses.
/// Rounds in which the generator missed packets do not count, since their actual rate is unknown.
pub(crate) fn carried_rate(
    testbed: &Testbed,
    uplink: bool,
    length: u32,
    time: Duration,
) -> Result<f64> {
    let (mut best, mut rate, mut failures) = (0f64, 5_000.0, 0);
    while failures < MAX_FAILURES {
        failures += 1;
        for _ in 0..5 {
            let round = testbed.paced(uplink, length, rate, time)?;
            if round.loss() <= MAX_LOSS && round.missed <= MAX_MISSED {
                best = best.max(round.sent as f64 / round.wall.as_secs_f64());
                failures = 0;
                break;
            }
        }
        rate *= 1.15;
    }
    Ok(best)
}

/// Measures loss and CPU time against rate, and latency, for both datapaths.
fn against_rate(output: &mut Output, args: &UpfArgs, progress: &mut Progress) -> Result<()> {
    let time = Duration::from_millis(args.pick(300, 100, 40));
    let rounds = args.pick(5, 2, 1);
    for (direction, uplink) in DIRECTIONS {
        let kernel = with_testbed(Some(DatapathChoice::Kernel), Rules::Full, 1, |testbed| {
            carried_rate(testbed, uplink, 64, time)
        })?;
        output.figure(Figure::once(
            format!("pps.kernel.{direction}_64_carried"),
            "packets/s",
            kernel,
        ));
        progress.step("rate carried by kernel");
        // The generator's own CPU time is subtracted.
        let rates: Vec<f64> =
            [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0].iter().map(|part| part * kernel).collect();
        let mut cpu = Vec::new();
        for (variant, choice) in
            [("generator", None)].into_iter().chain(VARIANTS.map(|(n, c)| (n, Some(c))))
        {
            let all = with_testbed(choice, Rules::Full, 1, |testbed| {
                let mut all = Vec::new();
                for round in 0..rounds {
                    for &rate in &rates {
                        all.push((round, rate, testbed.paced(uplink, 64, rate, time)?));
                    }
                }
                Ok(all)
            })?;
            for (round, rate, r) in &all {
                let (loss, busy) = (r.loss(), r.cpu.as_secs_f64() / r.wall.as_secs_f64());
                output.row(format_args!(
                    "rate,{rate:.0},{variant},{direction},{round},{loss},{busy}"
                ))?;
            }
            for (n, &rate) in rates.iter().enumerate() {
                let of = |what: &dyn Fn(&Round) -> f64| -> Vec<f64> {
                    all.iter().filter(|r| r.1 == rate).map(|r| what(&r.2)).collect()
                };
                let loss = median(&of(&Round::loss)).context("no samples")?;
                output.figure(Figure::of(
                    format!("loss.{variant}.{direction}_rate{n}.median"),
                    "share",
                    loss,
                ));
                let busy = of(&|r| r.cpu.as_secs_f64() * 1e9 / r.sent.max(1) as f64);
                let busy = median(&busy).context("no samples")?;
                if n == 3 {
                    cpu.push(busy.value);
                }
                let id = format!("cpu_per_packet.{variant}.{direction}_rate{n}.median");
                output.figure(Figure::of(id, "ns", busy));
                output.figure(Figure::once(
                    format!("rate.{variant}.{direction}_rate{n}"),
                    "packets/s",
                    rate,
                ));
            }
            progress.step(variant);
        }
        let share = (cpu[2] - cpu[0]) / (cpu[1] - cpu[0]);
        output.figure(Figure::once(format!("cpu.xdp_over_kernel.{direction}_64"), "times", share));
        // Without loss at full rate, that is the carried rate.
        let full_rate = |what: &str| {
            output.find(&format!("{what}.xdp.{direction}_64.median")).map_or(f64::NAN, |f| f.value)
        };
        let xdp = if full_rate("loss") <= MAX_LOSS { full_rate("pps") } else { f64::NAN };
        output.figure(Figure::once(format!("pps.xdp.{direction}_64_carried"), "packets/s", xdp));
        output.figure(Figure::once(
            format!("pps.xdp_over_kernel.{direction}_64"),
            "times",
            xdp / kernel,
        ));
        for (variant, choice) in VARIANTS {
            // A busy machine may carry no rate at all.
            let rate = (kernel / 4.0).clamp(1_000.0, 20_000.0);
            let round = with_testbed(Some(choice), Rules::Full, 1, |testbed| {
                testbed.paced(uplink, 64, rate, time * rounds)
            })?;
            for (name, q) in [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)] {
                if let Some(ns) = round.received.quantile(q) {
                    let id = format!("latency.{variant}.{direction}_64.{name}");
                    output.figure(Figure::once(id, "us", ns / 1000.0));
                    output.row(format_args!(
                        "latency,{name},{variant},{direction},0,{ns},{rate:.0}"
                    ))?;
                }
            }
            progress.step(variant);
        }
    }
    Ok(())
}

/// Measures packets over virtual links.
pub(super) fn measure(output: &mut Output, args: &UpfArgs) -> Result<()> {
    let mut progress = Progress::new("steps", 5 + 2 * 6);
    full_rate(output, args, &mut progress)?;
    against_rate(output, args, &mut progress)?;
    progress.done();
    Ok(())
}
