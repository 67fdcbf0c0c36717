//! Packets over virtual links: a generator, the UPF, and a receiver, all on one processor, so that
//! what is counted is what that one can do. Generator and receiver are programs of the kernel and
//! cost the same whatever is between them.
use super::bed::{self, configuration, ifindex, link_addresses, links, session};
use super::sender::Sender;
use super::{Rules, UpfArgs};
use crate::pace::Pace;
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

/// Headers that a tunnel adds to a UE's packet.
const TUNNEL: u32 = 44;
/// Octets of UEs' packets.
pub(super) const LENGTHS: [u32; 6] = [64, 128, 256, 512, 1024, 1400];
pub(super) const VARIANTS: [(&str, DatapathChoice); 2] =
    [("kernel", DatapathChoice::Kernel), ("xdp", DatapathChoice::Xdp)];
pub(crate) const DIRECTIONS: [(&str, bool); 2] = [("uplink", true), ("downlink", false)];
/// Share of packets that may be lost at a rate that counts as carried.
const LOSS: f64 = 0.001;
/// Packets of a run of the generator, where it is to cost little: fewer than queues of the kernel
/// hold.
const RUN: u32 = 256;
/// Share of packets that may not have been sent in a round that counts.
const MISSED: f64 = 0.05;

/// A datapath between two links, a generator and receivers.
pub(crate) struct Wire {
    traffic: Traffic,
    pub datapath: Option<Box<dyn Datapath>>,
    through: bool,
    _signals: Option<Signals>,
    attached: Vec<Attachment>,
    sessions: u32,
}

/// What one round gave.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    pub sent: u64,
    pub received: Received,
    pub wall: Duration,
    /// Processor time of this process.
    pub cpu: Duration,
    /// The share of packets that were not sent at all, since the processor was somebody else's.
    pub missed: f64,
}

impl Round {
    pub fn loss(&self) -> f64 {
        1.0 - self.received.packets as f64 / self.sent.max(1) as f64
    }

    /// Packets that came, in a second.
    pub fn pps(&self) -> f64 {
        self.received.packets as f64 / self.wall.as_secs_f64()
    }
}

fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

impl Wire {
    /// With a datapath and so many sessions in it; without one, what is sent comes to a receiver at
    /// once.
    pub fn new(datapath: Option<DatapathChoice>, rules: Rules, sessions: u32) -> Result<Wire> {
        Wire::changed(datapath, rules, sessions, |_| {})
    }

