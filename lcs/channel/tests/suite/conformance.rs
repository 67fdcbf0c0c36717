//! Requirements on every kind of channel. TLS over TCP is also tested between each pair of
//! libraries.

use crate::channels::*;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

fn here() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn options() -> Options {
    Options { timeout: Duration::from_secs(20), ..Options::default() }
}

fn identity() -> Identity {
    Identity::self_signed(&["lmf.example", "127.0.0.1"]).unwrap()
}

/// The kinds that this machine supports.
fn kinds() -> Vec<Kind> {
    for kind in Kind::ALL.iter().filter(|kind| !kind.is_available()) {
        println!("SKIPPED: this machine's kernel does not support {}", kind.name());
    }
    let only = std::env::var("MARTLET_CHANNELS").ok();
    let wanted = |kind: &Kind| {
        only.as_ref().is_none_or(|only| only.split(',').any(|name| name == kind.name()))
    };
    Kind::available().into_iter().filter(wanted).collect()
}

/// Pairs of kinds that interoperate.
fn pairs() -> Vec<(Kind, Kind)> {
    let kinds = kinds();
    let work_together = |a: Kind, b: Kind| {
        a == b || a.is_tls_over_tcp() && b.is_tls_over_tcp() || a.is_quic() && b.is_quic()
    };
    let all = kinds.iter().flat_map(|&client| kinds.iter().map(move |&server| (client, server)));
    all.filter(|(client, server)| work_together(*client, *server)).collect()
}

/// Runs a server that handles the first connection with `work`.
fn serve<T: Send + 'static>(
    kind: Kind,
    identity: &Identity,
    options: &Options,
    work: impl FnOnce(Result<Box<dyn Channel>, ChannelError>) -> T + Send + 'static,
) -> (SocketAddr, JoinHandle<T>) {
    let mut listener = listen(kind, here(), identity, options).unwrap();
    (listener.local_addr(), std::thread::spawn(move || work(listener.accept())))
}

/// Echoes until the peer closes.
fn echo(channel: Result<Box<dyn Channel>, ChannelError>) -> Result<usize, ChannelError> {
    let (mut channel, mut bytes, mut total) = (channel?, Vec::new(), 0);
    while channel.receive(&mut bytes)? {
        channel.send(&bytes)?;
        total += bytes.len();
        bytes.clear();
    }
    channel.close()?;
    Ok(total)
}

fn receive(channel: &mut dyn Channel, count: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while bytes.len() < count {
        let got = channel.receive(&mut bytes).unwrap_or_else(|error| {
            panic!("{error} after {} of {count}, {:?}", bytes.len(), channel.describe())
        });
        assert!(got, "closed after {} of {count} bytes", bytes.len());
    }
    bytes
}

#[test]
fn data_of_any_size_arrives_in_order_in_both_directions() {
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
                    "{client:?} to {server:?}: {size} bytes differ"
                );
                total += size;
            }
            channel.close().unwrap();
            assert_eq!(work.join().unwrap().unwrap(), total, "{client:?} to {server:?}");
        }
    }
}

#[test]
fn large_messages_arrive_over_a_path_with_a_small_mtu() {
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
fn secure_channels_negotiate_tls_1_3_with_the_required_cipher_suite() {
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
fn an_ip_address_in_the_certificate_is_verified_like_a_name() {
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
fn a_mismatching_certificate_is_rejected() {
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
            assert!(work.join().unwrap(), "{server:?} accepted {client:?}");
        }
    }
}

#[test]
fn input_that_is_not_tls_is_rejected_and_a_silent_peer_times_out() {
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
        assert!(start.elapsed() < Duration::from_secs(10), "{kind:?}: {:?}", start.elapsed());
        drop(silent);

        let (at, work) = serve(kind, &identity(), &options, |channel| channel.err());
        drop(TcpStream::connect(at).unwrap());
        assert!(work.join().unwrap().is_some(), "{kind:?} accepted a peer that disconnected");
    }
}

/// Forwards bytes between a client and a server, and applies `change` to the client's bytes after
/// the first `spare`.
fn meddle(to: SocketAddr, change: impl Fn(&mut Vec<u8>) -> bool + Send + 'static) -> SocketAddr {
    let listener = std::net::TcpListener::bind(here()).unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut server = TcpStream::connect(to).unwrap();
        let (mut back, mut forth) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        std::thread::spawn(move || std::io::copy(&mut back, &mut forth));
        let mut bytes = vec![0; 65_536];
        while let Ok(count @ 1..) = client.read(&mut bytes) {
            let mut piece = bytes[..count].to_vec();
            if !change(&mut piece) || server.write_all(&piece).is_err() {
                break;
            }
        }
        let _ = server.shutdown(std::net::Shutdown::Both);
    });
    at
}

#[test]
fn a_modified_record_and_a_truncated_connection_are_errors() {
    for kind in kinds().into_iter().filter(|kind| kind.is_tls_over_tcp()) {
        for cut in [false, true] {
            let (identity, options) = (identity(), options());
            let (at, work) = serve(kind, &identity, &options, echo);
            let at = meddle(at, move |piece| {
                // The message of 900 bytes is the only segment of that size.
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
fn an_absent_peer_and_an_invalid_identity_are_errors() {
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
