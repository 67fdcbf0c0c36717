//! Channels on tokio: TLS over TCP and QUIC, one LMF with many UEs on one thread.

use martlet_lcs_channel::*;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

const LIMIT: Duration = Duration::from_secs(20);
/// Bytes of the largest message.
const LARGEST: usize = 65_795;

fn here() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn options() -> Options {
    Options { timeout: LIMIT, ..Options::default() }
}

fn identity() -> Identity {
    Identity::self_signed(&["lmf.example"]).unwrap()
}

fn kinds() -> Vec<Kind> {
    let only = std::env::var("MARTLET_CHANNELS").ok();
    let wanted = |kind: &Kind| {
        only.as_ref().is_none_or(|only| only.split(',').any(|name| name == kind.name()))
    };
    Kind::available().into_iter().filter(|kind| kind.is_async() && wanted(kind)).collect()
}

async fn echo(mut channel: AsyncChannel) -> Result<usize, ChannelError> {
    let (mut bytes, mut total) = (Vec::new(), 0);
    while channel.receive(&mut bytes).await? {
        channel.send(&bytes).await?;
        total += bytes.len();
        bytes.clear();
    }
    channel.close().await;
    Ok(total)
}

/// An LMF that echoes. Reports the result of each connection and, at the end, the number of
/// remaining QUIC connections.
async fn serve(
    kind: Kind,
    identity: &Identity,
) -> (SocketAddr, mpsc::UnboundedReceiver<Result<usize, ChannelError>>) {
    let (result_tx, result_rx) = mpsc::unbounded_channel();
    if kind.is_quic() {
        let mut listener = AsyncListener::bind(here(), identity, &options()).unwrap();
        let at = listener.local_addr().unwrap();
        tokio::spawn(async move {
            loop {
                let (incoming, result_tx) = (listener.accept().await.unwrap(), result_tx.clone());
                tokio::spawn(async move {
                    let served = match incoming.accept(LIMIT).await {
                        Ok(channel) => echo(channel).await,
                        Err(error) => Err(error),
                    };
                    let _ = result_tx.send(served);
                });
            }
        });
        return (at, result_rx);
    }
    let engines = server_engines(kind, identity).unwrap().unwrap();
    let listener = TcpListener::bind(here()).await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (engine, result_tx) = (engines().unwrap(), result_tx.clone());
            tokio::spawn(async move {
                let served = match AsyncChannel::handshake(stream, engine, LIMIT).await {
                    Ok(channel) => echo(channel).await,
                    Err(error) => Err(error),
                };
                let _ = result_tx.send(served);
            });
        }
    });
    (at, result_rx)
}

async fn connect_to(
    connector: &AsyncConnector,
    at: SocketAddr,
) -> Result<AsyncChannel, ChannelError> {
    connector.connect(connector.open_socket(at)?).await
}

/// Sends a message and waits for its echo.
async fn round(channel: &mut AsyncChannel, sent: &[u8]) -> Vec<u8> {
    channel.send(sent).await.unwrap();
    let mut back = Vec::new();
    while back.len() < sent.len() {
        assert!(
            channel.receive(&mut back).await.unwrap(),
            "closed after {} of {}",
            back.len(),
            sent.len()
        );
    }
    back
}

fn message(n: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + n) as u8).collect()
}

#[tokio::test]
async fn many_concurrent_ues_receive_their_own_data() {
    // More than may be in their handshake without address validation.
    const UES: usize = 100;
    for kind in kinds() {
        let identity = identity();
        let (at, mut result_rx) = serve(kind, &identity).await;
        let connector =
            AsyncConnector::new(kind, &identity.trust("lmf.example"), &options()).unwrap();
        let mut ues = JoinSet::new();
        for n in 0..UES {
            let connector = connector.clone();
            ues.spawn(async move {
                let mut channel = connect_to(&connector, at).await.unwrap();
                assert!(channel.describe().protocol.contains("TLSv1.3"));
                for length in [1, 1399, if n % 10 == 0 { LARGEST } else { 5000 }] {
                    let sent = message(n, length);
                    assert!(round(&mut channel, &sent).await == sent, "UE {n}, {length} bytes");
                }
                channel.close().await;
            });
        }
        while let Some(ended) = ues.join_next().await {
            ended.unwrap();
        }
        for _ in 0..UES {
            assert!(result_rx.recv().await.unwrap().unwrap() >= 1400, "{kind:?}");
        }
    }
}

