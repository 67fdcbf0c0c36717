//! What every kind of channel has to do. TLS over TCP is also tried with every other library at the
//! other end.

use crate::channels::*;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

fn here() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn options() -> Options {
    Options { timeout: Duration::from_secs(5), ..Options::default() }
}

fn identity() -> Identity {
    Identity::self_signed(&["lmf.example", "127.0.0.1"]).unwrap()
}

/// Those that this machine can do.
fn kinds() -> Vec<Kind> {
    for kind in Kind::ALL.iter().filter(|kind| !kind.is_available()) {
        println!("SKIPPED: this machine's kernel cannot do {}", kind.name());
    }
    let only = std::env::var("MARTLET_CHANNELS").ok();
    let wanted = |kind: &Kind| {
        only.as_ref().is_none_or(|only| only.split(',').any(|name| name == kind.name()))
    };
    Kind::available().into_iter().filter(wanted).collect()
}

/// Both ends that work together.
fn pairs() -> Vec<(Kind, Kind)> {
    let kinds = kinds();
    let work_together = |a: Kind, b: Kind| {
        a == b || a.is_tls_over_tcp() && b.is_tls_over_tcp() || a.is_quic() && b.is_quic()
    };
    let all = kinds.iter().flat_map(|&client| kinds.iter().map(move |&server| (client, server)));
    all.filter(|(client, server)| work_together(*client, *server)).collect()
}

/// A server that does this with the first connection.
fn serve<T: Send + 'static>(
    kind: Kind,
    identity: &Identity,
    options: &Options,
    work: impl FnOnce(Result<Box<dyn Channel>, ChannelError>) -> T + Send + 'static,
) -> (SocketAddr, JoinHandle<T>) {
    let mut listener = listen(kind, here(), identity, options).unwrap();
    (listener.local_addr(), std::thread::spawn(move || work(listener.accept())))
}

/// Send everything back until the peer closes.
fn echo(channel: Result<Box<dyn Channel>, ChannelError>) -> Result<usize, ChannelError> {
    let (mut channel, mut octets, mut total) = (channel?, Vec::new(), 0);
    while channel.receive(&mut octets)? {
        channel.send(&octets)?;
        total += octets.len();
        octets.clear();
    }
    channel.close()?;
    Ok(total)
}

fn receive(channel: &mut dyn Channel, count: usize) -> Vec<u8> {
    let mut octets = Vec::new();
    while octets.len() < count {
        let got = channel.receive(&mut octets).unwrap_or_else(|error| {
            panic!("{error} after {} of {count}, {:?}", octets.len(), channel.describe())
        });
        assert!(got, "closed after {} of {count} octets", octets.len());
    }
    octets
}

#[test]
fn octets_arrive_whole_and_in_order_both_ways_whatever_their_number() {
    for (client, server) in pairs() {
        for spin in [Duration::ZERO, Duration::from_micros(200)] {
            let (identity, options) = (identity(), Options { spin, mtu: 65_535, ..options() });
            let (at, work) = serve(server, &identity, &options, echo);
            let mut channel =
                connect(client, at, &identity.trust("lmf.example"), &options).unwrap();
            let mut total = 0;
            for size in [1, 5, 1000, 1399, 16_383, 16_384, 16_385, 65_535, 65_795] {
                let sent: Vec<u8> = (0..size).map(|at| (at * 7 + size) as u8).collect();
                channel.send(&sent).unwrap();
                assert!(
                    receive(&mut *channel, size) == sent,
                    "{client:?} to {server:?}: {size} octets differ"
                );
                total += size;
            }
            channel.close().unwrap();
            assert_eq!(work.join().unwrap().unwrap(), total, "{client:?} to {server:?}");
        }
    }
}

#[test]
fn large_messages_arrive_over_a_path_of_small_packets() {
    for kind in kinds() {
        let (identity, options) = (identity(), options());
        let (at, work) = serve(kind, &identity, &options, echo);
        let mut channel = connect(kind, at, &identity.trust("lmf.example"), &options).unwrap();
        let sent: Vec<u8> = (0..65_795).map(|at| (at * 13) as u8).collect();
        for _ in 0..3 {
            channel.send(&sent).unwrap();
            assert!(receive(&mut *channel, sent.len()) == sent, "{kind:?}");
        }
        channel.close().unwrap();
        assert_eq!(work.join().unwrap().unwrap(), 3 * 65_795);
    }
}

#[test]
fn secure_channels_are_tls_1_3_with_the_one_cipher_suite() {
    for (client, server) in pairs().into_iter().filter(|(client, _)| crate::is_secure(*client)) {
        let (identity, options) = (identity(), options());
        let (at, work) = serve(server, &identity, &options, |channel| {
            let mut channel = channel.unwrap();
            let described = channel.describe();
            let _ = channel.receive(&mut Vec::new());
            let _ = channel.close();
            described
        });
        let mut channel = connect(client, at, &identity.trust("lmf.example"), &options).unwrap();
        let ours = channel.describe();
        channel.send(b"x").unwrap();
        channel.close().unwrap();
        for described in [ours, work.join().unwrap()] {
            assert!(described.protocol.contains("TLSv1.3"), "{described:?}");
            assert_eq!(described.cipher_suite, "TLS_AES_128_GCM_SHA256", "{described:?}");
        }
    }
}

