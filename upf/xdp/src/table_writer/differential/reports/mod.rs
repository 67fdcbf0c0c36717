//! Random requests for N4 above `kernel` and N4 above `xdp`: usage reporting rules, traffic
//! endpoints, predefined rules, forwarding policies, PFDs and session sets. The answers and reports
//! to the SMF must be equal, with their triggers, volumes, durations and times. Time is the test's
//! own, so that hours pass in no time; only the packets pass by the machine's clock.
mod draw;
mod side;
mod test_clock;

use super::{Pair, in_namespace};
use draw::{Draw, ends, set};
use martlet_pfcp::ie::NodeId;
use martlet_pfcp::*;
use martlet_upf_datapath::conformance::{g_pdu, udp_packet};
use martlet_upf_datapath::random::{HOST, checksum, set_up};
use martlet_upf_datapath::{Datapath, Event};
use martlet_upf_n4::testing::SMF;
use martlet_upf_n4::{Moment, Settings};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use side::{Side, later, named, without_packets};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use test_clock::{Steps, Timed};

/// Sessions of one script, and its steps.
const SESSIONS: u32 = 4;
const STEPS: usize = 8;

/// A segment of TCP with ports, as a packet.
fn segment(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16), flags: u8, payload: &[u8]) -> Vec<u8> {
    let length = (40 + payload.len() as u16).to_be_bytes();
    let mut packet = vec![0x45, 0, length[0], length[1], 0, 0, 0x40, 0, 64, 6, 0, 0];
    packet.extend([from.0.octets(), to.0.octets()].concat());
    checksum(&mut packet);
    packet.extend([from.1.to_be_bytes(), to.1.to_be_bytes()].concat());
    packet.extend([0, 0, 0, 9, 0, 0, 0, 7, 0x50, flags, 1, 0, 0, 0, 0, 0]);
    packet.extend(payload);
    packet
}

/// Both sides, and the time.
struct Script<'a> {
    pair: &'a mut Pair,
    sides: [Side; 2],
    steps: Arc<Mutex<Steps>>,
    now: Moment,
    seed: u64,
}

impl Script<'_> {
    /// Sends a request to both, whose responses must be equal.
    fn ask(&mut self, cp: u64, message: &Message) -> Message {
        let ask = |side: &mut Side| {
            let seid = side.seids.get(&cp).copied().unwrap_or_default();
            without_packets(side.ask(Some(seid), message.clone(), self.now))
        };
        let [kernel, xdp] = self.sides.each_mut().map(ask);
        assert_eq!(kernel, xdp, "seed {}: {message:#?}", self.seed);
        self.compare(&format!("{message:#?}"));
        kernel
    }

    /// Sends a message of nodes to both, whose responses must be equal.
    fn ask_node(&mut self, message: &Message) -> Message {
        let ask = |side: &mut Side| side.ask(None, message.clone(), self.now);
        let [kernel, xdp] = self.sides.each_mut().map(ask);
        assert_eq!(kernel, xdp, "seed {}: {message:#?}", self.seed);
        self.compare(&format!("{message:#?}"));
        kernel
    }

    /// Deletes a set of sessions; the rest of these.
    fn delete_set(&mut self, csid: u16, established: Vec<u64>) -> Vec<u64> {
        let node_id = NodeId::Ip(SMF);
        let request = SessionSetDeletionRequest { node_id, fq_csids: vec![set(csid)] };
        let answer = self.ask_node(&request.into());
        assert!(
            matches!(&answer, Message::SessionSetDeletionResponse(it) if it.cause.is_accepted())
        );
        let query = SessionModificationRequest::default();
        let is_there = |cp: &u64| {
            let answer = self.ask(*cp, &query.clone().into());
            matches!(&answer, Message::SessionModificationResponse(it) if it.cause.is_accepted())
        };
        established.into_iter().filter(is_there).collect()
    }

    /// What both have sent by themselves must be equal.
    fn compare(&mut self, after: &str) -> usize {
        let [kernel, xdp] = self.sides.each_mut().map(|side| {
            let mut reports = std::mem::take(&mut side.reports);
            // Sessions whose deadlines are equal report in the order of their random SEIDs.
            reports.sort_by_key(|(cp, _)| *cp);
            reports
        });
        assert_eq!(kernel, xdp, "reports: seed {}, after {after}", self.seed);
        kernel.len()
    }

    /// Establishes a session on both, or on none.
    fn establish(&mut self, request: &SessionEstablishmentRequest) -> bool {
        let (cp, now) = (request.cp_fseid.seid, self.now);
        let establish = |side: &mut Side| {
            let answer = side.ask(Some(0), request.clone().into(), now);
            let Message::SessionEstablishmentResponse(answer) = answer else {
                panic!("another response: {answer:?}")
            };
            side.seids.extend(answer.up_fseid.map(|seid| (cp, seid.seid)));
            (answer.cause, answer.failed_rule)
        };
        let [kernel, xdp] = self.sides.each_mut().map(establish);
        assert_eq!(kernel, xdp, "seed {}: {request:#?}", self.seed);
        kernel.0.is_accepted()
    }

    fn advance(&mut self, by: Duration) -> usize {
        let to = later(self.now, by);
        self.sides.iter_mut().for_each(|side| side.advance(self.now, to));
        self.now = to;
        self.compare("time passed")
    }

    /// Gives both the events of their datapaths, until there are none.
    fn events(&mut self) -> usize {
        loop {
            let of_both = self.pair.events();
            if of_both.iter().all(Vec::is_empty) {
                return self.compare("packets");
            }
            let mut names = Vec::new();
            for (side, events) in self.sides.iter_mut().zip(of_both) {
                // Their SEIDs differ.
                let named = events.into_iter().map(|event| (named(&event, side), event));
                let mut named: Vec<(String, Event)> = named.collect();
                named.sort_by(|one, other| one.0.cmp(&other.0));
                for (_, event) in &named {
                    side.n4.event(event.clone(), self.now);
                    side.take(self.now);
                }
                names.push(named.into_iter().map(|(name, _)| name).collect::<Vec<_>>());
            }
            assert_eq!(names[0], names[1], "events: seed {}", self.seed);
        }
    }

    /// Some packets pass.
    fn packets(&mut self, draw: &mut Draw) -> usize {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).begin(self.now.instant);
        let mut reports = 0;
        for _ in 0..draw.0.random_range(0..8) {
            let (teid, ue) = ends(draw.0.random_range(0..SESSIONS));
            let payload = vec![b'p'; draw.0.random_range(0..400)];
            let (up, http, port) = (draw.chance(50), draw.chance(25), draw.one(&[7000, 7001]));
            let packet = match (up, http) {
                (true, false) => udp_packet((ue, 9000), (HOST, port), &payload),
                (false, false) => udp_packet((HOST, port), (ue, 9000), &payload),
                (true, true) => {
                    let path = draw.one(&["video/1", "news", "other"]);
                    let request = format!("GET /{path} HTTP/1.1\r\nHost: a.example\r\n\r\n");
                    let (flags, payload) =
                        draw.one(&[(0x02, &b""[..]), (0x10, b""), (0x18, request.as_bytes())]);
                    segment((ue, 5000), (HOST, 80), flags, payload)
                }
                (false, true) => segment((HOST, 80), (ue, 5000), 0x18, b"HTTP/1.1 200 OK\r\n\r\n"),
            };
            let (kernel, xdp) = match up {
                true => self.pair.uplink(&g_pdu(teid, Some(9), &packet), true, false),
                false => self.pair.downlink(&packet),
            };
            assert_eq!(kernel, xdp, "kernel, and xdp: seed {}", self.seed);
            reports += self.events();
        }
        self.steps.lock().unwrap_or_else(PoisonError::into_inner).end();
        reports
    }
}

