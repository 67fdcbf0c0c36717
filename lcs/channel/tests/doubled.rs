//! A path that brings a UE's first datagram twice: it is one connection, and who comes next is let
//! in at once.

use martlet_lcs_channel::*;
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Passes datagrams on between one client and a server, the client's first one twice.
fn doubling(to: SocketAddr, passed: mpsc::Sender<()>) -> SocketAddr {
    let near = UdpSocket::bind("127.0.0.1:0").unwrap();
    let far = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = near.local_addr().unwrap();
    far.connect(to).unwrap();
    std::thread::spawn(move || {
        let mut octets = [0; 65_536];
        let (count, client) = near.recv_from(&mut octets).unwrap();
        for _ in 0..2 {
            far.send(&octets[..count]).unwrap();
        }
        passed.send(()).unwrap();
        let (back, forth) = (far.try_clone().unwrap(), near.try_clone().unwrap());
        std::thread::spawn(move || {
            let mut octets = [0; 65_536];
            while let Ok(count) = back.recv(&mut octets) {
                let _ = forth.send_to(&octets[..count], client);
            }
        });
        while let Ok((count, _)) = near.recv_from(&mut octets) {
            let _ = far.send(&octets[..count]);
        }
    });
    at
}

#[test]
fn a_first_datagram_that_comes_twice_is_one_connection_and_keeps_nobody_waiting() {
    let identity = Identity::self_signed(&["lmf.example"]).unwrap();
    let options = Options { timeout: Duration::from_secs(5), ..Options::default() };
    let mut listener =
        listen(Kind::Quinn, SocketAddr::from(([127, 0, 0, 1], 0)), &identity, &options).unwrap();
    let at = listener.local_addr();
    let (passed, both_are_there) = mpsc::channel();
    let through = doubling(at, passed);
    let work = std::thread::spawn(move || {
        // Both lie in the socket when it looks for the first time.
        both_are_there.recv().unwrap();
        let echo = |mut channel: Box<dyn Channel>| {
            let mut octets = Vec::new();
            while channel.receive(&mut octets).unwrap_or(false) {
                channel.send(&octets).unwrap();
                octets.clear();
            }
        };
        for _ in 0..2 {
            let channel = listener.accept().expect("nobody is waited for in vain");
            std::thread::spawn(move || echo(channel));
        }
    });
    let trust = identity.trust("lmf.example");
    for to in [through, at] {
        let start = Instant::now();
        let mut channel = connect(Kind::Quinn, to, &trust, &options).unwrap();
        channel.send(b"hello").unwrap();
        let mut octets = Vec::new();
        while octets.len() < 5 {
            assert!(channel.receive(&mut octets).unwrap());
        }
        assert_eq!(octets, b"hello");
        assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    }
    work.join().unwrap();
}