#[test]
fn an_address_in_the_certificate_is_as_good_as_a_name() {
    for (client, server) in pairs().into_iter().filter(|(client, _)| crate::is_secure(*client)) {
        let (identity, options) = (identity(), options());
        let (at, work) = serve(server, &identity, &options, echo);
        match connect(client, at, &identity.trust("127.0.0.1"), &options) {
            Ok(mut channel) => {
                assert!(crate::verifies_addresses(client), "{client:?}");
                channel.send(b"x").unwrap();
                receive(&mut *channel, 1);
                channel.close().unwrap();
                assert_eq!(work.join().unwrap().unwrap(), 1);
            }
            Err(error) => {
                assert!(
                    matches!(error, ChannelError::Identity(_))
                        && !crate::verifies_addresses(client),
                    "{client:?}: {error}"
                );
            }
        }
    }
}

#[test]
fn a_certificate_that_does_not_fit_is_refused() {
    for (client, server) in pairs().into_iter().filter(|(client, _)| crate::is_secure(*client)) {
        let (ours, other, options) = (identity(), identity(), options());
        let mut trusts = vec![other.trust("lmf.example"), ours.trust("other.example")];
        trusts.extend(crate::verifies_addresses(client).then(|| ours.trust("127.0.0.9")));
        for trust in trusts {
            let (at, work) = serve(server, &ours, &options, |channel| {
                channel.is_err() || channel.unwrap().receive(&mut Vec::new()).is_err()
            });
            let error = connect(client, at, &trust, &options).err();
            assert!(
                matches!(error, Some(ChannelError::Tls(_))),
                "{client:?} to {server:?}, {}: {error:?}",
                trust.name
            );
            assert!(work.join().unwrap(), "{server:?} believes that {client:?} is there");
        }
    }
}

#[test]
fn what_is_no_tls_is_refused_and_a_silent_peer_is_given_up() {
    for kind in kinds().into_iter().filter(|kind| kind.is_tls_over_tcp()) {
        let options = Options { timeout: Duration::from_millis(300), ..options() };
        let (at, work) = serve(kind, &identity(), &options, |channel| channel.err());
        let mut stream = TcpStream::connect(at).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        assert!(matches!(work.join().unwrap(), Some(ChannelError::Tls(_))), "{kind:?}");

        let (at, work) = serve(kind, &identity(), &options, |channel| channel.err());
        let silent = TcpStream::connect(at).unwrap();
        let start = Instant::now();
        assert!(matches!(work.join().unwrap(), Some(ChannelError::Timeout)), "{kind:?}");
        assert!(start.elapsed() < Duration::from_secs(2));
        drop(silent);

        let (at, work) = serve(kind, &identity(), &options, |channel| channel.err());
        drop(TcpStream::connect(at).unwrap());
        assert!(work.join().unwrap().is_some(), "{kind:?} calls a peer that left a channel");
    }
}

/// Passes octets on between a client and a server, and does something to those of the client after
/// the first `spare`.
fn meddle(to: SocketAddr, change: impl Fn(&mut Vec<u8>) -> bool + Send + 'static) -> SocketAddr {
    let listener = std::net::TcpListener::bind(here()).unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut server = TcpStream::connect(to).unwrap();
        let (mut back, mut forth) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut back, &mut forth));
        let mut octets = vec![0; 65_536];
        while let Ok(count @ 1..) = client.read(&mut octets) {
            let mut piece = octets[..count].to_vec();
            if !change(&mut piece) || server.write_all(&piece).is_err() {
                break;
            }
        }
        let _ = server.shutdown(std::net::Shutdown::Both);
    });
    at
}

#[test]
fn a_record_that_was_changed_and_a_connection_that_was_cut_are_no_clean_end() {
    for kind in kinds().into_iter().filter(|kind| kind.is_tls_over_tcp()) {
        for cut in [false, true] {
            let (identity, options) = (identity(), options());
            let (at, work) = serve(kind, &identity, &options, echo);
            let at = meddle(at, move |piece| {
                // The message of 900 octets is the only piece of that size.
                if piece.len() >= 900 {
                    if cut {
                        return false;
                    }
                    *piece.last_mut().unwrap() ^= 1;
                }
                true
            });
            let mut channel = connect(kind, at, &identity.trust("lmf.example"), &options).unwrap();
            channel.send(&[1; 10]).unwrap();
            receive(&mut *channel, 10);
            channel.send(&[2; 900]).unwrap();
            let served = work.join().unwrap();
            match cut {
                true => assert!(
                    matches!(served, Err(ChannelError::Cut | ChannelError::Io(_))),
                    "{kind:?}: {served:?}"
                ),
                false => {
                    assert!(matches!(served, Err(ChannelError::Tls(_))), "{kind:?}: {served:?}")
                }
            }
            assert!(!matches!(channel.receive(&mut Vec::new()), Ok(true)), "{kind:?}");
        }
    }
}

#[test]
fn nobody_there_is_an_error_and_so_is_an_identity_that_is_none() {
    for kind in kinds().into_iter().filter(|kind| crate::is_secure(*kind)) {
        let options = Options { timeout: Duration::from_millis(200), ..options() };
        let free = std::net::TcpListener::bind(here()).unwrap().local_addr().unwrap();
        assert!(
            connect(kind, free, &identity().trust("lmf.example"), &options).is_err(),
            "{kind:?}"
        );
        let wrong = Identity { key: "no key".into(), ..identity() };
        assert!(
            matches!(listen(kind, here(), &wrong, &options).err(), Some(ChannelError::Identity(_))),
            "{kind:?}"
        );
        let none = Trust { roots: String::new(), name: "x".into() };
        assert!(
            matches!(connect(kind, free, &none, &options).err(), Some(ChannelError::Identity(_))),
            "{kind:?}"
        );
    }
}
