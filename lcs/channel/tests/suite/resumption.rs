//! Session resumption and 0-RTT data.

use crate::channels::*;
use std::net::SocketAddr;
use std::thread::JoinHandle;

const COUNT: usize = 4;

/// For each connection, how it was established and the data received on it.
type Served = JoinHandle<Vec<(Resumption, Vec<u8>)>>;

/// Serves connections; echoes on each until its client closes.
fn serve(kind: Kind, identity: &Identity, early_data: bool) -> (SocketAddr, Served) {
    let options = Options { early_data, ..Options::default() };
    let mut listener =
        listen(kind, SocketAddr::from(([127, 0, 0, 1], 0)), identity, &options).unwrap();
    let at = listener.local_addr();
    let work = std::thread::spawn(move || {
        let one = |_| {
            let mut channel = listener.accept().unwrap();
            let (mut bytes, mut all) = (Vec::new(), Vec::new());
            while channel.receive(&mut bytes).unwrap() {
                channel.send(&bytes).unwrap();
                all.append(&mut bytes);
            }
            channel.close().unwrap();
            (channel.resumption(), all)
        };
        (0..COUNT).map(one).collect()
    });
    (at, work)
}

fn receive(channel: &mut dyn Channel, count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < count {
        assert!(channel.receive(&mut bytes).unwrap(), "closed after {} of {count}", bytes.len());
    }
    bytes
}

#[test]
fn a_connection_resumes_the_session_of_the_previous_one() {
    let kinds: Vec<_> =
        Kind::available().into_iter().filter(|kind| crate::resumes(*kind)).collect();
    println!("{kinds:?}");
    for kind in kinds {
        let identity = Identity::self_signed(&["lmf.example"]).unwrap();
        let (at, work) = serve(kind, &identity, kind == Kind::Quinn);
        let connector =
            Connector::new(kind, &identity.trust("lmf.example"), &Options::default()).unwrap();
        let mut established = Vec::new();
        for n in 0..COUNT {
            let mut channel = connector
                .connect(at)
                .unwrap_or_else(|error| panic!("{kind:?}, connection {n}: {error}"));
            channel.send(&[n as u8; 100]).unwrap();
            assert_eq!(receive(&mut *channel, 100), [n as u8; 100]);
            established.push(channel.resumption());
            channel.close().unwrap();
        }
        let (first, others) = established.split_first().unwrap();
        assert_eq!(*first, Resumption::Full, "{kind:?}");
        assert!(others.iter().all(|how| *how == Resumption::Resumed), "{kind:?}: {established:?}");
        work.join().unwrap();
    }
}

/// The kinds that support 0-RTT data.
fn early_ones() -> Vec<Kind> {
    let kinds: Vec<_> =
        Kind::available().into_iter().filter(|kind| kind.supports_early_data()).collect();
    assert!(kinds.contains(&Kind::Rustls) && kinds.contains(&Kind::Quinn));
    println!("{kinds:?}");
    kinds
}

#[test]
fn data_is_sent_as_0_rtt_once_a_ticket_is_available() {
    for kind in early_ones() {
        let identity = Identity::self_signed(&["lmf.example"]).unwrap();
        let (at, work) = serve(kind, &identity, true);
        let connector =
            Connector::new(kind, &identity.trust("lmf.example"), &Options::default()).unwrap();
        for n in 0..COUNT {
            let (mut channel, early) = connector.connect_early(at, b"first").unwrap();
            assert_eq!(early, n > 0, "{kind:?}, connection {n}");
            assert_eq!(receive(&mut *channel, 5), b"first");
            channel.send(b"and then").unwrap();
            assert_eq!(receive(&mut *channel, 8), b"and then");
            channel.close().unwrap();
        }
        for (n, (how, bytes)) in work.join().unwrap().into_iter().enumerate() {
            // Nothing is lost or duplicated, whether or not it was sent as 0-RTT data.
            assert_eq!(bytes, b"firstand then", "{kind:?}, connection {n}");
            assert!(
                kind == Kind::Quinn || (how == Resumption::Early) == (n > 0),
                "{kind:?}: {how:?}"
            );
        }
    }
}

