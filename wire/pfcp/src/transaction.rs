//! Reliable delivery (TS 29.244, 6.4): requests are retransmitted until they are answered, and a
//! duplicated request gets the same response again. It has no sockets and no clock: the caller
//! passes messages and the time.
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Number and interval of retransmissions, and the limit of outstanding requests.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// T1: time after which a request is sent again.
    pub t1: Duration,
    /// N1: how often it is sent in all.
    pub n1: u8,
    /// Limit of outstanding requests, and of stored responses.
    pub max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { t1: Duration::from_secs(1), n1: 3, max: 10_000 }
    }
}

struct Waiting {
    to: SocketAddr,
    bytes: Vec<u8>,
    due: Instant,
    left: u8,
}

/// Requests of this side that wait for their responses.
pub struct Requests {
    limits: Limits,
    last: u32,
    waiting: HashMap<u32, Waiting>,
}

/// What [`Requests::due`] returns for an outstanding request.
#[derive(Debug, PartialEq, Eq)]
pub enum Due {
    /// T1 has expired: send the request again.
    Resend {
        /// The receiver.
        to: SocketAddr,
        /// The encoded request.
        bytes: Vec<u8>,
    },
    /// The last transmission had no response: the request has failed.
    Failed {
        /// The receiver.
        to: SocketAddr,
        /// Sequence number of the request.
        sequence: u32,
    },
}

impl Requests {
    /// A list without requests. `start` is the first sequence number, best drawn at random, so that
    /// requests after a restart differ from earlier ones.
    pub fn new(limits: Limits, start: u32) -> Self {
        Requests { limits, last: start & 0xff_ffff, waiting: HashMap::new() }
    }

    /// Assigns a sequence number to a request and stores it; `None` at the limit of outstanding
    /// requests.
    pub fn send(
        &mut self,
        to: SocketAddr,
        now: Instant,
        build: impl FnOnce(u32) -> Vec<u8>,
    ) -> Option<(u32, Vec<u8>)> {
        if self.waiting.len() >= self.limits.max.min(0xff_fffe) {
            return None;
        }
        loop {
            self.last = (self.last + 1) & 0xff_ffff;
            if !self.waiting.contains_key(&self.last) {
                break;
            }
        }
        let bytes = build(self.last);
        let due = now + self.limits.t1;
        let left = self.limits.n1.saturating_sub(1);
        self.waiting.insert(self.last, Waiting { to, bytes: bytes.clone(), due, left });
        Some((self.last, bytes))
    }

    /// Processes a response. Returns whether it answers an outstanding request.
    pub fn answered(&mut self, from: SocketAddr, sequence: u32) -> bool {
        // The answer may come from another port (TS 29.244, 4.2.2), not from another node.
        let ours = self.waiting.get(&sequence).is_some_and(|waiting| waiting.to.ip() == from.ip());
        ours && self.waiting.remove(&sequence).is_some()
    }

    /// Forgets a request: it is not sent again, and its response is ignored.
    pub fn forget(&mut self, sequence: u32) {
        self.waiting.remove(&sequence);
    }

    /// The requests to send again, and those that have failed, at a time.
    pub fn due(&mut self, now: Instant) -> Vec<Due> {
        let mut due = Vec::new();
        self.waiting.retain(|sequence, waiting| {
            if waiting.due > now {
                return true;
            }
            if waiting.left == 0 {
                due.push(Due::Failed { to: waiting.to, sequence: *sequence });
                return false;
            }
            waiting.left -= 1;
            waiting.due = now + self.limits.t1;
            due.push(Due::Resend { to: waiting.to, bytes: waiting.bytes.clone() });
            true
        });
        due
    }

    /// The next time to call [`Requests::due`].
    pub fn next_due(&self) -> Option<Instant> {
        self.waiting.values().map(|waiting| waiting.due).min()
    }

    /// Number of outstanding requests.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether no request is outstanding.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// The state of a received request.
#[derive(Debug, PartialEq, Eq)]
pub enum Seen {
    /// It is new.
    New,
    /// A duplicate of a request that is being processed: nothing is sent.
    UnderWay,
    /// A duplicate of an answered request: this response is sent again.
    Answered(Vec<u8>),
}

/// Received requests, with their responses, by which duplicates are recognised.
pub struct Answers {
    limits: Limits,
    seen: HashMap<(SocketAddr, u32), Request>,
    order: VecDeque<(Instant, (SocketAddr, u32))>,
}

struct Request {
    /// Distinguishes a request from another one with the same sequence number, which a restarted
    /// sender may send.
    digest: u64,
    since: Instant,
    answer: Option<Vec<u8>>,
}

impl Answers {
    /// A list without requests.
    pub fn new(limits: Limits) -> Self {
        Answers { limits, seen: HashMap::new(), order: VecDeque::new() }
    }