    /// The same with another configuration.
    pub fn changed(
        datapath: Option<DatapathChoice>,
        rules: Rules,
        sessions: u32,
        change: impl FnOnce(&mut UpfConfig),
    ) -> Result<Wire> {
        let traffic = Traffic::load()?;
        let [up, down] = bed::GENERATORS.map(ifindex);
        let mut receivers = traffic.hold(up?, down?)?;
        receivers.extend([traffic.receive(ifindex("n3b")?)?, traffic.receive(ifindex("n6b")?)?]);
        let mut opened = (None, None);
        match datapath {
            Some(choice) => {
                let mut config = configuration(rules, sessions);
                config.datapath = choice;
                if choice == DatapathChoice::Switch {
                    bed::put_a_switch_between(&mut config)?;
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
        Ok(Wire {
            traffic,
            through: datapath.is_some(),
            datapath: opened.0,
            _signals: opened.1,
            attached: receivers,
            sessions,
        })
    }

    /// The same, opened on one processor, where what it is made of stays, and from then on used on
    /// the one that is `parting` from it, where there are two.
    pub fn apart(
        datapath: Option<DatapathChoice>,
        rules: Rules,
        sessions: u32,
        parting: Option<usize>,
        change: impl FnOnce(&mut UpfConfig),
    ) -> Result<Wire> {
        let wire = Wire::changed(datapath, rules, sessions, change)?;
        if let Some(other) = parting {
            stay_on(other)?;
        }
        Ok(wire)
    }

    /// Has the kernel take frames of programs also where it is a datapath without one that receives
    /// them: a virtual link whose other end has no program loses them.
    pub fn pass_to_the_kernel(&mut self) -> Result<()> {
        for interface in ["n3a", "n6a"] {
            self.attached.push(self.traffic.pass(ifindex(interface)?)?);
        }
        Ok(())
    }

    /// Sessions that have moved onto the switch.
    pub fn moved_on(&self) -> u64 {
        self.datapath.as_ref().map_or(0, |datapath| told(datapath.as_ref(), "/switch/movedOn"))
    }

    fn path(&self, uplink: bool, length: u32) -> Result<BenchPath> {
        let mut path = bed::path(length, ifindex(if uplink { "n3b" } else { "n6b" })?);
        path.link = link_addresses(uplink);
        let stamped = 14 + 28;
        path.stamp_at = match (uplink, self.through) {
            (true, true) | (false, false) => stamped,
            _ => stamped + TUNNEL,
        };
        Ok(path)
    }

    /// Sends so many packets as fast as it goes.
    pub fn flat_out(&self, uplink: bool, length: u32, packets: u32) -> Result<Round> {
        // Nobody asks how long these take.
        let path = BenchPath { stamp_at: 0, ..self.path(uplink, length)? };
        self.round(|| {
            self.traffic.send(uplink, self.sessions, &path, packets, 64, 12_345)?;
            Ok(packets.into())
        })
    }

    /// Sends so many packets in a second for a time, evenly.
    pub fn paced(&self, uplink: bool, length: u32, rate: f64, time: Duration) -> Result<Round> {
        self.paced_among(uplink, length, rate, time, || self.sessions)
    }

    /// The same, each time among as many of the sessions as `sessions` says, from the first one on.
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
        let mut pace = Pace::new(rate, time);
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

    /// Sends so many packets in a second by the generator of the kernel, which takes little time
    /// for each, but some for each run: they come by the hundred. Nobody asks how long they
    /// take.
    pub fn paced_in_runs(
        &self,
        uplink: bool,
        length: u32,
        rate: f64,
        time: Duration,
        sessions: u32,
    ) -> Result<Round> {
        let path = BenchPath { stamp_at: 0, ..self.path(uplink, length)? };
        let mut pace = Pace::in_runs(rate, time, RUN);
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

    /// Sends single packets, as evenly as the machine does it, so that none waits for the one
    /// before.
    pub fn paced_one_by_one(
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

    /// Gives a round, in which `send` says how many packets it sent.
    fn round(&self, send: impl FnOnce() -> Result<u64>) -> Result<Round> {
        let before = self.traffic.received()?;
        let (start, cpu) = (Instant::now(), cpu_time());
        let sent = send()?;
        let sending = start.elapsed();
        // What is still under way in queues of the kernel comes within a moment.
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

/// A number that a datapath tells.
fn told(datapath: &dyn Datapath, pointer: &str) -> u64 {
    datapath.details().pointer(pointer).and_then(|value| value.as_u64()).unwrap_or_default()
}

/// Waits until a datapath tells a number.
fn wait_for(datapath: &dyn Datapath, pointer: &str, number: u64) -> Result<()> {
    let started = Instant::now();
    while told(datapath, pointer) < number {
        if started.elapsed() > Duration::from_secs(20) {
            return Err(anyhow!("the switch is not ready: {}", datapath.details()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Does something on a thread that stays on one processor, in a network namespace with links.
pub(crate) fn on_one_processor<T: Send>(act: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let mut one = CpuSet::new();
            // The last one: interrupts tend to be on the first.
            let last = std::thread::available_parallelism().map_or(1, usize::from) - 1;
            one.set(last)?;
            sched_setaffinity(Pid::from_raw(0), &one)?;
            let _ = nix::sys::prctl::set_timerslack(1000);
            namespace::enter_a_new_one()?;
            links()?;
            act()
        });
        thread.join().unwrap_or_else(|_| Err(anyhow!("a measurement broke off")))
    })
}

fn stay_on(processor: usize) -> Result<()> {
    let mut one = CpuSet::new();
    one.set(processor)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &one)?)
}

/// Does something on a thread in a network namespace with links, whose packets may be of the
/// longest frames: on the first processor, and given the last one to go on at, if that is another.
pub(crate) fn on_processors<T: Send>(
    act: impl FnOnce(Option<usize>) -> Result<T> + Send,
) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let last = std::thread::available_parallelism().map_or(1, usize::from) - 1;
            stay_on(0)?;
            let _ = nix::sys::prctl::set_timerslack(1000);
            namespace::enter_a_new_one()?;
            links()?;
            bed::longest_frames()?;
            act((last > 0).then_some(last))
        });
        thread.join().unwrap_or_else(|_| Err(anyhow!("a measurement broke off")))
    })
}

/// A wire of its own for one measurement.
pub(crate) fn with_wire<T: Send>(
    datapath: Option<DatapathChoice>,
    rules: Rules,
    sessions: u32,
    act: impl FnOnce(&mut Wire) -> Result<T> + Send,
) -> Result<T> {
    on_one_processor(|| act(&mut Wire::new(datapath, rules, sessions)?))
}

/// A name, what is between the links, its rules and sessions, and the lengths of packets.
type Case = (String, Option<DatapathChoice>, Rules, u32, Vec<u32>);

/// Packets a second as fast as it goes, for sizes, sessions and rules.
fn flat_out(output: &mut Output, args: &UpfArgs, progress: &mut Progress) -> Result<()> {
    let (rounds, packets) = args.pick((7, 1_000_000), (3, 100_000), (1, 5_000));
    let (many, most) = (1000, args.pick(100_000, 10_000, 1200));
    let cases: Vec<Case> = vec![
        ("generator".into(), None, Rules::Full, 1, vec![64]),
        ("xdp".into(), Some(DatapathChoice::Xdp), Rules::Full, 1, args.points(&LENGTHS)),
        (format!("xdp_{many}_sessions"), Some(DatapathChoice::Xdp), Rules::Full, many, vec![64]),
        (format!("xdp_{most}_sessions"), Some(DatapathChoice::Xdp), Rules::Full, most, vec![64]),
        ("xdp_32_pdrs".into(), Some(DatapathChoice::Xdp), Rules::Full32, 1, vec![64]),
    ];
    for (name, choice, rules, sessions, lengths) in cases {
        let all = with_wire(choice, rules, sessions, |wire| {
            let mut all = Vec::new();
            for round in 0..rounds {
                for &length in &lengths {
                    for (direction, uplink) in DIRECTIONS {
                        all.push((
                            round,
                            length,
                            direction,
                            wire.flat_out(uplink, length, packets)?,
                        ));
                    }
                }
            }
            Ok(all)
        })?;
        for (round, length, direction, r) in &all {
            let (pps, loss) = (r.pps(), r.loss());
            output.row(format_args!(
                "flat_out,{name}_{length},{name},{direction},{round},{pps},{loss}"
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
                    output.figure(Figure::of(
                        id,
                        unit,
                        median(&sample).context("nothing was measured")?,
                    ));
                }
            }
        }
        progress.step(&name);
    }
    // What many sessions and many rules cost a packet that is really sent: its whole way, and not
    // the programs' share of it alone.
    for (direction, _) in DIRECTIONS {
        for what in [format!("{most}_sessions"), "32_pdrs".into()] {
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

/// Rates in a row that are not carried before none above them is tried.
const REFUSED: usize = 3;

/// The highest rate that a datapath carries with hardly a loss, in packets a second: rates are
/// tried upwards, each some times at most, and some beyond one that is not carried, for the machine
/// may have been busy just then: a rate that is carried proves itself, and one that is not proves
/// nothing. A round counts in which nearly all was sent that was due: at what rate else it was,
/// nobody knows. Beyond the rate at which that is so no more, the processor has no time left for
/// the generator.
pub(crate) fn carried_of(wire: &Wire, uplink: bool, length: u32, time: Duration) -> Result<f64> {
    let (mut best, mut rate, mut refused) = (0f64, 5_000.0, 0);
    while refused < REFUSED {
        refused += 1;
        for _ in 0..5 {
            let round = wire.paced(uplink, length, rate, time)?;
            if round.loss() <= LOSS && round.missed <= MISSED {
                best = best.max(round.sent as f64 / round.wall.as_secs_f64());
                refused = 0;
                break;
            }
        }
        rate *= 1.15;
    }
    Ok(best)
}

/// The same of packets of 64 octets.
pub(crate) fn carried(wire: &Wire, uplink: bool, time: Duration) -> Result<f64> {
    carried_of(wire, uplink, 64, time)
}

/// Loss against rate, processor time at the rates, and latency, for both datapaths.
fn against_rate(output: &mut Output, args: &UpfArgs, progress: &mut Progress) -> Result<()> {
    let time = Duration::from_millis(args.pick(300, 100, 40));
    let rounds = args.pick(5, 2, 1);
    for (direction, uplink) in DIRECTIONS {
        let kernel = with_wire(Some(DatapathChoice::Kernel), Rules::Full, 1, |wire| {
            carried(wire, uplink, time)
        })?;
        output.figure(Figure::once(
            format!("pps.kernel.{direction}_64_carried"),
            "packets/s",
            kernel,
        ));
        progress.step("what kernel carries");
        // What the generator alone takes is not the UPF's.
        let rates: Vec<f64> =
            [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0].iter().map(|part| part * kernel).collect();
        let mut cpu = Vec::new();
        for (variant, choice) in
            [("generator", None)].into_iter().chain(VARIANTS.map(|(n, c)| (n, Some(c))))
        {
            let all = with_wire(choice, Rules::Full, 1, |wire| {
                let mut all = Vec::new();
                for round in 0..rounds {
                    for &rate in &rates {
                        all.push((round, rate, wire.paced(uplink, 64, rate, time)?));
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
                let loss = median(&of(&Round::loss)).context("nothing was measured")?;
                output.figure(Figure::of(
                    format!("loss.{variant}.{direction}_rate{n}.median"),
                    "share",
                    loss,
                ));
                let busy = of(&|r| r.cpu.as_secs_f64() * 1e9 / r.sent as f64);
                let busy = median(&busy).context("nothing was measured")?;
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
        // Flat out it loses nothing, so that is what it carries.
        let flat = |what: &str| {
            output.find(&format!("{what}.xdp.{direction}_64.median")).map_or(f64::NAN, |f| f.value)
        };
        let xdp = if flat("loss") <= LOSS { flat("pps") } else { f64::NAN };
        output.figure(Figure::once(format!("pps.xdp.{direction}_64_carried"), "packets/s", xdp));
        output.figure(Figure::once(
            format!("pps.xdp_over_kernel.{direction}_64"),
            "times",
            xdp / kernel,
        ));
        for (variant, choice) in VARIANTS {
            let rate = (kernel / 4.0).min(20_000.0);
            let round = with_wire(Some(choice), Rules::Full, 1, |wire| {
                wire.paced(uplink, 64, rate, time * rounds)
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

/// Measures packets over links.
pub(super) fn measure(output: &mut Output, args: &UpfArgs) -> Result<()> {
    let mut progress = Progress::new("steps", 5 + 2 * 6);
    flat_out(output, args, &mut progress)?;
    against_rate(output, args, &mut progress)?;
    progress.done();
    Ok(())
}
