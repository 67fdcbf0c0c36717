//! Channels on tokio: TLS over TCP and QUIC, one LMF with many UEs on one thread.

use martlet_lcs_channel::*;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

const LIMIT: Duration = Duration::from_secs(10);
/// Octets of the largest message.
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
    let (mut octets, mut total) = (Vec::new(), 0);
    while channel.receive(&mut octets).await? {
        channel.send(&octets).await?;
        total += octets.len();
        octets.clear();
    }
    channel.close().await;
    Ok(total)
}

/// An LMF that echoes, and tells what each connection came to, and how many of QUIC are left at
/// last.
async fn serve(
    kind: Kind,
    identity: &Identity,
) -> (SocketAddr, mpsc::UnboundedReceiver<Result<usize, ChannelError>>) {
    let (tell, told) = mpsc::unbounded_channel();
    if kind.is_quic() {
        let mut listener = AsyncListener::bind(here(), identity, &options()).unwrap();
        let at = listener.local_addr().unwrap();
        tokio::spawn(async move {
            loop {
                let (incoming, tell) = (listener.accept().await.unwrap(), tell.clone());
                tokio::spawn(async move {
                    let served = match incoming.accept(LIMIT).await {
                        Ok(channel) => echo(channel).await,
                        Err(error) => Err(error),
                    };
                    let _ = tell.send(served);
                });
            }
        });
        return (at, told);
    }
    let engines = server_engines(kind, identity).unwrap().unwrap();
    let listener = TcpListener::bind(here()).await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (engine, tell) = (engines().unwrap(), tell.clone());
            tokio::spawn(async move {
                let served = match AsyncChannel::handshake(stream, engine, LIMIT).await {
                    Ok(channel) => echo(channel).await,
                    Err(error) => Err(error),
                };
                let _ = tell.send(served);
            });
        }
    });
    (at, told)
}

async fn connect_to(
    connector: &AsyncConnector,
    at: SocketAddr,
) -> Result<AsyncChannel, ChannelError> {
    connector.connect(connector.open_socket(at)?).await
}

/// Sends it, and waits until as much is back.
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
async fn many_ues_at_once_each_get_their_own_back() {
    // More than may shake hands at a time without showing that their addresses are their own.
    const UES: usize = 100;
    for kind in kinds() {
        let identity = identity();
        let (at, mut told) = serve(kind, &identity).await;
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
                    assert!(round(&mut channel, &sent).await == sent, "UE {n}, {length} octets");
                }
                channel.close().await;
            });
        }
        while let Some(ended) = ues.join_next().await {
            ended.unwrap();
        }
        for _ in 0..UES {
            assert!(told.recv().await.unwrap().unwrap() >= 1400, "{kind:?}");
        }
    }
}

#[tokio::test]
async fn nothing_is_lost_where_a_wait_is_given_up_again_and_again() {
    for kind in kinds() {
        let identity = identity();
        let (at, mut told) = serve(kind, &identity).await;
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
        assert_eq!(told.recv().await.unwrap().unwrap(), 20 * LARGEST);
    }
}

#[tokio::test]
async fn ends_that_block_work_with_ends_that_do_not() {
    for kind in kinds() {
        let identity = identity();
        let (at, mut told) = serve(kind, &identity).await;
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
        assert_eq!(told.recv().await.unwrap().unwrap(), LARGEST, "{kind:?}");

        let mut listener = listen(kind, here(), &identity, &options()).unwrap();
        let at = listener.local_addr();
        let work = tokio::task::spawn_blocking(move || {
            let (mut channel, mut octets) = (listener.accept().unwrap(), Vec::new());
            while channel.receive(&mut octets).unwrap() {
                channel.send(&octets).unwrap();
                octets.clear();
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
async fn who_is_not_the_lmf_is_not_believed_and_nobody_is_no_wait() {
    for kind in kinds() {
        let (ours, other) = (identity(), identity());
        let (at, mut told) = serve(kind, &ours).await;
        for trust in [other.trust("lmf.example"), ours.trust("other.example")] {
            let connector = AsyncConnector::new(kind, &trust, &options()).unwrap();
            let error = connect_to(&connector, at).await.err();
            assert!(matches!(error, Some(ChannelError::Tls(_))), "{kind:?}: {error:?}");
            let served = told.recv().await.unwrap();
            assert!(matches!(served, Err(ChannelError::Tls(_))), "{kind:?}: {served:?}");
        }
        let free = std::net::UdpSocket::bind(here()).unwrap().local_addr().unwrap();
        let connector = AsyncConnector::new(kind, &ours.trust("lmf.example"), &options()).unwrap();
        let start = std::time::Instant::now();
        let error = connect_to(&connector, free).await.err();
        assert!(matches!(error, Some(ChannelError::Io(_))), "{kind:?}: {error:?}");
        assert!(start.elapsed() < Duration::from_secs(1), "{kind:?}");
    }
    assert!(AsyncConnector::new(Kind::Ktls, &identity().trust("x"), &options()).is_err());
}

#[tokio::test]
async fn datagrams_of_anybody_disturb_no_connection_and_leave_nothing_behind() {
    let identity = identity();
    let mut listener = AsyncListener::bind(here(), &identity, &options()).unwrap();
    let at = listener.local_addr().unwrap();
    let connector =
        AsyncConnector::new(Kind::Quinn, &identity.trust("lmf.example"), &options()).unwrap();
    let (tell, mut told) = mpsc::channel(1);
    let work = async {
        loop {
            tokio::select! {
                incoming = listener.accept() => {
                    let tell = tell.clone();
                    tokio::spawn(async move {
                        // What begins as a connection and is none ends with an error, or when
                        // nothing more comes.
                        let Ok(channel) =
                            incoming.unwrap().accept(Duration::from_millis(300)).await else {
                            return };
                        let _ = tell.send(echo(channel).await.unwrap()).await;
                    });
                }
                total = told.recv() => return total.unwrap(),
            }
        }
    };
    let phone = async {
        let mut channel = connect_to(&connector, at).await.unwrap();
        let stranger = UdpSocket::bind(here()).await.unwrap();
        let mut state = 38_572u64;
        for n in 0..500usize {
            let mut octets: Vec<u8> = (0..n * 3 % 1400)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    (state >> 33) as u8
                })
                .collect();
            if let [first, version @ ..] = octets.as_mut_slice()
                && let Some(version) = version.first_chunk_mut::<4>()
                && n % 2 == 0
            {
                // It says that it is the first of a connection.
                (*first, *version) = (0xc0 | *first & 0x0f, [0, 0, 0, 1]);
            }
            stranger.send_to(&octets, at).await.unwrap();
            if n % 100 == 0 {
                let sent = message(n, 3000);
                assert!(round(&mut channel, &sent).await == sent);
            }
        }
        channel.close().await;
    };
    let (total, ()) = tokio::join!(work, phone);
    assert_eq!(total, 5 * 3000);
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(listener.connections(), 0, "a connection is still known");
}
