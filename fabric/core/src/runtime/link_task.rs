//! The task that drives one link: it handles received frames and sleeps while there are none.
use super::cpu_affinity;
use super::spin::{Spin, Spinner};
use crate::channel::Channel;
use crate::fd;
use crate::link::Link;
use crate::membership::Membership;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::Interest;

/// Polls of the channel between two yields. Together they take about as long as one tick of the
/// runtime.
const POLLS_PER_YIELD: u32 = 16;

/// Drives a link until its channel is closed.
pub async fn drive(link: Arc<Link>, membership: Arc<Membership>, spin: Spin) {
    let peer = &link.peer.name;
    if let Err(error) = run(&link, &spin).await {
        tracing::error!(peer, %error, "fabric channel cannot be polled");
    }
    link.end();
    membership.remove_link(&link);
    if let Some(closed) = link.channel().closed() {
        tracing::debug!(peer, number = link.number, %closed, "fabric channel closed");
    }
}

async fn run(link: &Arc<Link>, spin: &Spin) -> std::io::Result<()> {
    let channel = link.channel();
    let doorbell = fd::watch(channel.doorbell().clone(), Interest::READABLE)?;
    let liveness = fd::watch(channel.liveness().clone(), Interest::READABLE)?;
    let mut frames = Vec::new();
    let mut spinner = Spinner::new(spin);
    loop {
        match link.progress(&mut frames) {
            Err(_) => return Ok(()),
            Ok(true) => {
                spinner.record_work();
                YieldNow::default().await;
                continue;
            }
            Ok(false) if spinner.should_poll(link.expects_responses()) => {
                if !poll_channel(channel) {
                    YieldNow::default().await;
                }
                continue;
            }
            Ok(false) => {}
        }
        match channel.prepare_sleep() {
            Err(_) => return Ok(()),
            Ok(false) => continue,
            Ok(true) => {}
        }
        tokio::select! {
            signalled = doorbell.readable() => signalled?.clear_ready(),
            gone = liveness.readable() => {
                gone?.clear_ready();
                // Handle what the peer sent before it ended. One that closed the socket alone may
                // send on for ever.
                while link.progress(&mut frames).is_ok_and(|received| received) {
                    YieldNow::default().await;
                }
                channel.check_liveness();
            }
        }
        channel.mark_awake();
        cpu_affinity::update();
    }
}

/// Polls the channel several times in a row. Returns whether a frame has arrived. This detects a
/// frame within nanoseconds, whereas a tick of the runtime takes most of a microsecond.
fn poll_channel(channel: &Channel) -> bool {
    (0..POLLS_PER_YIELD).any(|_| {
        std::hint::spin_loop();
        channel.has_frames()
    })
}

/// Runs the other ready tasks once. Unlike `tokio::task::yield_now` it does not poll the kernel.
#[derive(Default)]
struct YieldNow(bool);

impl Future for YieldNow {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::{ChannelFds, Closed, FrameHeader, FrameKind, Violation};
    use crate::limits::ProcessLimits;
    use crate::link::Host;
    use crate::link::sockets::Listener;
    use crate::memory::layout::{Layout, Sizes};
    use crate::messages::Peer;
    use crate::wakeup;
    use nix::sys::socket::{Shutdown, shutdown};
    use std::net::SocketAddr;
    use std::sync::atomic::{AtomicU32, Ordering};

    const REQUESTS: u32 = 100_000;

    /// Sends the next request when one is handled, so that the ring is not empty before the last.
    struct Flood {
        peer: Channel,
        handled: AtomicU32,
    }

    impl Flood {
        fn send(&self, kind: FrameKind, stream: u32) {
            let head = FrameHeader { kind, own: true, stream };
            assert_eq!(self.peer.send_some(head, b"x"), Ok(1));
        }
    }

    impl Host for Flood {
        fn request(&self, _: &Arc<Link>, stream: u32, _: Vec<u8>) -> Result<(), Violation> {
            if self.handled.fetch_add(1, Ordering::Relaxed) + 1 < REQUESTS {
                self.send(FrameKind::Cancel, stream);
                self.send(FrameKind::Request, stream + 1);
            }
            Ok(())
        }
        fn listener(&self, _: &SocketAddr) -> Option<Arc<Listener>> {
            None
        }
    }

    #[tokio::test]
    async fn a_peer_that_closed_its_liveness_socket_and_sends_on_leaves_time_for_others() {
        let sizes = Sizes::default();
        let [own, other] = ChannelFds::pair(&Layout::of(&sizes).unwrap(), false).unwrap();
        let peer = Channel::new(other, &sizes, 1).unwrap();
        let flood = Arc::new(Flood { peer, handled: AtomicU32::new(0) });
        let host: Arc<dyn Host> = flood.clone();
        let (name, calls) = ("p".into(), vec![]);
        let peer = Peer { name, schema: 0, user: None, calls, connections: vec![] };
        let (channel, limits) = (Channel::new(own, &sizes, 0).unwrap(), ProcessLimits::default());
        let link = Link::new(1, peer, channel, &limits, Arc::downgrade(&host));
        let membership = Arc::new(Membership::new("test", 0, limits));
        let driver = tokio::spawn(drive(link.clone(), membership, Spin::Off));
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        // The doorbell stays silent, so that the liveness socket alone wakes the driver.
        let deferred = wakeup::flush_deferred();
        wakeup::defer_wakeups(true);
        flood.send(FrameKind::Request, 0);
        shutdown(fd::raw(flood.peer.liveness()), Shutdown::Both).unwrap();
        while flood.handled.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
        let handled = flood.handled.load(Ordering::Relaxed);
        assert!(handled < REQUESTS, "no other task ran before the last request");
        driver.await.unwrap();
        wakeup::defer_wakeups(false);
        drop(deferred);
        assert_eq!(flood.handled.load(Ordering::Relaxed), REQUESTS);
        assert_eq!(link.channel().closed(), Some(Closed::PeerGone));
    }
}
