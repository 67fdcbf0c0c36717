//! The task of a link: takes what comes to those whom it concerns, and sleeps when nothing comes.
use super::place;
use super::spin::{Spin, Spinner};
use crate::channel::Channel;
use crate::fd;
use crate::link::Link;
use crate::process::Process;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::Interest;

/// Looks in a row: as long in all as a turn of the runtime.
const GLANCES: u32 = 16;

/// Drives a link until its channel is closed.
pub async fn drive(link: Arc<Link>, process: Arc<Process>, spin: Spin) {
    if let Err(error) = run(&link, &spin).await {
        tracing::error!(peer = link.peer.name, %error, "a channel of the fabric cannot be waited for");
    }
    link.end();
    process.forget(&link);
    if let Some(closed) = link.channel().closed() {
        tracing::debug!(peer = link.peer.name, number = link.number, %closed, "a channel of the fabric is closed");
    }
}

async fn run(link: &Arc<Link>, spin: &Spin) -> std::io::Result<()> {
    let channel = link.channel();
    let bell = fd::watch(channel.bell().clone(), Interest::READABLE)?;
    let life_line = fd::watch(channel.life_line().clone(), Interest::READABLE)?;
    let mut frames = Vec::new();
    let mut spinner = Spinner::new(spin);
    loop {
        match link.progress(&mut frames) {
            Err(_) => return Ok(()),
            Ok(true) => {
                spinner.worked();
                Turn::default().await;
                continue;
            }
            Ok(false) if spinner.again(link.expects_answers()) => {
                if !glance(channel) {
                    Turn::default().await;
                }
                continue;
            }
            Ok(false) => {}
        }
        match channel.may_sleep() {
            Err(_) => return Ok(()),
            Ok(false) => continue,
            Ok(true) => {}
        }
        tokio::select! {
            rung = bell.readable() => rung?.clear_ready(),
            gone = life_line.readable() => {
                gone?.clear_ready();
                // What the peer sent before it ended is taken first.
                while link.progress(&mut frames).is_ok_and(|some| some) {}
                channel.check_life();
            }
        }
        channel.awake();
        place::look();
    }
}

/// Looks at the channel a few times in a row; whether something has come. What comes is seen within
/// nanoseconds this way, while each turn of the runtime takes most of a microsecond.
fn glance(channel: &Channel) -> bool {
    (0..GLANCES).any(|_| {
        std::hint::spin_loop();
        channel.has_news()
    })
}

/// Lets the other tasks of the runtime have their turn, and comes back without a look at the
/// kernel.
#[derive(Default)]
struct Turn(bool);

impl Future for Turn {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