/// Plays one script; the number of messages that N4 sent by itself.
fn play(pair: &mut Pair, seed: u64, tick: Duration) -> usize {
    let now = Moment::now();
    let steps = Arc::new(Mutex::new(Steps::new(tick)));
    let datapaths: [Arc<Mutex<dyn Datapath>>; 2] = [pair.kernel.shared(), pair.xdp.clone()];
    let sides = datapaths.map(|datapath| {
        let datapath = Timed { datapath, steps: steps.clone() };
        Side::new(Settings::from(&pair.config), datapath, now)
    });
    let mut script = Script { pair, sides, steps, now, seed };
    let mut draw = Draw(StdRng::seed_from_u64(seed));
    let mut reports = 0;
    script.ask_node(&draw.pfds().into());
    let mut established: Vec<u64> = (0..SESSIONS)
        .filter(|n| script.establish(&draw.establishment(*n, now)))
        .map(|n| u64::from(n) + 1)
        .collect();
    for _ in 0..STEPS {
        // Not by whole seconds alone: no deadline is due in the moment of a packet.
        let by = u64::from(draw.seconds()) * 1000 + 70;
        reports += script.advance(Duration::from_millis(by));
        reports += script.packets(&mut draw);
        let some = established.choose(&mut draw.0).copied();
        if let Some(cp) = some.filter(|_| draw.chance(50)) {
            script.ask(cp, &draw.modification().into());
        }
        if draw.chance(25) {
            script.ask_node(&draw.pfds().into());
        }
        if draw.chance(4) {
            established = script.delete_set(draw.one(&[5, 6]), established);
        }
    }
    for cp in established {
        let answer = script.ask(cp, &SessionDeletionRequest {}.into());
        assert!(
            matches!(&answer, Message::SessionDeletionResponse(it) if it.cause.is_accepted()),
            "seed {seed}: {answer:?}"
        );
    }
    // What the last packets raised is of sessions that are gone.
    script.pair.events();
    reports
}

#[test]
fn usage_reports_agree_on_kernel_and_xdp() {
    let (sets, first) = set_up();
    in_namespace(move || {
        let mut pair = Pair::new(false);
        let (_, tick) = pair.xdp().programs().clock().expect("the programs run");
        let tick = Duration::from_nanos(tick.into());
        let scripts = sets.div_ceil(6);
        let reports: usize = (0..scripts).map(|n| play(&mut pair, first + n, tick)).sum();
        assert!(reports as u64 > scripts * 4, "{reports} reports in {scripts} scripts");
        // Of few scripts, none may have such a packet: quotas stop most.
        let followed = pair.on_board[0] > 0 || scripts < 40;
        assert!(followed, "no forwarding policy was followed");
    });
}
