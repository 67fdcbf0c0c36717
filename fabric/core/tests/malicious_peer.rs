//! A peer that violates the protocol, without processes: see [`martlet_fabric::malicious`].
use martlet_fabric::link::{Link, sockets};
use martlet_fabric::{channel, malicious};
use rand::{Rng, SeedableRng};

/// Set `MARTLET_SCRIPTS` for more scripts. A fuzzer covers more: `fuzz/run.sh 600 fabric_channel`.
#[test]
fn no_script_causes_a_panic() {
    let mut random = rand::rngs::StdRng::seed_from_u64(1);
    for _ in 0..std::env::var("MARTLET_SCRIPTS").map_or(2000, |scripts| scripts.parse().unwrap()) {
        let length = random.random_range(0..400);
        let script: Vec<u8> = (0..length).map(|_| random.random_range(0..=255)).collect();
        malicious::run_script(&script).unwrap();
    }
}

/// Counts its wakeups.
#[derive(Default)]
struct Woken(std::sync::atomic::AtomicU32);
impl std::task::Wake for Woken {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// A connection that the malicious peer opened, with the maximum credit.
fn connected(
    link: &std::sync::Arc<Link>,
    host: &malicious::HonestHost,
    peer: &mut malicious::MaliciousPeer,
) -> std::sync::Arc<sockets::Connection> {
    let head = channel::FrameHeader { kind: channel::FrameKind::Connect, own: true, stream: 1 };
    let connect =
        [&u32::MAX.to_le_bytes()[..], format!("{} 1.2.3.4:5", malicious::ADDRESS).as_bytes()]
            .concat();
    assert!(peer.frame(head, &connect, 0));
    link.progress(&mut Vec::new()).unwrap();
    host.accept().unwrap()
}

#[test]
fn a_blocked_writer_is_woken_when_its_connection_ends() {
    for by_the_peer in [false, true] {
        let (channel, mut peer) = malicious::MaliciousPeer::pair().unwrap();
        let (host, link) = malicious::HonestHost::link(channel);
        let connection = connected(&link, &host, &mut peer);
        let woken = std::sync::Arc::new(Woken::default());
        let waker = std::task::Waker::from(woken.clone());
        let mut context = std::task::Context::from_waker(&waker);
        // The peer reads nothing, so the channel fills up.
        while connection.poll_write(&mut context, &[7; 100]).is_ready() {}
        // Another frame is queued too, so no room is announced.
        drop(link.call(&[1; 100]));
        let before = woken.0.load(std::sync::atomic::Ordering::Relaxed);
        if by_the_peer {
            let head =
                channel::FrameHeader { kind: channel::FrameKind::Reset, own: true, stream: 1 };
            assert!(peer.frame(head, &[3], 0));
            link.progress(&mut Vec::new()).unwrap();
        } else {
            connection.close();
        }
        assert!(woken.0.load(std::sync::atomic::Ordering::Relaxed) > before);
        assert!(matches!(
            connection.poll_write(&mut context, b"x"),
            std::task::Poll::Ready(Err(_))
        ));
    }
}

#[test]
fn a_peer_that_sends_requests_and_never_reads_loses_its_channel() {
    let (channel, mut peer) = malicious::MaliciousPeer::pair().unwrap();
    let (_victim, link) = malicious::HonestHost::link(channel);
    let mut frames = Vec::new();
    let (mut rounds, mut max) = (0, 0);
    let closed = loop {
        let head =
            channel::FrameHeader { kind: channel::FrameKind::Request, own: true, stream: rounds };
        assert!(peer.frame(head, b"?", 0) && rounds < 1_000_000);
        match link.progress(&mut frames) {
            Ok(_) => max = max.max(link.channel().backlog()),
            Err(closed) => break closed,
        }
        rounds += 1;
    };
    assert_eq!(closed, channel::Closed::Violation(channel::Violation::Limit));
    assert!(max < 1 << 20, "{max} bytes were queued");
    // New connections to a peer that does not read are refused.
    let (channel, _peer) = malicious::MaliciousPeer::pair().unwrap();
    let (_victim, link) = malicious::HonestHost::link(channel);
    let mut held = Vec::new();
    let refused = (0..100_000).find_map(|port| {
        let connection = link.connect(std::net::SocketAddr::from(([127, 0, 0, 1], port as u16)));
        if connection.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::QuotaExceeded)
        {
            held.drain(..)
                .for_each(|connection: std::sync::Arc<sockets::Connection>| connection.close());
            return None;
        }
        connection.map(|connection| held.push(connection)).err()
    });
    assert_eq!(refused.unwrap().kind(), std::io::ErrorKind::ResourceBusy);
}