#[tokio::test]
async fn cancelled_receives_lose_no_data() {
    for kind in kinds() {
        let identity = identity();
        let (at, mut result_rx) = serve(kind, &identity).await;
        let connector =
            AsyncConnector::new(kind, &identity.trust("lmf.example"), &options()).unwrap();
        let mut channel = connect_to(&connector, at).await.unwrap();
        for n in 0..20 {
            let sent = message(n, LARGEST);
            channel.send(&sent).await.unwrap();
            let mut back = Vec::new();
            while back.len() < sent.len() {
                let _ =
                    tokio::time::timeout(Duration::from_micros(200), channel.receive(&mut back))
                        .await;
            }
            assert!(back == sent, "{kind:?}, round {n}");
        }
        channel.close().await;
        assert_eq!(result_rx.recv().await.unwrap().unwrap(), 20 * LARGEST);
    }
}

#[tokio::test]
async fn blocking_and_asynchronous_ends_interoperate() {
    for kind in kinds() {
        let identity = identity();
        let (at, mut result_rx) = serve(kind, &identity).await;
        let trust = identity.trust("lmf.example");
        tokio::task::spawn_blocking(move || {
            let mut channel = connect(kind, at, &trust, &options()).unwrap();
            let (sent, mut back) = (message(1, LARGEST), Vec::new());
            channel.send(&sent).unwrap();
            while back.len() < sent.len() {
                assert!(channel.receive(&mut back).unwrap());
            }
            channel.close().unwrap();
            assert!(back == sent);
        })
        .await
        .unwrap();
        assert_eq!(result_rx.recv().await.unwrap().unwrap(), LARGEST, "{kind:?}");

        let mut listener = listen(kind, here(), &identity, &options()).unwrap();
        let at = listener.local_addr();
        let work = tokio::task::spawn_blocking(move || {
            let (mut channel, mut bytes) = (listener.accept().unwrap(), Vec::new());
            while channel.receive(&mut bytes).unwrap() {
                channel.send(&bytes).unwrap();
                bytes.clear();
            }
            channel.close().unwrap();
        });
        let connector =
            AsyncConnector::new(kind, &identity.trust("lmf.example"), &options()).unwrap();
        let mut channel = connect_to(&connector, at).await.unwrap();
        let sent = message(2, LARGEST);
        assert!(round(&mut channel, &sent).await == sent, "{kind:?}");
        channel.close().await;
        work.await.unwrap();
    }
}

#[tokio::test]
async fn an_untrusted_or_absent_lmf_is_an_error_without_delay() {
    for kind in kinds() {
        let (ours, other) = (identity(), identity());
        let (at, mut result_rx) = serve(kind, &ours).await;
        for trust in [other.trust("lmf.example"), ours.trust("other.example")] {
            let connector = AsyncConnector::new(kind, &trust, &options()).unwrap();
            let error = connect_to(&connector, at).await.err();
            assert!(matches!(error, Some(ChannelError::Tls(_))), "{kind:?}: {error:?}");
            let served = result_rx.recv().await.unwrap();
            assert!(matches!(served, Err(ChannelError::Tls(_))), "{kind:?}: {served:?}");
        }
        // Of an address where no other test listens.
        let absent = std::net::SocketAddr::from(([127, 77, 38, 1], at.port()));
        let connector = AsyncConnector::new(kind, &ours.trust("lmf.example"), &options()).unwrap();
        let start = std::time::Instant::now();
        let error = connect_to(&connector, absent).await.err();
        assert!(matches!(error, Some(ChannelError::Io(_))), "{kind:?}: {error:?}");
        assert!(start.elapsed() < LIMIT / 2, "{kind:?}");
    }
    assert!(AsyncConnector::new(Kind::Ktls, &identity().trust("x"), &options()).is_err());
}

