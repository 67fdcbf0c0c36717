//! A path duplicates a UE's first datagram: the LMF creates one connection, and accepts the next UE
//! without delay.

use martlet_lcs_channel::*;
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Forwards datagrams between one client and a server, the client's first one twice.
fn doubling(to: SocketAddr, passed: mpsc::Sender<()>) -> SocketAddr {
    let near = UdpSocket::bind("127.0.0.1:0").unwrap();
    let far = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = near.local_addr().unwrap();
    far.connect(to).unwrap();
    std::thread::spawn(move || {
        let mut bytes = [0; 65_536];
        let (count, client) = near.recv_from(&mut bytes).unwrap();
        for _ in 0..2 {
            far.send(&bytes[..count]).unwrap();
        }
        passed.send(()).unwrap();
        let (back, forth) = (far.try_clone().unwrap(), near.try_clone().unwrap());
        std::thread::spawn(move || {
            let mut bytes = [0; 65_536];
            while let Ok(count) = back.recv(&mut bytes) {
                let _ = forth.send_to(&bytes[..count], client);
            }
        });
        while let Ok((count, _)) = near.recv_from(&mut bytes) {
            let _ = far.send(&bytes[..count]);
        }
    });
    at
}

#[test]
fn a_duplicated_first_datagram_is_one_connection_and_delays_no_other() {
    let identity = Identity::self_signed(&["lmf.example"]).unwrap();
    let options = Options { timeout: Duration::from_secs(20), ..Options::default() };
    let mut listener =
        listen(Kind::Quinn, SocketAddr::from(([127, 0, 0, 1], 0)), &identity, &options).unwrap();
    let at = listener.local_addr();
    let (passed, both_are_there) = mpsc::channel();
    let through = doubling(at, passed);
    let work = std::thread::spawn(move || {
        // Both copies are in the socket when the server reads for the first time.
        both_are_there.recv().unwrap();
        let echo = |mut channel: Box<dyn Channel>| {
            let mut bytes = Vec::new();
            while channel.receive(&mut bytes).unwrap_or(false) {
                channel.send(&bytes).unwrap();
                bytes.clear();
            }
        };
        for _ in 0..2 {
            let channel = listener.accept().expect("no handshake of an absent peer delays it");
            std::thread::spawn(move || echo(channel));
        }
    });
    let trust = identity.trust("lmf.example");
    for to in [through, at] {
        let start = Instant::now();
        let mut channel = connect(Kind::Quinn, to, &trust, &options).unwrap();
        channel.send(b"hello").unwrap();
        let mut bytes = Vec::new();
        while bytes.len() < 5 {
            assert!(channel.receive(&mut bytes).unwrap());
        }
        assert_eq!(bytes, b"hello");
        assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    }
    work.join().unwrap();
}