#[test]
fn rejected_0_rtt_data_is_sent_after_the_handshake() {
    for kind in early_ones() {
        let identity = Identity::self_signed(&["lmf.example"]).unwrap();
        let (at, work) = serve(kind, &identity, false);
        let connector =
            Connector::new(kind, &identity.trust("lmf.example"), &Options::default()).unwrap();
        for _ in 0..COUNT {
            let (mut channel, early) = connector.connect_early(at, b"first").unwrap();
            assert!(!early, "{kind:?}");
            assert_eq!(receive(&mut *channel, 5), b"first");
            channel.close().unwrap();
        }
        assert!(work.join().unwrap().iter().all(|(_, bytes)| bytes == b"first"), "{kind:?}");
    }
}

#[test]
fn libraries_interoperate_with_0_rtt_data() {
    let kinds: Vec<_> = early_ones().into_iter().filter(|kind| kind.is_tls_over_tcp()).collect();
    for (client, server) in
        kinds.iter().flat_map(|client| kinds.iter().map(move |server| (*client, *server)))
    {
        let identity = Identity::self_signed(&["lmf.example"]).unwrap();
        let (at, work) = serve(server, &identity, true);
        let connector =
            Connector::new(client, &identity.trust("lmf.example"), &Options::default()).unwrap();
        // The largest message that binds a connection; and one above the 0-RTT limit, which is sent
        // after the handshake.
        for (n, first) in
            [vec![7; 900], vec![8; 900], vec![9; 70_000], vec![10; 20]].iter().enumerate()
        {
            let (mut channel, early) = connector.connect_early(at, first).unwrap();
            let how = channel.resumption();
            assert_eq!(
                early,
                n == 1 || n == 3,
                "{client:?} to {server:?}, connection {n}: {how:?}"
            );
            assert_eq!(
                &receive(&mut *channel, first.len()),
                first,
                "{client:?} to {server:?}, connection {n}"
            );
            channel.send(b"and then").unwrap();
            assert_eq!(receive(&mut *channel, 8), b"and then");
            channel.close().unwrap();
        }
        let bytes: usize = work.join().unwrap().iter().map(|(_, bytes)| bytes.len()).sum();
        assert_eq!(bytes, 900 + 900 + 70_000 + 20 + 4 * 8, "{client:?} to {server:?}");
    }
}

/// Forwards bytes between clients and a server, and records the second client's first flight.
fn eavesdrop(to: SocketAddr) -> (SocketAddr, std::sync::mpsc::Receiver<Vec<u8>>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let (result_tx, result_rx) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut server) =
                (client.unwrap(), std::net::TcpStream::connect(to).unwrap());
            let (mut back, mut forth) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut back, &mut forth));
            let mut first = vec![0; 65_536];
            let count = client.read(&mut first).unwrap();
            first.truncate(count);
            server.write_all(&first).unwrap();
            let _ = result_tx.send(first);
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut client, &mut server);
                let _ = server.shutdown(std::net::Shutdown::Write);
            });
        }
    });
    (at, result_rx)
}

#[test]
fn replayed_0_rtt_data_is_rejected() {
    early_ones().into_iter().filter(|kind| kind.is_tls_over_tcp()).for_each(replay_0_rtt_data);
}

fn replay_0_rtt_data(kind: Kind) {
    use std::io::{Read, Write};
    let identity = Identity::self_signed(&["lmf.example"]).unwrap();
    let options = Options {
        early_data: true,
        timeout: std::time::Duration::from_secs(2),
        ..Options::default()
    };
    let mut listener =
        listen(kind, SocketAddr::from(([127, 0, 0, 1], 0)), &identity, &options).unwrap();
    let at = listener.local_addr();
    let work = std::thread::spawn(move || {
        let mut taken = Vec::new();
        for _ in 0..3 {
            let Ok(mut channel) = listener.accept() else { continue };
            let mut bytes = Vec::new();
            while channel.receive(&mut bytes).unwrap_or(false) {
                channel.send(&bytes).unwrap();
                taken.append(&mut bytes);
            }
        }
        taken
    });
    let (through, flights) = eavesdrop(at);
    let connector =
        Connector::new(kind, &identity.trust("lmf.example"), &Options::default()).unwrap();
    for n in 0..2 {
        let (mut channel, early) = connector.connect_early(through, b"first").unwrap();
        assert_eq!(early, n == 1, "{kind:?}");
        receive(&mut *channel, 5);
        channel.close().unwrap();
    }
    let flight = flights.iter().nth(1).unwrap();
    // An attacker replays the flight, which is rejected.
    let mut stream = std::net::TcpStream::connect(at).unwrap();
    stream.write_all(&flight).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let _ = stream.read_to_end(&mut Vec::new());
    assert_eq!(work.join().unwrap(), b"firstfirst", "{kind:?}");
}
