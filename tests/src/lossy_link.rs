//! A relay between two UDP endpoints that drops, duplicates and reorders packets.
use anyhow::{Context, Result};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::sync::oneshot;

/// Probabilities, 0 to 1, of what happens to a packet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Impairments {
    /// The packet is dropped.
    pub loss: f64,
    /// The packet is sent twice.
    pub duplicate: f64,
    /// The packet is delayed by a random time up to [`Impairments::delay`].
    pub reorder: f64,
    /// Longest delay of a reordered packet.
    pub delay: Duration,
}

/// The relay. It runs on its own thread until this value is dropped.
pub struct LossyLink {
    impairments: Arc<Mutex<(Impairments, StdRng)>>,
    _stop: oneshot::Sender<()>,
}

impl LossyLink {
    /// Relays packets that arrive at `near` to `to`, with `far` as their source, and the replies to
    /// the last sender. `near` and `far` use the port of `to`.
    ///
    /// # Errors
    /// An address cannot be bound.
    pub fn between(near: IpAddr, far: IpAddr, to: SocketAddr, seed: u64) -> Result<LossyLink> {
        let open = |address| {
            let address = SocketAddr::new(address, to.port());
            let socket = std::net::UdpSocket::bind(address)
                .with_context(|| format!("cannot bind {address}"))?;
            socket.set_nonblocking(true)?;
            Ok::<_, anyhow::Error>(socket)
        };
        let (near, far) = (open(near)?, open(far)?);
        let impairments =
            Arc::new(Mutex::new((Impairments::default(), StdRng::seed_from_u64(seed))));
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let relay = both_ways(near, far, to, impairments.clone());
        std::thread::Builder::new().name("lossy-link".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    done = relay => {
                        if let Err(error) = done {
                            tracing::error!(%error, "lossy link failed");
                        }
                    }
                    _ = stopped => {}
                }
            });
        })?;
        Ok(LossyLink { impairments, _stop: stop })
    }

    /// Sets the impairments from now on.
    pub fn impair(&self, impairments: Impairments) {
        self.impairments.lock().expect("not poisoned").0 = impairments;
    }
}

async fn both_ways(
    near: std::net::UdpSocket,
    far: std::net::UdpSocket,
    to: SocketAddr,
    impairments: Arc<Mutex<(Impairments, StdRng)>>,
) -> std::io::Result<()> {
    let (near, far) = (Arc::new(UdpSocket::from_std(near)?), Arc::new(UdpSocket::from_std(far)?));
    let first = Mutex::new(None);
    let forth = carry(near.clone(), far.clone(), &impairments, |from| {
        *first.lock().expect("not poisoned") = Some(from);
        Some(to)
    });
    let back = carry(far, near, &impairments, |_| *first.lock().expect("not poisoned"));
    tokio::join!(forth, back);
    Ok(())
}

async fn carry(
    from: Arc<UdpSocket>,
    over: Arc<UdpSocket>,
    impairments: &Mutex<(Impairments, StdRng)>,
    to: impl Fn(SocketAddr) -> Option<SocketAddr>,
) {
    let mut buffer = vec![0; 65_536];
    loop {
        // An error is an ICMP "port unreachable" for an earlier packet.
        let Ok((length, sender)) = from.recv_from(&mut buffer).await else { continue };
        let Some(to) = to(sender) else { continue };
        let delays = delays(&mut impairments.lock().expect("not poisoned"));
        for delay in delays {
            let (over, packet) = (over.clone(), buffer[..length].to_vec());
            tokio::spawn(async move {
                tokio::time::sleep(delay).await;
                let _ = over.send_to(&packet, to).await;
            });
        }
    }
}

/// The delays of the copies of a packet: none, one, or two.
fn delays((impairments, random): &mut (Impairments, StdRng)) -> Vec<Duration> {
    if random.random_bool(impairments.loss) {
        return Vec::new();
    }
    let times = 1 + usize::from(random.random_bool(impairments.duplicate));
    let mut delay = || match random.random_bool(impairments.reorder) {
        true => impairments.delay.mul_f64(random.random()),
        false => Duration::ZERO,
    };
    (0..times).map(|_| delay()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn packets_are_relayed_dropped_duplicated_and_reordered() {
        let there = UdpSocket::bind("127.0.8.1:0").await.unwrap();
        let to = there.local_addr().unwrap();
        let link = LossyLink::between([127, 0, 8, 2].into(), [127, 0, 8, 3].into(), to, 7).unwrap();
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

        link.impair(Impairments { duplicate: 1.0, ..Impairments::default() });
        here.send_to(b"2", near).await.unwrap();
        assert!(
            got(&there).await.is_some()
                && got(&there).await.is_some()
                && got(&there).await.is_none()
        );
        link.impair(Impairments { loss: 1.0, ..Impairments::default() });
        here.send_to(b"0", near).await.unwrap();
        assert!(got(&there).await.is_none());
        link.impair(Impairments {
            reorder: 1.0,
            delay: Duration::from_millis(50),
            ..Impairments::default()
        });
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
