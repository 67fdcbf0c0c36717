//! Peers that are not an expected UE connect to the LMF: each connection is closed, a metric counts
//! it, and the connected UE is still located.
use super::*;
use martlet_lcs_channel::{Options, connect};
use martlet_lcsupp::{BindingIdentity, Message, PayloadType, Transport};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

fn refused() -> f64 {
    let whys = [
        "channel_error",
        "unknown_binding",
        "lcs_upp_unexpected",
        "lcs_upp_malformed",
        "already_bound",
        "binding_timeout",
    ];
    whys.iter().map(|why| metric("martlet_lmf_rejected_total", &[("reason", why)])).sum()
}

/// Sends bytes over TLS. Returns what the LMF sends until it closes the connection.
fn exchange(trust: &Trust, message: &[u8]) -> Result<Vec<u8>> {
    let options = Options { timeout: LIMIT, ..Options::default() };
    let mut channel = connect(Kind::Rustls, lmf_address(), trust, &options)?;
    channel.send(message)?;
    let mut answer = Vec::new();
    while channel.receive(&mut answer).unwrap_or(false) {}
    Ok(answer)
}

fn lmf_address() -> SocketAddr {
    (lmf(), 9127).into()
}

/// Runs a blocking client on another thread: the LMF runs on this one.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await?
}

#[test]
fn unauthenticated_peers_are_rejected_and_disturb_no_ue() {
    in_namespace(|| async {
        let testbed = Testbed::start(Sbi::Local, |_| {}).await?;
        let there = place(120.0, 140.0);
        let (_ue, positioning) = testbed.ue(1, there, true, true).await?;
        testbed.locate(1).await?;
        let trust = testbed.trust()?;

        // No TLS, a truncated TLS handshake, and a client that does not trust the certificate.
        let before = refused();
        apart(|| {
            for message in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[22, 3, 1, 2, 0, 1]] {
                let mut stream = TcpStream::connect(lmf_address())?;
                stream.write_all(message)?;
                stream.shutdown(std::net::Shutdown::Write)?;
                let _ = stream.read_to_end(&mut Vec::new());
            }
            let other = Identity::self_signed(&[&lmf().to_string()])?.trust(&lmf().to_string());
            ensure!(exchange(&other, b"x").is_err(), "an untrusted certificate was accepted");
            Ok(())
        })
        .await?;

        // Over TLS: an unknown identity, a message before any identity, and a malformed message.
        let unknown =
            Message::BindingRequest(BindingIdentity::new(vec![7; 16]).context("no identity")?)
                .encode()?;
        let uplink =
            Transport { payload_type: PayloadType::Lpp, payload: &[0, 1, 1], session: b"1" };
        let uplink = Message::Uplink(uplink).encode()?;
        let (known, cut) = (trust.clone(), unknown.clone());
        apart(move || {
            ensure!(
                exchange(&known, &unknown)? == [0x45],
                "the unknown binding identity is not rejected"
            );
            ensure!(
                exchange(&known, &uplink)?.is_empty() && exchange(&known, &[0x99; 300])?.is_empty(),
                "the connection is not closed"
            );
            // A message truncated at each byte.
            for at in 1..cut.len() {
                let mut channel =
                    connect(Kind::Rustls, lmf_address(), &known, &Options::default())?;
                channel.send(&cut[..at])?;
                channel.close()?;
            }
            Ok(())
        })
        .await?;
        let counted = || refused() >= before + 6.0;
        for _ in 0..1500 {
            if counted() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        ensure!(counted(), "{} were counted", refused() - before);
        let (found, ..) = testbed.locate(1).await?;
        ensure!(
            found.distance(&there) < 20.0 && positioning.state() == UeState::Established,
            "the UE was disturbed"
        );
        Ok(())
    });
}

#[test]
fn one_address_leaves_channels_for_ues() {
    in_namespace(|| async {
        let testbed = Testbed::start(Sbi::Local, |config| {
            config.lmf.user_plane.max_connections_per_address = 2;
        })
        .await?;
        let (_ue, _positioning) = testbed.ue(1, place(120.0, 140.0), true, true).await?;
        let rejected =
            || metric("martlet_lmf_rejected_total", &[("reason", "too_many_channels_per_address")]);
        let before = rejected();
        // Both hold their slots until the time limit of the handshake.
        let held = apart(|| {
            let held = [TcpStream::connect(lmf_address())?, TcpStream::connect(lmf_address())?];
            let mut surplus = TcpStream::connect(lmf_address())?;
            surplus.set_read_timeout(Some(LIMIT))?;
            let closed = match surplus.read(&mut [0]) {
                Ok(length) => length == 0,
                Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
            };
            ensure!(closed, "the third connection of an address is open");
            Ok(held)
        })
        .await?;
        ensure!(rejected() > before, "the third connection of an address is not counted");
        testbed.locate(1).await?;
        drop(held);
        Ok(())
    });
}