    /// Looks a request up by its sequence number alone, and stores it.
    pub fn seen(&mut self, from: SocketAddr, sequence: u32, now: Instant) -> Seen {
        self.look_up(from, sequence, 0, now)
    }

    /// Looks a request up by its sequence number and its bytes, and stores it. A request with other
    /// bytes than the stored one of the same number is new.
    pub fn seen_as(&mut self, from: SocketAddr, sequence: u32, bytes: &[u8], now: Instant) -> Seen {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        self.look_up(from, sequence, hasher.finish(), now)
    }

    fn look_up(&mut self, from: SocketAddr, sequence: u32, digest: u64, now: Instant) -> Seen {
        // As long as the sender may repeat it, and some more for the network delay.
        let lifetime = self.limits.t1 * (u32::from(self.limits.n1) + 1);
        while let Some((since, key)) = self.order.front() {
            if now.saturating_duration_since(*since) < lifetime
                && self.order.len() <= self.limits.max
            {
                break;
            }
            // A newer request with the same key has its own position in the order.
            if self.seen.get(key).is_some_and(|request| request.since == *since) {
                self.seen.remove(key);
            }
            self.order.pop_front();
        }
        match self.seen.get(&(from, sequence)) {
            Some(known) if known.digest == digest => match &known.answer {
                Some(answer) => Seen::Answered(answer.clone()),
                None => Seen::UnderWay,
            },
            _ => {
                self.seen.insert((from, sequence), Request { digest, since: now, answer: None });
                self.order.push_back((now, (from, sequence)));
                Seen::New
            }
        }
    }

    /// Stores a response, which is sent again for a duplicate of its request.
    pub fn answer(&mut self, to: SocketAddr, sequence: u32, bytes: &[u8]) {
        if let Some(place) = self.seen.get_mut(&(to, sequence)) {
            place.answer = Some(bytes.to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn a_request_is_repeated_and_then_given_up() {
        let mut requests = Requests::new(Limits::default(), 0xff_ffff);
        let start = Instant::now();
        let (sequence, bytes) = requests.send(peer(1), start, |s| vec![s as u8]).unwrap();
        assert_eq!((sequence, bytes.clone()), (0, vec![0]));
        assert!(requests.due(start).is_empty());
        let at = |n: u64| start + Duration::from_secs(n);
        assert_eq!(requests.due(at(1)), [Due::Resend { to: peer(1), bytes: bytes.clone() }]);
        assert_eq!(requests.due(at(2)).len(), 1);
        assert_eq!(requests.due(at(3)), [Due::Failed { to: peer(1), sequence }]);
        assert!(requests.is_empty());
    }

    #[test]
    fn only_the_node_that_was_asked_answers() {
        let mut requests = Requests::new(Limits { max: 1, ..Limits::default() }, 7);
        let (sequence, _) = requests.send(peer(1), Instant::now(), |_| vec![]).unwrap();
        assert!(requests.send(peer(1), Instant::now(), |_| vec![]).is_none());
        assert!(!requests.answered(SocketAddr::from(([127, 0, 0, 2], 1)), sequence));
        assert!(requests.answered(peer(2), sequence));
        assert!(!requests.answered(peer(2), sequence));
    }

    #[test]
    fn a_repeated_request_gets_the_same_answer() {
        let mut answers = Answers::new(Limits::default());
        let start = Instant::now();
        assert_eq!(answers.seen(peer(1), 5, start), Seen::New);
        assert_eq!(answers.seen(peer(1), 5, start), Seen::UnderWay);
        answers.answer(peer(1), 5, &[1, 2]);
        assert_eq!(answers.seen(peer(1), 5, start), Seen::Answered(vec![1, 2]));
        assert_eq!(answers.seen(peer(2), 5, start), Seen::New);
        assert_eq!(answers.seen(peer(1), 5, start + Duration::from_secs(5)), Seen::New);
    }

    #[test]
    fn another_request_with_the_same_number_is_new() {
        let mut answers = Answers::new(Limits::default());
        let start = Instant::now();
        assert_eq!(answers.seen_as(peer(1), 5, b"first", start), Seen::New);
        answers.answer(peer(1), 5, &[1]);
        assert_eq!(answers.seen_as(peer(1), 5, b"first", start), Seen::Answered(vec![1]));
        let later = start + Duration::from_secs(2);
        assert_eq!(answers.seen_as(peer(1), 5, b"second", later), Seen::New);
        answers.answer(peer(1), 5, &[2]);
        // The first one grows old; the second one stays.
        let later = start + Duration::from_secs(5);
        assert_eq!(answers.seen_as(peer(1), 5, b"second", later), Seen::Answered(vec![2]));
        assert_eq!(answers.seen.len(), 1);
    }
}