#[tokio::test]
async fn a_renewed_certificate_is_for_new_quic_connections() {
    let (former, renewed) = (identity(), identity());
    let mut listener = AsyncListener::bind(here(), &former, &options()).unwrap();
    let (at, renewal) = (listener.local_addr().unwrap(), listener.renewal(&options()));
    tokio::spawn(async move {
        loop {
            let incoming = listener.accept().await.unwrap();
            tokio::spawn(async move {
                if let Ok(channel) = incoming.accept(LIMIT).await {
                    let _ = echo(channel).await;
                }
            });
        }
    });
    let connector = |identity: &Identity| {
        AsyncConnector::new(Kind::Quinn, &identity.trust("lmf.example"), &options()).unwrap()
    };
    let mut established = connect_to(&connector(&former), at).await.unwrap();
    let half = Identity { certificates: renewed.certificates.clone(), ..former.clone() };
    assert!(renewal.replace(&half).is_err(), "the key is not the certificate's");
    let mut before = connect_to(&connector(&former), at).await.unwrap();
    renewal.replace(&renewed).unwrap();
    let error = connect_to(&connector(&former), at).await.err();
    assert!(matches!(error, Some(ChannelError::Tls(_))), "{error:?}");
    let mut next = connect_to(&connector(&renewed), at).await.unwrap();
    for channel in [&mut established, &mut before, &mut next] {
        let sent = message(1, 5000);
        assert!(round(channel, &sent).await == sent);
    }
}

#[tokio::test]
async fn forged_datagrams_disturb_no_connection_and_leak_no_state() {
    let identity = identity();
    let mut listener = AsyncListener::bind(here(), &identity, &options()).unwrap();
    let at = listener.local_addr().unwrap();
    let connector =
        AsyncConnector::new(Kind::Quinn, &identity.trust("lmf.example"), &options()).unwrap();
    let (result_tx, mut result_rx) = mpsc::channel(1);
    let work = async {
        loop {
            tokio::select! {
                incoming = listener.accept() => {
                    let result_tx = result_tx.clone();
                    tokio::spawn(async move {
                        // Looks like a new connection, but fails its handshake or times out.
                        let Ok(channel) =
                            incoming.unwrap().accept(Duration::from_millis(300)).await else {
                            return };
                        let _ = result_tx.send(echo(channel).await.unwrap()).await;
                    });
                }
                total = result_rx.recv() => return total.unwrap(),
            }
        }
    };
    let ue = async {
        let mut channel = connect_to(&connector, at).await.unwrap();
        let attacker = UdpSocket::bind(here()).await.unwrap();
        let mut state = 38_572u64;
        for n in 0..500usize {
            let mut bytes: Vec<u8> = (0..n * 3 % 1400)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    (state >> 33) as u8
                })
                .collect();
            if let [first, version @ ..] = bytes.as_mut_slice()
                && let Some(version) = version.first_chunk_mut::<4>()
                && n % 2 == 0
            {
                // Sets the bits of an Initial packet.
                (*first, *version) = (0xc0 | *first & 0x0f, [0, 0, 0, 1]);
            }
            attacker.send_to(&bytes, at).await.unwrap();
            if n % 100 == 0 {
                let sent = message(n, 3000);
                assert!(round(&mut channel, &sent).await == sent);
            }
        }
        channel.close().await;
    };
    let (total, ()) = tokio::join!(work, ue);
    assert_eq!(total, 5 * 3000);
    // Handshakes time out.
    let give_up = std::time::Instant::now() + LIMIT;
    while listener.connections() > 0 {
        assert!(std::time::Instant::now() < give_up, "the listener still holds a connection");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
