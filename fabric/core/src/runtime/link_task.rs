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
                // Handle what the peer sent before it ended.
                while link.progress(&mut frames).is_ok_and(|received| received) {}
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
