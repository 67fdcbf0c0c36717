//! A wire between two UDP speakers that loses, doubles and reorders what it carries, as far as one
//! likes.
use anyhow::{Context, Result};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::sync::oneshot;

/// What a wire does to a packet, in shares of 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct Manners {
    /// It is lost.
    pub lost: f64,
    /// It comes twice.
    pub doubled: f64,
    /// It comes later than those behind it, by up to [`Manners::delay`].
    pub late: f64,
    /// Longest delay of what comes late.
    pub delay: Duration,
}

/// The wire. It has a thread of its own, and ends with this value.
pub struct UnrulyWire {
    manners: Arc<Mutex<(Manners, StdRng)>>,
    _ends: oneshot::Sender<()>,
}

impl UnrulyWire {
    /// A wire from `near`, where the one speaker sends to, to `to`, which sees packets come from
    /// `far`. All have the port of `to`. Answers go back to who sent first.
    ///
    /// # Errors
    /// An address is not to be had.
    pub fn between(near: IpAddr, far: IpAddr, to: SocketAddr, seed: u64) -> Result<UnrulyWire> {
        let open = |address| {
            let address = SocketAddr::new(address, to.port());
            let socket = std::net::UdpSocket::bind(address)
                .with_context(|| format!("the wire's end at {address}"))?;
            socket.set_nonblocking(true)?;
            Ok::<_, anyhow::Error>(socket)
        };
        let (near, far) = (open(near)?, open(far)?);
        let manners = Arc::new(Mutex::new((Manners::default(), StdRng::seed_from_u64(seed))));
        let (ends, ended) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let works = both_ways(near, far, to, manners.clone());
        std::thread::Builder::new().name("wire".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    done = works => if let Err(error) = done { tracing::error!(%error, "the wire") },
                    _ = ended => {}
                }
            });
        })?;
        Ok(UnrulyWire { manners, _ends: ends })
    }

    /// How it behaves from now on.
    pub fn behave(&self, manners: Manners) {
        self.manners.lock().expect("nobody panics with it").0 = manners;
    }
}

async fn both_ways(
    near: std::net::UdpSocket,
    far: std::net::UdpSocket,
    to: SocketAddr,
    manners: Arc<Mutex<(Manners, StdRng)>>,
) -> std::io::Result<()> {
    let (near, far) = (Arc::new(UdpSocket::from_std(near)?), Arc::new(UdpSocket::from_std(far)?));
    let first = Mutex::new(None);
    let forth = carry(near.clone(), far.clone(), &manners, |from| {
        *first.lock().expect("nobody panics with it") = Some(from);
        Some(to)
    });
    let back = carry(far, near, &manners, |_| *first.lock().expect("nobody panics with it"));
    tokio::join!(forth, back);
    Ok(())
}

async fn carry(
    from: Arc<UdpSocket>,
    over: Arc<UdpSocket>,
    manners: &Mutex<(Manners, StdRng)>,
    to: impl Fn(SocketAddr) -> Option<SocketAddr>,
) {
    let mut buffer = vec![0; 65_536];
    loop {
        // An error is the echo of a packet to one who is not there.
        let Ok((length, sender)) = from.recv_from(&mut buffer).await else { continue };
        let Some(to) = to(sender) else { continue };
        let delays = delays(&mut manners.lock().expect("nobody panics with it"));
        for delay in delays {
            let (over, packet) = (over.clone(), buffer[..length].to_vec());
            tokio::spawn(async move {
                tokio::time::sleep(delay).await;
                let _ = over.send_to(&packet, to).await;
            });
        }
    }
}

/// When a packet comes: never, once, or twice.
fn delays((manners, random): &mut (Manners, StdRng)) -> Vec<Duration> {
    if random.random_bool(manners.lost) {
        return Vec::new();
    }
    let times = 1 + usize::from(random.random_bool(manners.doubled));
    let mut delay = || match random.random_bool(manners.late) {
        true => manners.delay.mul_f64(random.random()),
        false => Duration::ZERO,
    };
    (0..times).map(|_| delay()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wire_carries_both_ways_and_does_what_it_is_told() {
        let there = UdpSocket::bind("127.0.8.1:0").await.unwrap();
        let to = there.local_addr().unwrap();
        let wire =
            UnrulyWire::between([127, 0, 8, 2].into(), [127, 0, 8, 3].into(), to, 7).unwrap();
        let here = UdpSocket::bind("127.0.8.4:0").await.unwrap();
        let near = SocketAddr::new([127, 0, 8, 2].into(), to.port());
        let mut buffer = [0; 16];
        let mut got = async |socket: &UdpSocket| {
            let wait = Duration::from_millis(300);
            let (length, from) =
                tokio::time::timeout(wait, socket.recv_from(&mut buffer)).await.ok()?.ok()?;
            Some((buffer[..length].to_vec(), from))
        };

        here.send_to(b"to", near).await.unwrap();
        let (packet, from) = got(&there).await.unwrap();
        assert_eq!(
            (packet.as_slice(), from),
            (&b"to"[..], SocketAddr::new([127, 0, 8, 3].into(), to.port()))
        );
        there.send_to(b"fro", from).await.unwrap();
        assert_eq!(got(&here).await.unwrap(), (b"fro".to_vec(), near));

        wire.behave(Manners { doubled: 1.0, ..Manners::default() });
        here.send_to(b"2", near).await.unwrap();
        assert!(
            got(&there).await.is_some()
                && got(&there).await.is_some()
                && got(&there).await.is_none()
        );
        wire.behave(Manners { lost: 1.0, ..Manners::default() });
        here.send_to(b"0", near).await.unwrap();
        assert!(got(&there).await.is_none());
        wire.behave(Manners { late: 1.0, delay: Duration::from_millis(50), ..Manners::default() });
        for n in 0..32 {
            here.send_to(&[n], near).await.unwrap();
        }
        let mut order = Vec::new();
        while let Some((packet, _)) = got(&there).await {
            order.push(packet[0]);
        }
        assert!(order.len() == 32 && !order.is_sorted(), "{order:?}");
    }
}
